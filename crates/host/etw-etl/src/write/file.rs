//! One file of a trace: the header buffer, and places for buffers behind it.

use std::path::PathBuf;

use super::buffer::Buffer;
use super::options::WriterOptions;
use super::storage::{Opener, Storage};
use crate::error::Error;
use crate::format::buffer::{self, FLAG_FLUSH_MARKER, FLAG_PROCESSOR_INDEX, TYPE_HEADER};
use crate::format::classic::{SYSTEM_SIZE, SystemHeader, TYPE_SYSTEM_64};
use crate::format::logfile::LogfileHeader;
use crate::time::FileTime;

/// Hook id of the second record that modern files have.
const HOOK_EXTENSION: u16 = 0x0050;
/// Bytes of that record.
const EXTENSION_SIZE: u16 = 0x50;
/// Offset of the flags in a buffer's header.
const FLAGS_OFFSET: u64 = 0x34;

/// A file being written. After every buffer its header says what is in it, so that nothing is missing when the process dies.
pub(super) struct TraceFile {
    storage: Box<dyn Storage>,
    pub(super) path: PathBuf,
    pub(super) header: LogfileHeader,
    prefix: SystemHeader,
    /// Length of what is known to be good.
    pub(super) length: u64,
    last: Option<u64>,
    /// Length on the disk.
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
        let record = record(&prefix, &header).ok_or(NAMES_TOO_LONG)?;
        let mut first = Buffer::new(options.buffer_size, 0);
        let mut extension =
            SystemHeader { size: EXTENSION_SIZE, hook_id: HOOK_EXTENSION, ..prefix }.to_bytes().to_vec();
        extension.resize(EXTENSION_SIZE.into(), 0);
        first.push_record(&record, 0).and_then(|()| first.push_record(&extension, 0)).map_err(|_| NAMES_TOO_LONG)?;
        let mut storage = opener(&path).map_err(Error::io("create", &path))?;
        let bytes = first.finish(0, 0, options.logger_id, FLAG_FLUSH_MARKER, TYPE_HEADER);
        storage.write_at(0, bytes).map_err(Error::io("write", &path))?;
        let length = u64::from(options.buffer_size);
        let mut file = Self { storage, path, header, prefix, length, last: None, reserved: length };
        if let Some(most) = options.mode.max_bytes().filter(|_| options.preallocate) {
            file.reserve(most, options.buffer_size)?;
        }
        Ok(file)
    }

    /// Goes on with a file of whole buffers that has this header.
    pub(super) fn go_on(
        storage: Box<dyn Storage>,
        path: PathBuf,
        prefix: SystemHeader,
        mut header: LogfileHeader,
        length: u64,
        options: &WriterOptions,
    ) -> Result<Self, Error> {
        header.buffers_written = u32::try_from(length / u64::from(options.buffer_size)).unwrap_or(u32::MAX);
        let mut file = Self { storage, path, header, prefix, length, last: None, reserved: length };
        if let Some(most) = options.mode.max_bytes().filter(|_| options.preallocate) {
            file.reserve(most, options.buffer_size)?;
        }
        Ok(file)
    }

    /// Takes the space of a file from the disk by writing zeros, which readers know as places for buffers. (A length alone
    /// would reserve nothing: file systems leave holes.) What does not fit is given back.
    fn reserve(&mut self, most: u64, buffer_size: u32) -> Result<(), Error> {
        let zeros = vec![0; usize::try_from(buffer_size).unwrap_or_default()];
        // Whole buffers only: nothing is ever written to the rest.
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

    /// Puts a buffer at an offset, then brings the header up to date. A failure leaves the file as long as it was.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8], end_time: FileTime) -> Result<(), Error> {
        if let Err(error) = self.storage.write_at(offset, bytes) {
            // Best effort: readers can do with half a buffer as well.
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

    /// Marks the last buffer, writes the header for the last time and waits for the disk.
    pub(super) fn finish(&mut self, end_time: Option<FileTime>) -> Result<(), Error> {
        if let Some(end_time) = end_time {
            self.header.end_time = end_time.0;
        }
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

    fn write_header(&mut self) -> Result<(), Error> {
        let record = record(&self.prefix, &self.header).ok_or(NAMES_TOO_LONG)?;
        let offset = u64::try_from(buffer::SIZE).unwrap_or_default();
        self.storage.write_at(offset, &record).map_err(Error::io("write", &self.path))
    }
}

const NAMES_TOO_LONG: Error = Error::Options("the names of session and file do not fit into the first buffer");

/// The first record: its length does not change while the file is written.
fn record(prefix: &SystemHeader, header: &LogfileHeader) -> Option<Vec<u8>> {
    let body = header.to_bytes();
    let size = u16::try_from(SYSTEM_SIZE + body.len()).ok()?;
    Some([&SystemHeader { size, ..*prefix }.to_bytes()[..], &body].concat())
}
