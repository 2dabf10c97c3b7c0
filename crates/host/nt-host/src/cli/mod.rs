//! The command `nt-host`. It uses the exit codes of `command_line::exit`: 1 if the driver did not load or
//! `DriverEntry` failed; 3 for findings or a bug check; 4 if the run is incomplete: a device did not start, a request did not
//! reach the driver, events or findings were lost, or the driver's process ended.

mod args;
mod clients;
mod compare;
mod debugger;
mod file_steps;
mod files;
mod framework;
mod fuzz;
mod fuzz_files;
mod grammar;
mod hardware;
mod interrupt;
mod json;
mod list;
mod matrix;
mod network;
mod progress;
mod run;
mod steps;
mod text;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use command_line::{end, parse};

use args::{Arguments, Command};

/// Runs the command. `words` begins with the name of the program.
///
/// ```no_run
/// let code = nt_host::cli::main(["nt-host", "run", "my_driver.sys"].into_iter().map(Into::into));
/// ```
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Arguments = match parse(words) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    end(match arguments.command {
        Command::Run { debug, options } => run::run(&options, debug),
        Command::Matrix(options) => matrix::matrix(&options),
        Command::Fuzz(options) => fuzz::fuzz(&options),
        Command::Compare(options) => compare::compare(&options),
        Command::Framework { command } => framework::framework(&command),
        Command::List(list) => match &list.path {
            Some(path) => list::list(path, list.os, list.json),
            None => list::list_all(list.os, list.json),
        },
    })
}
