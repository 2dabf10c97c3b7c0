//! Sessions as values: what the builders set, what the predicates say, what an update changes.

use std::path::Path;
use std::time::Duration;

use etw_types::session::{
    ClockType, GroupMask, KERNEL_LOGGER_NAME, Limit, Properties, SYSTEM_TRACE_CONTROL, SessionStatus, Update, mode,
};
use etw_types::{Guid, NtStatus, Win32Error};

#[test]
fn a_builder_sets_its_part_and_keeps_the_others() {
    let guid = Guid::from_u128(7);
    let properties = Properties::new("s").file("a.etl").circular(5).buffers(64, 2, 3).clock(ClockType::SystemTime);
    let properties = properties.guid(guid).system_logger(9).mode(mode::PREALLOCATE);
    let expected = Properties {
        name: "s".into(),
        guid,
        buffer_kib: 64,
        minimum_buffers: 2,
        maximum_buffers: 3,
        maximum_file_size: 5,
        mode: mode::INDEPENDENT_SESSION | mode::CIRCULAR | mode::SYSTEM_LOGGER | mode::PREALLOCATE,
        flush_timer: 0,
        enable_flags: 9,
        clock: ClockType::SystemTime,
        log_file: Some("a.etl".into()),
    };
    assert_eq!(properties, expected);
    let without = mode::INDEPENDENT_SESSION | mode::PREALLOCATE;
    assert_eq!(properties.without_mode(without).mode, mode::CIRCULAR | mode::SYSTEM_LOGGER);
}

#[test]
fn each_kind_of_session_has_its_mode() {
    let plain = Properties::default;
    let file = Properties::to_file("f", "f.etl");
    assert_eq!(file.name.as_str(), "f");
    assert_eq!(file.log_file.as_deref(), Some(Path::new("f.etl")));
    let sized = [plain().sequential(1), plain().circular(2), plain().numbered_files(3)];
    assert_eq!(sized.each_ref().map(|properties| properties.maximum_file_size), [1, 2, 3]);
    let modes = sized.map(|properties| properties.mode);
    assert_eq!(modes, [mode::SEQUENTIAL, mode::CIRCULAR, mode::NEWFILE]);
    assert_eq!(file.mode, mode::SEQUENTIAL);
    assert_eq!(plain().real_time().mode, mode::REAL_TIME);
    let consumers = Properties::to_consumers("c");
    let memory = Properties::in_memory("m");
    assert_eq!(consumers.name.as_str(), "c");
    assert_eq!(consumers.mode, mode::REAL_TIME);
    assert_eq!(memory.name.as_str(), "m");
    assert_eq!(memory.mode, mode::BUFFERING);
    assert_eq!(plain().buffering().mode, mode::BUFFERING);
}

#[test]
fn a_flush_timer_is_in_seconds_if_they_are_whole() {
    let times = [(2000, 2), (1500, 1500), (3000, 3)];
    let mut properties = Properties::default();
    for (milliseconds, timer) in times {
        properties = properties.flush_every(Duration::from_millis(milliseconds));
        let flag = if timer == 1500 { mode::USE_MS_FLUSH_TIMER } else { 0 };
        assert_eq!(properties.flush_timer, timer, "{milliseconds} ms");
        assert_eq!(properties.mode, flag, "{milliseconds} ms");
    }
    assert_eq!(properties.flush_every(Duration::from_nanos(1)).flush_timer, 1, "0 would be no timer");
}

