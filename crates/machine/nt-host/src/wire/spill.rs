//! The events of a run in a file that both processes have open, so that a trace of any length needs neither messages
//! nor memory.
//!
//! The process that runs the driver appends records and reports where the file ends; the other process reads up to
//! there. The file has no name, so it disappears when both processes have closed it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};

/// The size of the header before each record: the session and the length.
const HEAD: usize = 8;
/// The maximum length of a record, which has a 16-bit length.
const LONGEST: u32 = 1 << 16;

/// Creates the file.
#[expect(clippy::disallowed_methods, reason = "a new file without a name")]
pub(crate) fn create() -> io::Result<File> {
    let dir = std::env::temp_dir();
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let file = options.clone().custom_flags(libc::O_TMPFILE).open(&dir).or_else(|_| {
        // Not every file system supports files without a name.
        let path = dir.join(format!("nt-host-{}-{:?}", std::process::id(), std::thread::current().id()));
        let file = options.create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    });
    file.map_err(|error: io::Error| match error.raw_os_error() {
        Some(libc::EMFILE) => error,
        _ => io::Error::new(error.kind(), format!("no temporary file in {} (TMPDIR): {error}", dir.display())),
    })
}

/// The writing end of the file.
#[derive(Debug)]
pub(crate) struct Spill {
    file: File,
    end: u64,
}

impl Spill {
    pub(crate) const fn new(file: File) -> Self {
        Self { file, end: 0 }
    }

    /// Returns where the file ends.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Appends a record of a session. If it fails, nothing is appended.
    pub(crate) fn append(&mut self, session: u32, record: &[u8]) -> io::Result<()> {
        let length = u32::try_from(record.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        let whole = [&session.to_le_bytes()[..], &length.to_le_bytes(), record].concat();
        self.file.write_all_at(&whole, self.end)?;
        self.end += whole.len() as u64;
        Ok(())
    }
}

/// Calls `found` for each record of a session up to `end`.
pub(crate) fn read(file: &File, end: u64, session: u32, mut found: impl FnMut(&[u8])) -> io::Result<()> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the driver's process left a damaged trace");
    let mut at = 0;
    let mut record = Vec::new();
    while at < end {
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, at)?;
        let [a, b, c, d, rest @ ..] = head;
        let of = u32::from_le_bytes([a, b, c, d]);
        let length = u32::from_le_bytes(rest);
        if length > LONGEST {
            return Err(damaged());
        }
        at += HEAD as u64;
        if of == session {
            record.resize(length as usize, 0);
            file.read_exact_at(&mut record, at)?;
            found(&record);
        }
        at += u64::from(length);
    }
    if at == end { Ok(()) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use super::{Spill, create, read};

    #[test]
    fn records_come_back_by_session_and_damage_is_an_error() {
        let file = create().expect("a file");
        let mut spill = Spill::new(file.try_clone().expect("a second handle"));
        for (session, record) in [(0, &b"one"[..]), (1, b"two"), (0, b""), (0, b"three")] {
            spill.append(session, record).expect("room");
        }
        let events = |session, end| {
            let mut records = Vec::new();
            read(&file, end, session, |record| records.push(record.to_vec())).map(|()| records)
        };
        assert_eq!(events(0, spill.end()).expect("whole"), [b"one".to_vec(), Vec::new(), b"three".to_vec()]);
        assert_eq!(events(1, spill.end()).expect("whole"), [b"two".to_vec()]);
        assert!(events(0, spill.end() - 1).is_err());
        assert!(events(0, spill.end() + 1).is_err());
    }
}
