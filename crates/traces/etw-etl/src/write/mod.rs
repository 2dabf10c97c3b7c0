//! Writing a trace: one buffer per processor, written out when it is full.
//!
//! The memory is one buffer per processor. Every buffer that was written stays decodable, whatever happens afterwards: the header
//! of the file is updated after each buffer, written or lost, and a failed write is undone. Nothing here depends on providers or sessions.

mod append;
pub(crate) mod buffer;
pub(crate) mod event;
mod file;
pub(crate) mod options;
pub(crate) mod outcome;
mod storage;

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::time::FileTime;
use buffer::Buffer;
use event::{EventData, MAX_RECORD};
use file::TraceFile;
use options::{FileMode, WriterOptions};
use outcome::{BufferOutcome, Summary};
use storage::Opener;

/// Writes a trace.
///
/// ```
/// use etw_etl::{Buffer, BufferOutcome, Clock, ClockKind, EventData, FileMode, FileTime, Reader, Summary, Writer, WriterOptions};
///
/// let path = std::env::temp_dir().join(format!("etw-etl-writer-{}.etl", std::process::id()));
/// // Only files of system time can be continued.
/// let clock = Clock { kind: ClockKind::SystemTime, ..WriterOptions::default().clock };
/// let mode = FileMode::Sequential { max_bytes: None };
/// let options = || WriterOptions { processors: 2, mode, clock, ..WriterOptions::default() };
/// let mut writer = Writer::create(&path, options())?;
/// let event = EventData { payload: b"abc", ..EventData::default() };
/// writer.write(0, &event)?;
/// let mut record = vec![0; event.encoded_len()];
/// event.encode(&mut record).ok_or("no room")?;
/// writer.write_record(1, &record, 1)?;
///
/// // Events wait in a buffer of their processor.
/// assert_eq!(writer.summary().buffers, 0);
/// assert_eq!(writer.flush_cpu(0)?, BufferOutcome::Written);
/// assert_eq!(writer.flush_cpu(0)?, BufferOutcome::Empty);
/// writer.flush()?;
///
/// // Or in one of the caller's.
/// let mut own = Buffer::new(options().buffer_size, 1);
/// own.push(&event).map_err(|_| "no room")?;
/// assert_eq!(writer.write_buffer(&mut own, 2)?, BufferOutcome::Written);
/// writer.add_lost(5, 0);
/// let Summary { events, events_lost, .. } = writer.close_at(FileTime::now())?;
/// assert_eq!((events, events_lost), (3, 5));
///
/// // The same file goes on; without `%d` in its path there is no next one to advance to.
/// let mut writer = Writer::append(&path, options())?;
/// assert!(writer.advance().is_err());
/// writer.close()?;
/// assert_eq!(Reader::open(&path)?.filter(|event| event.payload() == b"abc").count(), 3);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    options: WriterOptions,
    pattern: PathBuf,
    opener: Opener,
    file: TraceFile,
    buffers: Vec<Buffer>,
    /// Buffers written to the current file, including overwritten ones.
    in_file: u64,
    sequence: u64,
    summary: Summary,
    closed: bool,
}

