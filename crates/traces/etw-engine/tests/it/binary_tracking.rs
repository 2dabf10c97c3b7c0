//! The paths of providers' binaries are reported to the sessions that track them.

use crate::common::{OTHER, PROVIDER, TempFile, write};
use etw_engine::info::BinaryTracking;
use etw_engine::{Buffer, Enable, Engine, Origin, Properties};
use etw_etl::Reader;
use etw_etl::format::stack::HOOK_BINARY_PATH;
use etw_types::{EventInfoClass, Guid, Level};

fn driver() -> Origin {
    Origin { path: Some("\\SystemRoot\\System32\\drivers\\sample.sys".into()), ..Origin::kernel() }
}

fn process() -> Origin {
    Origin { path: Some("C:\\Tools\\tool.exe".into()), ..Origin::user(77, "tool.exe") }
}

/// Returns the GUIDs and paths in a file, and the number of other events.
fn tracked_providers(file: &TempFile) -> (Vec<(Guid, String)>, usize) {
    let reader = Reader::open(file.path()).unwrap();
    assert!(reader.report().is_whole(), "{}", reader.report());
    let mut others = 0;
    let mut paths = Vec::new();
    for event in reader {
        if event.header.descriptor.id == HOOK_BINARY_PATH {
            let (count, data) = event.payload().split_first_chunk().unwrap();
            assert_eq!(u32::from_le_bytes(*count), 1, "the number of GUIDs");
            let (guid, path) = data.split_first_chunk().unwrap();
            let units: Vec<u16> = path.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
            assert_eq!(units.last(), Some(&0));
            paths.push((Guid::from_bytes_le(*guid), String::from_utf16_lossy(&units[..units.len() - 1])));
        } else if event.header.provider.is_some() {
            others += 1;
        }
    }
    (paths, others)
}

#[test]
fn a_session_that_tracks_gets_the_providers_before_and_after() {
    let file = TempFile::new("tracked");
    let engine = Engine::new();
    let session = engine.start(&Properties::to_file("tracked", file.path())).unwrap();
    session.enable(PROVIDER, Enable::default());
    let handle = engine.register_from(driver(), PROVIDER, None, |_| {}).unwrap();
    session.set_information(&BinaryTracking(true)).unwrap();
    write(&engine, handle, Level::Error, 0, b"x");
    engine.register_from(process(), OTHER, None, |_| {}).unwrap();
    engine.register_from(process(), Guid::from_name("not-enabled"), None, |_| {}).unwrap();
    session.enable(OTHER, Enable::default());
    session.enable(OTHER, Enable { level: Level::Error, ..Enable::default() });
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 1, "what the session says itself is not an event");
    assert_eq!(statistics.recorded, 1, "what the session says itself is not an event");
    let expected = vec![(PROVIDER, "sample.sys".to_owned()), (OTHER, "C:\\Tools\\tool.exe".to_owned())];
    assert_eq!(tracked_providers(&file), (expected, 1), "a driver's file name, a process's whole path, each once");
}

#[test]
fn without_tracking_a_binary_is_reported_only_if_the_provider_asks() {
    let file = TempFile::new("untracked");
    let engine = Engine::new();
    let session = engine.start(&Properties::to_file("untracked", file.path())).unwrap();
    session.enable(PROVIDER, Enable::default());
    session.enable(OTHER, Enable::default());
    engine.register_from(process(), OTHER, None, |_| {}).unwrap();
    let handle = engine.register_from(driver(), PROVIDER, None, |_| {}).unwrap();
    assert!(engine.set_information(handle, EventInfoClass::BinaryTrackInfo, Buffer::Null(0)).is_success());
    session.finish().unwrap();
    assert_eq!(tracked_providers(&file), (vec![(PROVIDER, "sample.sys".to_owned())], 0));
}

#[test]
fn a_consumer_gets_what_the_session_says_among_the_events() {
    let engine = Engine::new();
    let session = engine.start(&Properties::to_consumers("live")).unwrap();
    let consumer = session.consume().unwrap();
    session.enable(PROVIDER, Enable::default());
    session.set_information(&BinaryTracking(true)).unwrap();
    let handle = engine.register_from(driver(), PROVIDER, None, |_| {}).unwrap();
    write(&engine, handle, Level::Error, 0, b"x");
    session.finish().unwrap();
    // One buffer, or two if the thread moved to another processor in between.
    let buffers: Vec<_> = std::iter::from_fn(|| consumer.try_next_buffer()).collect();
    let records: usize = buffers.iter().map(|buffer| buffer.records().count()).sum();
    let events: usize = buffers.iter().map(|buffer| buffer.headers().count()).sum();
    assert_eq!(records, 2);
    assert_eq!(events, 1);
}
