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

use clap::Parser;

pub use output::{end, print};
pub use shells::Shells;
pub use words::Words;

/// The version of the programs, with the commit if it is known.
pub const VERSION: &str = env!("VERSION");

/// Parses a command line, which begins with the program's name. The other result is how the program ends: after `--help` and
/// `--version`, or after a message about wrong usage.
///
/// # Errors
///
/// See above.
pub fn parse<P: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<P, ExitCode> {
    P::try_parse_from(words).map_err(|error| explain(&error))
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
