//! `cargo xtask`: the repository's commands.
//!
//! This file only selects a command and converts its result into an exit code: 0 for success, 1 if a step failed, 2
//! if the command line is wrong, something is missing that could not be installed, or output was not read. The program has few
//! dependencies, so that it builds quickly on a fresh machine.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod background;
mod cargo_tool;
mod cli;
mod command;
mod commands;
mod context;
mod steps;
mod suggest;
mod verifiers;

use std::ffi::OsString;
use std::process::ExitCode;

use cli::Invocation;
use command_line::{exit, exit_code, exit_code_of_listing, require_stdout};
use context::Context;
use driver_build::{Error, output};

/// The flag with which a command only lists what it could do.
const LIST: &str = "--list";

fn main() -> ExitCode {
    if let Err(reason) = require_stdout() {
        output::error(&reason.to_string());
        return ExitCode::from(exit::USAGE);
    }
    let result = arguments().and_then(|arguments| run(&arguments));
    // As in docs/conventions.md.
    ExitCode::from(match result {
        Ok(Printed::Listing) => exit_code_of_listing(exit::SUCCESS),
        Ok(Printed::Result) => exit_code(exit::SUCCESS),
        Err(error) => {
            if !matches!(error, Error::Reported(_)) {
                output::error(&error.to_string());
            }
            exit_code(error.exit_code())
        }
    })
}

/// What a command printed.
enum Printed {
    /// A text that its reader need not read to the end.
    Listing,
    /// What became of the command's work.
    Result,
}

/// Returns the command line. An argument that is not valid UTF-8 is rejected, because cargo and the manifests of
/// drivers accept only UTF-8.
fn arguments() -> Result<Vec<String>, Error> {
    let words = std::env::args_os().skip(1).map(OsString::into_string);
    words.collect::<Result<_, _>>().map_err(|word| {
        Error::Usage(format!("the argument `{}` is not valid UTF-8", word.as_encoded_bytes().escape_ascii()))
    })
}

fn run(arguments: &[String]) -> Result<Printed, Error> {
    match cli::parse(arguments)? {
        Invocation::Help(text) => {
            output::print(&text);
            Ok(Printed::Listing)
        }
        Invocation::Run { command, flags, words } => {
            let is_listing = command.only_lists || flags.contains(&LIST);
            (command.run)(&Context::new(flags).with_words(words))?;
            Ok(if is_listing { Printed::Listing } else { Printed::Result })
        }
    }
}
