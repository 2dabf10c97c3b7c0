//! Reads the events of a file in time order, across buffers, with bounded memory.
//!
//! The buffers of several processors overlap in time. A first pass records the earliest time stamp of every buffer. The second
//! pass opens a buffer when its time has come and returns the earliest event of all open buffers. Open buffers are kept in memory
//! up to a limit; beyond it, the buffer that is needed last is dropped and read again later. The order is therefore correct for
//! any file, and a file whose buffers all overlap costs time rather than memory. The stacks that the kernel writes after its
//! events are read the same way ([`stacks`]). The first buffers of a compressed file stay decompressed from the first pass to the
//! second, up to half of that limit.

mod decoder;
mod decompress;
mod described;
mod entry;
mod index;
mod inventory;
pub(crate) mod owners;
mod records;
pub(crate) mod report;
mod schemas;
mod source;
pub(crate) mod stacks;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use etw_manifest::tdh::TraceSchemas;

use crate::error::Error;
use crate::event::{Event, EventRef};
use crate::format::buffer::{self, BufferHeader};
use crate::format::bytes::u64_at;
use crate::format::classic::SYSTEM_SIZE;
use crate::format::logfile::LogfileHeader;
use crate::format::record::{self, Layout, Next};
use crate::images::Images;
use crate::methods::Methods;
use crate::names::TraceNames;
use crate::time::{Clock, FileTime};
pub use described::share;
use entry::Entry;
use index::{Collected, index};
use owners::{RecentThreads, Threads};
use records::Buffer;
use report::{LossReason, Report};
use source::{Found, Source};
use stacks::{Due, Stacks};

/// How to read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderOptions {
    /// Approximate memory for buffers, in bytes. Call stacks that wait for their events can use the same amount in addition.
    /// At least one buffer is always kept.
    pub memory: usize,
    /// Whether the file is still being written. An incomplete buffer at its end is then not counted as lost, and
    /// [`Reader::refresh`] looks for more.
    pub grows: bool,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { memory: 64 * 1024 * 1024, grows: false }
    }
}

/// Reads a file. As an iterator it returns every record including the logfile header, in time order.
///
/// ```
/// use etw_etl::{Clock, EventData, Loss, LossReason, Reader, ReaderOptions, Report, Writer, WriterOptions};
/// use std::path::Path;
///
/// let path = std::env::temp_dir().join(format!("etw-etl-reader-{}.etl", std::process::id()));
/// let mut writer = Writer::create(&path, WriterOptions::default())?;
/// for timestamp in [1, 2] {
///     writer.write(0, &EventData { timestamp, ..EventData::default() })?;
/// }
/// writer.close()?;
///
/// let mut reader = Reader::open_with(&path, ReaderOptions { memory: 1 << 20, ..ReaderOptions::default() })?;
/// assert_eq!(*reader.clock(), Clock::from_header(reader.header(), reader.clock().start_stamp));
/// assert!(reader.next_time().is_some());
/// let mut count = 0;
/// // `next_ref` shows each event where it lies; the iterator copies.
/// while reader.next_ref().is_some() {
///     count += 1;
/// }
/// assert!(reader.memory_held() <= 1 << 20);
/// reader.rewind();
/// assert_eq!(reader.by_ref().count(), count);
///
/// // What a decoder needs: schemas and images that the trace itself has.
/// let (schemas, images) = (reader.schemas(), reader.images());
/// assert!(images.is_empty() && reader.names().is_empty() && reader.methods().is_empty());
/// assert_eq!(reader.threads().process(8, 1_000), None, "no event names a thread");
/// assert!(reader.refresh()?.is_none(), "a file that does not grow has nothing new");
/// let decoder = etw_etl::Decoder::from_reader(&reader, [schemas as _]);
/// # drop(decoder);
///
/// let Report { losses, events_lost, .. } = reader.report();
/// assert!(reader.report().is_whole() && *events_lost == 0 && losses.is_empty());
/// assert!(!reader.report().has_session_losses(), "the session lost nothing");
/// assert!(reader.get_mut().metadata()?.len() > 0, "the file itself");
///
/// // A file that was cut tells what is missing.
/// let bytes = std::fs::read(&path)?;
/// let cut = std::io::Cursor::new(&bytes[..bytes.len() / 2 + 100]);
/// let mut reader = Reader::build(cut, Path::new("cut.etl"), ReaderOptions::default())?;
/// reader.by_ref().for_each(drop);
/// let [Loss { reason, .. }] = &reader.report().losses[..] else { return Err("no loss".into()) };
/// assert_eq!(*reason, LossReason::Truncated);
/// assert!(reader.report().damage().is_some_and(|damage| damage.contains("could not be read")));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Reader<R = File> {
    source: Source<R>,
    options: ReaderOptions,
    header: LogfileHeader,
    clock: Clock,
    report: Report,
    stacks: Stacks,
    schemas: Arc<TraceSchemas>,
    images: Arc<Images>,
    threads: RecentThreads,
    names: Arc<TraceNames>,
    methods: Arc<Methods>,
    entries: Vec<Entry>,
    /// Offset of the next buffer of a growing file.
    end: u64,
    /// Number of entries that have been opened.
    opened: usize,
    /// Open buffers: time stamp of the next record, index of the entry, index of the record.
    open: BTreeSet<(u64, usize, usize)>,
    /// The open buffers that are in memory, by time stamp of the next record and index of the entry.
    loaded: BTreeMap<(u64, usize), Buffer>,
    held: usize,
    /// The buffer that the last event came from. It is not in `open`.
    current: Option<Current>,
    /// The records of the current buffer before this time stamp are earlier than those of all other buffers.
    horizon: u64,
}

