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

/// How much space is allocated ahead of the data at most.
const AHEAD: u64 = 8 << 20;

/// A file of the operating system. Space is allocated ahead of the data: a buffer that is written to allocated space takes a sixth
/// less processor time. The length of the file is that of the data.
pub(super) struct SystemFile {
    file: File,
    /// Length of the data.
    length: u64,
    /// Where the allocated space ends, or `u64::MAX` if space cannot be allocated.
    allocated: u64,
}

impl SystemFile {
    /// Takes a file with data of this length.
    pub(super) const fn new(file: File, length: u64) -> Self {
        Self { file, length, allocated: length }
    }

    /// Allocates space up to `end` and ahead of it. If that fails, the file is written without it, and a write reports a full disk.
    fn allocate(&mut self, end: u64) {
        let to = end + end.min(AHEAD);
        self.allocated = if allocate(&self.file, self.allocated, to).is_ok() {
            to
        } else {
            self.release();
            u64::MAX
        };
    }

    /// Releases allocated space behind the data.
    fn release(&self) {
        // Devices have no length to set.
        let _ = self.file.set_len(self.length);
    }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, from, to - from)?)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Storage for SystemFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset + u64::try_from(bytes.len()).unwrap_or_default();
        if end > self.allocated {
            self.allocate(end);
        }
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(bytes)?;
        self.length = self.length.max(end);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.length = length;
        if self.allocated != u64::MAX {
            self.allocated = length;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.release();
        self.file.sync_all()
    }
}

impl Drop for SystemFile {
    /// Closing the file is not enough: a process that another thread is just starting has a copy of the descriptor, and
    /// would hold the lock until it runs its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
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
        Ok(Box::new(SystemFile::new(file, 0)) as Box<dyn Storage>)
    })
}

/// Locks the file against other writers until it is closed. Does nothing if the system does not support locks.
pub(super) fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another recording writes to it")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Storage, SystemFile, lock};
    use std::fs::File;

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("locked");
        let file = File::create(&path).unwrap();
        lock(&file).unwrap();
        let _copy = file.try_clone().unwrap();
        lock(&File::create(&path).unwrap()).unwrap_err();
        drop(SystemFile::new(file, 0));
        lock(&File::create(&path).unwrap()).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn space_is_allocated_ahead_of_the_data_and_released_at_the_end() {
        use super::AHEAD;
        use std::fs;
        use std::os::unix::fs::MetadataExt;

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ahead");
        let space = || fs::metadata(&path).unwrap().blocks() * 512;
        let mut file = SystemFile::new(File::create(&path).unwrap(), 0);
        let data = vec![7; 1 << 20];
        file.write_at(0, &data).unwrap();
        let can_allocate = file.allocated != u64::MAX;
        assert!(space() >= if can_allocate { 2 << 20 } else { 0 }, "{}", space());
        assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20, "the length is that of the data");
        file.write_at(1 << 20, &data).unwrap();
        file.write_at(2 << 20, &data).unwrap();
        file.truncate(1 << 20).unwrap();
        file.write_at(1 << 20, &data).unwrap();
        file.write_at(0, b"again").unwrap();
        file.sync().unwrap();
        assert!(space() < (2 << 20) + AHEAD / 8, "{}", space());
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 2 << 20);
        assert_eq!(bytes.first_chunk(), Some(b"again"));
        assert_eq!(bytes.last(), Some(&7));
    }

    #[test]
    fn a_device_is_written_without_allocated_space() {
        let Ok(device) = File::options().write(true).open("/dev/null") else {
            return;
        };
        let mut file = SystemFile::new(device, 0);
        file.write_at(0, b"abc").unwrap();
        file.sync().unwrap_err();
        assert_eq!(file.allocated, u64::MAX);
    }
}
