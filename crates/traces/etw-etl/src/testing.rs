//! Events for the unit tests of this crate.

use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};

use crate::format::record::{self, Next};
use crate::time::{Clock, FileTime};
use crate::{Event, EventData, EventRef, ExtendedItem};

pub(crate) const TRAITS: &[u8] = b"\x0f\x00TestProvider\x00";

/// A clock whose time stamps count units of 100 ns since 2020-01-01.
pub(crate) fn clock() -> Clock {
    Clock { start: FileTime(132_223_104_000_000_000), ..Clock::default() }
}

pub(crate) fn descriptor() -> EventDescriptor {
    EventDescriptor::new(Level::Informational, Keyword::from_bits(0x10)).with_channel(Channel::TraceLogging)
}

/// Returns the event as a reader returns it.
pub(crate) fn read(data: &EventData<'_>) -> Event {
    let mut bytes = vec![0; data.encoded_len()];
    data.encode(&mut bytes).unwrap();
    read_record(&bytes, data.timestamp)
}

/// Returns any record as a reader returns it.
pub(crate) fn read_record(bytes: &[u8], stamp: u64) -> Event {
    let Next::Record(layout, size) = record::next(bytes) else { panic!("not a record") };
    EventRef::new(layout, stamp, 3, &clock(), &bytes[..size]).to_event()
}

/// Returns a TraceLogging event with the fields that `build` adds.
pub(crate) fn trace_logging(name: &str, build: impl FnOnce(EventBuilder<'_>) -> EventBuilder<'_>) -> Event {
    let mut metadata = vec![0; 4096];
    let mut payload = vec![0; 4096];
    let (metadata, payload) = build(EventBuilder::new(&mut metadata, &mut payload, name, 0)).finish().unwrap();
    event_of(metadata, payload)
}

/// Returns a TraceLogging event with this metadata and payload.
pub(crate) fn event_of(metadata: &[u8], payload: &[u8]) -> Event {
    read(&EventData {
        provider: Guid::from_name("TestProvider"),
        descriptor: descriptor(),
        thread_id: 7,
        process_id: 4,
        timestamp: 10_000_001,
        items: &ExtendedItem::trace_logging(TRAITS, metadata),
        payload,
        ..EventData::default()
    })
}
