//! Prints results, and ends the program.

use std::io::{self, Write as _};
use std::process::ExitCode;

use super::{has_colours, shared};
use crate::{Content, Screen, exit_code, exit_code_of_listing, write_stdout};

/// Prints the text to standard output, without adding a line end. A terminal gets it through a [`Screen`].
pub fn print(text: &str) {
    let content = content(has_colours(&io::stdout()));
    write_stdout(|stdout| {
        let mut screen = Screen::new(stdout, content);
        screen.write_all(text.as_bytes())?;
        screen.finish().map(drop)
    });
}

/// Text of ours, with or without colours.
pub(crate) const fn content(has_colours: bool) -> Content {
    if has_colours { Content::Coloured } else { Content::Plain }
}

/// Returns the exit code of the program, as [`exit_code`] does.
#[must_use]
pub fn end(code: u8) -> ExitCode {
    ended(exit_code(code))
}

/// Returns the exit code of a command whose only result is a list or a text, as [`exit_code_of_listing`] does.
#[must_use]
pub fn end_listing(code: u8) -> ExitCode {
    ended(exit_code_of_listing(code))
}

fn ended(code: u8) -> ExitCode {
    shared::ended(code);
    ExitCode::from(code)
}