impl Writer {
    /// Creates the file (the first one if there will be several) and writes its header.
    ///
    /// # Errors
    ///
    /// [`Error::Options`], or an error of the operating system.
    pub fn create(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self, Error> {
        Self::with_opener(path.as_ref(), options, storage::system())
    }

    /// Appends to an existing sequential file. Creates the file if it does not exist or is empty.
    ///
    /// # Errors
    ///
    /// [`Error::Options`] if the buffer size, the processors or the clock of the file differ from the options, or if the clock is
    /// not system time; [`Error::NotATrace`]; or an error of the operating system.
    pub fn append(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        if path.metadata().map_or(0, |file| file.len()) == 0 {
            return Self::create(path, options);
        }
        options.check(path)?;
        if !matches!(options.mode, FileMode::Sequential { .. }) {
            return Err(Error::Options("only a sequential file can be appended to"));
        }
        let file = append::open(path, &options)?;
        let written = u64::from(file.header.buffers_written);
        let events_lost = file.header.events_lost.into();
        Ok(Self {
            options,
            pattern: path.to_owned(),
            opener: storage::system(),
            summary: Summary { path: path.to_owned(), files: 1, events: 0, events_lost, buffers: 0 },
            file,
            buffers: Vec::new(),
            in_file: written.saturating_sub(1),
            sequence: written.saturating_sub(1),
            closed: false,
        })
    }

    fn with_opener(pattern: &Path, options: WriterOptions, mut opener: Opener) -> Result<Self, Error> {
        options.check(pattern)?;
        let path = options.path(pattern, 1);
        let file = TraceFile::create(&mut opener, path.clone(), &options)?;
        let summary = Summary { path, files: 1, events: 0, events_lost: 0, buffers: 0 };
        let pattern = pattern.to_owned();
        Ok(Self {
            options,
            pattern,
            opener,
            file,
            buffers: Vec::new(),
            in_file: 0,
            sequence: 0,
            summary,
            closed: false,
        })
    }

    /// Adds an event to the buffer of a processor. If the buffer is full, it is written out first.
    ///
    /// # Errors
    ///
    /// [`Error::EventTooLarge`] if the event does not fit into a buffer; nothing has changed then. Otherwise the full buffer
    /// could not be written: its events are counted as lost, and the new event is still added.
    pub fn write(&mut self, cpu: u16, event: &EventData<'_>) -> Result<(), Error> {
        self.take(cpu, event.encoded_len(), |buffer| buffer.push(event))
    }

    /// Adds a record from another trace, such as [`Event::record`](crate::Event::record), with its time stamp in the clock of
    /// this trace.
    ///
    /// # Errors
    ///
    /// See [`Writer::write`].
    pub fn write_record(&mut self, cpu: u16, record: &[u8], stamp: u64) -> Result<(), Error> {
        self.take(cpu, record.len(), |buffer| buffer.push_record(record, stamp))
    }

    fn take(
        &mut self,
        cpu: u16,
        size: usize,
        push: impl Fn(&mut Buffer) -> Result<(), buffer::Full>,
    ) -> Result<(), Error> {
        let limit = self.options.room().min(MAX_RECORD);
        if size > limit {
            return Err(Error::EventTooLarge { size, limit });
        }
        let number = usize::from(cpu);
        let from = self.buffers.len();
        let buffer_size = self.options.buffer_size;
        self.buffers.extend((from..=number).map(|index| Buffer::new(buffer_size, index.try_into().unwrap_or(cpu))));
        let mut result = Ok(());
        let push = |writer: &mut Self| writer.buffers.get_mut(number).ok_or(buffer::Full).and_then(&push);
        if push(self).is_err() {
            result = self.flush_cpu(cpu).map(drop);
            // The buffer is empty now, and the event is not larger than an empty buffer.
            let _ = push(self);
        }
        result
    }

    /// Writes out the buffer of one processor.
    ///
    /// # Errors
    ///
    /// An error of the operating system. The events of the buffer are counted as lost.
    pub fn flush_cpu(&mut self, cpu: u16) -> Result<BufferOutcome, Error> {
        let Some(place) = self.buffers.get_mut(usize::from(cpu)) else {
            return Ok(BufferOutcome::Empty);
        };
        let mut buffer = std::mem::replace(place, Buffer::new(self.options.buffer_size, cpu));
        let stamp = buffer.last_stamp();
        let result = self.write_buffer(&mut buffer, stamp);
        if let Some(place) = self.buffers.get_mut(usize::from(cpu)) {
            *place = buffer;
        }
        result
    }

    /// Writes out the buffers of all processors.
    ///
    /// # Errors
    ///
    /// Returns the first error. The other buffers are written nevertheless.
    pub fn flush(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for cpu in (0..=u16::MAX).take(self.buffers.len()) {
            result = result.and(self.flush_cpu(cpu).map(drop));
        }
        result
    }

    /// Writes a buffer that the caller filled, with its flush time stamp, and clears it.
    ///
    /// # Errors
    ///
    /// [`Error::Options`] if its size differs from that of the file's buffers, or an error of the operating system. The events
    /// are then counted as lost.
    pub fn write_buffer(&mut self, buffer: &mut Buffer, stamp: u64) -> Result<BufferOutcome, Error> {
        if buffer.is_empty() {
            return Ok(BufferOutcome::Empty);
        }
        let events = u64::from(buffer.events());
        let result = self.place_buffer(buffer, stamp);
        buffer.clear();
        match result {
            Ok(BufferOutcome::Written | BufferOutcome::Overwrote) => {
                self.summary.events += events;
                self.summary.buffers += 1;
            }
            // Records that only describe other events are not counted as lost.
            _ if events == 0 => {}
            _ => {
                self.add_lost(events, 1);
                // Best effort: the header shows the loss even if the process dies before the file is finished.
                let _ = self.file.write_header();
            }
        }
        result
    }

    fn place_buffer(&mut self, buffer: &mut Buffer, stamp: u64) -> Result<BufferOutcome, Error> {
        let cpus = u32::from(buffer.cpu()) + 1;
        let sequence = self.sequence + 1;
        let bytes = buffer.finish(stamp, sequence, self.options.logger_id, 0, 0);
        let size = u64::from(self.options.buffer_size);
        if u64::try_from(bytes.len()) != Ok(size) {
            return Err(Error::Options("the buffer has another size than those of the file"));
        }
        let is_full = self.options.mode.max_bytes().is_some_and(|most| self.file.length + size > most);
        let mut offset = self.file.length;
        let mut outcome = BufferOutcome::Written;
        match self.options.mode {
            FileMode::Sequential { .. } if is_full => return Ok(BufferOutcome::FileFull),
            FileMode::NewFile { .. } if is_full => self.next_file()?,
            FileMode::Circular { max_bytes } if is_full => {
                // The first buffer holds the header and is never overwritten.
                let places = max_bytes / size - 1;
                offset = size * (1 + self.in_file % places);
                outcome = BufferOutcome::Overwrote;
            }
            _ => {}
        }
        if matches!(self.options.mode, FileMode::NewFile { .. }) {
            offset = self.file.length;
        }
        self.file.header.processors = self.file.header.processors.max(cpus);
        self.file.put(offset, bytes, self.options.clock.time(stamp))?;
        self.sequence = sequence;
        self.in_file += 1;
        Ok(outcome)
    }

    /// Writes out all buffers, closes the current file and continues with the next one, as if the current one were full.
    ///
    /// # Errors
    ///
    /// [`Error::Options`] if the files are not numbered, or an error of the operating system. If the current file could not be
    /// finished or the next one could not be created, the writer continues with the current file. If only a buffer could not be
    /// written, it continues with the next file.
    pub fn advance(&mut self) -> Result<(), Error> {
        if !matches!(self.options.mode, FileMode::NewFile { .. }) {
            return Err(Error::Options("only files with a number have a next one"));
        }
        let flushed = self.flush();
        flushed.and(self.next_file())
    }

    fn next_file(&mut self) -> Result<(), Error> {
        self.file.finish(None)?;
        let number = self.summary.files + 1;
        let path = self.options.path(&self.pattern, number);
        let mut file = TraceFile::create(&mut self.opener, path.clone(), &self.options)?;
        file.header.events_lost = self.file.header.events_lost;
        file.header.buffers_lost = self.file.header.buffers_lost;
        self.file = file;
        self.summary.files = number;
        self.summary.path = path;
        self.in_file = 0;
        Ok(())
    }

    /// Counts events and buffers that never reached this writer as lost.
    pub fn add_lost(&mut self, events: u64, buffers: u32) {
        self.summary.events_lost = self.summary.events_lost.saturating_add(events);
        let header = &mut self.file.header;
        header.events_lost = u32::try_from(self.summary.events_lost).unwrap_or(u32::MAX);
        header.buffers_lost = header.buffers_lost.saturating_add(buffers);
    }

    /// Returns what has been written so far, without the events in buffers that are not written out yet.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Writes out all buffers and ends the trace now.
    ///
    /// # Errors
    ///
    /// See [`close_at`](Self::close_at).
    pub fn close(self) -> Result<Summary, Error> {
        self.close_at(FileTime::now())
    }

    /// Writes out all buffers and ends the trace at the given time. Dropping a writer also writes out all buffers, but ignores
    /// errors.
    ///
    /// # Errors
    ///
    /// An error of the operating system. What was written before it is readable.
    pub fn close_at(mut self, end: FileTime) -> Result<Summary, Error> {
        self.finish(Some(end))?;
        Ok(self.summary.clone())
    }

    fn finish(&mut self, end: Option<FileTime>) -> Result<(), Error> {
        self.closed = true;
        let flushed = self.flush();
        flushed.and(self.file.finish(end))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.closed {
            // There is no way to report an error from `drop`.
            let _ = self.finish(None);
        }
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("options", &self.options).field("summary", &self.summary).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
