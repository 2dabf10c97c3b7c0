//! Sequence numbers: messages have a field for them; events have an item for them only if the engine is configured so.

use crate::common::{PROVIDER, TempFile, read_events, register, write};
use etw_engine::{Enable, Engine, EngineOptions, Message, Properties, Session};
use etw_etl::format::message::MessageHeader;
use etw_etl::{Event, ExtendedType, Kind, Reader};
use etw_types::session::mode;
use etw_types::{Level, Win32Error};
use windows_constants::tracing::{
    TRACE_MESSAGE_COMPONENTID, TRACE_MESSAGE_GUID, TRACE_MESSAGE_SEQUENCE, TRACE_MESSAGE_SYSTEMINFO,
    TRACE_MESSAGE_TIMESTAMP,
};

const MESSAGE: Message<'_> = Message {
    flags: TRACE_MESSAGE_SEQUENCE | TRACE_MESSAGE_GUID | TRACE_MESSAGE_TIMESTAMP | TRACE_MESSAGE_SYSTEMINFO,
    guid: PROVIDER,
    number: 12,
    data: b"abc",
};

fn start(engine: &Engine, file: &TempFile, name: &str, sequence: u32) -> Session {
    let properties = Properties::to_file(name, file.path());
    engine.start(&Properties { mode: properties.mode | sequence, ..properties }).unwrap()
}

fn messages(file: &TempFile) -> Vec<Event> {
    let reader = Reader::open(file.path()).unwrap();
    assert!(reader.report().is_whole(), "{}", reader.report());
    reader.filter(|event| event.kind() == Kind::Wpp).collect()
}

fn numbers(file: &TempFile) -> Vec<Option<u32>> {
    messages(file).iter().map(|event| event.header.sequence).collect()
}

#[test]
fn a_message_is_in_the_file_with_everything_that_its_flags_request() {
    let file = TempFile::new("message");
    let engine = Engine::new();
    let session = start(&engine, &file, "message", mode::USE_LOCAL_SEQUENCE);
    session.trace_message(&MESSAGE).unwrap();
    let component = Message { flags: TRACE_MESSAGE_COMPONENTID | TRACE_MESSAGE_TIMESTAMP, ..MESSAGE };
    session.trace_message(&component).unwrap();
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 2);
    assert_eq!(statistics.recorded, 2);
    let events = messages(&file);
    let header = &events[0].header;
    assert_eq!(header.provider, Some(PROVIDER));
    assert_eq!(header.descriptor.id, 12);
    assert_eq!(header.sequence, Some(1));
    assert_eq!(header.process_id, Some(std::process::id()));
    assert_eq!(events[0].payload(), b"abc");
    assert_eq!(events[1].header.provider, None);
    assert_eq!(events[1].header.sequence, None);
}

#[test]
fn each_flag_adds_its_member_to_the_header() {
    let session = Engine::new().start(&Properties::to_consumers("flags")).unwrap();
    let consumer = session.consume().unwrap();
    let flags = [0, TRACE_MESSAGE_GUID, TRACE_MESSAGE_COMPONENTID, TRACE_MESSAGE_TIMESTAMP, TRACE_MESSAGE_SYSTEMINFO];
    for flags in flags {
        session.trace_message(&Message { flags, ..MESSAGE }).unwrap();
        // One buffer for each message, so that their order is known.
        session.flush().unwrap();
    }
    for flag in flags {
        let buffer = consumer.try_next_buffer().unwrap();
        let record = buffer.records().next().unwrap();
        let header = MessageHeader::parse(record).unwrap();
        let when = |bit: u32| flag & bit != 0;
        assert_eq!(header.number, 12);
        assert_eq!(&record[header.size..], b"abc".as_slice());
        assert_eq!(header.guid, when(TRACE_MESSAGE_GUID).then_some(PROVIDER));
        assert_eq!(header.component, when(TRACE_MESSAGE_COMPONENTID).then_some(PROVIDER.data1));
        assert_eq!(header.timestamp.is_some(), when(TRACE_MESSAGE_TIMESTAMP));
        assert_eq!(header.thread_id.is_some(), when(TRACE_MESSAGE_SYSTEMINFO));
        assert_eq!(header.process_id, when(TRACE_MESSAGE_SYSTEMINFO).then(std::process::id));
    }
}

