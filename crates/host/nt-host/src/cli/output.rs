//! Standard output, which may be closed early (`| head`): what nobody reads is dropped, and the run goes on.

use std::io::{self, ErrorKind, Write as _};

/// Prints the text as it is. Output that cannot be written for another reason than a closed pipe is reported.
pub fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        eprintln!("error: standard output: {error}");
    }
}
