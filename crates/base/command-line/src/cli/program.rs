//! Parses the command line of a program, with the options and commands that all programs have.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Args as _, Command, FromArgMatches as _, Parser};

use super::output::{self, end_listing, print};
use super::shared::{Color, Shared, has_colours};
use super::shells::{self, Shells};
use super::{interrupt, shared};
use crate::terminal::Screen;
use crate::{exit, require_stdout};

/// Parses a command line. Its first word is the program's name.
///
/// # Errors
///
/// If the program has nothing more to do: after `--help`, `--version`, `completions` or `man`, or after a message about
/// wrong usage or a missing standard output. The error is the exit code to end with; everything has been printed.
pub fn parse<P: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<P, ExitCode> {
    parse_as(P::command(), words)
}

/// As [`parse`], with a `command` that the program has changed.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_as<P: Parser>(command: Command, words: impl IntoIterator<Item = OsString>) -> Result<P, ExitCode> {
    interrupt::watch();
    let words: Vec<OsString> = words.into_iter().collect();
    // Messages about wrong usage have colours, too.
    Color::from_words(&words).apply();
    if let Err(reason) = require_stdout() {
        shared::error(&reason.to_string());
        return Err(ExitCode::from(exit::USAGE));
    }
    let description = Shared::augment_args(shells::added_to(command));
    let mut command = description.clone();
    let matches = command.try_get_matches_from_mut(words).map_err(|error| explain(&error))?;
    if let Ok(shared) = Shared::from_arg_matches(&matches) {
        shared.apply(description.get_name());
    }
    match Shells::from_matches(&matches) {
        // The unchanged description: clap adds to the command that it parses with.
        Some(shells) => Err(shells.run(description)),
        None => P::from_arg_matches(&matches).map_err(|error| explain(&error.format(&mut command))),
    }
}

/// Prints a message of clap (an error, the help or the version) and returns the exit code.
#[must_use]
pub fn explain(error: &clap::Error) -> ExitCode {
    let has_colours = if error.use_stderr() { has_colours(&io::stderr()) } else { has_colours(&io::stdout()) };
    let text = if has_colours { error.render().ansi().to_string() } else { error.render().to_string() };
    if error.use_stderr() {
        // The message repeats the arguments. If standard error cannot be written, there is nowhere to report it.
        let mut screen = Screen::new(io::stderr().lock(), output::content(has_colours));
        let _ = screen.write_all(text.as_bytes());
        return ExitCode::from(exit::USAGE);
    }
    print(&text);
    end_listing(exit::SUCCESS)
}