#[test]
fn the_kernel_logger_and_a_full_session_take_no_message() {
    let engine = Engine::with_options(EngineOptions { processors: 1, ..EngineOptions::default() });
    let kernel = engine.start(&Properties::to_consumers("nt kernel logger")).unwrap();
    assert_eq!(kernel.trace_message(&MESSAGE), Err(Win32Error::InvalidHandle));
    let properties =
        Properties { buffer_kib: 4, maximum_buffers: 2, flush_timer: 1000, ..Properties::to_consumers("s") };
    let session = engine.start(&properties).unwrap();
    let large = Message { data: &[0; 3000], ..MESSAGE };
    assert_eq!([(); 3].map(|()| session.trace_message(&large)), [Ok(()), Ok(()), Err(Win32Error::NotEnoughMemory)]);
    assert_eq!(session.statistics().lost, 1);
}

#[test]
fn local_numbers_count_per_session_and_global_numbers_across_sessions() {
    let files = ["local-1", "local-2", "global-1", "global-2", "none"].map(TempFile::new);
    let engine = Engine::new();
    let modes =
        [mode::USE_LOCAL_SEQUENCE, mode::USE_LOCAL_SEQUENCE, mode::USE_GLOBAL_SEQUENCE, mode::USE_GLOBAL_SEQUENCE, 0];
    let start = |(index, file): (usize, &TempFile)| start(&engine, file, &format!("s{index}"), modes[index]);
    let sessions: Vec<Session> = files.iter().enumerate().map(start).collect();
    for _ in 0..2 {
        for session in &sessions {
            session.trace_message(&MESSAGE).unwrap();
        }
    }
    for session in sessions {
        session.finish().unwrap();
    }
    let found = files.each_ref().map(numbers);
    let [local_1, local_2, global_1, global_2, none] = found;
    assert_eq!(local_1, vec![Some(1), Some(2)]);
    assert_eq!(local_2, vec![Some(1), Some(2)]);
    assert_eq!(global_1, vec![Some(1), Some(3)]);
    assert_eq!(global_2, vec![Some(2), Some(4)]);
    assert_eq!(none, [None, None], "without a mode the flag has no effect");
}

#[test]
fn events_have_a_number_only_if_the_engine_is_given_an_item_type() {
    const ITEM: u16 = 0x7001;
    for item in [None, Some(ITEM)] {
        let file = TempFile::new(if item.is_some() { "numbered" } else { "unnumbered" });
        let engine = Engine::with_options(EngineOptions { event_sequence: item, ..EngineOptions::default() });
        let (handle, _) = register(&engine, PROVIDER);
        let session = start(&engine, &file, "events", mode::USE_LOCAL_SEQUENCE);
        session.enable(PROVIDER, Enable::default());
        for _ in 0..2 {
            write(&engine, handle, Level::Error, 0, b"x");
        }
        session.finish().unwrap();
        let number =
            |event: &Event| event.item(ExtendedType(ITEM)).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        let found: Vec<Option<u64>> = read_events(file.path()).iter().map(number).collect();
        assert_eq!(found, if item.is_some() { vec![Some(1), Some(2)] } else { vec![None, None] });
    }
}

#[test]
fn both_modes_together_and_wrong_messages_are_refused() {
    let file = TempFile::new("refused");
    let engine = Engine::new();
    let properties = Properties::to_file("both", file.path());
    let both = mode::USE_LOCAL_SEQUENCE | mode::USE_GLOBAL_SEQUENCE;
    let refused = engine.start(&Properties { mode: properties.mode | both, ..properties }).err();
    assert_eq!(refused, Some(Win32Error::InvalidParameter));

    let session = start(&engine, &file, "messages", 0);
    let with_flags = |flags| session.trace_message(&Message { flags, ..MESSAGE }).err();
    assert_eq!(with_flags(0x100), Some(Win32Error::InvalidParameter));
    assert_eq!(with_flags(TRACE_MESSAGE_GUID | TRACE_MESSAGE_COMPONENTID), Some(Win32Error::InvalidParameter));
    let large = Message { data: &vec![0; 0x1_0000], ..MESSAGE };
    assert_eq!(session.trace_message(&large).err(), Some(Win32Error::MoreData));
    assert_eq!(session.statistics().lost, 1);
    assert_eq!(engine.start_session("captures").trace_message(&MESSAGE).err(), Some(Win32Error::NotSupported));
    session.finish().unwrap();
    assert_eq!(session.trace_message(&MESSAGE).err(), Some(Win32Error::InvalidHandle));
    assert_eq!(messages(&file).len(), 0);
}
