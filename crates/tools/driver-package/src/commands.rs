//! The commands: each parses its words, reads and prints; the library decides.

pub(crate) mod adopt;
pub(crate) mod inspect;
pub(crate) mod lint;
pub(crate) mod package;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};

/// How a command ends: with an exit code, or with a word on why its command line makes no sense.
pub(crate) type Outcome = Result<u8, String>;

/// A command.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) help: fn() -> String,
    pub(crate) run: fn(&[OsString]) -> Outcome,
}

/// In the order of the help text.
pub(crate) const COMMANDS: [Command; 4] = [inspect::COMMAND, lint::COMMAND, package::COMMAND, adopt::COMMAND];

/// Prints; that a reader went away is no failure.
pub(crate) fn print(text: &str) -> u8 {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: standard output: {error}");
            2
        }
        _ => 0,
    }
}
