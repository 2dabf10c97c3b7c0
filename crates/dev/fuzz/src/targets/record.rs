//! Records as a session delivers them, one after another. Guarantees: an event has exactly the bytes of its record.
//! Its parts lie within the record and do not overlap. A copy equals the event. Every export accepts it.

use etw_etl::format::record::{Next, next};
use etw_etl::{Clock, ClockKind, Event, EventRef, Exporter, FileTime, Format};

/// Reads records until the bytes are not a record.
pub(super) fn run(bytes: &[u8]) {
    let (start, mut rest) = bytes.split_at(bytes.len().min(8));
    let number = start.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let kinds = [ClockKind::PerformanceCounter, ClockKind::SystemTime, ClockKind::Cycles];
    let kind = kinds[usize::try_from(number % 3).expect("less than three")];
    let clock = Clock { kind, frequency: number >> 32, start: FileTime(1 << 56), start_stamp: number };
    let start = |format: &Format| Exporter::new(Vec::new(), *format).expect("memory takes everything");
    let mut exporters: Vec<_> = Format::ALL.iter().map(start).collect();
    while let Next::Record(_, size) = next(rest) {
        assert!(size > 0, "a record of {size} bytes in {}", rest.len());
        assert!(size <= rest.len(), "a record of {size} bytes in {}", rest.len());
        if let Some(event) = EventRef::from_record(rest, 3, &clock) {
            look_at(&event, &rest[..size]);
            for exporter in &mut exporters {
                exporter.event_ref(&event).expect("memory takes everything");
            }
            assert_eq!(Event::from_record(rest, 3, &clock), Some(event.to_event()), "the copy differs");
        }
        rest = rest.get(size.next_multiple_of(8)..).unwrap_or_default();
    }
    for exporter in exporters {
        let bytes = exporter.finish().expect("memory takes everything");
        assert!(String::from_utf8(bytes).is_ok(), "an export is not UTF-8");
    }
}

fn look_at(event: &EventRef<'_>, record: &[u8]) {
    assert!(event.record() == record, "the bytes of the event and of its record differ");
    assert!(record.ends_with(event.payload()), "the payload is not the record's end");
    let items: usize = event.items().map(|item| item.encoded_len()).sum();
    assert!(items + event.payload().len() <= record.len(), "items and payload overlap");
    for item in event.items() {
        assert!(item.stack().is_none_or(|frames| frames.len() * 4 <= item.data.len()), "more frames than bytes");
    }
    assert!(event.stack().is_none() || event.items().any(|item| item.stack().is_some()), "no item has its stack");
    let decoded = event.decode();
    let _ = decoded.to_string();
    assert!(decoded.raw.is_none_or(|raw| record.ends_with(&raw)), "the raw bytes are not in the record");
}
