//! Where the bytes of a file go: real files, or a substitute in tests.

use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A file that is written at offsets.
pub(crate) trait Storage: Send {
    /// Writes all bytes at an offset, or fails.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Waits until the written data is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Creates files.
pub(crate) type Opener = Box<dyn FnMut(&Path) -> io::Result<Box<dyn Storage>> + Send>;

/// Returns an opener for real files. It truncates an existing file, unless another process is recording to it.
pub(crate) fn system() -> Opener {
    Box::new(|path| {
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        lock(&file)?;
        // Devices cannot be truncated.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        Ok(Box::new(file) as Box<dyn Storage>)
    })
}

/// Locks the file against other writers until it is closed. Does nothing if the system does not support locks.
pub(super) fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another recording writes to it")),
        _ => Ok(()),
    }
}
