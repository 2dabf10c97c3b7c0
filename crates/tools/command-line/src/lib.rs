//! What the programs of this family share, so that all of them behave alike: docs/conventions.md is the promise to users.
//!
//! A program describes its command line with clap's derive, names [`VERSION`] as its version, parses with [`parse`], prints with
//! [`print()`] and ends with [`end`]. Nothing here knows what a program does.
#![forbid(unsafe_code)]

pub mod exit;
mod output;
mod shells;
pub mod units;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command, Parser};

pub use output::{end, print};
pub use words::Words;

use shells::Shells;

/// The version of the programs, with the commit if it is known.
pub const VERSION: &str = env!("VERSION");

/// Parses a command line, which begins with the program's name. The other result is how the program ends: after `--help`,
/// `--version`, `completions` or `man`, or after a message about wrong usage.
///
/// # Errors
///
/// See above.
pub fn parse<P: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<P, ExitCode> {
    parse_as(P::command(), words)
}

/// As [`parse`], with a description of the command line to which the program added something.
///
/// # Errors
///
/// As those of [`parse`].
pub fn parse_as<P: Parser>(command: Command, words: impl IntoIterator<Item = OsString>) -> Result<P, ExitCode> {
    let description = shells::added_to(command);
    let mut command = description.clone();
    let matches = command.try_get_matches_from_mut(words).map_err(|error| explain(&error))?;
    match Shells::of(&matches) {
        // Of the description as it was: clap adds to the one that it parses with.
        Some(shells) => Err(end(shells.run(description))),
        None => P::from_arg_matches(&matches).map_err(|error| explain(&error.format(&mut command))),
    }
}

/// Prints what clap has to say and returns how the program ends.
#[must_use]
pub fn explain(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        // There is nobody else to tell.
        let _ = error.print();
        return ExitCode::from(exit::USAGE);
    }
    output::note(error.print());
    end(exit::SUCCESS)
}
