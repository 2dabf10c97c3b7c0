//! The outlet of a session's buffers: to its file and to its consumers.
//!
//! It is behind one lock, which the session's thread, flushes and the end of the session take. Writers never take it.

use std::path::PathBuf;
use std::sync::Arc;

use etw_etl::format::buffer::SIZE;
use etw_etl::format::stack::{HOOK_CREATE, HOOK_RUNDOWN};
use etw_types::Win32Error;
use etw_types::session::mode;

use super::consumer::{Queue, RealTimeBuffer};
use super::file::FileSink;
use super::stacks::Stacks;
use crate::buffers::{Pool, Read};

/// What the outlet counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) recorded: u64,
    pub(super) lost: u64,
    pub(super) discarded: u64,
    pub(super) buffers_written: u64,
    pub(super) log_buffers_lost: u64,
    pub(super) real_time_buffers_lost: u64,
}

/// See the [module](self).
pub(crate) struct Outlet {
    file: Option<FileSink>,
    /// The path of the file after the session has stopped.
    last_path: Option<PathBuf>,
    consumers: Vec<Arc<Queue>>,
    mode: u32,
    /// The buffer that is being written: room for its header in a file, followed by its records.
    bytes: Vec<u8>,
    pub(super) counts: Counts,
    /// Events lost by writers that the file's header already counts.
    reported: u64,
    file_error: Option<String>,
    finished: bool,
}

impl Outlet {
    pub(super) fn new(file: Option<FileSink>, mode: u32) -> Self {
        Self {
            last_path: file.as_ref().map(FileSink::path),
            file,
            consumers: Vec::new(),
            mode,
            bytes: Vec::new(),
            counts: Counts::default(),
            reported: 0,
            file_error: None,
            finished: false,
        }
    }

    pub(super) const fn is_finished(&self) -> bool {
        self.finished
    }

    pub(super) const fn mode(&self) -> u32 {
        self.mode
    }

    pub(super) const fn set_mode(&mut self, mode: u32) {
        self.mode = mode;
    }

