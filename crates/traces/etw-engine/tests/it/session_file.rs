//! Sessions that write files. The tests read the files with `etw-etl`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::common::{PROVIDER, TempFile, read_events, register, write};
use etw_engine::{Block, Enable, Engine, EngineOptions, Environment, EventWrite, Overflow, Properties, Session};
use etw_etl::format::buffer::BufferHeader;
use etw_etl::{ClockKind, ExtendedType, Reader};
use etw_types::session::mode;
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level, NtStatus, Opcode};

/// A file with room for four small buffers, including the header.
fn limited(file_mode: u32, file: &TempFile) -> Properties {
    Properties {
        mode: file_mode | mode::USE_KBYTES_FOR_SIZE,
        maximum_file_size: 16,
        buffer_kib: 4,
        ..Properties::to_file("s", file.path())
    }
}

/// Starts a session whose writers wait for room. The test stays on one processor, and so on one stream of buffers: the file has the
/// events in the order in which they were written.
fn listening(properties: &Properties) -> (Engine, u64, Session) {
    let environment = Arc::new(Placed::default());
    let engine = Engine::with_options(EngineOptions { processors: 2, environment, ..EngineOptions::default() });
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start_with(properties, Overflow::Wait).unwrap();
    session.enable(PROVIDER, Enable::default());
    (engine, handle, session)
}

/// Writes numbered events of about one kilobyte.
fn write_many(engine: &Engine, handle: u64, count: u16) {
    for number in 0..count {
        let mut payload = vec![0; 900];
        payload[..2].copy_from_slice(&number.to_le_bytes());
        assert_eq!(write(engine, handle, Level::Error, 0, &payload), NtStatus::Success);
    }
}

fn numbers(path: &std::path::Path) -> Vec<u16> {
    let number = |event: &etw_etl::Event| u16::from_le_bytes(*event.payload().first_chunk().unwrap());
    read_events(path).iter().map(number).collect()
}

#[test]
fn every_member_of_an_event_is_in_the_file() {
    let file = TempFile::new("members");
    let (engine, handle, session) = listening(&Properties::to_file("A session", file.path()));
    engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]);
    let mut metadata = [0; 64];
    let mut payload = [0; 64];
    let built = EventBuilder::new(&mut metadata, &mut payload, "Read", 0).u32("Length", 512).finish();
    let (metadata, payload) = built.unwrap();
    let descriptor = EventDescriptor::new(Level::Warning, Keyword::from_bits(0x1234))
        .with_id_version(7, 8)
        .with_channel(Channel::TraceLogging)
        .with_opcode(Opcode::Start)
        .with_task(9);
    let activity = Guid::from_name("activity");
    let related = Guid::from_name("related");
    let event = EventWrite { activity: Some(activity), related: Some(related), ..EventWrite::new(handle, descriptor) };
    let blocks = [
        Block::with_kind(b"\x0b\x00MyDriver\x00", DataKind::ProviderMetadata),
        Block::with_kind(metadata, DataKind::EventMetadata),
        Block::data(payload),
    ];
    assert_eq!(engine.write(&event, &blocks), NtStatus::Success);
    assert_eq!(engine.write_string(handle, Level::Error, Keyword::NONE, None, &[0x41]), NtStatus::Success);
    session.finish().unwrap();

    let header = Reader::open(file.path()).unwrap().header().clone();
    assert_eq!(header.logger_name.as_str(), "A session");
    assert_eq!(header.processors, 2);
    assert_eq!(header.file_name, file.path().to_string_lossy());
    let events = read_events(file.path());
    assert_eq!(events[0].decode().to_string(), "MyDriver/Read Length=512");
    assert_eq!(events[0].header.provider, Some(PROVIDER));
    assert_eq!(events[0].header.descriptor, descriptor);
    assert_eq!(events[0].header.activity, Some(activity));
    assert_eq!(events[0].related(), Some(related));
    assert_eq!(events[0].header.process_id, Some(std::process::id()));
    let kinds: Vec<ExtendedType> = events[0].items().map(|item| item.kind).collect();
    let expected = [ExtendedType::RELATED_ACTIVITY_ID, ExtendedType::PROV_TRAITS, ExtendedType::EVENT_SCHEMA_TL];
    assert_eq!(kinds, expected);
    assert_eq!(events[1].payload(), b"A\0\0\0");
    assert_eq!(events[1].header.flags & 4, 4, "a string");
}

