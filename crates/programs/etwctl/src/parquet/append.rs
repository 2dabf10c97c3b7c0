//! A file that is written in several steps and closed between them. A folder has a file for each kind of event, often more than a
//! process may have open.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Number of bytes that wait for the file at most.
const WAITING: usize = 1 << 20;

/// A file that is created with its first bytes, and open only while [`save`](Self::save) writes to it: most files are written once,
/// and opening a file takes longer than writing a small one.
#[derive(Debug)]
pub(super) struct Append {
    path: PathBuf,
    is_there: bool,
    waiting: Vec<u8>,
}

impl Append {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), is_there: false, waiting: Vec::new() }
    }

    /// Writes the bytes that wait for the file.
    #[expect(clippy::disallowed_methods, reason = "the file is in a new folder of this program")]
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut options = File::options();
        if self.is_there {
            options.append(true)
        } else {
            options.write(true).create(true).truncate(true)
        };
        options.open(&self.path)?.write_all(&self.waiting)?;
        self.is_there = true;
        self.waiting = Vec::new();
        Ok(())
    }
}

impl Write for Append {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.waiting.len() + bytes.len() > WAITING {
            self.save()?;
        }
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // `save` writes the bytes when the rows are complete.
        Ok(())
    }
}
