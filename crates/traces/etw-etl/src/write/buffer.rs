//! A buffer that is being filled.

use std::fmt;

use super::event::{EventData, MAX_RECORD};
use crate::format::ALIGNMENT;
use crate::format::buffer::{self, BufferHeader, FLAG_PROCESSOR_INDEX, STATE_FLUSH};

/// A record does not fit into the rest of a buffer. It may fit into an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the event does not fit into the buffer")
    }
}

impl std::error::Error for Full {}

/// Records of one processor, up to the size of a buffer.
///
/// ```
/// use etw_etl::{Buffer, EventData, Full};
///
/// let event = EventData { timestamp: 7, payload: &[0; 300], ..EventData::default() };
/// let mut buffer = Buffer::new(1024, 3).with_session(2);
/// buffer.push(&event)?;
/// assert_eq!((buffer.cpu(), buffer.events(), buffer.last_stamp(), buffer.is_empty()), (3, 1, 7, false));
/// buffer.push(&event)?;
/// assert!(matches!(buffer.push(&event), Err(Full)));
///
/// // Records that were encoded elsewhere.
/// let mut record = vec![0; event.encoded_len()];
/// event.encode(&mut record).ok_or(Full)?;
/// buffer.clear();
/// buffer.push_record(&record, 8)?;
/// // The memory, and a buffer of it again.
/// let used = etw_etl::format::buffer::SIZE + record.len();
/// let buffer = Buffer::from_records(1024, 3, 1, buffer.into_bytes(), used)?;
/// assert_eq!(buffer.events(), 1);
/// # Ok::<(), Full>(())
/// ```
#[derive(Clone, Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    size: usize,
    used: usize,
    cpu: u16,
    events: u32,
    last_stamp: u64,
    session: Option<u16>,
}

impl Buffer {
    /// Creates an empty buffer. Memory is allocated for the first record.
    #[must_use]
    pub fn new(size: u32, cpu: u16) -> Self {
        let size = usize::try_from(size).unwrap_or_default();
        Self { bytes: Vec::new(), size, used: buffer::SIZE, cpu, events: 0, last_stamp: 0, session: None }
    }

    /// Creates a buffer from records that are already in the first `used` bytes of `bytes`. They must follow
    /// [`format::buffer::SIZE`](crate::format::buffer::SIZE) bytes that are reserved for the buffer header, and each must be
    /// padded to a multiple of eight bytes. [`into_bytes`](Self::into_bytes) returns the memory.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room for a header, or if `used` exceeds the buffer size or the length of `bytes`.
    pub fn from_records(size: u32, cpu: u16, events: u32, bytes: Vec<u8>, used: usize) -> Result<Self, Full> {
        let size = usize::try_from(size).unwrap_or_default();
        if used < buffer::SIZE || used > size || used > bytes.len() {
            return Err(Full);
        }
        Ok(Self { bytes, size, used, cpu, events, last_stamp: 0, session: None })
    }

    /// Sets the id of the session that wrote the records, if it is not that of the file. Definitions of call stacks are found by
    /// session.
    #[must_use]
    pub const fn with_session(mut self, id: u16) -> Self {
        self.session = Some(id);
        self
    }

    /// Returns the memory of this buffer.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends an event.
    ///
    /// # Errors
    ///
    /// [`Full`]; the buffer is then unchanged.
    pub fn push(&mut self, event: &EventData<'_>) -> Result<(), Full> {
        let length = event.encoded_len();
        let place = self.room(length)?;
        event.encode(place).ok_or(Full)?;
        self.took(length, event.timestamp);
        Ok(())
    }

    /// Appends a record of any header type without changing its bytes.
    ///
    /// # Errors
    ///
    /// [`Full`]; the buffer is then unchanged.
    pub fn push_record(&mut self, record: &[u8], stamp: u64) -> Result<(), Full> {
        self.room(record.len())?.copy_from_slice(record);
        self.took(record.len(), stamp);
        Ok(())
    }

    /// Returns the number of events in the buffer. Records that only describe other events need not be counted.
    #[must_use]
    pub const fn events(&self) -> u32 {
        self.events
    }

    /// Returns whether the buffer has no records.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == buffer::SIZE
    }

    /// Returns the processor.
    #[must_use]
    pub const fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Returns the time stamp of the latest event.
    #[must_use]
    pub const fn last_stamp(&self) -> u64 {
        self.last_stamp
    }

    /// Removes all records.
    pub const fn clear(&mut self) {
        self.used = buffer::SIZE;
        self.events = 0;
        self.last_stamp = 0;
    }

    /// Returns the buffer as it is written to a file, with this flush time, sequence number and flags.
    pub(crate) fn finish(&mut self, stamp: u64, sequence: u64, logger_id: u16, flags: u16, kind: u16) -> &[u8] {
        let used = u32::try_from(self.used).unwrap_or(u32::MAX);
        let header = BufferHeader {
            size: u32::try_from(self.size).unwrap_or(u32::MAX),
            saved_offset: used,
            current_offset: used,
            timestamp: stamp,
            sequence,
            processor: self.cpu,
            logger_id: self.session.unwrap_or(logger_id),
            state: STATE_FLUSH,
            filled: used,
            flags: flags | FLAG_PROCESSOR_INDEX,
            kind,
            ..BufferHeader::default()
        };
        self.bytes.resize(self.size, 0xFF);
        if let Some(place) = self.bytes.first_chunk_mut() {
            *place = header.to_bytes();
        }
        if let Some(rest) = self.bytes.get_mut(self.used..) {
            rest.fill(0xFF);
        }
        &self.bytes
    }

    fn room(&mut self, length: usize) -> Result<&mut [u8], Full> {
        if length > MAX_RECORD || self.used + length > self.size {
            return Err(Full);
        }
        self.bytes.resize(self.size, 0xFF);
        self.bytes.get_mut(self.used..self.used + length).ok_or(Full)
    }

    fn took(&mut self, length: usize, stamp: u64) {
        let end = (self.used + length).next_multiple_of(ALIGNMENT).min(self.size);
        if let Some(gap) = self.bytes.get_mut(self.used + length..end) {
            gap.fill(0xFF);
        }
        self.used = end;
        self.events = self.events.saturating_add(1);
        self.last_stamp = self.last_stamp.max(stamp);
    }
}
