//! Standard output. It may be closed early (`| head`): what nobody reads is dropped, and the work goes on. If it cannot be written
//! for another reason, such as a full disk, the program says so once and fails at its end.

use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{exit, shared};

/// No more is written.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Something was lost that somebody wanted to read.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints the text as it is.
pub fn print(text: &str) {
    if !CLOSED.load(Ordering::Relaxed) {
        let mut stdout = io::stdout().lock();
        note(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
    }
}

/// The exit code, which is [`exit::USAGE`] at least if output was lost.
#[must_use]
pub fn end(code: u8) -> ExitCode {
    let code = if LOST.load(Ordering::Relaxed) { code.max(exit::USAGE) } else { code };
    shared::ended(code);
    ExitCode::from(code)
}

/// Keeps in mind how writing went.
pub(crate) fn note(written: io::Result<()>) {
    if let Err(error) = written {
        CLOSED.store(true, Ordering::Relaxed);
        if error.kind() != ErrorKind::BrokenPipe {
            LOST.store(true, Ordering::Relaxed);
            eprintln!("error: standard output: {error}; the rest of it is lost");
        }
    }
}
