//! Trace files. Guarantees: events are in the order of time, and the report counts all of them. Exports are UTF-8
//! text, and valid JSON if their format is JSON. An event that decodes is encoded to the same bytes again. An event that is decoded
//! without a tree has the same values as one with a tree. Frames of stacks are named by an image or a method and an offset.

#[path = "../../../../traces/etw-etl/tests/it/common/exports.rs"]
mod exports;

use std::io::Cursor;
use std::sync::Arc;

use etw_etl::decode::Parts;
use etw_etl::{Decoder, Event, EventRef, FrameNames, Reader, ReaderOptions};
use exports::Exports;
use test_support::reencode;

/// Little memory, so that the reader drops buffers and reads them again.
const OPTIONS: ReaderOptions = ReaderOptions { memory: 100_000, grows: false };

/// Reads a file and exports every event.
pub(super) fn run(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(Cursor::new(bytes), OPTIONS) else { return };
    let mut exports = Exports::new(|exporter| exporter.with_decoder(Decoder::from_reader(&reader, None)));
    let mut decoder = Decoder::from_reader(&reader, None);
    let names: [Arc<dyn FrameNames>; 2] = [reader.images(), reader.methods()];
    let mut events = 0;
    let mut previous = 0;
    for event in reader.by_ref() {
        assert!(event.header.stamp >= previous, "event {events} is out of order");
        previous = event.header.stamp;
        exports.event(&event);
        look_at(&event);
        compare(&mut decoder, &event.as_ref());
        let stack = event.stack().unwrap_or_default();
        let process = event.as_ref().stack_process().unwrap_or_default();
        for (address, names) in stack.iter().flat_map(|address| names.iter().map(move |names| (*address, names))) {
            let found = names.names_at(process, event.header.stamp, address);
            assert!(found.iter().all(|name| name.contains('+')), "a frame without an offset: {found:?}");
        }
        events += 1;
    }
    assert_eq!(events, reader.report().events, "the report counts another number of events");
    assert!(!reader.report().to_string().is_empty());
    exports.check(events);
}

fn look_at(event: &Event) {
    let _ = event.decode().to_string();
    if let Some(parts) = Parts::from_event(event)
        && let Ok(made) = reencode(parts.metadata, parts.payload)
    {
        assert!(made.metadata == parts.metadata, "the encoded metadata differs");
        assert!(made.payload == parts.payload, "the encoded payload differs");
    }
}

/// Compares the two ways to decode an event.
pub(super) fn compare(decoder: &mut Decoder, event: &EventRef<'_>) {
    let tree = decoder.decode(event);
    let Some(flat) = decoder.flat(event) else { return };
    assert_eq!(flat.field_count(), tree.fields.len(), "another number of fields");
    assert_eq!(flat.fields().count(), tree.fields.len(), "fields without values");
    for ((schema, value), field) in flat.fields().zip(&tree.fields) {
        // Numbers that are not numbers are not equal to themselves.
        assert_eq!(format!("{:?}", value.node(schema)), format!("{:?}", field.node), "another value of {}", field.name);
        assert_eq!(*schema.name, *field.name);
    }
    assert_eq!(flat.is_whole, tree.raw.is_none(), "another part of the payload");
    assert_eq!(flat.names, &tree.names);
    assert_eq!(flat.message(), tree.message());
}
