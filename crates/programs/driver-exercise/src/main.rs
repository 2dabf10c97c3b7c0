//! `driver-exercise`: exercises a driver package on this machine, makes the expected trace, and writes pages of evidence.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match command_line::parse::<cli::Arguments>(std::env::args_os()) {
        Ok(arguments) => cli::run(&arguments),
        Err(code) => code,
    }
}
