//! Standard output of a recording that also writes a trace file: if the reader closes the output, the recording goes on.

use std::io::{self, ErrorKind, Write};

use super::file::about_stdout;

/// Writes until the reader closes the output. After that, output is dropped, or, without `goes_on`, writing fails.
#[derive(Debug)]
pub(crate) struct Unread<W> {
    out: W,
    is_closed: bool,
    goes_on: bool,
}

impl<W: Write> Unread<W> {
    /// With `goes_on`, a closed output is not an error.
    pub(crate) fn new(out: W, goes_on: bool) -> Self {
        Self { out, is_closed: false, goes_on }
    }

    fn unless_closed<T>(&mut self, dropped: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.is_closed {
            return Ok(dropped);
        }
        match write(&mut self.out) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe && self.goes_on => {
                command_line::stdout_failed(&error);
                self.is_closed = true;
                Ok(dropped)
            }
            result => result.map_err(|error| about_stdout(&error)),
        }
    }
}

impl<W: Write> Write for Unread<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), Write::flush)
    }
}
