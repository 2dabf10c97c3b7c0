//! `StartTrace` with bytes: the results that Wine's public conformance test expects from Windows.

use etw_engine::Engine;
use etw_session::System;
use etw_session::platform::EngineSystem;
use etw_types::session::{EventTraceProperties, SYSTEM_TRACE_CONTROL, mode};
use etw_types::{Guid, Win32Error};

const NAME: &str = "wine";
const SIZE: usize = EventTraceProperties::SIZE;

/// Returns a block with room for both names, changed by the caller.
fn block(change: impl FnOnce(&mut EventTraceProperties)) -> Vec<u8> {
    let mut raw = EventTraceProperties {
        log_file_mode: mode::NONE,
        logger_name_offset: u32::try_from(SIZE).unwrap(),
        log_file_name_offset: u32::try_from(SIZE + 2 * (NAME.len() + 1)).unwrap(),
        ..EventTraceProperties::default()
    };
    let path = std::env::temp_dir().join(format!("etw-session-wine-{}.etl", std::process::id()));
    let path: Vec<u8> = path.to_str().unwrap().encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    raw.wnode.buffer_size = u32::try_from(SIZE + 2 * (NAME.len() + 1) + path.len()).unwrap();
    raw.wnode.flags = 0x0002_0000;
    change(&mut raw);
    let mut bytes = raw.to_bytes().to_vec();
    bytes.resize(SIZE + 2 * (NAME.len() + 1), 0);
    bytes.extend(path);
    bytes
}

fn start(name: &str, change: impl FnOnce(&mut EventTraceProperties)) -> Result<u64, Win32Error> {
    EngineSystem::new(Engine::new()).start_trace(name, &mut block(change))
}

#[test]
fn a_block_without_a_size_is_a_bad_length() {
    assert_eq!(start(NAME, |raw| raw.wnode.buffer_size = 0), Err(Win32Error::BadLength));
}

#[test]
fn a_name_without_room_is_a_bad_length() {
    assert_eq!(start("this name is too long for the block", |_| {}), Err(Win32Error::BadLength));
    assert_eq!(start(&"n".repeat(1025), |raw| raw.logger_name_offset = 0), Err(Win32Error::BadLength));
}

#[test]
fn an_offset_within_the_structure_is_invalid() {
    assert_eq!(start(NAME, |raw| raw.logger_name_offset = 1), Err(Win32Error::InvalidParameter));
    assert_eq!(start(NAME, |raw| raw.log_file_name_offset = 1), Err(Win32Error::InvalidParameter));
    assert_eq!(start(NAME, |raw| raw.log_file_name_offset = raw.wnode.buffer_size), Err(Win32Error::InvalidParameter));
}

#[test]
fn modes_that_exclude_each_other_are_invalid() {
    let both = mode::SEQUENTIAL | mode::CIRCULAR;
    assert_eq!(start(NAME, |raw| raw.log_file_mode = both), Err(Win32Error::InvalidParameter));
}

#[test]
fn the_guid_of_the_systems_control_is_invalid_with_another_name() {
    assert_eq!(start(NAME, |raw| raw.wnode.guid = SYSTEM_TRACE_CONTROL), Err(Win32Error::InvalidParameter));
}

/// A slice and a string cannot be null, so empty ones are used instead. The handle is returned, so it has no pointer.
#[test]
fn nulls_are_invalid() {
    assert_eq!(start("", |_| {}), Err(Win32Error::InvalidParameter), "the name");
    let system = EngineSystem::new(Engine::new());
    assert_eq!(system.start_trace(NAME, &mut []), Err(Win32Error::InvalidParameter), "the properties");
    for size in [1, SIZE - 1] {
        assert_eq!(system.start_trace(NAME, &mut vec![0; size]), Err(Win32Error::BadLength), "less than a structure");
    }
}

#[test]
fn neither_a_file_nor_a_mode_is_a_bad_path() {
    assert_eq!(start(NAME, |raw| raw.log_file_name_offset = 0), Err(Win32Error::BadPathname));
    let sequential = |raw: &mut EventTraceProperties| {
        raw.log_file_name_offset = 0;
        raw.log_file_mode = mode::SEQUENTIAL;
    };
    assert_eq!(start(NAME, sequential), Err(Win32Error::BadPathname), "a mode of files needs one");
}

#[test]
fn a_second_start_already_exists_by_name_and_by_guid() {
    let system = EngineSystem::new(Engine::new());
    let real_time = |raw: &mut EventTraceProperties| {
        raw.log_file_name_offset = 0;
        raw.log_file_mode = mode::REAL_TIME;
        raw.wnode.guid = Guid::from_name("Wine");
    };
    assert!(system.start_trace(NAME, &mut block(real_time)).is_ok_and(|handle| handle != 0));
    assert_eq!(system.start_trace(NAME, &mut block(real_time)), Err(Win32Error::AlreadyExists));
    assert_eq!(system.start_trace("WINE", &mut block(real_time)), Err(Win32Error::AlreadyExists));
    assert_eq!(system.start_trace("win2", &mut block(real_time)), Err(Win32Error::AlreadyExists));
}
