//! `EVENT_TRACE_PROPERTIES` as bytes: sizes, offsets and names, as a public conformance test asserts them.

use crate::common::TempFile;
use etw_engine::{Engine, Properties};
use etw_types::Win32Error;
use etw_types::session::{ClockType, EventTraceProperties, mode};

const SIZE: usize = EventTraceProperties::SIZE;
/// `SIZE` as an offset.
const START: u32 = 120;
const NAMES: u32 = 200;

fn block(change: impl FnOnce(&mut EventTraceProperties)) -> Vec<u8> {
    let mut raw = EventTraceProperties::default();
    raw.wnode.buffer_size = START + 2 * NAMES;
    raw.logger_name_offset = START;
    raw.log_file_name_offset = START + NAMES;
    raw.log_file_mode = mode::SEQUENTIAL;
    change(&mut raw);
    let mut bytes = raw.to_bytes().to_vec();
    bytes.resize(SIZE + 2 * NAMES as usize, 0);
    bytes
}

fn put(block: &mut [u8], offset: usize, text: &str) {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    block[offset..offset + bytes.len()].copy_from_slice(&bytes);
}

#[test]
fn sizes_and_offsets_are_checked() {
    let refused = |block: &[u8]| Properties::from_block("name", block).unwrap_err();
    assert_eq!(refused(&block(|raw| raw.wnode.buffer_size = 0)), Win32Error::BadLength);
    assert_eq!(refused(&block(|raw| raw.wnode.buffer_size = u32::MAX)), Win32Error::BadLength);
    assert_eq!(refused(&[0; 10]), Win32Error::BadLength);
    assert_eq!(refused(&block(|raw| raw.logger_name_offset = 1)), Win32Error::InvalidParameter);
    assert_eq!(refused(&block(|raw| raw.log_file_name_offset = 1)), Win32Error::InvalidParameter);
    assert_eq!(refused(&block(|raw| raw.log_file_name_offset = 9999)), Win32Error::InvalidParameter);
    let long = "n".repeat(100);
    assert_eq!(Properties::from_block(&long, &block(|_| {})).unwrap_err(), Win32Error::BadLength, "no terminator");
    assert!(Properties::from_block(&long[1..], &block(|_| {})).is_ok());
}

#[test]
fn a_block_starts_a_session_and_is_filled_in_by_its_end() {
    let file = TempFile::new("block");
    let mut bytes = block(|raw| {
        raw.buffer_size = 8;
        raw.wnode.client_context = 2;
    });
    put(&mut bytes, SIZE + NAMES as usize, &file.path().to_string_lossy());
    let asked = Properties::from_block("by block", &bytes).unwrap();
    assert_eq!(asked.buffer_kib, 8);
    assert_eq!(asked.clock, ClockType::SystemTime);
    assert_eq!(asked.log_file.as_deref(), Some(file.path()));
    let session = Engine::new().start(&asked).unwrap();
    session.query().unwrap().status.fill_block(&mut bytes).unwrap();
    let filled = EventTraceProperties::parse(&bytes).unwrap();
    assert_eq!(filled.wnode.historical_context, session.handle());
    assert_eq!(filled.buffer_size, 8);
    assert_eq!(filled.wnode.client_context, 2);
    assert_eq!(&bytes[SIZE..SIZE + 4], b"b\0y\0", "the name was copied in");
    let status = session.finish().unwrap();
    let mut short = block(|raw| raw.log_file_name_offset = START + 4);
    assert_eq!(status.status.fill_block(&mut short), Err(Win32Error::MoreData));
    let filled = EventTraceProperties::parse(&short).unwrap();
    assert_eq!(filled.wnode.historical_context, session.handle(), "the rest is there");
}

#[test]
fn no_file_and_no_mode_has_a_bad_path() {
    let bytes = block(|raw| {
        raw.log_file_mode = 0;
        raw.log_file_name_offset = 0;
    });
    let asked = Properties::from_block("name", &bytes).unwrap();
    assert_eq!(Engine::new().start(&asked).unwrap_err(), Win32Error::BadPathname);
}
