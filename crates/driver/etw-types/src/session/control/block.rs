//! `EVENT_TRACE_PROPERTIES` as a block of bytes: the structure, followed by the two names.
//!
//! A caller creates a new block for every call, because the system overwrites it. The block has room for the longest
//! names. Reading a block follows the rules of `StartTrace` for sizes and offsets. A public conformance test of Wine
//! checks the most important of them on Windows.

use std::borrow::ToOwned;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use super::{Properties, SessionStatus};
use crate::session::{ClockType, EventTraceProperties, MAX_NAME, WNODE_FLAG_TRACED_GUID};
use crate::{Guid, Win32Error};

/// Size of the structure in bytes.
const STRUCTURE: usize = EventTraceProperties::SIZE;
/// Size of a name in bytes, including its terminator.
const NAME_BYTES: usize = (MAX_NAME + 1) * 2;
/// Offsets of the names and of the end in a block that this module creates.
const NAME: usize = STRUCTURE;
const FILE: usize = NAME + NAME_BYTES;
const END: usize = FILE + NAME_BYTES;

/// Returns an empty block for the system to fill in. GUID and mode identify a private session; other sessions do not
/// need them.
#[must_use]
pub fn empty_block(guid: Guid, mode: u32) -> Vec<u8> {
    block(&Properties { guid, mode, ..Properties::default() }, Some(""))
}

/// Creates a block with room for both names. If there is no file, the offset of its name is 0.
fn block(properties: &Properties, file: Option<&str>) -> Vec<u8> {
    let mut raw = EventTraceProperties {
        buffer_size: properties.buffer_kib,
        minimum_buffers: properties.minimum_buffers,
        maximum_buffers: properties.maximum_buffers,
        maximum_file_size: properties.maximum_file_size,
        log_file_mode: properties.mode,
        flush_timer: properties.flush_timer,
        enable_flags: properties.enable_flags,
        // The session's name is a separate argument. The system copies it into the block.
        logger_name_offset: number(NAME),
        log_file_name_offset: file.map_or(0, |_| number(FILE)),
        ..EventTraceProperties::default()
    };
    raw.wnode.buffer_size = number(END);
    raw.wnode.flags = WNODE_FLAG_TRACED_GUID;
    raw.wnode.guid = properties.guid;
    raw.wnode.client_context = properties.clock.as_int();
    let mut bytes = raw.to_bytes().to_vec();
    bytes.resize(FILE, 0);
    // Text that is too long is truncated here. The properties are checked earlier.
    bytes.extend(file.unwrap_or_default().encode_utf16().take(MAX_NAME).flat_map(u16::to_le_bytes));
    bytes.resize(END, 0);
    bytes
}

impl Properties {
    /// Returns the block for starting the session.
    #[must_use]
    pub fn to_block(&self) -> Vec<u8> {
        block(self, self.file_name().as_deref())
    }

    /// Returns the block for updating the session to these properties. It contains the file's name only if the file
    /// changes: an update fails if the block has the offset of an unchanged name.
    #[must_use]
    pub fn to_update_block(&self, changes_file: bool) -> Vec<u8> {
        let file = if changes_file { self.file_name() } else { None };
        block(self, file.as_deref())
    }

    /// Parses the block that `StartTraceW` receives. The session's name is a separate argument of that function.
    ///
    /// # Errors
    ///
    /// Returns `BadLength` if the block or the size it states is smaller than the structure, or if the session's name
    /// does not fit; `InvalidParameter` if an offset lies within the structure or outside the block.
    pub fn from_block(name: &str, block: &[u8]) -> Result<Self, Win32Error> {
        let raw = EventTraceProperties::parse(block).ok_or(Win32Error::BadLength)?;
        let size = length(raw.wnode.buffer_size);
        let block = block.get(..size).filter(|block| block.len() >= STRUCTURE).ok_or(Win32Error::BadLength)?;
        let logger_name = place(block, raw.logger_name_offset)?;
        let log_file = place(block, raw.log_file_name_offset)?;
        // The name is copied to its offset with its terminator. It must end before the file's name if that follows.
        let room = match (logger_name, log_file) {
            (Some(name), Some(file)) if file > name => file - name,
            (Some(name), _) => size - name,
            (None, _) => usize::MAX,
        };
        if (name.encode_utf16().count() + 1) * 2 > room {
            return Err(Win32Error::BadLength);
        }
        let log_file = log_file.and_then(|start| text(block, start)).map(PathBuf::from);
        Ok(from_raw(&raw, name.to_owned(), log_file))
    }
}

fn from_raw(raw: &EventTraceProperties, name: String, log_file: Option<PathBuf>) -> Properties {
    Properties {
        name,
        guid: raw.wnode.guid,
        buffer_kib: raw.buffer_size,
        minimum_buffers: raw.minimum_buffers,
        maximum_buffers: raw.maximum_buffers,
        maximum_file_size: raw.maximum_file_size,
        mode: raw.log_file_mode,
        flush_timer: raw.flush_timer,
        enable_flags: raw.enable_flags,
        clock: ClockType::from_int(raw.wnode.client_context),
        log_file,
    }
}

