//! The file of a session.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use etw_etl::format::buffer::SIZE;
use etw_etl::format::stack::push_definition;
use etw_etl::{Buffer, BufferOutcome, Clock, Error, FileMode, FileTime, Writer, WriterOptions};
use etw_types::Win32Error;
use etw_types::session::mode;

use super::properties::Plan;
use crate::buffers::Read;

/// What happened to the events of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) recorded: u64,
    pub(super) lost: u64,
    /// Events of an older buffer that was overwritten.
    pub(super) discarded: u64,
}

/// A file being written.
pub(super) struct FileSink {
    writer: Writer,
    buffer_size: u32,
    /// The number of events of each buffer in a circular file, oldest first.
    circle: Option<VecDeque<u64>>,
    /// The number of files when the writer was last checked.
    files: u32,
}

/// What a file records about its session.
pub(super) struct FileFacts {
    pub(super) logger_id: u16,
    pub(super) processors: u16,
    pub(super) os_build: u32,
    pub(super) clock: Clock,
}

impl FileSink {
    pub(super) fn create(plan: &Plan, path: &Path, facts: &FileFacts) -> Result<Self, Win32Error> {
        let max_bytes = plan.max_bytes();
        // A file holds at least its header and one buffer.
        let at_least = |bytes: u64| bytes.max(u64::from(plan.buffer_size()) * 2);
        let file_mode = match max_bytes.map(at_least) {
            Some(max_bytes) if plan.has(mode::CIRCULAR) => FileMode::Circular { max_bytes },
            Some(max_bytes) if plan.has(mode::NEWFILE) => FileMode::NewFile { max_bytes },
            max_bytes => FileMode::Sequential { max_bytes },
        };
        let options = WriterOptions {
            session_name: plan.properties.name.clone(),
            buffer_size: plan.buffer_size(),
            processors: facts.processors,
            mode: file_mode,
            preallocate: plan.has(mode::PREALLOCATE),
            // The writer chooses the unit of the maximum size.
            mode_bits: plan.properties.mode & !mode::USE_KBYTES_FOR_SIZE,
            logger_id: facts.logger_id,
            clock: facts.clock,
            boot_time: facts.clock.start,
            os_build: facts.os_build,
            // The cycle clock counts 100 ns units here, which corresponds to a 10 MHz processor.
            cpu_mhz: 10,
            process_id: std::process::id(),
            ..WriterOptions::default()
        };
        let writer = if plan.has(mode::APPEND) { Writer::append(path, options) } else { Writer::create(path, options) };
        let writer = writer.map_err(|error| win32(&error))?;
        let circle = plan.has(mode::CIRCULAR).then(VecDeque::new);
        Ok(Self { writer, buffer_size: plan.buffer_size(), circle, files: 1 })
    }

    /// Writes a buffer of the session: room for a header, followed by the records. `bytes` can be reused afterwards.
    pub(super) fn write(&mut self, read: Read, bytes: &mut Vec<u8>, stamp: u64) -> (Stored, Option<Error>) {
        let events_here = u64::from(read.events);
        let mut stored = Stored { recorded: events_here, ..Stored::default() };
        let taken = std::mem::take(bytes);
        let used = SIZE + read.bytes;
        let Ok(mut buffer) = Buffer::from_records(self.buffer_size, read.stream, read.events, taken, used) else {
            // Cannot happen: the session's buffers have the size of the file's buffers.
            return (Stored { lost: events_here, ..Stored::default() }, None);
        };
        let outcome = self.writer.write_buffer(&mut buffer, stamp);
        *bytes = buffer.into_bytes();
        let is_stored = matches!(outcome, Ok(BufferOutcome::Written | BufferOutcome::Overwrote));
        if !is_stored {
            stored.lost += std::mem::take(&mut stored.recorded);
        }
        if let Some(circle) = &mut self.circle {
            if matches!(outcome, Ok(BufferOutcome::Overwrote)) {
                stored.discarded = circle.pop_front().unwrap_or_default();
            }
            if is_stored {
                circle.push_back(events_here);
            }
        }
        (stored, outcome.err())
    }

    /// Writes the definitions of stack keys again, as records with this hook id. Returns the number of events that were
    /// overwritten for this.
    /// Definitions that do not fit into the file are dropped, because the events are more useful.
    pub(super) fn define(&mut self, stacks: &[(u64, Vec<u64>)], hook: u16, stamp: u64) -> u64 {
        let mut discarded = 0;
        let size = usize::try_from(self.buffer_size).unwrap_or_default();
        let mut bytes = vec![0; SIZE];
        for (key, frames) in stacks {
            let used = bytes.len();
            push_definition(&mut bytes, hook, stamp, *key, frames);
            if bytes.len() > size {
                let record = bytes.split_off(used);
                discarded += self.put(&mut bytes, stamp);
                bytes.extend_from_slice(&record);
            }
        }
        discarded += self.put(&mut bytes, stamp);
        self.files = self.writer.summary().files;
        discarded
    }

    /// Writes records that are not events, and resets `bytes` to room for a header. Returns the number of overwritten
    /// events.
    fn put(&mut self, bytes: &mut Vec<u8>, stamp: u64) -> u64 {
        let read = Read { bytes: bytes.len() - SIZE.min(bytes.len()), ..Read::default() };
        let (stored, _) = self.write(read, bytes, stamp);
        bytes.clear();
        bytes.resize(SIZE, 0);
        stored.discarded
    }

    pub(super) const fn is_circular(&self) -> bool {
        self.circle.is_some()
    }

    /// Whether the writer began another numbered file since the last call.
    pub(super) fn has_begun_another(&mut self) -> bool {
        let files = self.writer.summary().files;
        std::mem::replace(&mut self.files, files) != files
    }

    /// Continues with the next numbered file.
    pub(super) fn advance(&mut self) -> Result<(), Error> {
        self.writer.advance()
    }

    /// Adds events that never reached a buffer to the lost events in the file's header.
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

/// Returns the error code for a failure of the writer. `StartTrace` documents the codes for a path in use and a full
/// disk; the others are our choice.
pub(super) fn win32(error: &Error) -> Win32Error {
    match error {
        Error::Io { source, .. } => match source.kind() {
            ErrorKind::PermissionDenied => Win32Error::AccessDenied,
            // The file is created, so what was not found is its folder.
            ErrorKind::NotFound | ErrorKind::NotADirectory => Win32Error::PathNotFound,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Win32Error::DiskFull,
            _ => Win32Error::BadPathname,
        },
        _ => Win32Error::InvalidParameter,
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::{Error, win32};
    use etw_types::Win32Error;

    #[test]
    fn each_failure_of_a_file_has_its_code() {
        for (kind, code) in [
            (ErrorKind::PermissionDenied, Win32Error::AccessDenied),
            (ErrorKind::StorageFull, Win32Error::DiskFull),
            (ErrorKind::QuotaExceeded, Win32Error::DiskFull),
            (ErrorKind::FileTooLarge, Win32Error::DiskFull),
            (ErrorKind::NotFound, Win32Error::PathNotFound),
            (ErrorKind::NotADirectory, Win32Error::PathNotFound),
            (ErrorKind::IsADirectory, Win32Error::BadPathname),
        ] {
            let error = Error::Io { action: "write", path: "f.etl".into(), source: kind.into() };
            assert_eq!(win32(&error), code, "{kind}");
        }
        assert_eq!(win32(&Error::Options("contradictory")), Win32Error::InvalidParameter);
    }
}
