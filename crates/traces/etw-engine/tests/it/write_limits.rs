//! The limits of an event's data, and the checks that are made only if a session accepts the event.

use std::cell::Cell;

use crate::common::{PROVIDER, descriptor, register, write};
use etw_engine::{
    Block, BlockSource, Enable, Engine, EventWrite, Finding, MAX_BLOCKS, MAX_DATA, Session, SessionOptions,
};
use etw_types::{DataKind, EventInfoClass, Guid, Keyword, Level, NtStatus};

/// Size in bytes of an event's header in a trace.
const HEADER: usize = 0x50;

fn listening(options: SessionOptions) -> (Engine, u64, Session) {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start_session_with("s", options);
    session.enable(PROVIDER, Enable::default());
    (engine, handle, session)
}

fn event(handle: u64) -> EventWrite {
    EventWrite::new(handle, descriptor(Level::Error, 0))
}

/// A source of blocks that declares one size and returns data of another size, or none.
struct Shifty {
    told: usize,
    read: Option<&'static [u8]>,
    looked: Cell<bool>,
}

impl BlockSource for Shifty {
    fn count(&self) -> usize {
        self.looked.set(true);
        1
    }

    fn size(&self, _: usize) -> usize {
        self.told
    }

    fn block(&self, _: usize) -> Option<Block<'_>> {
        self.read.map(Block::data)
    }
}

#[test]
fn without_a_session_a_write_succeeds_and_does_not_read_its_data() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let blocks = Shifty { told: usize::MAX, read: None, looked: Cell::new(false) };
    assert_eq!(engine.write(&event(handle), &blocks), NtStatus::Success);
    assert!(!blocks.looked.get());
    assert_eq!(engine.write(&event(0), &blocks), NtStatus::InvalidHandle);
    assert_eq!(engine.findings(), []);
}

#[test]
fn an_event_takes_128_blocks_and_no_more() {
    let (engine, handle, session) = listening(SessionOptions::default());
    let blocks = vec![Block::data(b"x"); MAX_BLOCKS + 1];
    assert_eq!(engine.write(&event(handle), &blocks[..MAX_BLOCKS]), NtStatus::Success);
    assert_eq!(engine.write(&event(handle), blocks.as_slice()), NtStatus::InvalidParameter);
    assert_eq!(session.events().len(), 1);
    assert_eq!(session.events()[0].descriptors, 128);
    session.disable(PROVIDER);
    assert_eq!(engine.write(&event(handle), blocks.as_slice()), NtStatus::Success, "no session enabled it");
}

#[test]
fn data_beyond_its_limit_overflows() {
    let (engine, handle, session) = listening(SessionOptions { max_event_size: usize::MAX, ..Default::default() });
    let data = vec![0; MAX_DATA + 1];
    assert_eq!(write(&engine, handle, Level::Error, 0, &data[..MAX_DATA]), NtStatus::Success);
    assert_eq!(write(&engine, handle, Level::Error, 0, &data), NtStatus::IntegerOverflow);
    let halves = [Block::data(&data[..0x8000]), Block::data(&data[..0x8000])];
    assert_eq!(engine.write(&event(handle), &halves), NtStatus::IntegerOverflow);
    assert_eq!(session.events().len(), 1);
}

#[test]
fn an_event_fits_into_64_kib_with_its_header() {
    let (engine, handle, session) = listening(SessionOptions::default());
    let data = vec![0; 0x1_0000 - HEADER + 1];
    assert_eq!(write(&engine, handle, Level::Error, 0, &data[1..]), NtStatus::Success);
    assert_eq!(write(&engine, handle, Level::Error, 0, &data), NtStatus::BufferOverflow);
    assert_eq!(session.events().len(), 1);
    assert_eq!(session.events_lost(), 1);
}

#[test]
fn extended_items_count_towards_the_size() {
    let item = |bytes: usize| (8 + bytes).next_multiple_of(8);
    let exact = HEADER + item(16) + item(3) + item(5) + 2;
    for (limit, expected) in [(exact, NtStatus::Success), (exact - 1, NtStatus::BufferOverflow)] {
        let (engine, handle, _) = listening(SessionOptions { max_event_size: limit, ..Default::default() });
        engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]);
        let blocks = [
            Block::with_kind(b"abc", DataKind::ProviderMetadata),
            Block::with_kind(b"defgh", DataKind::EventMetadata),
            Block::data(b"ij"),
        ];
        let event = EventWrite { related: Some(Guid::ZERO), ..event(handle) };
        assert_eq!(engine.write(&event, &blocks), expected);
    }
}

#[test]
fn a_session_that_cannot_take_an_event_does_not_keep_it_from_others() {
    let (engine, handle, small) = listening(SessionOptions { max_event_size: HEADER, ..Default::default() });
    let large = engine.start_session("large");
    large.enable(PROVIDER, Enable::default());
    assert_eq!(write(&engine, handle, Level::Error, 0, b"x"), NtStatus::BufferOverflow);
    assert_eq!(small.events().len(), 0);
    assert_eq!(large.events().len(), 1);
}

#[test]
fn a_full_session_loses_events_and_counts_them() {
    let (engine, handle, session) = listening(SessionOptions { capacity: 2, ..Default::default() });
    for _ in 0..2 {
        assert_eq!(write(&engine, handle, Level::Error, 0, b"x"), NtStatus::Success);
    }
    assert_eq!(write(&engine, handle, Level::Error, 0, b"x"), NtStatus::NoMemory);
    assert_eq!(session.events_lost(), 1);
    let statistics = session.statistics();
    assert_eq!(statistics.written, 3);
    assert_eq!(statistics.recorded, 2);
    assert_eq!(statistics.lost, 1);
    assert_eq!(session.take_events().len(), 2);
    assert_eq!(write(&engine, handle, Level::Error, 0, b"x"), NtStatus::Success);
    assert_eq!(session.events()[0].sequence, 3, "the lost one has a number too");
}

#[test]
fn unreadable_and_changing_blocks_are_found() {
    let (engine, handle, session) = listening(SessionOptions::default());
    let unreadable = Shifty { told: 4, read: None, looked: Cell::new(false) };
    assert_eq!(engine.write(&event(handle), &unreadable), NtStatus::InvalidParameter);
    let changing = Shifty { told: 4, read: Some(b"12345"), looked: Cell::new(false) };
    assert_eq!(engine.write(&event(handle), &changing), NtStatus::InvalidParameter);
    assert_eq!(
        engine.findings(),
        [Finding::UnreadableData { handle, index: 0 }, Finding::SizeChanged { handle, index: 0 }]
    );
    assert_eq!(session.events(), []);
}

#[test]
fn a_string_too_long_for_an_event_overflows() {
    let (engine, handle, session) = listening(SessionOptions::default());
    let text = vec![u16::from(b'a'); MAX_DATA / 2];
    let status = engine.write_string(handle, Level::Error, Keyword::NONE, None, &text);
    assert_eq!(status, NtStatus::IntegerOverflow);
    assert_eq!(session.events(), []);
}
