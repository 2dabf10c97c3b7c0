//! The command `nt-host`.
//!
//! Exit codes: 0 clean; 1 not loaded, or `DriverEntry` failed; 2 bad usage, a file that is no driver, or one that cannot be written; 3 findings,
//! a bug check, or a request that could not be sent; 4 an incomplete run (events or findings were lost, the driver's process ended);
//! 130 an interrupt.

mod args;
mod clients;
mod interrupt;
mod list;
mod matrix;
mod output;
mod run;

use std::ffi::OsString;
use std::process::ExitCode;

use args::Command;
pub use output::print;

/// Everything went well.
const CLEAN: u8 = 0;
/// This Windows does not load the driver, or `DriverEntry` failed.
const ENTRY_FAILED: u8 = 1;
/// Bad usage or a bad file.
const USAGE: u8 = 2;
/// Findings, a bug check, or a request that could not be sent.
const FINDINGS: u8 = 3;
/// The run is not complete, so that it cannot be clean: something was lost, or the driver's process ended.
const INCOMPLETE: u8 = 4;
/// Ended by Ctrl-C: 128 and the signal's number, as shells have it.
const INTERRUPTED: u8 = 130;

/// Runs the command with its arguments.
#[must_use]
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let code = match args::parse(arguments) {
        Ok(Command::Help) => {
            print(&args::help());
            CLEAN
        }
        Ok(Command::Run(options)) => run::run(&options),
        Ok(Command::List(path, os)) => list::list(&path, os),
        Ok(Command::ListAll(os)) => list::list_all(os),
        Ok(Command::Matrix(options)) => matrix::matrix(&options),
        Err(reason) => {
            eprintln!("error: {reason}\nrun `nt-host --help`");
            USAGE
        }
    };
    ExitCode::from(code)
}
