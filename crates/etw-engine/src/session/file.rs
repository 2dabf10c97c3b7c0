//! The file of a session.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use etw_etl::{Buffer, BufferOutcome, Clock, Error, FileMode, FileTime, Writer, WriterOptions};
use etw_types::Win32Error;
use etw_types::session::mode;

use super::consumer::Records;
use super::properties::Plan;

/// What became of the events of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) recorded: u64,
    pub(super) lost: u64,
    /// Events of an older buffer that gave way.
    pub(super) discarded: u64,
}

/// A file being written.
pub(super) struct FileSink {
    writer: Writer,
    buffer_size: u32,
    /// Events of each buffer in a circular file, the oldest first.
    circle: Option<VecDeque<u64>>,
}

/// What a file says about its session.
pub(super) struct FileFacts {
    pub(super) logger_id: u16,
    pub(super) processors: u16,
    pub(super) os_build: u32,
    pub(super) clock: Clock,
}

impl FileSink {
    pub(super) fn create(plan: &Plan, path: &Path, facts: &FileFacts) -> Result<Self, Win32Error> {
        if plan.has(mode::APPEND) && path.metadata().is_ok_and(|file| file.len() != 0) {
            // Our limit: appending would have to join two headers.
            return Err(Win32Error::NotSupported);
        }
        let max_bytes = plan.max_bytes();
        // A file holds its header and one buffer at least.
        let at_least = |bytes: u64| bytes.max(u64::from(plan.buffer_size()) * 2);
        let file_mode = match max_bytes.map(at_least) {
            Some(max_bytes) if plan.has(mode::CIRCULAR) => FileMode::Circular { max_bytes },
            Some(max_bytes) if plan.has(mode::NEWFILE) => FileMode::NewFile { max_bytes },
            max_bytes => FileMode::Sequential { max_bytes },
        };
        let kept = mode::SEQUENTIAL | mode::CIRCULAR | mode::NEWFILE | mode::USE_KBYTES_FOR_SIZE;
        let options = WriterOptions {
            session_name: plan.properties.name.clone(),
            buffer_size: plan.buffer_size(),
            processors: facts.processors,
            mode: file_mode,
            mode_bits: plan.properties.mode & !kept,
            logger_id: facts.logger_id,
            clock: facts.clock,
            boot_time: facts.clock.start,
            os_build: facts.os_build,
            // A clock of cycles counts 100 ns here: that is a processor of 10 MHz.
            cpu_mhz: 10,
            process_id: std::process::id(),
            ..WriterOptions::default()
        };
        let writer = Writer::create(path, options).map_err(|error| win32(&error))?;
        let circle = plan.has(mode::CIRCULAR).then(VecDeque::new);
        Ok(Self { writer, buffer_size: plan.buffer_size(), circle })
    }

    /// Writes the records of a buffer of the session.
    pub(super) fn write(&mut self, processor: u16, records: &[u8], stamp: u64) -> (Stored, Option<Error>) {
        let mut buffer = Buffer::new(self.buffer_size, processor);
        let mut stored = Stored::default();
        for record in Records(records) {
            match buffer.push_record(record, stamp) {
                Ok(()) => stored.recorded += 1,
                // Cannot be: the session's buffers have the size of the file's.
                Err(_) => stored.lost += 1,
            }
        }
        let events = stored.recorded;
        let outcome = self.writer.write_buffer(&mut buffer, stamp);
        let is_stored = matches!(outcome, Ok(BufferOutcome::Written | BufferOutcome::Overwrote));
        if !is_stored {
            stored.lost += std::mem::take(&mut stored.recorded);
        }
        if let Some(circle) = &mut self.circle {
            if matches!(outcome, Ok(BufferOutcome::Overwrote)) {
                stored.discarded = circle.pop_front().unwrap_or_default();
            }
            if is_stored {
                circle.push_back(events);
            }
        }
        (stored, outcome.err())
    }

    /// Counts events in the file's header that never reached a buffer.
    pub(super) fn add_lost(&mut self, events: u64) {
        if events != 0 {
            self.writer.add_lost(events, 0);
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.writer.summary().path.clone()
    }

    pub(super) fn close(self) -> Option<Error> {
        self.writer.close_at(FileTime::now()).err()
    }
}

/// The code for a failure of the writer. `StartTrace` documents those for a path in use and a full disk; the others are
/// our choice.
pub(super) fn win32(error: &Error) -> Win32Error {
    match error {
        Error::Io { source, .. } => match source.kind() {
            ErrorKind::PermissionDenied => Win32Error::AccessDenied,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Win32Error::DiskFull,
            _ => Win32Error::BadPathname,
        },
        _ => Win32Error::InvalidParameter,
    }
}