impl SessionStatus {
    /// Parses a block that the system filled in. Returns `None` if the block is smaller than the structure.
    #[must_use]
    pub fn parse(block: &[u8]) -> Option<Self> {
        let raw = EventTraceProperties::parse(block)?;
        let text_at = |offset| Some(length(offset)).filter(|start| *start >= STRUCTURE).and_then(|at| text(block, at));
        let name = text_at(raw.logger_name_offset).unwrap_or_default();
        Some(Self {
            properties: from_raw(&raw, name, text_at(raw.log_file_name_offset).map(PathBuf::from)),
            handle: raw.wnode.historical_context,
            number_of_buffers: raw.number_of_buffers,
            free_buffers: raw.free_buffers,
            events_lost: raw.events_lost,
            buffers_written: raw.buffers_written,
            log_buffers_lost: raw.log_buffers_lost,
            real_time_buffers_lost: raw.real_time_buffers_lost,
        })
    }

    /// Fills in the block that `ControlTrace` receives: the structure, and the names at their offsets.
    ///
    /// # Errors
    ///
    /// Returns `BadLength` and `InvalidParameter` for the same reasons as a start. Returns `MoreData` if a name does
    /// not fit; everything else is filled in.
    pub fn fill_block(&self, block: &mut [u8]) -> Result<(), Win32Error> {
        let raw = EventTraceProperties::parse(block).ok_or(Win32Error::BadLength)?;
        let size = length(raw.wnode.buffer_size);
        let block = block.get_mut(..size).filter(|block| block.len() >= STRUCTURE).ok_or(Win32Error::BadLength)?;
        let logger_name = place(block, raw.logger_name_offset)?;
        let log_file = place(block, raw.log_file_name_offset)?;
        let mut filled = raw;
        filled.wnode.historical_context = self.handle;
        filled.wnode.guid = self.properties.guid;
        filled.wnode.client_context = self.properties.clock.as_int();
        filled.buffer_size = self.properties.buffer_kib;
        filled.minimum_buffers = self.properties.minimum_buffers;
        filled.maximum_buffers = self.properties.maximum_buffers;
        filled.maximum_file_size = self.properties.maximum_file_size;
        filled.log_file_mode = self.properties.mode;
        filled.flush_timer = self.properties.flush_timer;
        filled.enable_flags = self.properties.enable_flags;
        filled.number_of_buffers = self.number_of_buffers;
        filled.free_buffers = self.free_buffers;
        filled.events_lost = self.events_lost;
        filled.buffers_written = self.buffers_written;
        filled.log_buffers_lost = self.log_buffers_lost;
        filled.real_time_buffers_lost = self.real_time_buffers_lost;
        if let Some(place) = block.first_chunk_mut() {
            *place = filled.to_bytes();
        }
        let file = self.properties.file_name().unwrap_or_default();
        let end = log_file.filter(|file| Some(*file) > logger_name).unwrap_or(size);
        let has_name = logger_name.is_none_or(|start| put(block, start, end, &self.properties.name));
        let has_file = log_file.is_none_or(|start| put(block, start, size, &file));
        if has_name && has_file { Ok(()) } else { Err(Win32Error::MoreData) }
    }
}

fn number(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn length(size: u32) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Checks an offset: it must lie after the structure and within the block. 0 means that there is none.
fn place(block: &[u8], offset: u32) -> Result<Option<usize>, Win32Error> {
    match length(offset) {
        0 => Ok(None),
        start if (STRUCTURE..block.len()).contains(&start) => Ok(Some(start)),
        _ => Err(Win32Error::InvalidParameter),
    }
}

/// Reads UTF-16 text from `start` to its terminator or the end of the block. Returns `None` if it is empty.
fn text(block: &[u8], start: usize) -> Option<String> {
    let (units, _) = block.get(start..)?.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0).collect();
    (!units.is_empty()).then(|| String::from_utf16_lossy(&units))
}

