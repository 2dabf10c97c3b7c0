//! Descriptions of events in traces, and payloads that are decoded with them. The input is a size, a
//! `TRACE_EVENT_INFO` of this size, and a payload. Guarantees: decoding and counting agree on whether the schema
//! covers every byte. An event that is decoded without a tree has the same values as one with a tree. The built-in
//! schemas accept any payload. Captured packets become well-formed pcapng blocks.

use std::sync::Arc;

use etw_etl::export::Pcapng;
use etw_etl::format::event::EVENT_HEADER_FLAG_CLASSIC_HEADER;
use etw_etl::{Clock, Decoder, Event, EventData, Exporter, Format};
use etw_manifest::tdh::{self, TYPE_EVENT_INFO, TYPE_MAP_INFO, TraceSchemas};
use etw_manifest::{EventKey, EventSchema, Layers, Schema};
use etw_types::{EventDescriptor, Guid, Keyword, Opcode};

use super::etl::compare;

/// Providers with built-in schemas, and the flags of their events: the .NET runtime and its rundown, then the classes
/// of the configuration and of images.
const BUILT_IN: [(&str, u16); 4] = [
    ("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 0),
    ("a669021c-c450-4609-a035-5af59af4df18", 0),
    ("9b79ee91-b5fd-41c0-a243-4248e266e9d0", EVENT_HEADER_FLAG_CLASSIC_HEADER),
    ("b3e675d7-2554-4f18-830b-2762732560de", EVENT_HEADER_FLAG_CLASSIC_HEADER),
];

/// A schema source that returns the same schema for every event.
struct One(Arc<EventSchema>);

impl Schema for One {
    fn event(&self, _key: &EventKey) -> Option<Arc<EventSchema>> {
        Some(Arc::clone(&self.0))
    }

    fn provider_name(&self, _provider: &Guid) -> Option<Arc<str>> {
        None
    }
}

/// Reads the description, and decodes the payload with it and with the built-in schemas.
pub(super) fn run(bytes: &[u8]) {
    let Some((size, rest)) = bytes.split_first_chunk() else { return };
    let (info, payload) = rest.split_at(rest.len().min(u16::from_le_bytes(*size).into()));
    let mut schemas = TraceSchemas::default();
    schemas.add(TYPE_EVENT_INFO, info);
    schemas.add(TYPE_MAP_INFO, info);
    schemas.add_chunk(Guid::ZERO, 0, info);
    let _ = tdh::map(info);
    if let Some(schema) = tdh::event(info, |_| tdh::map(payload).map(Arc::new)) {
        let mut layers = Layers::new();
        layers.push(Arc::new(One(Arc::new(schema))));
        let descriptor = EventDescriptor { id: 1, ..EventDescriptor::default() };
        agree(Decoder::new(layers), &event(Guid::ZERO, descriptor, 0, payload));
    }
    built_in(size[0], size[1], payload);
    kernel(size[0], size[1], payload);
    packets(u16::from_le_bytes(*size), info, payload);
}

/// Exports the bytes as events of the two providers that capture packets. Checks that the file is a sequence of
/// blocks.
fn packets(keyword: u16, info: &[u8], payload: &[u8]) {
    let mut pcapng = Pcapng::new(Vec::new()).expect("memory takes everything");
    for (provider, id) in [
        ("2ed6006e-4729-4609-b423-3ee7bcd678ef", 1001),
        ("2ed6006e-4729-4609-b423-3ee7bcd678ef", 1003),
        ("4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac", 160),
    ] {
        for bytes in [payload, info] {
            let keyword = Keyword::from_bits(u64::from(keyword) << 24);
            let descriptor = EventDescriptor { id, keyword, ..EventDescriptor::default() };
            let provider = Guid::parse(provider).expect("a GUID");
            let payload = &bytes[..bytes.len().min(60_000)];
            let data = EventData { provider, descriptor, payload, ..EventData::default() };
            let mut record = vec![0; data.encoded_len()];
            data.encode(&mut record).expect("the event fits");
            let event = Event::from_record(&record, 0, &Clock::default()).expect("the event is one");
            pcapng.event(&event.as_ref(), &event.decode()).expect("memory takes everything");
        }
    }
    let file = pcapng.finish().expect("memory takes everything");
    let mut rest = file.as_slice();
    while let Some(length) = rest.get(4..8).map(|length| u32::from_le_bytes(length.try_into().expect("four bytes"))) {
        let (block, behind) = rest.split_at(usize::try_from(length).expect("a length"));
        assert!(block.ends_with(&length.to_le_bytes()), "the two lengths of a block differ");
        rest = behind;
    }
    assert!(rest.is_empty(), "there are bytes after the last block");
}

fn event(provider: Guid, descriptor: EventDescriptor, flags: u16, payload: &[u8]) -> Event {
    let payload = &payload[..payload.len().min(60_000)];
    let is_32_bit = payload.len() % 2 == 1;
    let data = EventData { provider, descriptor, flags, payload, is_32_bit, ..EventData::default() };
    let mut record = vec![0; data.encoded_len()];
    data.encode(&mut record).expect("the event fits");
    Event::from_record(&record, 0, &Clock::default()).expect("the event is one")
}

/// Decodes the payload as that of an event of a provider with built-in schemas.
fn built_in(number: u8, version: u8, payload: &[u8]) {
    let opcode = Opcode::from_int(number);
    let descriptor = EventDescriptor { id: number.into(), version: version % 4, opcode, ..EventDescriptor::default() };
    for (provider, flags) in BUILT_IN {
        let provider = Guid::parse(provider).expect("a GUID");
        agree(Decoder::default(), &event(provider, descriptor, flags, payload));
    }
}

/// Decodes the payload as that of a kernel event of any type.
fn kernel(event_type: u8, group: u8, payload: &[u8]) {
    let payload = &payload[..payload.len().min(60_000)];
    let size = u16::try_from(0x20 + payload.len()).expect("the record fits");
    for (version, header_type) in [(0, 1), (1, 2), (2, 2), (3, 1), (4, 2), (5, 2)] {
        let mut record = vec![version, 0, header_type, 0xC0];
        record.extend(size.to_le_bytes());
        record.extend([event_type, group % 0x20]);
        record.resize(0x20, 0);
        record.extend(payload);
        let event = Event::from_record(&record, 0, &Clock::default()).expect("the record is one");
        agree(Decoder::default(), &event);
    }
}

fn agree(mut decoder: Decoder, event: &Event) {
    let event = event.as_ref();
    let said = decoder.decode(&event);
    let identity = decoder.identify(&event);
    assert_eq!(said.event.as_deref(), identity.event.as_deref());
    if identity.has_schema {
        assert_eq!(said.raw.is_none(), identity.is_whole, "decoding and counting differ");
    }
    let _ = said.message();
    compare(&mut decoder, &event);
    let mut exporter =
        Exporter::new(Vec::new(), Format::JsonLines).expect("memory takes everything").with_decoder(decoder);
    exporter.event_ref(&event).expect("memory takes everything");
    let line = exporter.finish().expect("memory takes everything");
    serde_json::from_slice::<serde_json::Value>(&line).expect("a line is not JSON");
}
