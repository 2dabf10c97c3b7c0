//! The commands.

mod activities;
mod autologger;
mod batch;
mod compare;
#[cfg(feature = "parquet")]
mod dataset;
mod decode;
mod doctor;
mod export;
mod flame;
mod folded;
mod info_get;
mod info_set;
mod losses;
mod processes;
pub(crate) mod profile;
mod providers;
mod purpose;
mod record;
mod requests;
mod schema;
mod schemas;
mod sessions;
mod stacks;
mod start;
mod stats;
mod store;
pub(crate) mod top;
mod trim;
mod unnamed;

use crate::cli::{self, Command, Info};
use crate::context::Context;
use crate::failure::Failure;

/// Runs a command.
pub(crate) fn run(context: &Context<'_>, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Sessions(line) => sessions::list(context, line),
        Command::Flush(line) => sessions::flush(context, line),
        Command::Stop(line) => sessions::stop(context, line),
        Command::Start(line) => start::start(context, line),
        Command::Autologger(cli::Autologger::Add(line)) => autologger::add(context, line),
        Command::Autologger(cli::Autologger::Remove(line)) => autologger::remove(context, line),
        Command::Update(line) => start::update(context, line),
        Command::Providers(line) => providers::list(context, line),
        Command::Enable(line) => requests::enable(context, line),
        Command::Disable(line) => requests::disable(context, line),
        Command::Capture(line) => requests::capture(context, line),
        Command::Info(Info::List) => info_get::list(context),
        Command::Info(Info::Get(line)) => info_get::get(context, line),
        Command::Info(Info::Set(line)) => info_set::set(context, line),
        Command::Record(line) => record::record(context, line),
        Command::Decode(line) => decode::decode(context, line),
        Command::Doctor(line) => doctor::doctor(context, line),
        Command::Stats(line) => stats::stats(context, line),
        Command::Top(line) => top::top(context, line),
        Command::Processes(line) => processes::processes(context, line),
        Command::Activities(line) => activities::activities(context, line),
        Command::Stacks(line) => stacks::stacks(context, line),
        Command::Flame(line) => flame::flame(context, line),
        Command::Profile(line) => profile::profile(context, line),
        Command::Compare(line) => compare::compare(context, line),
        Command::Trim(line) => trim::trim(context, line),
        Command::Export(line) => export::export(context, line),
        Command::Schema(line) => schema::schema(context, line),
        Command::Schemas(cli::Schemas::Add(line)) => store::add(context, line),
        Command::Schemas(cli::Schemas::List) => store::list(context),
        #[cfg(feature = "parquet")]
        Command::Dataset(cli::Dataset::Add(line)) => dataset::add(context, line),
        #[cfg(feature = "parquet")]
        Command::Dataset(cli::Dataset::Schemas(line)) => dataset::schemas(context, &line.dir),
        Command::Batch(line) => batch::batch(context, line),
    }
}
