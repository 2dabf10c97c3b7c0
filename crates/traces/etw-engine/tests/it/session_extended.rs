//! Items that a session adds to events: stacks, keys, the user and the process. The environment provides most values.

use std::sync::Arc;

use crate::common::{PROVIDER, TempFile, descriptor, read_events, register};
use etw_engine::info::{StackTracing, UnifiedStackCaching};
use etw_engine::{
    Block, Enable, Engine, EngineOptions, Environment, EventWrite, Filter, Origin, Overflow, Properties, Session,
    property,
};
use etw_etl::{Event, Exporter, ExtendedType, Format};
use etw_types::session::{ClassicEventId, Listed, mode};
use etw_types::{DataKind, EventInfoClass, Guid, Level, NtStatus, Opcode};

/// An environment that provides everything.
struct Known;

const SID: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];

impl Environment for Known {
    fn processor(&self) -> u16 {
        1
    }

    fn process_id(&self) -> u32 {
        4
    }

    fn thread_id(&self) -> u32 {
        8
    }

    fn stack(&self, frames: &mut Vec<u64>) {
        frames.extend([0x10, 0x20]);
    }

    fn sid(&self) -> Option<Vec<u8>> {
        Some(SID.to_vec())
    }

    fn terminal_session(&self) -> Option<u32> {
        Some(3)
    }

    fn process_start_key(&self) -> Option<u64> {
        Some(0x77)
    }
}

/// Returns an engine in this environment.
fn known(processors: u16) -> Engine {
    let environment = Arc::new(Known);
    Engine::with_options(EngineOptions { processors, environment, ..EngineOptions::default() })
}

/// Has a session write keys in place of stacks.
fn cache_stacks(session: &Session) {
    session.set_information(&UnifiedStackCaching::ON).unwrap();
}

fn trace(name: &str, enable: Enable, during: impl FnOnce(&Engine, u64, &Session)) -> Vec<Event> {
    let file = TempFile::new(name);
    let engine = known(2);
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start(&Properties::to_file(name, file.path())).unwrap();
    assert_eq!(session.enable(PROVIDER, enable), NtStatus::Success);
    during(&engine, handle, &session);
    session.finish().unwrap();
    read_events(file.path())
}

fn write_id(engine: &Engine, handle: u64, id: u16) {
    let event = EventWrite::new(handle, descriptor(Level::Error, 0).with_id_version(id, 0));
    assert_eq!(engine.write(&event, &[Block::data(b"payload")]), NtStatus::Success);
}

fn kinds(event: &Event) -> Vec<u16> {
    event.items().map(|item| item.kind.0).collect()
}

#[test]
fn nothing_is_added_that_was_not_requested() {
    let events = trace("plain", Enable::default(), |engine, handle, _| write_id(engine, handle, 1));
    assert!(kinds(&events[0]).is_empty());
    let header = &events[0].header;
    assert_eq!(header.process_id, Some(4));
    assert_eq!(header.thread_id, Some(8));
    assert_eq!(header.cpu, 1);
    assert_eq!(events[0].payload(), b"payload");
}

#[test]
fn everything_that_was_requested_is_added() {
    let bits =
        property::SID | property::TS_ID | property::STACK_TRACE | property::EVENT_KEY | property::PROCESS_START_KEY;
    let events = trace("all", Enable { property: bits, ..Enable::default() }, |engine, handle, _| {
        write_id(engine, handle, 1);
        write_id(engine, handle, 2);
    });
    let item = |kind: ExtendedType| events[0].item(kind).unwrap();
    assert_eq!(item(ExtendedType::SID), SID);
    assert_eq!(item(ExtendedType::TS_ID), [3, 0, 0, 0]);
    assert_eq!(item(ExtendedType::PROCESS_START_KEY), 0x77_u64.to_le_bytes());
    let stack: Vec<u8> = [0_u64, 0x10, 0x20].iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(item(ExtendedType::STACK_TRACE64), stack);
    let key = ExtendedType(10);
    assert_ne!(events[0].item(key).unwrap(), events[1].item(key).unwrap(), "each event has its own");
    assert_eq!(events[0].payload(), b"payload");
}

#[test]
fn each_property_adds_its_item() {
    for (bit, kind) in [
        (property::SID, ExtendedType::SID),
        (property::TS_ID, ExtendedType::TS_ID),
        (property::STACK_TRACE, ExtendedType::STACK_TRACE64),
        (property::PROCESS_START_KEY, ExtendedType::PROCESS_START_KEY),
        (property::EVENT_KEY, ExtendedType(10)),
    ] {
        let events =
            trace(&format!("item-{bit}"), Enable { property: bit, ..Enable::default() }, |engine, handle, _| {
                write_id(engine, handle, 1);
            });
        assert_eq!(kinds(&events[0]), [kind.0]);
    }
}

