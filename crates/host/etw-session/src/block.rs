//! `EVENT_TRACE_PROPERTIES` as one block of bytes: the structure, then the session's name, then the file's.
//!
//! A block is made anew for every call, because the system overwrites it. It has room for the longest names, so that
//! an answer always fits.

use etw_types::Guid;
use etw_types::session::{EventTraceProperties, MAX_NAME, WNODE_FLAG_TRACED_GUID};

use crate::properties::Properties;
use crate::status::SessionStatus;

/// Bytes of a name with its terminator.
const NAME_BYTES: usize = (MAX_NAME + 1) * 2;
const NAME: usize = EventTraceProperties::SIZE;
const FILE: usize = NAME + NAME_BYTES;
/// Bytes of a block.
pub(crate) const SIZE: usize = FILE + NAME_BYTES;

/// An empty block for an answer. Private sessions are found by their GUID and mode; others do not need them.
pub(crate) fn empty(guid: Guid, mode: u32) -> Vec<u8> {
    let mut raw = EventTraceProperties { log_file_mode: mode, ..EventTraceProperties::default() };
    raw.wnode.guid = guid;
    block(raw, "", "")
}

/// The block of a start.
pub(crate) fn of_start(properties: &Properties) -> Vec<u8> {
    let mut raw = EventTraceProperties {
        buffer_size: properties.buffer_kib,
        minimum_buffers: properties.minimum_buffers,
        maximum_buffers: properties.maximum_buffers,
        maximum_file_size: properties.maximum_file_size,
        log_file_mode: properties.mode,
        flush_timer: properties.flush_timer,
        enable_flags: properties.enable_flags,
        ..EventTraceProperties::default()
    };
    raw.wnode.guid = properties.guid;
    raw.wnode.client_context = properties.clock as u32;
    let file = properties.log_file.as_ref().map(|path| path.to_string_lossy().into_owned());
    // The session's name is an argument of its own; the system copies it into the block.
    let mut bytes = block(raw, "", file.as_deref().unwrap_or_default());
    if file.is_none() {
        clear_file_offset(&mut bytes);
    }
    bytes
}

/// The block of an update: `status` is what the session is to be. A file only where it changes: an offset to a name that is
/// unchanged makes an update fail.
pub(crate) fn of_update(status: &SessionStatus, file: Option<&str>) -> Vec<u8> {
    let mut raw = EventTraceProperties {
        buffer_size: status.buffer_kib,
        minimum_buffers: status.minimum_buffers,
        maximum_buffers: status.maximum_buffers,
        maximum_file_size: status.maximum_file_size,
        log_file_mode: status.mode,
        flush_timer: status.flush_timer,
        enable_flags: status.enable_flags,
        ..EventTraceProperties::default()
    };
    raw.wnode.guid = status.guid;
    raw.wnode.client_context = status.clock;
    let mut bytes = block(raw, "", file.unwrap_or_default());
    if file.is_none() {
        clear_file_offset(&mut bytes);
    }
    bytes
}

fn block(mut raw: EventTraceProperties, name: &str, file: &str) -> Vec<u8> {
    raw.wnode.buffer_size = length(SIZE);
    raw.wnode.flags = WNODE_FLAG_TRACED_GUID;
    raw.logger_name_offset = length(NAME);
    raw.log_file_name_offset = length(FILE);
    let mut bytes = raw.to_bytes().to_vec();
    put_text(&mut bytes, name, FILE);
    put_text(&mut bytes, file, SIZE);
    bytes
}

/// Appends a text and fills up to `end`. A text that is too long is cut: the checks come before.
fn put_text(bytes: &mut Vec<u8>, text: &str, end: usize) {
    bytes.extend(text.encode_utf16().take(MAX_NAME).flat_map(u16::to_le_bytes));
    bytes.resize(end, 0);
}

fn clear_file_offset(bytes: &mut [u8]) {
    if let Some(mut raw) = EventTraceProperties::parse(bytes) {
        raw.log_file_name_offset = 0;
        if let Some(place) = bytes.first_chunk_mut() {
            *place = raw.to_bytes();
        }
    }
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The UTF-16 text at an offset of a block; `None` where there is none.
pub(crate) fn text_at(block: &[u8], offset: u32) -> Option<String> {
    let start = usize::try_from(offset).ok().filter(|start| *start >= EventTraceProperties::SIZE)?;
    let (units, _) = block.get(start..)?.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0).collect();
    (!units.is_empty()).then(|| String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use etw_types::Guid;
    use etw_types::session::{EventTraceProperties, mode};

    use super::{NAME, SIZE, empty, of_start, text_at};
    use crate::Properties;

    #[test]
    fn a_block_of_a_start_has_its_size_its_offsets_and_the_name_of_the_file() {
        let block = of_start(&Properties::new("s").file("C:\\trace.etl").buffers(64, 4, 8));
        let raw = EventTraceProperties::parse(&block).unwrap();
        assert_eq!(block.len(), SIZE);
        assert_eq!(usize::try_from(raw.wnode.buffer_size), Ok(SIZE));
        assert_eq!(usize::try_from(raw.logger_name_offset), Ok(NAME));
        assert_eq!((raw.wnode.flags, raw.wnode.client_context, raw.buffer_size), (0x2_0000, 1, 64));
        assert_eq!(raw.log_file_mode, mode::INDEPENDENT_SESSION);
        assert_eq!(text_at(&block, raw.log_file_name_offset).as_deref(), Some("C:\\trace.etl"));
        assert!(raw.log_file_name_offset > raw.logger_name_offset, "the session's name comes first");
    }

    #[test]
    fn without_a_file_there_is_no_offset_to_one() {
        let raw = EventTraceProperties::parse(&of_start(&Properties::new("s").real_time())).unwrap();
        assert_eq!(raw.log_file_name_offset, 0);
        assert_ne!(EventTraceProperties::parse(&empty(Guid::ZERO, 0)).unwrap().log_file_name_offset, 0);
    }

    #[test]
    fn texts_outside_of_a_block_or_inside_the_structure_are_not_read() {
        let block = empty(Guid::ZERO, 0);
        assert_eq!(text_at(&block, 0), None);
        assert_eq!(text_at(&block, 40), None);
        assert_eq!(text_at(&block, u32::MAX), None);
    }
}
