//! Events from single records, as delivered by a live session.

use etw_etl::{Clock, Event, EventData, EventRef, ExtendedItem, ExtendedType};
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};

const TRAITS: &[u8] = b"\x0b\x00MyDriver\x00";
const METADATA: &[u8] = b"\x08\x00\x00Read\x00";

fn record() -> Vec<u8> {
    let items = ExtendedItem::trace_logging(TRAITS, METADATA);
    let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1));
    let event = EventData {
        provider: Guid::from_name("MyDriver"),
        descriptor: descriptor.with_channel(Channel::TraceLogging),
        process_id: 4,
        timestamp: 77,
        items: &items,
        ..EventData::default()
    };
    let mut bytes = vec![0; event.encoded_len()];
    assert_eq!(event.encode(&mut bytes), Some(bytes.len()));
    bytes
}

#[test]
fn a_record_is_decoded_with_its_processor_and_time() {
    let clock = Clock { start_stamp: 70, frequency: 10_000_000, ..Clock::default() };
    let event = Event::from_record(&record(), 3, &clock).unwrap();
    assert_eq!(event.decode().to_string(), "MyDriver/Read");
    assert_eq!(event.header.cpu, 3);
    assert_eq!(event.header.stamp, 77);
    assert_eq!(event.header.process_id, Some(4));
    assert_eq!(event.header.time.0, clock.start.0 + 7);
}

#[test]
fn bytes_after_a_record_are_not_part_of_it() {
    let bytes: Vec<u8> = record().into_iter().chain([1, 2, 3]).collect();
    let event = Event::from_record(&bytes, 0, &Clock::default()).unwrap();
    assert_eq!(event.record(), record());
}

#[test]
fn an_event_has_its_items_and_the_stack_that_it_is_given() {
    let clock = Clock::default();
    let event = Event::from_record(&record(), 3, &clock).unwrap();
    assert_eq!(event.item(ExtendedType::PROV_TRAITS), Some(TRAITS));
    assert_eq!(event.item(ExtendedType::EVENT_SCHEMA_TL), Some(METADATA));
    assert_eq!(event.item(ExtendedType::SID), None);
    assert_eq!(event.related(), None);
    assert_eq!(event.stack(), None);
    assert_eq!(event.items().count(), 2);
    assert!(event.payload().is_empty());
    let bytes = record();
    let borrowed = EventRef::from_record(&bytes, 3, &clock).unwrap();
    assert_eq!(borrowed.record(), &bytes[..]);
    assert_eq!(borrowed.to_event(), event.clone());
    assert_eq!(borrowed.stack_key(), None);
    assert_eq!(borrowed.stack_process(), Some(4));
    assert_eq!(borrowed.class(), Some(Guid::from_name("MyDriver")));
    assert_eq!(event.with_stack(&[1, 2]).as_ref().to_event().stack(), Some(vec![1, 2]));
}

#[test]
fn a_truncated_record_is_not_a_record() {
    let bytes = record();
    for end in 0..bytes.len() {
        assert_eq!(Event::from_record(&bytes[..end], 0, &Clock::default()), None, "{end}");
    }
}
