//! A file that is opened to append to it, as often as needed. A folder has a file for each kind of event, often more than a
//! process may have open.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is written in several steps, and closed between them.
#[derive(Debug)]
pub(super) struct Append {
    path: PathBuf,
    file: Option<File>,
}

impl Append {
    /// Creates the file, empty.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: Some(File::create(path)?) })
    }

    /// Closes the file. The next write opens it again.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    fn open(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            closed => Ok(closed.insert(File::options().append(true).open(&self.path)?)),
        }
    }
}

impl Write for Append {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // There is nothing to flush: a `File` has no buffer.
        Ok(())
    }
}
