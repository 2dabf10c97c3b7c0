//! What the programs of this family share, so that all of them behave alike: docs/conventions.md is the promise to users.
//!
//! A program describes its command line with clap's derive, names [`VERSION`] as its version, parses with [`parse`], prints with
//! [`print()`], says what is no result with [`note`] and ends with [`end`]. Nothing here knows what a program does.
#![forbid(unsafe_code)]

pub mod exit;
mod interrupt;
mod output;
mod shared;
mod shells;
pub mod units;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args as _, Command, FromArgMatches as _, Parser};

pub use interrupt::handles_interrupts;
pub use output::{end, print};
pub use shared::{has_colours, is_quiet, is_verbose, note, say, words};
pub use words::Words;

use shared::{Color, Shared};
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
    interrupt::watch();
    let words: Vec<OsString> = words.into_iter().collect();
    let description = Shared::augment_args(shells::added_to(command)).color(Color::of(&words).choice());
    let mut command = description.clone();
    let matches = command.try_get_matches_from_mut(words).map_err(|error| explain(&error))?;
    if let Ok(shared) = Shared::from_arg_matches(&matches) {
        shared.apply(description.get_name());
    }
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