#[test]
fn a_status_says_what_its_session_is_and_lost() {
    let of = |properties: Properties| SessionStatus { properties, ..SessionStatus::default() };
    let plain = of(Properties::new("s"));
    assert!(!plain.has_losses());
    assert!(!plain.is_real_time());
    assert!(!plain.is_system());
    assert!(SessionStatus { events_lost: 1, ..plain.clone() }.has_losses());
    assert!(SessionStatus { log_buffers_lost: 1, ..plain.clone() }.has_losses());
    assert!(SessionStatus { real_time_buffers_lost: 1, ..plain.clone() }.has_losses());
    let mixed = of(Properties::new("s").real_time().circular(1));
    assert!(mixed.is_real_time());
    assert!(!mixed.is_system());
    assert_eq!(mixed.mode_names(), ["circular", "real-time", "independent"]);
    assert!(of(Properties::new("s").guid(SYSTEM_TRACE_CONTROL)).is_system());
    assert!(of(Properties::new("s").system_logger(1)).is_system());
    let kernel = Properties::new(&KERNEL_LOGGER_NAME.to_lowercase());
    assert!(kernel.is_kernel_logger());
    assert!(kernel.is_system());
    assert!(!plain.properties.is_kernel_logger());
}

#[test]
fn an_update_changes_what_it_names() {
    let before =
        Properties::new("s").file("a.etl").buffers(64, 2, 3).system_logger(9).flush_every(Duration::from_secs(4));
    let mut properties = before.clone();
    Update::default().apply(&mut properties);
    assert_eq!(properties, before);
    let mut update = Update {
        enable_flags: Some(1),
        flush_timer: Some(2),
        log_file: Some("b.etl".into()),
        real_time: Some(true),
        maximum_buffers: Some(30),
    };
    update.apply(&mut properties);
    let expected = before.clone().file("b.etl").buffers(64, 2, 30).system_logger(1).real_time();
    assert_eq!(properties, expected.flush_every(Duration::from_secs(2)));
    update.real_time = Some(false);
    update.apply(&mut properties);
    assert_eq!(properties.mode, before.mode);
}

#[test]
fn an_update_from_a_block_names_only_changes() {
    let now = Properties::new("s");
    let of = |asked: &Properties| Update::from_block(&now, asked.clone());
    let same = Update { enable_flags: Some(0), flush_timer: Some(0), ..Update::default() };
    assert_eq!(of(&now), same);
    let asked = now.clone().real_time().buffers(0, 0, 8).file("c.etl");
    let expected =
        Update { real_time: Some(true), maximum_buffers: Some(8), log_file: Some("c.etl".into()), ..same.clone() };
    assert_eq!(of(&asked), expected);
    assert_eq!(Update::from_block(&asked, now.clone()), Update { real_time: Some(false), ..same.clone() });
    assert_eq!(Update::from_block(&asked, now.clone().real_time()), same);
}

#[test]
fn a_limit_allows_the_number_itself() {
    assert_eq!(
        [Limit::at_most("x", 3, 3), Limit::at_least("x", 3, 3), Limit::no_longer("x", 3, 3)],
        [const { Ok(()) }; 3]
    );
    let errors = [Limit::at_most("x", 4, 3), Limit::at_least("x", 2, 3), Limit::no_longer("x", 4, 3)];
    let codes = errors.map(|error| error.unwrap_err().code());
    assert_eq!(codes, [Win32Error::InvalidParameter, Win32Error::InvalidParameter, Win32Error::BadLength]);
    assert_eq!(Limit::rule(true, "r"), Ok(()));
    assert_eq!(Limit::rule_as(true, "r", Win32Error::BadLength), Ok(()));
    assert_eq!(Limit::rule(false, "r").unwrap_err().code(), Win32Error::InvalidParameter);
    let conflict = Limit::rule_as(false, "r", Win32Error::BadLength);
    assert_eq!(conflict, Err(Limit::Conflict { rule: "r", code: Win32Error::BadLength }));
}

#[test]
fn a_group_is_added_to_the_mask_that_its_top_bits_select() {
    let mut mask = GroupMask::default();
    for group in [0x0000_0001, 0x0000_0002, 0x2000_0004, 0xE000_0008, 0xE000_0008] {
        mask.add(group);
    }
    assert_eq!(mask.masks, [3, 4, 0, 0, 0, 0, 0, 8]);
}

#[test]
fn only_the_severity_error_is_an_error() {
    let codes = [0, 0x4000_0000, 0x8000_0005, 0xC000_000D].map(|code| NtStatus::from_int(code).is_error());
    assert_eq!(codes, [false, false, false, true]);
}