#[test]
fn stacks_can_be_limited_to_some_events() {
    let filters = vec![Filter::StackEventIds(Listed::Pass, vec![2])];
    let asked = Enable { property: property::STACK_TRACE, filters, ..Enable::default() };
    let events = trace("stackwalk", asked, |engine, handle, _| {
        write_id(engine, handle, 1);
        write_id(engine, handle, 2);
    });
    assert!(kinds(&events[0]).is_empty());
    assert_eq!(kinds(&events[1]), [ExtendedType::STACK_TRACE64.0]);
    let filters = vec![Filter::StackEventIds(Listed::Pass, vec![2])];
    let without = trace("no-stack", Enable { filters, ..Enable::default() }, |engine, handle, _| {
        write_id(engine, handle, 2);
    });
    assert!(kinds(&without[0]).is_empty(), "the filter needs the property as well");
}

/// The class of the kernel's process events, and two of its event types.
const PROCESS: Guid = Guid::from_u128(0x3d6fa8d0_fe05_11d0_9dda_00c04fd7ba7c);
const START: u8 = 1;
const END: u8 = 2;

fn system_event(guid: Guid, event_type: u8) -> ClassicEventId {
    ClassicEventId { guid, event_type, ..ClassicEventId::default() }
}

#[test]
fn listed_kernel_events_get_a_stack_until_the_list_changes() {
    let file = TempFile::new("stack-tracing");
    let engine = Engine::with_options(EngineOptions { environment: Arc::new(Known), ..EngineOptions::default() });
    let kernel = engine.register(PROCESS, None, |_| {}).unwrap();
    let program = engine.register_from(Origin::user(40, "a.exe"), PROCESS, None, |_| {}).unwrap();
    let (driver, _) = register(&engine, PROVIDER);
    let properties = Properties::to_file("stack-tracing", file.path());
    let properties = Properties { mode: properties.mode | mode::SYSTEM_LOGGER, ..properties };
    let session = engine.start(&properties).unwrap();
    for provider in [PROCESS, PROVIDER] {
        assert_eq!(session.enable(provider, Enable::default()), NtStatus::Success);
    }
    let set = |events: &[ClassicEventId]| session.set_information(&StackTracing(events.to_vec()));
    let write_all = || {
        for (handle, event_type) in [(kernel, START), (kernel, END), (program, START), (driver, START)] {
            let descriptor = descriptor(Level::Error, 0).with_opcode(Opcode::from_int(event_type));
            assert_eq!(engine.write(&EventWrite::new(handle, descriptor), &[Block::data(b"p")]), NtStatus::Success);
        }
    };
    let query = || engine.query_trace_information(session.handle(), &());
    write_all();
    set(&[system_event(PROCESS, START), system_event(PROCESS, 200)]).unwrap();
    write_all();
    assert_eq!(query(), Ok(StackTracing(vec![system_event(PROCESS, START), system_event(PROCESS, 200)])));
    set(&[system_event(PROCESS, END)]).unwrap();
    write_all();
    assert_eq!(query(), Ok(StackTracing(vec![system_event(PROCESS, END)])), "the list is replaced");
    set(&[]).unwrap();
    write_all();
    assert_eq!(query(), Ok(StackTracing(Vec::new())));
    session.finish().unwrap();
    let stacks: Vec<bool> = read_events(file.path()).iter().map(|event| event.stack().is_some()).collect();
    let yes = true;
    let no = false;
    assert_eq!(stacks, [[no, no, no, no], [yes, no, no, no], [no, yes, no, no], [no, no, no, no]].concat());
}

