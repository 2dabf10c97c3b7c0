//! Standard output. If the reader closes it early (`| head`), the rest of the output is dropped and the work goes on. If it cannot
//! be written for another reason, such as a full disk, the program prints one error and fails at its end.

use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{exit, has_colours, shared};
use crate::{Content, Screen};

/// A write failed; nothing more is written.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Output was lost, and not because the reader closed the pipe.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints the text to standard output, without adding a line end. A terminal gets it through a [`Screen`].
pub fn print(text: &str) {
    if !CLOSED.load(Ordering::Relaxed) {
        let stdout = io::stdout().lock();
        let mut screen = Screen::new(stdout, content(has_colours(&io::stdout())));
        note(screen.write_all(text.as_bytes()).and_then(|()| screen.finish()).map(drop));
    }
}

/// Returns whether the reader has closed standard output, or it could not be written, so that some of the output is lost.
#[must_use]
pub fn is_unread() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Text of ours, with or without colours.
pub(crate) const fn content(has_colours: bool) -> Content {
    if has_colours { Content::Coloured } else { Content::Plain }
}

/// Returns the exit code of the program: `code`, or [`exit::USAGE`] if output was lost and `code` is smaller.
#[must_use]
pub fn end(code: u8) -> ExitCode {
    let code = if LOST.load(Ordering::Relaxed) { code.max(exit::USAGE) } else { code };
    shared::ended(code);
    ExitCode::from(code)
}

/// Remembers the result of a write to standard output.
fn note(written: io::Result<()>) {
    if let Err(error) = written {
        CLOSED.store(true, Ordering::Relaxed);
        if error.kind() != ErrorKind::BrokenPipe {
            LOST.store(true, Ordering::Relaxed);
            shared::error(&format!("cannot write to standard output: {error}; the rest of the output is lost"));
        }
    }
}
