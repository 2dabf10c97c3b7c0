//! `etwctl`: ETW sessions, providers, information classes and traces, in one command.
//!
//! On Windows it acts on the system; elsewhere on an engine in its own process. Decoding works everywhere. The command holds
//! no rules of its own: those are in `etw-session` and `etw-etl`.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod context;
mod input;
mod output;
mod platform;
mod select;
mod values;

use std::process::ExitCode;

use cli::Cli;
use command_line::{end, exit};
use context::Context;
use etw_session::Machine;

fn main() -> ExitCode {
    let machine = Machine::local();
    let line: Cli = match command_line::parse_as(cli::command(&machine), std::env::args_os()) {
        Ok(line) => line,
        Err(code) => return code,
    };
    let result = commands::run(&Context::new(&machine, line.global), &line.command);
    Context::tell_unstopped(&machine);
    match result {
        Ok(()) => end(exit::SUCCESS),
        Err(failure) => {
            failure.report();
            // Whoever looks for a session of an earlier command has to know where sessions live.
            if let Some(caveat) = machine.caveat().filter(|_| failure.is_not_found()) {
                command_line::note(caveat);
            }
            end(failure.exit_code())
        }
    }
}