/// A buffer that events are being taken from.
#[derive(Debug)]
struct Current {
    /// Index of the entry.
    number: usize,
    /// Index of the next record.
    position: usize,
    buffer: Buffer,
}

impl Current {
    /// Returns the time stamp, entry and index of the next record.
    #[inline]
    fn key(&self) -> Option<(u64, usize, usize)> {
        self.buffer.slots.get(self.position).map(|slot| (slot.stamp, self.number, self.position))
    }
}

impl Reader<File> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened or read, or does not start with a buffer. Further damage is listed in the
    /// [`report`](Self::report).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, ReaderOptions::default())
    }

    /// Opens a file with options.
    ///
    /// # Errors
    ///
    /// See [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: ReaderOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::io("open", path))?;
        Self::build(file, path, options)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads a trace from any seekable source, such as bytes in a `Cursor`.
    ///
    /// # Errors
    ///
    /// See [`open`](Self::open). Errors name `(a stream)` instead of a path.
    pub fn new(file: R, options: ReaderOptions) -> Result<Self, Error> {
        Self::build(file, Path::new("(a stream)"), options)
    }

    /// Reads a trace from a source that errors refer to by this path.
    ///
    /// # Errors
    ///
    /// See [`open`](Self::open).
    pub fn build(file: R, path: &Path, options: ReaderOptions) -> Result<Self, Error> {
        let mut source = Source::new(file).map_err(Error::io("read", path))?;
        let mut report = Report::default();
        let start = source.bytes(0, buffer::SIZE + usize::from(u16::MAX)).map_err(Error::io("read", path))?;
        let not = |reason| Error::NotATrace { path: path.to_owned(), reason };
        let first = BufferHeader::parse(&start).ok_or_else(|| not("it is shorter than a buffer header"))?;
        if !matches!(source.buffer(0).map_err(Error::io("read", path))?, Found::Buffer(..) | Found::Packed(..)) {
            return Err(not("it does not start with a buffer"));
        }
        let [low, high, ..] = first.state.to_le_bytes();
        source.compression = u16::from_le_bytes([low, high]);
        let (header, clock) = logfile_header(&start).unwrap_or_else(|| {
            report.lose(0, 0, LossReason::NoLogfileHeader);
            let header = LogfileHeader { buffer_size: first.size, ..LogfileHeader::default() };
            let clock = Clock::from_header(&header, 0);
            (header, clock)
        });
        report.events_lost = header.events_lost;
        report.buffers_lost = header.buffers_lost;
        let mut found = Collected::default();
        let keep = if options.grows { 0 } else { options.memory / 2 };
        let (entries, end) = index(&mut source, &header, &mut report, &mut found, 0, options.grows, keep);
        let mut stacks = Stacks::new(found.keys, options.memory);
        stacks.restart(&entries, 0);
        report.stacks_dropped = stacks.dropped();
        Ok(Self {
            source,
            options,
            header,
            clock,
            report,
            stacks,
            schemas: Arc::new(found.schemas),
            images: Arc::new(found.images),
            threads: RecentThreads::new(Arc::new(found.threads)),
            names: Arc::new(found.names),
            methods: Arc::new(found.methods),
            entries,
            end,
            opened: 0,
            open: BTreeSet::new(),
            loaded: BTreeMap::new(),
            held: 0,
            current: None,
            horizon: 0,
        })
    }

    /// Returns the logfile header, or default values if that of the file is damaged.
    #[must_use]
    pub const fn header(&self) -> &LogfileHeader {
        &self.header
    }

    /// Returns the clock that converts time stamps to points in time.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns what the file contains and what was lost. Complete as soon as the file is opened, except for the stacks that were
    /// left out, which are counted while the events are read.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the schemas in the file. Complete as soon as the file is opened.
    #[must_use]
    pub fn schemas(&self) -> Arc<TraceSchemas> {
        Arc::clone(&self.schemas)
    }

    /// Returns the images that the file describes. Complete as soon as the file is opened; [`refresh`](Self::refresh) adds those
    /// of new buffers.
    #[must_use]
    pub fn images(&self) -> Arc<Images> {
        Arc::clone(&self.images)
    }

    /// Returns the names of processes, threads, files and registry keys in the file. Complete as soon as the file is opened;
    /// [`refresh`](Self::refresh) adds those of new buffers.
    #[must_use]
    pub fn names(&self) -> Arc<TraceNames> {
        Arc::clone(&self.names)
    }

    /// Returns the methods of the .NET runtime that the file describes. Complete as soon as the file is opened;
    /// [`refresh`](Self::refresh) adds those of new buffers.
    #[must_use]
    pub fn methods(&self) -> Arc<Methods> {
        Arc::clone(&self.methods)
    }

    /// Returns the processes of the threads in the file. Complete as soon as the file is opened; [`refresh`](Self::refresh) adds
    /// those of new buffers.
    #[must_use]
    pub fn threads(&self) -> Arc<Threads> {
        Arc::clone(&self.threads.all)
    }

    /// Looks for buffers that were appended to a growing file since it was opened or last refreshed. Returns the schemas that
    /// they contain, or `None` if there is no new buffer. Events of new buffers follow all earlier events, and are in time order
    /// among themselves.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or has become shorter.
    pub fn refresh(&mut self) -> io::Result<Option<Arc<TraceSchemas>>> {
        let length = self.source.file.seek(SeekFrom::End(0))?;
        if length < self.end {
            return Err(io::Error::other("the file became shorter: another trace is in its place"));
        }
        self.source.length = length;
        // The session counts its losses in the first buffer while it runs.
        let start = self.source.bytes(0, buffer::SIZE + usize::from(u16::MAX))?;
        if let Some((header, _)) = logfile_header(&start) {
            self.report.events_lost = header.events_lost;
            self.report.buffers_lost = header.buffers_lost;
        }
        let mut found = Collected {
            keys: std::mem::take(&mut self.stacks.keys),
            images: Arc::unwrap_or_clone(std::mem::take(&mut self.images)),
            threads: Arc::unwrap_or_clone(std::mem::take(&mut self.threads.all)),
            names: Arc::unwrap_or_clone(std::mem::take(&mut self.names)),
            methods: Arc::unwrap_or_clone(std::mem::take(&mut self.methods)),
            ..Collected::default()
        };
        let (mut entries, end) =
            index(&mut self.source, &self.header, &mut self.report, &mut found, self.end, self.options.grows, 0);
        let is_new = end != std::mem::replace(&mut self.end, end);
        self.stacks.keys = found.keys;
        self.images = Arc::new(found.images);
        self.threads = RecentThreads::new(Arc::new(found.threads));
        self.names = Arc::new(found.names);
        self.methods = Arc::new(found.methods);
        // New events may be earlier than the last one, and their stacks may be in buffers that were already read.
        let from = entries.first().map_or(u64::MAX, |entry| entry.first).min(self.stacks.stamp());
        self.entries.append(&mut entries);
        if let Some(later) = self.entries.get_mut(self.opened..) {
            later.sort_unstable();
        }
        if is_new {
            self.horizon = 0;
            // Buffers that are loaded but not opened have another index now.
            let opened = self.opened;
            self.loaded.retain(|(_, number), _| *number < opened);
            self.held = self.loaded.values().map(Buffer::cost).sum();
            self.stacks.restart(&self.entries, from);
            self.report.stacks_dropped = self.stacks.dropped();
        }
        Ok(is_new.then(|| Arc::new(found.schemas)))
    }

    /// Returns the source of the trace.
    pub const fn get_mut(&mut self) -> &mut R {
        &mut self.source.file
    }

    /// Starts again at the first event.
    pub fn rewind(&mut self) {
        self.entries.sort_unstable();
        self.opened = 0;
        self.open.clear();
        self.loaded.clear();
        self.held = 0;
        self.current = None;
        self.stacks.restart(&self.entries, 0);
        self.report.stacks_dropped = self.stacks.dropped();
        self.report.stacks_undefined = 0;
    }

    /// Returns the time of the next event without consuming the event.
    pub fn next_time(&mut self) -> Option<FileTime> {
        self.advance()?;
        let (stamp, ..) = self.current.as_ref()?.key()?;
        Some(self.clock.time(stamp))
    }

    /// Returns the memory of the buffered records and call stacks, in bytes, without the current buffer.
    #[must_use]
    pub fn memory_held(&self) -> usize {
        self.held + self.source.held() + self.stacks.cost()
    }

    /// Opens the buffers whose time has come.
    fn open_due(&mut self) {
        while let Some(entry) = self.entries.get(self.opened) {
            if self.open.first().is_some_and(|(stamp, ..)| *stamp < entry.first) {
                break;
            }
            self.open.insert((entry.first, self.opened, 0));
            self.opened += 1;
        }
    }

    /// Takes an open buffer from the loaded ones, or reads it again.
    fn load(&mut self, stamp: u64, number: usize) -> Option<Buffer> {
        if let Some(buffer) = self.loaded.remove(&(stamp, number)) {
            self.held -= buffer.cost();
            return Some(buffer);
        }
        let entry = *self.entries.get(number)?;
        let offset = entry.offset;
        match self.source.buffer(offset) {
            Ok(Found::Buffer(buffer, ..)) => {
                self.stacks.offer(&entry, &buffer);
                Some(buffer)
            }
            Ok(_) => {
                self.report.lose(offset, 0, LossReason::Unreadable("the file changed".into()));
                None
            }
            Err(error) => {
                self.report.lose(offset, 0, LossReason::Unreadable(error.to_string()));
                None
            }
        }
    }

    /// Returns the next event in time order, like the iterator but without copying it. It borrows from the reader until the next
    /// call.
    ///
    /// ```no_run
    /// let mut reader = etw_etl::Reader::open("trace.etl")?;
    /// while let Some(event) = reader.next_ref() {
    ///     println!("{} {}", event.header.time, event.decode());
    /// }
    /// # Ok::<(), etw_etl::Error>(())
    /// ```
    pub fn next_ref(&mut self) -> Option<EventRef<'_>> {
        self.advance()?;
        let (stamp, ..) = self.current.as_ref()?.key()?;
        if self.stacks.advance(stamp) {
            self.gather();
        }
        let current = self.current.as_mut()?;
        let slot = current.buffer.slots.get(current.position).copied()?;
        current.position += 1;
        let buffer = &current.buffer;
        let mut event = EventRef::new(slot.layout, slot.stamp, buffer.cpu, &self.clock, buffer.record(slot));
        event.header.session = buffer.session;
        // The event is passed by value: a reference would keep it in memory for all events, not only for those with a stack.
        if self.stacks.may_resolve(&event) {
            let found = self.stacks.resolve(event, buffer.session);
            self.report.stacks_undefined += u64::from(found.is_undefined);
            event.set_stack(found.stack, found.process);
        }
        let payload = event.payload();
        event.header.find_owner(payload, &mut self.threads);
        Some(event)
    }

    /// Gathers the stacks of the current event.
    fn gather(&mut self) {
        while let Some(due) = self.stacks.missing() {
            self.read_stacks(due);
        }
        self.report.stacks_dropped = self.stacks.dropped();
        self.report.stacks_undefined += self.stacks.take_undefined();
    }

    /// Reads a buffer to get its stacks. Keeps the buffer if its events are still to come.
    fn read_stacks(&mut self, due: Due) {
        // A failure is reported later, when the events of the buffer are read.
        let Ok(Found::Buffer(buffer, ..)) = self.source.buffer(due.1) else { return };
        self.stacks.add(due, &buffer);
        let Some(first) = buffer.slots.first().map(|slot| slot.stamp) else { return };
        let later = self.entries.get(self.opened..).unwrap_or_default();
        let place = later.binary_search_by_key(&(first, due.1), |entry| (entry.first, entry.offset));
        if let Ok(place) = place
            && !self.loaded.contains_key(&(first, self.opened + place))
        {
            self.keep(first, self.opened + place, buffer);
        }
    }

    /// Makes the buffer with the earliest record the current one. Returns `None` at the end.
    #[inline]
    fn advance(&mut self) -> Option<()> {
        let next = self.current.as_ref().and_then(Current::key);
        if next.is_some_and(|(stamp, ..)| stamp < self.horizon) { Some(()) } else { self.choose() }
    }

    fn choose(&mut self) -> Option<()> {
        while !self.current_is_next() {
            if let Some(current) = self.current.take() {
                if let Some((stamp, number, position)) = current.key() {
                    self.open.insert((stamp, number, position));
                    self.keep(stamp, number, current.buffer);
                } else {
                    self.source.recycle(current.buffer);
                }
            }
            self.open_due();
            let (stamp, number, position) = self.open.pop_first()?;
            self.current = self.load(stamp, number).map(|buffer| Current { number, position, buffer });
        }
        let unopened = self.entries.get(self.opened).map(|entry| entry.first);
        let opened = self.open.first().map(|(stamp, ..)| *stamp);
        self.horizon = unopened.into_iter().chain(opened).min().unwrap_or(u64::MAX);
        Some(())
    }

    /// Returns whether the next record of the current buffer is the earliest of all.
    fn current_is_next(&self) -> bool {
        let Some(key) = self.current.as_ref().and_then(Current::key) else {
            return false;
        };
        // A buffer that starts at the same time stamp must be opened first, because the order of the buffers then decides.
        self.entries.get(self.opened).is_none_or(|entry| entry.first > key.0)
            && self.open.first().is_none_or(|first| *first > key)
    }

    /// Keeps a buffer until its next record is due. If there is no room, drops the buffers that are needed last.
    fn keep(&mut self, stamp: u64, number: usize, buffer: Buffer) {
        self.held += buffer.cost();
        self.loaded.insert((stamp, number), buffer);
        while self.held + self.source.held() > self.options.memory && self.loaded.len() > 1 {
            if let Some((_, dropped)) = self.loaded.pop_last() {
                self.held -= dropped.cost();
            }
        }
    }
}

impl<R: Read + Seek> Iterator for Reader<R> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.next_ref().map(|event| event.to_event())
    }
}

/// Parses the logfile header and its clock from the bytes of a file's first buffer.
fn logfile_header(start: &[u8]) -> Option<(LogfileHeader, Clock)> {
    let records = start.get(buffer::SIZE..)?;
    let Next::Record(Layout::System, size) = record::next(records) else {
        return None;
    };
    let header = LogfileHeader::parse(records.get(SYSTEM_SIZE..size)?)?;
    let clock = Clock::from_header(&header, u64_at(records, 0x10)?);
    Some((header, clock))
}
