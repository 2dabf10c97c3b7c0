//! The rules for sessions: what is accepted, and the message of each refusal; the block that describes a session.

use etw_types::session::mode::{
    self, ADD_HEADER, APPEND, BUFFERING, CIRCULAR, DELAY_OPEN_FILE, INDEPENDENT_SESSION, NEWFILE, NONSTOPPABLE,
    PREALLOCATE, PRIVATE_IN_PROC, PRIVATE_LOGGER, REAL_TIME, RELOG, SEQUENTIAL, USE_GLOBAL_SEQUENCE,
    USE_LOCAL_SEQUENCE, USE_PAGED_MEMORY,
};
use etw_types::session::{
    ClockType, KERNEL_LOGGER_NAME, MAX_NAME, Properties, SYSTEM_TRACE_CONTROL, SessionStatus, empty_block,
};
use etw_types::{Guid, Win32Error};

/// A real-time session.
fn live() -> Properties {
    Properties::to_consumers("s")
}

fn file(name: &str) -> Properties {
    Properties::default().file(name).mode(SEQUENTIAL)
}

#[test]
fn sessions_within_the_rules_are_accepted() {
    let private = Properties::to_file("s", "a.etl").mode(PRIVATE_LOGGER);
    let kernel = Properties { name: KERNEL_LOGGER_NAME.into(), ..live() };
    for properties in [
        live(),
        Properties::in_memory("s"),
        Properties::to_file("s", "a.etl").real_time(),
        private.clone(),
        private.mode(PRIVATE_IN_PROC),
        kernel.clone(),
        kernel.guid(SYSTEM_TRACE_CONTROL),
        live().mode(USE_PAGED_MEMORY),
        live().system_logger(1),
        Properties::new("s").file("a.etl").circular(1),
        Properties::new("s").file("a%d.etl").numbered_files(1),
        Properties::to_file("s", "a.etl").mode(PREALLOCATE).sequential(1),
        Properties::new("s").file("a.etl").mode(APPEND).clock(ClockType::SystemTime),
        live().clock(ClockType::Cycles),
        live().buffers(4, 5, 0),
        live().buffers(16384, 5, 5),
    ] {
        assert_eq!(properties.check(), Ok(()), "{properties:?}");
    }
}

#[test]
fn a_broken_rule_is_named() {
    let named = |properties: Properties| Properties { name: "s".into(), ..properties };
    for (properties, message) in [
        (Properties { name: String::new(), ..live() }, "needs a name"),
        (Properties { name: "a\0b".into(), ..live() }, "cannot contain NUL"),
        (Properties { name: "x".repeat(MAX_NAME + 1), ..live() }, "the session's name"),
        (named(file(&"x".repeat(MAX_NAME + 1))), "the file's name"),
        (live().mode(PRIVATE_IN_PROC), "must also be private"),
        (live().guid(SYSTEM_TRACE_CONTROL), "is reserved"),
        (live().mode(USE_PAGED_MEMORY).system_logger(1), "cannot use paged memory"),
        (named(Properties::default().file("a.etl").circular(0)), "needs a maximum size"),
        (named(Properties::default().file("a%d.etl").numbered_files(0)), "needs a maximum size"),
        (named(file("a.etl")).mode(PREALLOCATE), "needs a maximum size"),
        (Properties::new("s"), "a session needs a file"),
        (live().mode(SEQUENTIAL), "a session needs a file"),
        (named(Properties::default().file("a.etl").numbered_files(1)), "must contain %d"),
        (live().clock(ClockType::from_int(4)), "the clock must be"),
        (named(file("a.etl")).mode(APPEND).clock(ClockType::Cycles), "needs clock 2"),
    ] {
        let error = properties.check_enforced().unwrap_err();
        assert!(error.to_string().contains(message), "{error}: {properties:?}");
        assert_eq!(properties.check(), Err(error));
    }
    assert_eq!(Properties::new("s").check().unwrap_err().code(), Win32Error::BadPathname, "there is no file");
    // Windows adjusts these values instead of refusing them.
    for properties in [live().buffers(3, 0, 0), live().buffers(16385, 0, 0), live().buffers(0, 6, 5)] {
        assert!(properties.check().is_err(), "{properties:?}");
        assert!(properties.check_enforced().is_ok(), "{properties:?}");
    }
}

