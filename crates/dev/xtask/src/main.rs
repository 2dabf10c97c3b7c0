//! `cargo xtask`: the repository's commands.
//!
//! This file only selects a command and converts its result into an exit code: 0 for success, 1 if a step failed, 2
//! if the command line is wrong, something is missing that could not be installed, or output was lost. The program has few
//! dependencies, so that it builds quickly on a fresh machine.

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
use context::Context;
use driver_build::{Error, output};

fn main() -> ExitCode {
    let code = match arguments().and_then(|arguments| run(&arguments)) {
        Ok(()) => 0,
        Err(error) => {
            if !matches!(error, Error::Reported(_)) {
                output::error(&error.to_string());
            }
            error.exit_code()
        }
    };
    // As in docs/conventions.md.
    ExitCode::from(if output::is_lost() { code.max(2) } else { code })
}

/// Returns the command line. An argument that is not valid UTF-8 is rejected, because cargo and the manifests of
/// drivers accept only UTF-8.
fn arguments() -> Result<Vec<String>, Error> {
    let words = std::env::args_os().skip(1).map(OsString::into_string);
    words.collect::<Result<_, _>>().map_err(|word| {
        Error::Usage(format!("the argument `{}` is not valid UTF-8", word.as_encoded_bytes().escape_ascii()))
    })
}

fn run(arguments: &[String]) -> Result<(), Error> {
    match cli::parse(arguments)? {
        Invocation::Help(text) => {
            output::print(&text);
            Ok(())
        }
        Invocation::Run { command, flags, words } => (command.run)(&Context::new(flags).with_words(words)),
    }
}
