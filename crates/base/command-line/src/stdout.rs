//! Standard output. If the reader closes it early (`| head`), the rest of the output is dropped and the work goes on, without a
//! message. If it cannot be written for another reason, such as a full disk, the program prints one error.
//!
//! Exit code 0 says that somebody got the whole result. So output that was not read makes it at least [`exit::USAGE`]; only of a
//! listing the reader may take as much as it wants. docs/conventions.md has these rules for users.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind, StdoutLock};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{escaped, exit, start};

/// A write failed; nothing more is written.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Output was lost, and not because the reader closed the pipe.
static LOST: AtomicBool = AtomicBool::new(false);

/// The program was started without a standard output (`>&-`), so that its results would be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStdout;

impl fmt::Display for NoStdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output is closed, so the results would be lost: redirect it to a file or to /dev/null")
    }
}

impl Error for NoStdout {}

/// Checks that the program was started with a standard output. Programs call this before they do anything. Only Linux can tell.
///
/// # Errors
///
/// If there is none.
pub fn require_stdout() -> Result<(), NoStdout> {
    if start::had_stdout() { Ok(()) } else { Err(NoStdout) }
}

/// Writes to standard output, unless an earlier write has failed. `write` also flushes.
pub fn write_stdout(write: impl FnOnce(StdoutLock<'static>) -> io::Result<()>) {
    if !is_unread()
        && let Err(error) = write(io::stdout().lock())
    {
        stdout_failed(&error);
    }
}

/// Remembers that a write to standard output has failed, for the exit code. Prints the error, unless the reader has closed the pipe.
pub fn stdout_failed(error: &io::Error) {
    let is_first = !CLOSED.swap(true, Ordering::Relaxed);
    if error.kind() != ErrorKind::BrokenPipe && is_first {
        LOST.store(true, Ordering::Relaxed);
        let text = format!("error: cannot write to standard output: {error}; the rest of the output is lost");
        eprintln!("{}", escaped(&text));
    }
}

/// Returns whether the reader has closed standard output, or it could not be written, so that the rest of the output is dropped.
#[must_use]
pub fn is_unread() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Returns the exit code of a command: `code`, or at least [`exit::USAGE`] if some of the output was not read.
#[must_use]
pub fn exit_code(code: u8) -> u8 {
    if is_unread() { code.max(exit::USAGE) } else { code }
}

/// Returns the exit code of a command whose only result is a list or a text: as [`exit_code`], but its reader may close the pipe.
#[must_use]
pub fn exit_code_of_listing(code: u8) -> u8 {
    if LOST.load(Ordering::Relaxed) { code.max(exit::USAGE) } else { code }
}