#[test]
fn modes_exclude_each_other_as_documented() {
    let pairs: [(u32, &[u32], &str); 6] = [
        (SEQUENTIAL, &[CIRCULAR, NEWFILE], "a sequential file"),
        (CIRCULAR, &[APPEND, NEWFILE], "a circular file"),
        (APPEND, &[REAL_TIME, NEWFILE, PRIVATE_LOGGER], "appending"),
        (BUFFERING, &[SEQUENTIAL, CIRCULAR, APPEND, NEWFILE, PREALLOCATE, REAL_TIME], "buffering"),
        (PRIVATE_LOGGER, &[REAL_TIME, INDEPENDENT_SESSION, PREALLOCATE], "a private session"),
        (USE_GLOBAL_SEQUENCE, &[USE_LOCAL_SEQUENCE], "sequence numbers"),
    ];
    for (one, others, message) in pairs {
        assert_eq!(mode::conflict(one), None, "{message}");
        for other in others {
            assert_eq!(mode::conflict(*other), None, "{message}");
            assert!(mode::conflict(one | other).unwrap().starts_with(message), "{message}: {other:#x}");
        }
    }
    assert_eq!(mode::conflict(0), None);
    assert_eq!(mode::conflict(NONSTOPPABLE), Some("only an autologger can be unstoppable"));
    for refused in [DELAY_OPEN_FILE, ADD_HEADER, RELOG] {
        assert!(mode::conflict(refused).unwrap().starts_with("the modes for delayed opening"));
    }
}

#[test]
fn a_filled_block_has_the_status_and_both_names() {
    let properties = Properties {
        name: "x".repeat(MAX_NAME),
        guid: Guid::from_u128(1),
        buffer_kib: 2,
        minimum_buffers: 3,
        maximum_buffers: 4,
        maximum_file_size: 5,
        mode: 6,
        flush_timer: 7,
        enable_flags: 8,
        clock: ClockType::Cycles,
        log_file: Some("y".repeat(MAX_NAME).into()),
    };
    let mut status = SessionStatus {
        properties,
        handle: 9,
        number_of_buffers: 10,
        free_buffers: 11,
        events_lost: 12,
        buffers_written: 13,
        log_buffers_lost: 14,
        real_time_buffers_lost: 15,
    };
    let mut block = empty_block(Guid::ZERO, 0);
    assert_eq!(status.fill_block(&mut block), Ok(()));
    assert_eq!(SessionStatus::parse(&block), Some(status.clone()));
    assert_eq!(Properties::from_block(&status.properties.name, &block), Ok(status.properties.clone()));
    let started = Properties::from_block(&status.properties.name, &status.properties.to_block());
    assert_eq!(started, Ok(status.properties.clone()), "as a start passes them");
    let longer = "x".repeat(MAX_NAME + 1);
    assert_eq!(Properties::from_block(&longer, &block), Err(Win32Error::BadLength));
    status.properties.name = longer;
    let mut block = empty_block(Guid::ZERO, 0);
    assert_eq!(status.fill_block(&mut block), Err(Win32Error::MoreData));
    let read = SessionStatus::parse(&block).unwrap().properties;
    assert_eq!(read.name.as_str(), "");
    assert_eq!(read.log_file, status.properties.log_file.clone(), "the file's name is kept");
}

#[test]
fn an_empty_block_identifies_a_private_session() {
    let read = SessionStatus::parse(&empty_block(Guid::from_u128(3), PRIVATE_LOGGER)).unwrap();
    let expected = Properties { guid: Guid::from_u128(3), mode: PRIVATE_LOGGER, ..Properties::default() };
    assert_eq!(read, SessionStatus { properties: expected, ..SessionStatus::default() });
}
