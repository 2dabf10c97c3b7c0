//! `EVENT_TRACE_PROPERTIES` as a block of bytes: the structure and the two names behind it.
//!
//! The rules about sizes and offsets are those of `StartTrace`; a public conformance test of Wine asserts the main ones
//! against Windows.

use std::path::PathBuf;

use etw_types::Win32Error;
use etw_types::session::EventTraceProperties;

use super::properties::Properties;
use super::status::SessionStatus;

/// Bytes of the structure.
const SIZE: usize = EventTraceProperties::SIZE;

impl Properties {
    /// Reads the block that `StartTraceW` gets, together with the session's name, which is an argument of its own.
    ///
    /// # Errors
    ///
    /// `BadLength` where the block is smaller than the structure, says so, or has no room for the session's name;
    /// `InvalidParameter` for an offset that lies within the structure or outside the block.
    pub fn from_block(name: &str, block: &[u8]) -> Result<Self, Win32Error> {
        let raw = EventTraceProperties::parse(block).ok_or(Win32Error::BadLength)?;
        let size = length(raw.wnode.buffer_size);
        let block = block.get(..size).filter(|block| block.len() >= SIZE).ok_or(Win32Error::BadLength)?;
        let logger_name = place(block, raw.logger_name_offset)?;
        let log_file = place(block, raw.log_file_name_offset)?;
        // The name is copied to its offset with its terminator, before the file's name where that follows.
        let room = match (logger_name, log_file) {
            (Some(name), Some(file)) if file > name => file - name,
            (Some(name), _) => size - name,
            (None, _) => usize::MAX,
        };
        if (name.encode_utf16().count() + 1) * 2 > room {
            return Err(Win32Error::BadLength);
        }
        Ok(Self {
            name: name.to_owned(),
            guid: raw.wnode.guid,
            buffer_kib: raw.buffer_size,
            minimum_buffers: raw.minimum_buffers,
            maximum_buffers: raw.maximum_buffers,
            maximum_file_size: raw.maximum_file_size,
            mode: raw.log_file_mode,
            flush_timer: raw.flush_timer,
            enable_flags: raw.enable_flags,
            clock: raw.wnode.client_context,
            log_file: log_file.and_then(|start| text(block, start)).map(PathBuf::from),
            ..Self::default()
        })
    }
}

impl SessionStatus {
    /// Fills in the block that `ControlTrace` gets: the structure and, at its offsets, the names.
    ///
    /// # Errors
    ///
    /// `BadLength` and `InvalidParameter` as for a start; `MoreData` where a name has no room, and everything else is
    /// filled in.
    pub fn fill_block(&self, block: &mut [u8]) -> Result<(), Win32Error> {
        let raw = EventTraceProperties::parse(block).ok_or(Win32Error::BadLength)?;
        let size = length(raw.wnode.buffer_size);
        let block = block.get_mut(..size).filter(|block| block.len() >= SIZE).ok_or(Win32Error::BadLength)?;
        let logger_name = place(block, raw.logger_name_offset)?;
        let log_file = place(block, raw.log_file_name_offset)?;
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let mut filled = raw;
        filled.wnode.historical_context = self.handle;
        filled.wnode.guid = self.guid;
        filled.wnode.client_context = self.properties.clock;
        filled.buffer_size = self.properties.buffer_kib;
        filled.minimum_buffers = self.properties.minimum_buffers;
        filled.maximum_buffers = self.properties.maximum_buffers;
        filled.maximum_file_size = self.properties.maximum_file_size;
        filled.log_file_mode = self.properties.mode;
        filled.flush_timer = self.properties.flush_timer;
        filled.enable_flags = self.properties.enable_flags;
        filled.number_of_buffers = self.number_of_buffers;
        filled.free_buffers = self.free_buffers;
        filled.events_lost = count(self.statistics.lost);
        filled.buffers_written = count(self.buffers_written);
        filled.log_buffers_lost = count(self.log_buffers_lost);
        filled.real_time_buffers_lost = count(self.real_time_buffers_lost);
        if let Some(place) = block.first_chunk_mut() {
            *place = filled.to_bytes();
        }
        let file = self.file.as_ref().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let end = log_file.filter(|file| Some(*file) > logger_name).unwrap_or(size);
        let has_name = logger_name.is_none_or(|start| put(block, start, end, &self.properties.name));
        let has_file = log_file.is_none_or(|start| put(block, start, size, &file));
        if has_name && has_file { Ok(()) } else { Err(Win32Error::MoreData) }
    }
}

fn length(size: u32) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// An offset that is used: behind the structure and within the block.
fn place(block: &[u8], offset: u32) -> Result<Option<usize>, Win32Error> {
    match length(offset) {
        0 => Ok(None),
        start if (SIZE..block.len()).contains(&start) => Ok(Some(start)),
        _ => Err(Win32Error::InvalidParameter),
    }
}

/// The UTF-16 text from `start` to its terminator or the end; `None` where it is empty.
fn text(block: &[u8], start: usize) -> Option<String> {
    let (units, _) = block.get(start..)?.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0).collect();
    (!units.is_empty()).then(|| String::from_utf16_lossy(&units))
}

/// Puts a text with its terminator into `start..end`; false where it has no room.
fn put(block: &mut [u8], start: usize, end: usize, text: &str) -> bool {
    let bytes: Vec<u8> = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let place = block.get_mut(start..end).and_then(|place| place.get_mut(..bytes.len()));
    place.is_some_and(|place| {
        place.copy_from_slice(&bytes);
        true
    })
}
