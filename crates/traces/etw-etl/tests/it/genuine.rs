//! Files captured on Windows: every event decodes, and encodes to the same bytes again.
//!
//! The files are not part of this repository. If they are missing, the tests say so and pass.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::common;
use etw_etl::decode::Parts;
use etw_etl::format::record::Layout;
use etw_etl::{Event, EventData, Exporter, ExtendedItem, Format, Reader};
use test_support::reencode;

/// File, number of records, number of TraceLogging events among them, and their provider.
const FILES: [(&str, usize, usize, &str); 7] = [
    ("airbus_AMSITrace.etl", 21, 19, "AmsiTrace"),
    ("airbus_lxcore_kernel.etl", 4, 2, "Microsoft.Windows.Subsystem.LxCore"),
    ("perfview_SelfDescribingSingleEvent.etl", 23, 1, "MySource"),
    ("perfview_primitive-types.etl", 7, 5, "solar_system"),
    ("s4_CldFlt0.etl", 17, 0, ""),
    ("s4_SIH.etl", 12, 10, "SIHTraceLogging"),
    ("s4_waasmedic.etl", 21, 17, "Microsoft.Windows.WaaSMedic.Local"),
];

fn files() -> Vec<(PathBuf, usize, usize, &'static str)> {
    let Some(folder) = common::genuine() else { return Vec::new() };
    FILES.into_iter().map(|(name, records, events, provider)| (folder.join(name), records, events, provider)).collect()
}

#[test]
fn every_event_of_the_captured_files_decodes() {
    for (path, records, trace_logging, provider) in files() {
        let mut reader = Reader::open(&path).unwrap();
        assert!(reader.report().is_whole(), "{}: {}", path.display(), reader.report());
        let events: Vec<Event> = reader.by_ref().collect();
        assert_eq!(events.len(), records, "{}", path.display());
        assert!(events.is_sorted_by_key(|event| event.header.stamp), "{}", path.display());
        // The end comes from the system clock, which may have been set back a little in the meantime.
        let start = reader.header().start_time;
        let end = reader.header().end_time + 10_000_000;
        let mut decoded_events = 0;
        for event in events.iter().filter(|event| event.is_trace_logging()) {
            let decoded = event.decode();
            assert_eq!(decoded.error, None, "{}: {decoded}", path.display());
            assert_eq!(decoded.raw.as_ref(), None, "{}: {decoded}", path.display());
            assert_eq!(decoded.provider.as_deref(), Some(provider));
            assert!((start..=end).contains(&event.header.time.0), "{}: {}", path.display(), event.header.time);
            decoded_events += 1;
        }
        assert_eq!(decoded_events, trace_logging, "{}", path.display());
    }
}

#[test]
fn captured_trace_logging_events_encode_to_the_same_bytes() {
    let mut encoded = 0;
    for (path, ..) in files() {
        for event in Reader::open(&path).unwrap().filter(|event| event.header.layout == Layout::Event) {
            if let Some(parts) = Parts::from_event(&event) {
                let again = reencode(parts.metadata, parts.payload).unwrap();
                assert_eq!(again.metadata.as_slice(), parts.metadata);
                assert_eq!(again.payload.as_slice(), parts.payload);
                encoded += 1;
            }
            assert_eq!(record_again(&event), event.record(), "{}", path.display());
        }
    }
    assert!(encoded == 54 || common::genuine().is_none(), "{encoded}");
}

/// Returns the whole record, created by the writer's encoder.
fn record_again(event: &Event) -> Vec<u8> {
    let items: Vec<ExtendedItem<'_>> = event.items().collect();
    let header = &event.header;
    let data = EventData {
        provider: header.provider.unwrap(),
        descriptor: header.descriptor,
        flags: header.flags,
        property: header.property,
        is_32_bit: header.is_32_bit,
        thread_id: header.thread_id.unwrap(),
        process_id: header.process_id.unwrap(),
        timestamp: header.stamp,
        kernel_time: header.kernel_time,
        user_time: header.user_time,
        activity: header.activity.unwrap_or_default(),
        items: &items,
        payload: event.payload(),
    };
    let mut bytes = vec![0; data.encoded_len()];
    assert_eq!(data.encode(&mut bytes), Some(bytes.len()));
    bytes
}

#[test]
fn captured_files_export_in_every_format() {
    for (path, records, ..) in files() {
        let mut sizes = BTreeMap::new();
        for format in Format::ALL {
            let mut exporter = Exporter::new(Vec::new(), *format).unwrap();
            for event in Reader::open(&path).unwrap() {
                exporter.event(&event).unwrap();
            }
            let text = String::from_utf8(exporter.finish().unwrap()).unwrap();
            sizes.insert(format!("{format:?}"), text.len());
            if *format == Format::JsonLines {
                assert_eq!(text.lines().count(), records);
                for line in text.lines() {
                    let value: serde_json::Value = serde_json::from_str(line).unwrap();
                    assert!(value["time"].as_str().unwrap().ends_with('Z'));
                }
            } else if *format == Format::Chrome {
                let value: serde_json::Value = serde_json::from_str(&text).unwrap();
                // Names of processes are no events.
                let events = value["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] != "M");
                assert_eq!(events.count(), records);
            } else {
                assert!(text.lines().count() >= records, "{format:?}");
            }
        }
        assert!(sizes.values().all(|size| *size > 0), "{sizes:?}");
    }
}

#[test]
fn values_of_captured_events_are_those_that_were_written() {
    let Some(folder) = common::genuine() else { return };
    let texts = |name: &str| -> Vec<String> {
        let reader = Reader::open(folder.join(name)).unwrap();
        reader.filter(Event::is_trace_logging).map(|event| event.decode().to_string()).collect()
    };
    let solar = texts("perfview_primitive-types.etl");
    assert!(solar[0].contains(" string_type=Mercury boolean_type=false char_type=M int16_type=-51 "), "{}", solar[0]);
    assert!(solar[0].contains(" file_time_type=2021-09-09T14:59:35.7990000Z "), "{}", solar[0]);
    assert_eq!(texts("perfview_SelfDescribingSingleEvent.etl"), ["MySource/TestEvent a={b=Hello c=World!}"]);
    assert!(texts("airbus_lxcore_kernel.etl")[0].contains(" Function=LxpDrvFsTypeMount Line=10528 "));
    let size = fs::metadata(folder.join("s4_SIH.etl")).unwrap().len();
    assert_eq!(size, 8192, "reading changes nothing");
}
