//! The command `nt-host`. It uses the exit codes of `command_line::exit`: 1 if the driver did not load or
//! `DriverEntry` failed; 3 for findings or a bug check; 4 if the run is incomplete: a device did not start, a request did not
//! reach the driver, events or findings were lost, or the driver's process ended.
//!
//! [`main`] is the program `nt-host`, and [`main_in_cargo_driver`] the same commands of `cargo driver`, which links this crate. The crate
//! `nt-host` runs the driver: what a test can do with a driver is there, and here is only what the command line adds.
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod args;
mod clients;
mod compare;
mod debugger;
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
mod memory;
mod network;
mod outputs;
mod progress;
mod run;
mod steps;
mod text;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory as _;
use command_line::{end, end_listing, parse_as};

use args::{Arguments, Command, in_cargo_driver};

/// Runs the command. `words` begins with the name of the program.
///
/// ```no_run
/// let code = nt_host_cli::main(["nt-host", "run", "my_driver.sys"].into_iter().map(Into::into));
/// ```
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    start(Arguments::command(), words)
}

/// As [`main`], for `cargo driver`, which adds the path of the image. Help and messages about wrong usage show its commands.
///
/// ```no_run
/// let words = ["nt-host", "run", "my_driver.sys", "--help"];
/// let code = nt_host_cli::main_in_cargo_driver(words.into_iter().map(Into::into));
/// ```
#[must_use]
pub fn main_in_cargo_driver(words: impl Iterator<Item = OsString>) -> ExitCode {
    start(in_cargo_driver(), words)
}

fn start(description: clap::Command, words: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Arguments = match parse_as(description, words) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let is_listing = matches!(arguments.command, Command::Framework { .. } | Command::List(_));
    let code = match arguments.command {
        Command::Run(options) => run::run(&options),
        Command::Matrix(options) => matrix::matrix(&options),
        Command::Fuzz(options) => fuzz::fuzz(&options),
        Command::Compare(options) => compare::compare(&options),
        Command::Framework { command } => framework::framework(&command),
        Command::List(list) => match &list.path {
            Some(path) => list::list(path, list.release.os, list.json),
            None => list::list_all(list.release.os, list.json),
        },
    };
    // A report that nobody has read in full must not look like a clean run.
    if is_listing { end_listing(code) } else { end(code) }
}
