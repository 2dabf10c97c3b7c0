//! Tests every control code with buffers of all relevant lengths.

use std::time::Duration;

use super::ioctl::{Command, ECHO, GET_STATISTICS, GET_STATUSES, Refusal, SET_INTERVAL, Statistics, Statuses};

#[test]
fn codes_have_the_values_that_clients_compute() {
    assert_eq!(ECHO, 0x0022_E000);
    assert_eq!(GET_STATISTICS, 0x0022_6004);
    assert_eq!(SET_INTERVAL, 0x0022_A008);
    assert_eq!(GET_STATUSES, 0x0022_600C);
}

#[test]
fn echo_needs_as_much_room_as_it_was_given() {
    assert_eq!(Command::parse(ECHO, b"", 0), Ok(Command::Echo));
    assert_eq!(Command::parse(ECHO, b"abc", 3), Ok(Command::Echo));
    assert_eq!(Command::parse(ECHO, b"abc", 2), Err(Refusal::BufferTooSmall));
}

#[test]
fn statistics_need_their_size() {
    assert_eq!(Command::parse(GET_STATISTICS, b"", Statistics::SIZE), Ok(Command::GetStatistics));
    for room in 0..Statistics::SIZE {
        assert_eq!(Command::parse(GET_STATISTICS, b"", room), Err(Refusal::BufferTooSmall));
    }
    let encoded = Statistics { requests: 1, bytes: 0x0102, ticks: u64::MAX }.encode();
    assert_eq!(encoded[..10], [1, 0, 0, 0, 0, 0, 0, 0, 2, 1]);
    assert_eq!(encoded[16..], [0xFF; 8]);
}

#[test]
fn statuses_need_their_size() {
    assert_eq!(Command::parse(GET_STATUSES, b"", Statuses::SIZE), Ok(Command::GetStatuses));
    for room in 0..Statuses::SIZE {
        assert_eq!(Command::parse(GET_STATUSES, b"", room), Err(Refusal::BufferTooSmall));
    }
    let admin_register = 3;
    let admin_binary = 0xC000_0008;
    let register = 0xC000_009A;
    let binary = 0xC000_00BB;
    let statuses = Statuses { register, traits: 1, descriptor_types: 2, binary, admin_register, admin_binary };
    let expected = [0x9A, 0, 0, 0xC0, 1, 0, 0, 0, 2, 0, 0, 0, 0xBB, 0, 0, 0xC0, 3, 0, 0, 0, 8, 0, 0, 0xC0];
    assert_eq!(statuses.encode(), expected);
}

#[test]
fn an_interval_is_read_and_its_range_is_kept() {
    let parse = |milliseconds: u32| Command::parse(SET_INTERVAL, &milliseconds.to_le_bytes(), 0);
    assert_eq!(parse(1), Ok(Command::SetInterval(Duration::from_millis(1))));
    assert_eq!(parse(60_000), Ok(Command::SetInterval(Duration::from_mins(1))));
    for milliseconds in [0, 60_001, u32::MAX] {
        assert_eq!(parse(milliseconds), Err(Refusal::BadInterval));
    }
    for length in 0..4 {
        assert_eq!(Command::parse(SET_INTERVAL, &[0; 4][..length], 0), Err(Refusal::BufferTooSmall));
    }
}

#[test]
fn other_codes_are_refused() {
    for code in [0, ECHO + 1, ECHO + 0x10, u32::MAX] {
        assert_eq!(Command::parse(code, b"", 100), Err(Refusal::UnknownCode));
    }
}