#[test]
fn the_header_describes_the_session_and_its_system() {
    let options = EngineOptions { processors: 3, os_build: 20_348, ..EngineOptions::default() };
    let engine = Engine::with_options(options);
    for (kib, size, unit) in [(16, 16, mode::USE_KBYTES_FOR_SIZE), (2048, 2, 0)] {
        let file = TempFile::new(&format!("header-{kib}"));
        let bits = mode::CIRCULAR | mode::USE_LOCAL_SEQUENCE | mode::NO_PER_PROCESSOR_BUFFERING;
        let properties = Properties { maximum_file_size: kib, clock: 1.into(), ..limited(bits, &file) };
        let session = engine.start(&properties).unwrap();
        let clock = session.clock();
        let logger_id = session.status().logger_id;
        session.finish().unwrap();
        let mut reader = Reader::open(file.path()).unwrap();
        let header = reader.header();
        assert_eq!(header.buffer_size, 4096);
        assert_eq!(header.processors, 3);
        assert_eq!(header.provider_version, 20_348);
        assert_eq!(header.maximum_file_size, size);
        assert_eq!(header.log_file_mode, bits | unit);
        assert_eq!(header.start_time, clock.start.0);
        assert_eq!(header.boot_time, clock.start.0);
        // Cycles are units of 100 ns.
        assert_eq!(header.clock_type, 1);
        assert_eq!(header.cpu_mhz, 10);
        assert_eq!(reader.next().unwrap().header.process_id, Some(std::process::id()));
        let first = BufferHeader::parse(&std::fs::read(file.path()).unwrap()).unwrap();
        assert_eq!(first.logger_id, logger_id);
    }
}

#[test]
fn times_are_those_of_the_engine_by_every_clock() {
    for (clock, kind) in [(1, ClockKind::PerformanceCounter), (2, ClockKind::SystemTime), (3, ClockKind::Cycles)] {
        let file = TempFile::new(&format!("clock-{clock}"));
        let before = etw_etl::FileTime::now();
        let (engine, handle, session) =
            listening(&Properties { clock: clock.into(), ..Properties::to_file("s", file.path()) });
        write(&engine, handle, Level::Error, 0, b"x");
        session.finish().unwrap();
        let after = etw_etl::FileTime::now();
        assert_eq!(Reader::open(file.path()).unwrap().clock().kind, kind);
        let time = read_events(file.path())[0].header.time;
        // Two clocks are read one after the other; a millisecond is allowed for the time between.
        let slack = 10_000;
        assert!((before.0 - slack..=after.0 + slack).contains(&time.0), "{before} {time} {after}");
    }
}

#[test]
fn an_event_larger_than_a_buffer_is_refused_and_counted() {
    let file = TempFile::new("large");
    let (engine, handle, session) = listening(&Properties { buffer_kib: 4, ..Properties::to_file("s", file.path()) });
    let room = 4096 - 0x48 - 0x50;
    assert_eq!(write(&engine, handle, Level::Error, 0, &vec![0; room]), NtStatus::Success);
    assert_eq!(write(&engine, handle, Level::Error, 0, &vec![0; room + 1]), NtStatus::BufferOverflow);
    assert_eq!(write(&engine, handle, Level::Error, 0, &vec![0; 0xFFF8]), NtStatus::BufferOverflow);
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 3);
    assert_eq!(statistics.recorded, 1);
    assert_eq!(statistics.lost, 2);
    assert_eq!(Reader::open(file.path()).unwrap().header().events_lost, 2);
}

#[test]
fn a_sequential_file_that_is_full_loses_the_rest() {
    let file = TempFile::new("full");
    let (engine, handle, session) = listening(&limited(mode::SEQUENTIAL, &file));
    write_many(&engine, handle, 100);
    let status = session.finish().unwrap();
    // Four buffers: the header, and three with four events each.
    assert_eq!(numbers(file.path()), (0..12).collect::<Vec<_>>());
    assert_eq!(status.statistics.recorded, 12);
    assert_eq!(status.statistics.lost, 88);
    assert_eq!(status.status.buffers_written, 3);
    assert_eq!(status.status.real_time_buffers_lost, 0);
    assert!(status.status.log_buffers_lost >= 22, "a buffer holds four events");
    assert_eq!(std::fs::metadata(file.path()).unwrap().len(), 16 * 1024);
}