/// Writes text with its terminator into `start..end`. Returns false if it does not fit.
fn put(block: &mut [u8], start: usize, end: usize, text: &str) -> bool {
    let bytes: Vec<u8> = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let place = block.get_mut(start..end).and_then(|place| place.get_mut(..bytes.len()));
    place.is_some_and(|place| {
        place.copy_from_slice(&bytes);
        true
    })
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{END, NAME, Properties, SessionStatus, empty_block, number};
    use crate::session::{EventTraceProperties, mode};
    use crate::{Guid, Win32Error};

    #[test]
    fn a_block_of_a_start_has_its_size_its_offsets_and_the_name_of_the_file() {
        let block = Properties::new("s").file("C:\\trace.etl").buffers(64, 4, 8).to_block();
        let raw = EventTraceProperties::parse(&block).unwrap();
        assert_eq!(block.len(), 4220, "the structure and two names of 1025 units");
        assert_eq!(END, 4220, "the structure and two names of 1025 units");
        assert_eq!(usize::try_from(raw.wnode.buffer_size), Ok(END));
        assert_eq!(usize::try_from(raw.logger_name_offset), Ok(NAME));
        assert_eq!(raw.wnode.flags, 0x2_0000);
        assert_eq!(raw.wnode.client_context, 1);
        assert_eq!(raw.buffer_size, 64);
        assert_eq!(raw.log_file_mode, mode::INDEPENDENT_SESSION);
        assert!(raw.log_file_name_offset > raw.logger_name_offset, "the session's name comes first");
        let read = Properties::from_block("s", &block);
        assert_eq!(read, Ok(Properties::new("s").file("C:\\trace.etl").buffers(64, 4, 8)));
    }

    #[test]
    fn without_a_file_there_is_no_offset_to_one() {
        let raw = EventTraceProperties::parse(&Properties::new("s").real_time().to_block()).unwrap();
        assert_eq!(raw.log_file_name_offset, 0);
        assert_ne!(EventTraceProperties::parse(&empty_block(Guid::ZERO, 0)).unwrap().log_file_name_offset, 0);
    }

    /// Returns an empty block with these offsets of the session's and the file's name.
    fn with_offsets(name: usize, file: usize) -> Vec<u8> {
        let mut block = empty_block(Guid::ZERO, 0);
        let mut raw = EventTraceProperties::parse(&block).unwrap();
        raw.logger_name_offset = number(name);
        raw.log_file_name_offset = number(file);
        *block.first_chunk_mut().unwrap() = raw.to_bytes();
        block
    }

    #[test]
    fn an_update_has_the_file_only_if_it_changes() {
        let properties = Properties::new("s").file("a.etl").buffers(64, 4, 8);
        assert_eq!(properties.to_update_block(true), properties.to_block());
        let unchanged = Properties { log_file: None, ..properties.clone() };
        assert_eq!(properties.to_update_block(false), unchanged.to_block());
        assert_eq!(Properties::from_block("s", &unchanged.to_block()), Ok(unchanged));
    }

    #[test]
    fn a_session_s_name_must_fit_before_the_file_s_name_or_the_end() {
        for (name, file, longest) in [
            (NAME, NAME + 10, 4),
            (NAME, 0, 2049),
            (END - 10, NAME, 4),
            // The file's name overwrites the session's.
            (END - 10, END - 10, 4),
        ] {
            let block = with_offsets(name, file);
            let of = |length| Properties::from_block(&"x".repeat(length), &block).map(|read| read.name.len());
            assert_eq!(of(longest), Ok(longest), "{name} {file}");
            assert_eq!(of(longest + 1), Err(Win32Error::BadLength), "{name} {file}");
            let filled = |length| {
                let properties = Properties { name: "x".repeat(length), ..Properties::default() };
                SessionStatus { properties, ..SessionStatus::default() }.fill_block(&mut block.clone())
            };
            assert_eq!(filled(longest), Ok(()), "{name} {file}");
            assert_eq!(filled(longest + 1), Err(Win32Error::MoreData), "{name} {file}");
        }
        let anywhere = with_offsets(0, 0);
        assert!(Properties::from_block(&"x".repeat(5000), &anywhere).is_ok(), "the name is not copied");
    }

    #[test]
    fn an_offset_must_be_after_the_structure_and_within_the_block() {
        for offset in [1, NAME - 1, END, END + 1] {
            for mut block in [with_offsets(offset, 0), with_offsets(0, offset)] {
                assert_eq!(Properties::from_block("s", &block), Err(Win32Error::InvalidParameter), "{offset}");
                let filled = SessionStatus::default().fill_block(&mut block);
                assert_eq!(filled, Err(Win32Error::InvalidParameter), "{offset}");
            }
        }
    }

    #[test]
    fn a_block_must_have_the_structure_and_the_size_that_it_states() {
        let block = empty_block(Guid::ZERO, 0);
        for (size, stated) in [(NAME - 1, NAME), (NAME, NAME - 1), (NAME, NAME + 1)] {
            let mut block = block[..size].to_vec();
            block[..4].copy_from_slice(&number(stated).to_le_bytes());
            assert_eq!(Properties::from_block("s", &block), Err(Win32Error::BadLength), "{size} {stated}");
            assert_eq!(SessionStatus::default().fill_block(&mut block), Err(Win32Error::BadLength), "{size} {stated}");
        }
    }

    #[test]
    fn texts_outside_of_a_block_or_inside_the_structure_are_not_read() {
        for offset in [0, 40, usize::MAX] {
            assert_eq!(SessionStatus::parse(&with_offsets(offset, 0)).unwrap().properties.name, "");
        }
    }
}
