//! The commands, one file for each idea.

mod activities;
mod batch;
mod decode;
mod info_get;
mod info_set;
mod providers;
mod record;
mod requests;
mod schema;
mod schemas;
mod sessions;
mod stacks;
mod start;
mod stats;

use std::io::{self, Write};

use crate::cli::{Line, completions};
use crate::context::{Context, Failure};

/// Runs a command.
pub(crate) fn run(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    match line.command.name {
        "sessions" => sessions::list(context, line),
        "flush" => sessions::flush(context, line),
        "stop" => sessions::stop(context, line),
        "start" => start::start(context, line),
        "update" => start::update(context, line),
        "providers" => providers::list(context, line),
        "enable" => requests::enable(context, line),
        "disable" => requests::disable(context, line),
        "capture" => requests::capture(context, line),
        "info list" => info_get::list(context),
        "info get" => info_get::get(context, line),
        "info set" => info_set::set(context, line),
        "record" => record::record(context, line),
        "decode" => decode::decode(context, line),
        "stats" => stats::stats(context, line),
        "activities" => activities::activities(context, line),
        "stacks" => stacks::stacks(context, line),
        "schema" => schema::schema(context, line),
        "batch" => batch::batch(context, line),
        "completions" => {
            let shell = line.argument(0).unwrap_or_default();
            let script = completions::script(shell);
            let script = script
                .ok_or_else(|| format!("there are completions for bash, zsh, fish and powershell, not {shell}"))?;
            Ok(io::stdout().write_all(script.as_bytes())?)
        }
        other => Err(Failure::Usage(format!("{other} is not there yet"))),
    }
}