#[test]
fn a_circular_file_keeps_the_newest_and_counts_the_others() {
    let file = TempFile::new("circular");
    let (engine, handle, session) = listening(&limited(mode::CIRCULAR, &file));
    write_many(&engine, handle, 100);
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(numbers(file.path()), (88..100).collect::<Vec<_>>());
    assert_eq!(statistics.written, 100);
    assert_eq!(statistics.recorded, 12);
    assert_eq!(statistics.discarded, 88);
}

#[test]
fn new_files_are_begun_when_one_is_full() {
    let file = TempFile::new("new-%d");
    let (engine, handle, session) = listening(&limited(mode::NEWFILE, &file));
    write_many(&engine, handle, 30);
    let status = session.finish().unwrap();
    assert_eq!(status.statistics.recorded, 30);
    assert_eq!(status.status.properties.log_file, Some(file.numbered(3)));
    let all: Vec<u16> = (1..=3).flat_map(|number| numbers(&file.numbered(number))).collect();
    assert_eq!(all, (0..30).collect::<Vec<_>>());
}

/// An environment whose threads run on the processor that the test sets.
#[derive(Default)]
struct Placed(AtomicU16);

impl Environment for Placed {
    fn processor(&self) -> u16 {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn each_processor_has_buffers_of_its_own_by_default() {
    for (bits, expected) in [(0, 2), (mode::NO_PER_PROCESSOR_BUFFERING, 1)] {
        let file = TempFile::new(&format!("streams-{bits:x}"));
        let place = Arc::new(Placed::default());
        let options = EngineOptions { processors: 2, environment: place.clone(), ..EngineOptions::default() };
        let engine = Engine::with_options(options);
        let (handle, _) = register(&engine, PROVIDER);
        let properties = Properties { mode: mode::SEQUENTIAL | bits, ..Properties::to_file("s", file.path()) };
        let session = engine.start(&properties).unwrap();
        session.enable(PROVIDER, Enable::default());
        for processor in 0..2 {
            place.0.store(processor, Ordering::Relaxed);
            write(&engine, handle, Level::Error, 0, b"x");
        }
        assert_eq!(session.finish().unwrap().status.buffers_written, expected);
        let processors: Vec<u16> = read_events(file.path()).iter().map(|event| event.header.cpu).collect();
        assert_eq!(processors, if expected == 2 { [0, 1] } else { [0, 0] });
    }
}

#[test]
fn a_full_disk_refuses_the_start() {
    // A device that is always full, if the system has it.
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let error = Engine::new().start(&Properties::to_file("s", "/dev/full")).unwrap_err();
    assert_eq!(error, etw_types::Win32Error::DiskFull);
}

#[test]
fn the_error_of_a_file_is_known_after_the_session_has_stopped() {
    // Only the folder of the next file is missing, so that the session starts.
    let folder = TempFile::new("file-error");
    std::fs::create_dir_all(folder.path()).unwrap();
    let pattern = folder.path().join("%d.etl");
    let properties = Properties { log_file: Some(pattern), ..limited(mode::NEWFILE, &folder) };
    let engine = Engine::new();
    let session = engine.start(&properties).unwrap();
    let handle = session.handle();
    assert_eq!(engine.file_error(handle), None);
    let first = session.status().status.properties.log_file.unwrap();
    std::fs::remove_file(first).unwrap();
    std::fs::remove_dir(folder.path()).unwrap();
    assert_eq!(session.increment_file().unwrap_err(), etw_types::Win32Error::PathNotFound);
    let running = engine.file_error(handle).expect("the error");
    assert!(running.starts_with("cannot create "), "{running}");
    session.finish().unwrap();
    assert_eq!(engine.file_error(handle), Some(running));
    assert_eq!(engine.file_error(handle + 1), None);
}

#[test]
fn shutting_down_finishes_files_without_calling_back() {
    let file = TempFile::new("shut-down");
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    let session = engine.start(&Properties::to_file("shut down", file.path())).unwrap();
    session.enable(PROVIDER, Enable::default());
    write_many(&engine, handle, 3);
    notes.take();
    engine.shut_down();
    assert!(notes.take().is_empty());
    assert_eq!(numbers(file.path()), [0, 1, 2]);
    assert!(engine.sessions().is_empty());
    assert!(session.is_stopped());
}
