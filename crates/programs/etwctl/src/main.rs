//! `etwctl`: ETW sessions, providers, information classes and traces, in one command.
//!
//! On Windows it controls the sessions of the system; elsewhere those of an engine in its own process. Traces can be decoded
//! everywhere. The rules of ETW are not here but in `etw-session` and `etw-etl`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cli;
mod commands;
mod context;
mod failure;
mod input;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod platform;
mod select;
#[cfg(test)]
mod texts;
mod values;

use std::process::ExitCode;

use cli::Cli;
use command_line::{end, end_listing, exit};
use context::Context;
use etw_session::Machine;

fn main() -> ExitCode {
    let machine = Machine::local();
    let line: Cli = match command_line::parse_as(cli::command(&machine), std::env::args_os()) {
        Ok(line) => line,
        Err(code) => return code,
    };
    let result = commands::run(&Context::new(&machine, line.global), &line.command);
    Context::report_unstopped(&machine);
    // The reader of a listing may take as much as it wants.
    let end = if line.command.is_listing() { end_listing } else { end };
    match result {
        Ok(()) => end(exit::SUCCESS),
        Err(failure) => {
            failure.report();
            // Without Windows, a session of an earlier command no longer exists: explain that.
            if let Some(caveat) = machine.caveat().filter(|_| failure.is_not_found()) {
                command_line::note(caveat);
            }
            end(failure.exit_code())
        }
    }
}