#[test]
fn cached_stacks_are_written_as_keys() {
    let asked = Enable { property: property::STACK_TRACE, ..Enable::default() };
    let mut frames = None;
    let events = trace("keys", asked, |engine, handle, session| {
        cache_stacks(session);
        write_id(engine, handle, 1);
        let captured = session.clone();
        frames = Some(move |key| captured.stack_of(key));
    });
    let item = events[0].item(ExtendedType::STACK_KEY64).unwrap();
    let key = u64::from_le_bytes(item[8..].try_into().unwrap());
    assert_eq!(frames.unwrap()(key), Some(vec![0x10, 0x20]));
    assert_eq!(events[0].stack(), Some(vec![0x10, 0x20]), "the file says what the key stands for");
    let mut exporter = Exporter::new(Vec::new(), Format::JsonLines).unwrap();
    exporter.event(&events[0]).unwrap();
    let line = String::from_utf8(exporter.finish().unwrap()).unwrap();
    assert!(line.contains(r#","stack":["0x10","0x20"]"#), "{line}");
}

#[test]
fn every_file_of_a_session_defines_its_keys() {
    let file = TempFile::new("keys-%d");
    let engine = known(2);
    let (handle, _) = register(&engine, PROVIDER);
    let properties =
        Properties { mode: mode::NEWFILE, maximum_file_size: 1, ..Properties::to_file("keys", file.path()) };
    let session = engine.start(&properties).unwrap();
    session.enable(PROVIDER, Enable { property: property::STACK_TRACE, ..Enable::default() });
    cache_stacks(&session);
    for _ in 0..3 {
        write_id(&engine, handle, 1);
        session.increment_file().unwrap();
    }
    write_id(&engine, handle, 1);
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 4, "definitions are not events");
    assert_eq!(statistics.recorded, 4, "definitions are not events");
    for number in 1..=4 {
        let events = read_events(&file.numbered(number));
        assert_eq!(events.iter().map(Event::stack).collect::<Vec<_>>(), [Some(vec![0x10, 0x20])], "file {number}");
    }
}

#[test]
fn a_file_that_follows_a_full_one_defines_the_keys_too() {
    let file = TempFile::new("full-keys-%d");
    let engine = known(1);
    let (handle, _) = register(&engine, PROVIDER);
    let properties = Properties {
        mode: mode::NEWFILE | mode::USE_KBYTES_FOR_SIZE,
        maximum_file_size: 32,
        buffer_kib: 4,
        ..Properties::to_file("full-keys", file.path())
    };
    let session = engine.start_with(&properties, Overflow::Wait).unwrap();
    session.enable(PROVIDER, Enable { property: property::STACK_TRACE, ..Enable::default() });
    cache_stacks(&session);
    for _ in 0..500 {
        write_id(&engine, handle, 1);
    }
    let last = session.finish().unwrap().status.properties.log_file.unwrap();
    assert_ne!(last, file.numbered(1), "there is more than one file");
    let events = read_events(&last);
    assert!(!events.is_empty());
    assert!(events.iter().all(|event| event.stack() == Some(vec![0x10, 0x20])));
}

#[test]
fn an_ordinary_process_adds_a_key_to_an_event_and_nothing_else() {
    let file = TempFile::new("ordinary");
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start(&Properties::to_file("ordinary", file.path())).unwrap();
    session.enable(PROVIDER, Enable { property: !property::PROVIDER_GROUP, ..Enable::default() });
    let event = EventWrite::new(handle, descriptor(Level::Error, 1));
    let threads = [(); 2].map(|()| {
        let engine = engine.clone();
        std::thread::spawn(move || engine.write(&event, &[Block::data(b"x")]))
    });
    assert!(threads.into_iter().all(|thread| thread.join().unwrap().is_success()));
    session.finish().unwrap();
    let events = read_events(file.path());
    assert_eq!(events.iter().map(kinds).collect::<Vec<_>>(), [[10], [10]]);
    assert_ne!(events[0].header.thread_id, events[1].header.thread_id);
}

#[test]
fn a_circular_file_defines_its_keys_when_it_ends() {
    let file = TempFile::new("circular-keys");
    let engine = known(1);
    let (handle, _) = register(&engine, PROVIDER);
    let properties = Properties::to_file("circular-keys", file.path());
    let properties = Properties {
        mode: mode::CIRCULAR | mode::USE_KBYTES_FOR_SIZE,
        maximum_file_size: 16,
        buffer_kib: 4,
        ..properties
    };
    let session = engine.start_with(&properties, Overflow::Wait).unwrap();
    session.enable(PROVIDER, Enable { property: property::STACK_TRACE, ..Enable::default() });
    cache_stacks(&session);
    for _ in 0..500 {
        write_id(&engine, handle, 1);
    }
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 500);
    assert_eq!(statistics.written, statistics.recorded + statistics.discarded, "{statistics:?}");
    let events = read_events(file.path());
    assert_eq!(events.len() as u64, statistics.recorded);
    assert!(events.iter().all(|event| event.stack() == Some(vec![0x10, 0x20])));
}

#[test]
fn a_time_of_the_writers_own_replaces_the_engines() {
    let events = trace("time", Enable::default(), |engine, handle, _| {
        engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]);
        let time = 123_456_u64.to_le_bytes();
        let blocks = [Block::with_kind(&time, DataKind::TimestampOverride)];
        engine.write(&EventWrite::new(handle, descriptor(Level::Error, 0)), &blocks);
    });
    assert_eq!(events[0].header.stamp, 123_456);
}
