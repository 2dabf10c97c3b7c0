//! Files of a running session: the next numbered file, the end of the file, and preallocated space.

use std::path::Path;

use crate::common::{PROVIDER, TempFile, read_events, register, write};
use etw_engine::{Enable, Engine, EngineOptions, Properties, Session};
use etw_etl::Reader;
use etw_types::session::{ClockType, Update, mode};
use etw_types::{Level, Win32Error};

fn started(engine: &Engine, properties: &Properties) -> (u64, Session) {
    let (handle, _) = register(engine, PROVIDER);
    let session = engine.start(properties).unwrap();
    session.enable(PROVIDER, Enable::default());
    (handle, session)
}

fn numbered(file: &TempFile) -> Properties {
    Properties { mode: mode::NEWFILE, maximum_file_size: 1, ..Properties::to_file("numbered", file.path()) }
}

fn payloads(path: &Path) -> Vec<Vec<u8>> {
    read_events(path).iter().map(|event| event.payload().to_vec()).collect()
}

#[test]
fn incrementing_the_file_goes_on_with_the_next_number_and_loses_nothing() {
    let file = TempFile::new("increment-%d");
    let engine = Engine::new();
    let (handle, session) = started(&engine, &numbered(&file));
    for number in 1..=3_u8 {
        write(&engine, handle, Level::Error, 0, &[number]);
        let status = session.increment_file().unwrap();
        assert_eq!(status.status.properties.log_file, Some(file.numbered(u32::from(number) + 1)));
    }
    write(&engine, handle, Level::Error, 0, &[4]);
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 4);
    assert_eq!(statistics.recorded, 4);
    assert_eq!(statistics.lost, 0);
    for number in 1..=4_u8 {
        assert_eq!(payloads(&file.numbered(number.into())), [[number]]);
    }
    assert_eq!(session.increment_file().err(), Some(Win32Error::WmiInstanceNotFound));
}

#[test]
fn only_numbered_files_are_incremented_and_only_by_a_system_that_can() {
    let file = TempFile::new("sequential");
    let engine = Engine::new();
    let (_, session) = started(&engine, &Properties::to_file("sequential", file.path()));
    assert_eq!(session.increment_file().err(), Some(Win32Error::InvalidParameter));

    let file = TempFile::new("older-%d");
    let engine = Engine::with_options(EngineOptions { os_build: 17_134, ..EngineOptions::default() });
    let (_, session) = started(&engine, &numbered(&file));
    let newer = engine.options().answers.newer_class;
    assert_eq!(session.increment_file().err(), Some(newer));
    assert_eq!(session.convert_to_real_time().err(), Some(newer));

    for (os_build, increments, converts) in [(17_763, true, false), (19_040, true, false), (19_041, true, true)] {
        let engine = Engine::with_options(EngineOptions { os_build, ..EngineOptions::default() });
        let file = TempFile::new(&format!("build-{os_build}-%d"));
        let (_, session) = started(&engine, &numbered(&file));
        assert_eq!(session.increment_file().is_ok(), increments, "{os_build}");
        assert_eq!(session.convert_to_real_time().is_ok(), converts, "{os_build}");
    }
}

#[test]
fn a_next_file_that_cannot_be_made_leaves_the_session_with_the_present_one() {
    let file = TempFile::new("blocked-%d");
    let engine = Engine::new();
    let (handle, session) = started(&engine, &numbered(&file));
    std::fs::create_dir(file.numbered(2)).unwrap();
    let refused = session.increment_file().err();
    std::fs::remove_dir(file.numbered(2)).unwrap();
    assert_eq!(refused, Some(Win32Error::BadPathname));
    let error = session.status().file_error.unwrap();
    assert!(error.contains(&*file.numbered(2).to_string_lossy()), "{error}");
    write(&engine, handle, Level::Error, 0, b"still");
    session.finish().unwrap();
    assert_eq!(payloads(&file.numbered(1)), [b"still"]);
}

