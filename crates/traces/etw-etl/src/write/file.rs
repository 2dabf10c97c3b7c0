//! One file of a trace: the header buffer and the buffers after it.

use std::fs;
use std::path::PathBuf;

use super::buffer::Buffer;
use super::options::WriterOptions;
use super::storage::{Opener, Storage};
use crate::error::Error;
use crate::format::buffer::{self, FLAG_FLUSH_MARKER, FLAG_PROCESSOR_INDEX, TYPE_HEADER};
use crate::format::classic::{SYSTEM_SIZE, SystemHeader, TYPE_SYSTEM_64};
use crate::format::logfile::LogfileHeader;
use crate::time::FileTime;

/// Hook id of the second record, which files of current Windows versions have.
const HOOK_EXTENSION: u16 = 0x0050;
/// Size of that record in bytes.
const EXTENSION_SIZE: u16 = 0x50;
/// Offset of the flags in a buffer header.
const FLAGS_OFFSET: u64 = 0x34;

/// A file being written. Its header is updated after every buffer, so that nothing is missing if the process dies.
pub(super) struct TraceFile {
    storage: Box<dyn Storage>,
    pub(super) path: PathBuf,
    pub(super) header: LogfileHeader,
    prefix: SystemHeader,
    /// Length of the part that has been written successfully.
    pub(super) length: u64,
    last: Option<u64>,
    /// Whether the header on disk has the time of the end. Readers see by it that nothing follows.
    is_closed: bool,
    /// Length on disk.
    reserved: u64,
}

impl TraceFile {
    /// Creates the file with its first buffer.
    pub(super) fn create(opener: &mut Opener, path: PathBuf, options: &WriterOptions) -> Result<Self, Error> {
        let header = options.header(&path);
        let prefix = SystemHeader {
            version: 2,
            header_type: TYPE_SYSTEM_64,
            size: 0,
            hook_id: 0,
            thread_id: Some(options.thread_id),
            process_id: Some(options.process_id),
            timestamp: options.clock.start_stamp,
            ..SystemHeader::default()
        };
        let record = record(&prefix, &LogfileHeader { end_time: 0, ..header.clone() }).ok_or(NAMES_TOO_LONG)?;
        let mut first = Buffer::new(options.buffer_size, 0);
        let mut extension =
            SystemHeader { size: EXTENSION_SIZE, hook_id: HOOK_EXTENSION, ..prefix }.to_bytes().to_vec();
        extension.resize(EXTENSION_SIZE.into(), 0);
        first.push_record(&record, 0).and_then(|()| first.push_record(&extension, 0)).map_err(|_| NAMES_TOO_LONG)?;
        let mut storage = opener(&path).map_err(Error::io("create", &path))?;
        let bytes = first.finish(0, 0, options.logger_id, FLAG_FLUSH_MARKER, TYPE_HEADER);
        if let Err(error) = storage.write_at(0, bytes) {
            drop(storage);
            // Nothing would be in it. A device or a link is not ours to remove.
            if fs::symlink_metadata(&path).is_ok_and(|file| file.is_file()) {
                let _ = fs::remove_file(&path);
            }
            return Err(Error::io("write", &path)(error));
        }
        let length = u64::from(options.buffer_size);
        let mut file = Self { storage, path, header, prefix, length, last: None, is_closed: false, reserved: length };
        if let Some(most) = options.mode.max_bytes().filter(|_| options.preallocate) {
            file.reserve(most, options.buffer_size)?;
        }
        Ok(file)
    }

    /// Continues a file that consists of complete buffers and has this header.
    pub(super) fn go_on(
        storage: Box<dyn Storage>,
        path: PathBuf,
        prefix: SystemHeader,
        mut header: LogfileHeader,
        length: u64,
        options: &WriterOptions,
    ) -> Result<Self, Error> {
        header.buffers_written = u32::try_from(length / u64::from(options.buffer_size)).unwrap_or(u32::MAX);
        let mut file = Self { storage, path, header, prefix, length, last: None, is_closed: false, reserved: length };
        if let Some(most) = options.mode.max_bytes().filter(|_| options.preallocate) {
            file.reserve(most, options.buffer_size)?;
        }
        Ok(file)
    }

    /// Reserves disk space by writing zeros, which readers recognise as unwritten buffers. (Setting only the length would reserve
    /// nothing: file systems create holes.) If there is not enough space, the reserved part is released again.
    fn reserve(&mut self, most: u64, buffer_size: u32) -> Result<(), Error> {
        let zeros = vec![0; usize::try_from(buffer_size).unwrap_or_default()];
        // Reserve complete buffers only: nothing is ever written to the remainder.
        let end = most - most % u64::from(buffer_size);
        while self.reserved < end {
            if let Err(error) = self.storage.write_at(self.reserved, &zeros) {
                let _ = self.storage.truncate(self.length);
                return Err(Error::io("reserve", &self.path)(error));
            }
            self.reserved += u64::from(buffer_size);
        }
        Ok(())
    }

    /// Writes a buffer at an offset, then updates the header. If writing the buffer fails, the file keeps its previous length.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8], end_time: FileTime) -> Result<(), Error> {
        if let Err(error) = self.storage.write_at(offset, bytes) {
            // Best effort: readers also handle a partial buffer.
            let _ = self.storage.truncate(self.length);
            self.reserved = self.length;
            return Err(Error::io("write", &self.path)(error));
        }
        let end = offset + u64::try_from(bytes.len()).unwrap_or_default();
        if end > self.length {
            self.length = end;
            self.reserved = self.reserved.max(end);
            self.header.buffers_written = self.header.buffers_written.saturating_add(1);
        }
        self.last = Some(offset);
        self.header.end_time = self.header.end_time.max(end_time.0);
        self.write_header()
    }

    /// Writes the final header, marks the last buffer and waits for the disk.
    pub(super) fn finish(&mut self, end_time: Option<FileTime>) -> Result<(), Error> {
        if let Some(end_time) = end_time {
            self.header.end_time = end_time.0;
        }
        self.is_closed = true;
        self.write_header()?;
        if let Some(last) = self.last {
            let flags = FLAG_PROCESSOR_INDEX | FLAG_FLUSH_MARKER;
            self.storage.write_at(last + FLAGS_OFFSET, &flags.to_le_bytes()).map_err(Error::io("write", &self.path))?;
        }
        if self.reserved > self.length {
            self.storage.truncate(self.length).map_err(Error::io("write", &self.path))?;
            self.reserved = self.length;
        }
        self.storage.sync().map_err(Error::io("write", &self.path))
    }

    /// Writes the first record again, with the current counts.
    pub(super) fn write_header(&mut self) -> Result<(), Error> {
        let end_time = if self.is_closed { self.header.end_time } else { 0 };
        let header = LogfileHeader { end_time, ..self.header.clone() };
        let record = record(&self.prefix, &header).ok_or(NAMES_TOO_LONG)?;
        let offset = u64::try_from(buffer::SIZE).unwrap_or_default();
        self.storage.write_at(offset, &record).map_err(Error::io("write", &self.path))
    }
}

const NAMES_TOO_LONG: Error = Error::Options("the names of session and file do not fit into the first buffer");

/// Returns the first record. Its length does not change while the file is written.
fn record(prefix: &SystemHeader, header: &LogfileHeader) -> Option<Vec<u8>> {
    let body = header.to_bytes();
    let size = u16::try_from(SYSTEM_SIZE + body.len()).ok()?;
    Some([&SystemHeader { size, ..*prefix }.to_bytes()[..], &body].concat())
}
