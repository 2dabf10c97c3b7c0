//! Sessions that keep their newest events in memory and write them when flushed.

use crate::common::{PROVIDER, TempFile, read_events, register, write};
use etw_engine::{Enable, Engine, EngineOptions, Properties, Session};
use etw_types::{Level, NtStatus, Win32Error};

fn started(file: Option<&TempFile>) -> (Engine, u64, Session) {
    let engine = Engine::with_options(EngineOptions { processors: 1, ..EngineOptions::default() });
    let (handle, _) = register(&engine, PROVIDER);
    let log_file = file.map(|file| file.path().to_owned());
    let properties = Properties { buffer_kib: 4, minimum_buffers: 3, log_file, ..Properties::in_memory("s") };
    let session = engine.start(&properties).unwrap();
    session.enable(PROVIDER, Enable::default());
    (engine, handle, session)
}

#[test]
fn a_flush_writes_the_newest_events_and_keeps_them() {
    let file = TempFile::new("buffering");
    let (engine, handle, session) = started(Some(&file));
    for number in 0..30_u8 {
        assert_eq!(write(&engine, handle, Level::Error, 0, &[number; 900]), NtStatus::Success);
    }
    let numbers = || read_events(file.path()).iter().map(|event| event.payload()[0]).collect::<Vec<_>>();
    let status = session.flush().unwrap();
    // Three buffers of four events each; the last one is not full.
    assert_eq!(numbers(), (20..30).collect::<Vec<_>>());
    assert_eq!(status.statistics.discarded, 20);
    assert_eq!(status.statistics.pending, 10);
    write(&engine, handle, Level::Error, 0, &[30; 900]);
    session.flush().unwrap();
    assert_eq!(numbers().last(), Some(&30));
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 31);
    assert_eq!(statistics.discarded, 31);
    assert_eq!(statistics.lost, 0);
    assert_eq!(statistics.pending, 0);
}

#[test]
fn without_a_file_there_is_nothing_to_flush_to() {
    let (engine, handle, session) = started(None);
    write(&engine, handle, Level::Error, 0, b"x");
    assert_eq!(session.flush().unwrap_err(), Win32Error::BadPathname);
    assert_eq!(session.finish().unwrap().statistics.discarded, 1);
}