    pub(super) fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(FileSink::path).or_else(|| self.last_path.clone())
    }

    pub(super) fn file_error(&self) -> Option<String> {
        self.file_error.clone()
    }

    pub(super) fn connect(&mut self, queue: Arc<Queue>) {
        self.consumers.push(queue);
    }

    /// Writes out full buffers as long as there is a place for them. With `force`, there always is.
    pub(super) fn drain(&mut self, pool: &Pool, stacks: &Stacks, stamp: u64, force: bool) {
        self.consumers.retain(|queue| !queue.is_closed());
        while force || self.has_place() {
            let Some(index) = pool.take_full() else {
                return;
            };
            let read = read(pool, index, &mut self.bytes);
            // The bytes are copied, so writers can reuse the buffer while this copy is written.
            pool.release(index);
            self.put(read, stamp, force);
            if self.file.as_mut().is_some_and(FileSink::has_begun_another) {
                self.define(stacks, HOOK_CREATE, stamp);
            }
        }
    }

    /// Without a file, a buffer waits until there is a consumer and every consumer has room.
    fn has_place(&self) -> bool {
        self.file.is_some() || (!self.consumers.is_empty() && self.consumers.iter().all(|queue| queue.has_room()))
    }

    fn put(&mut self, read: Read, stamp: u64, force: bool) {
        let counts = &mut self.counts;
        let events = read.events;
        let delivered = if self.consumers.is_empty() {
            false
        } else {
            let records = self.bytes.get(SIZE..SIZE + read.bytes).unwrap_or_default();
            let buffer = RealTimeBuffer::new(read.stream, events, Arc::from(records));
            let missed = self.consumers.iter().filter(|queue| !queue.push(&buffer, force)).count();
            counts.real_time_buffers_lost += missed as u64;
            missed < self.consumers.len()
        };
        match &mut self.file {
            Some(file) => {
                let (stored, error) = file.write(read, &mut self.bytes, stamp);
                // Overwritten events have already been counted as recorded.
                counts.recorded = (counts.recorded + stored.recorded).saturating_sub(stored.discarded);
                counts.discarded += stored.discarded;
                counts.lost += stored.lost;
                let written = u64::from(stored.lost == 0);
                counts.buffers_written += written;
                counts.log_buffers_lost += 1 - written;
                self.file_error = error.map(|error| error.to_string()).or_else(|| self.file_error.take());
            }
            None if delivered => {
                counts.recorded += u64::from(events);
                counts.buffers_written += 1;
            }
            // The session only keeps its events in memory, and it is ending.
            None if self.mode & mode::BUFFERING != 0 => counts.discarded += u64::from(events),
            None => {
                counts.lost += u64::from(events);
                counts.real_time_buffers_lost += 1;
            }
        }
    }

    /// Adds the events that writers lost to the file's header.
    pub(super) fn report_lost(&mut self, lost: u64) {
        if let Some(file) = &mut self.file {
            file.add_lost(lost.saturating_sub(self.reported));
            self.reported = self.reported.max(lost);
        }
    }

    /// Defines the stack keys in a file that has just begun (`HOOK_CREATE`: for the events that follow), or that may have
    /// overwritten the definitions (`HOOK_RUNDOWN`: for the events before).
    pub(super) fn define(&mut self, stacks: &Stacks, hook: u16, stamp: u64) {
        if let Some(file) = &mut self.file {
            let discarded = file.define(&stacks.all(), hook, stamp);
            self.counts.recorded = self.counts.recorded.saturating_sub(discarded);
            self.counts.discarded += discarded;
        }
    }

    /// Continues with the next numbered file.
    pub(super) fn next_file(&mut self, stacks: &Stacks, stamp: u64) -> Result<(), Win32Error> {
        let file = self.file.as_mut().ok_or(Win32Error::InvalidParameter)?;
        let result = file.advance();
        match &result {
            Ok(()) => self.define(stacks, HOOK_CREATE, stamp),
            Err(error) => self.file_error = Some(error.to_string()),
        }
        result.map_err(|error| super::file::win32(&error))
    }

    /// Continues with another file, and closes the old one.
    pub(super) fn replace_file(&mut self, file: FileSink) -> Result<(), Win32Error> {
        let old = self.file.replace(file);
        match old.and_then(FileSink::close) {
            Some(error) => {
                self.file_error = Some(error.to_string());
                Err(super::file::win32(&error))
            }
            None => Ok(()),
        }
    }

    /// Writes a copy of everything that a session keeps in memory.
    pub(super) fn snapshot(pool: &Pool, stacks: &Stacks, file: &mut FileSink, stamp: u64) -> Option<etw_etl::Error> {
        let mut held = Vec::new();
        let mut failed = None;
        let mut bytes = Vec::new();
        while let Some(index) = pool.take_full() {
            let read = read(pool, index, &mut bytes);
            failed = failed.or(file.write(read, &mut bytes, stamp).1);
            held.push(index);
        }
        file.define(&stacks.all(), HOOK_RUNDOWN, stamp);
        for index in held {
            pool.put_back(index);
        }
        failed
    }

    /// Closes the file.
    pub(super) fn close_file(&mut self) {
        if let Some(file) = self.file.take() {
            self.last_path = Some(file.path());
            if let Some(error) = file.close() {
                self.file_error = Some(error.to_string());
            }
        }
    }

    /// Ends the session: closes the file and notifies the consumers.
    pub(super) fn finish(&mut self, stacks: &Stacks, stamp: u64) {
        self.finished = true;
        if self.file.as_ref().is_some_and(FileSink::is_circular) {
            // The definitions in the file may have been overwritten.
            self.define(stacks, HOOK_RUNDOWN, stamp);
        }
        self.close_file();
        for queue in self.consumers.drain(..) {
            queue.end();
        }
    }
}

/// Copies a buffer to `bytes`, after room for a header. `bytes` gets the size of a whole buffer.
fn read(pool: &Pool, index: usize, bytes: &mut Vec<u8>) -> Read {
    bytes.resize(SIZE + pool.room(), 0);
    pool.read(index, bytes.get_mut(SIZE..).unwrap_or_default())
}