#[test]
fn converting_to_real_time_ends_the_file_and_serves_consumers() {
    let file = TempFile::new("converted");
    let engine = Engine::new();
    let (handle, session) = started(&engine, &Properties::to_file("converted", file.path()));
    write(&engine, handle, Level::Error, 0, b"file");
    assert!(session.consume().is_err(), "there is a file only");
    let status = session.convert_to_real_time().unwrap();
    assert_eq!(status.status.properties.mode & mode::REAL_TIME, mode::REAL_TIME);
    assert_eq!(status.status.properties.log_file, None);
    let consumer = session.consume().unwrap();
    write(&engine, handle, Level::Error, 0, b"live");
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 2);
    assert_eq!(statistics.recorded, 2);
    assert_eq!(statistics.lost, 0);
    assert_eq!(consumer.next_buffer().map(|buffer| buffer.events), Some(1));
    assert_eq!(payloads(file.path()), [b"file"]);
}

/// Losses are counted in the file that was current when they happened, no matter why the session stops writing to it.
#[test]
fn a_file_that_a_session_leaves_counts_what_was_lost_until_then() {
    let leave: [fn(&Session, &TempFile); 2] = [
        |session, _| drop(session.convert_to_real_time().unwrap()),
        |session, next| {
            let update = Update { log_file: Some(next.path().to_owned()), ..Update::default() };
            session.update(&update).unwrap();
        },
    ];
    for (number, leave) in leave.into_iter().enumerate() {
        let file = TempFile::new(&format!("left-{number}"));
        let next = TempFile::new(&format!("next-{number}"));
        let engine = Engine::new();
        let properties = Properties { buffer_kib: 4, ..Properties::to_file("left", file.path()) };
        let (handle, session) = started(&engine, &properties);
        write(&engine, handle, Level::Error, 0, &[0; 5000]);
        leave(&session, &next);
        let lost = || Reader::open(file.path()).unwrap().header().events_lost;
        assert_eq!(lost(), 1);
        assert_eq!(session.finish().unwrap().statistics.lost, 1);
        assert_eq!(lost(), 1);
    }
}

#[test]
fn a_preallocated_file_has_its_size_while_the_session_runs_and_what_it_needs_afterwards() {
    let file = TempFile::new("preallocated");
    let engine = Engine::new();
    let properties = Properties::to_file("preallocated", file.path());
    let mode = properties.mode | mode::PREALLOCATE;
    let (handle, session) = started(&engine, &Properties { mode, maximum_file_size: 2, ..properties });
    write(&engine, handle, Level::Error, 0, b"x");
    session.flush().unwrap();
    let metadata = file.path().metadata().unwrap();
    assert_eq!(metadata.len(), 2 * 1024 * 1024);
    #[cfg(unix)]
    assert!(std::os::unix::fs::MetadataExt::blocks(&metadata) * 512 >= 2 * 1024 * 1024, "space is taken, not promised");
    assert_eq!(payloads(file.path()), [b"x"], "readable before its end");
    session.finish().unwrap();
    assert_eq!(file.path().metadata().unwrap().len(), 2 * 64 * 1024);
    assert_eq!(payloads(file.path()), [b"x"]);
}

#[test]
fn a_session_that_appends_keeps_what_is_in_the_file() {
    let file = TempFile::new("appended");
    let properties =
        Properties { mode: mode::APPEND, clock: ClockType::SystemTime, ..Properties::to_file("appended", file.path()) };
    for number in 1..=3_u8 {
        let engine = Engine::new();
        let (handle, session) = started(&engine, &properties);
        write(&engine, handle, Level::Error, 0, &[number]);
        assert_eq!(session.finish().unwrap().statistics.recorded, 1);
    }
    assert_eq!(payloads(file.path()), [[1], [2], [3]]);
    assert_eq!(Reader::open(file.path()).unwrap().header().buffers_written, 4);
}

#[test]
fn appending_to_a_truncated_file_continues_after_its_last_complete_buffer() {
    let file = TempFile::new("appended-cut");
    let properties =
        Properties { mode: mode::APPEND, clock: ClockType::SystemTime, ..Properties::to_file("cut", file.path()) };
    let append = |number: u8| {
        let engine = Engine::new();
        let (handle, session) = started(&engine, &properties);
        write(&engine, handle, Level::Error, 0, &[number]);
        session.finish().unwrap();
    };
    append(1);
    append(2);
    let length = file.path().metadata().unwrap().len();
    std::fs::File::options().write(true).open(file.path()).unwrap().set_len(length - 1000).unwrap();
    append(3);
    assert_eq!(payloads(file.path()), [[1], [3]]);
}
