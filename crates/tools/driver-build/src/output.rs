//! Standard output, which may be closed early (`| head`): what nobody reads is dropped, and the work goes on.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether a write to standard output has failed.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Prints the text as it is.
pub fn print(text: &str) {
    if is_closed() {
        return;
    }
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        CLOSED.store(true, Ordering::Relaxed);
        if error.kind() != ErrorKind::BrokenPipe {
            eprintln!("error: standard output: {error}; the rest of it is lost");
        }
    }
}

/// Prints the text and ends the line.
pub fn print_line(text: &str) {
    print(&format!("{text}\n"));
}
