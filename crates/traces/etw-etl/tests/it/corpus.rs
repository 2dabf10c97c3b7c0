//! The committed corpus is identical, byte for byte, to what the writer creates.
//!
//! Set `ETW_ETL_BLESS` to rewrite the corpus after a deliberate change of the format.

use std::fs;

use crate::common;
use crate::common::{CORPUS, corpus_file, folder};
use etw_etl::{Event, Exporter, Format, Kind, NameSource as _, Reader};

#[test]
fn the_writer_makes_the_committed_files() {
    for (name, make) in CORPUS {
        let made = folder("corpus").join(name);
        make(&made);
        let bytes = fs::read(&made).unwrap();
        if std::env::var_os("ETW_ETL_BLESS").is_some() {
            fs::write(corpus_file(name), &bytes).unwrap();
        }
        assert!(fs::read(corpus_file(name)).unwrap() == bytes, "{name} differs");
    }
}

#[test]
fn the_corpus_reads_whole() {
    for (name, ..) in CORPUS {
        let mut reader = Reader::open(corpus_file(name)).unwrap();
        assert!(reader.report().is_whole(), "{name}: {}", reader.report());
        assert_eq!(reader.header().file_name, "C:\\trace.etl");
        for event in reader.by_ref().filter(Event::is_trace_logging) {
            assert_eq!(event.decode().error, None, "{name}");
        }
    }
}

#[test]
fn the_kinds_of_events_are_distinguished() {
    let events: Vec<Event> = Reader::open(corpus_file("kinds.etl")).unwrap().skip(2).collect();
    let kinds: Vec<Kind> = events.iter().map(Event::kind).collect();
    let manifest = Kind::Manifest;
    assert_eq!(kinds, [Kind::TraceLogging, manifest, manifest, manifest, manifest, Kind::Mof]);
    assert_eq!(events[0].decode().to_string(), "Wdk.Etw.Etl/E a=7");
    assert_eq!(events[1].items().count(), 2);
    assert!(events[5].header.is_32_bit);
}

#[test]
fn every_type_has_its_json() {
    let event = Reader::open(corpus_file("types.etl")).unwrap().find(Event::is_trace_logging).unwrap();
    let mut exporter = Exporter::new(Vec::new(), Format::JsonLines).unwrap();
    exporter.event(&event).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&exporter.finish().unwrap()).unwrap();
    assert_eq!(
        value["fields"],
        serde_json::json!({
            "utf16z": "z", "ansiz": "z", "i8": -1, "u8": 1, "i16": -2, "u16": 2, "i32": -3, "u32": 3,
            "i64": i64::MIN, "u64": u64::MAX, "f32": null, "f64": 0.1, "bool32": true,
            "binary": "010203", "binaryc": "::", "guid": common::provider().to_string(),
            "filetime": "2024-05-06T07:08:09.0000000Z", "systemtime": "[0, 0, 0, 0, 0, 0, 0, 0]",
            "sid": "S-1-5-32-544", "hex32": "0x10", "hex64": "0xffffffffffffffff",
            "str16": "a\u{FFFD}", "str8": "\u{FFFD}",
            "status": "0xC00000BB STATUS_NOT_SUPPORTED", "port": 80, "array": ["0x1", "0x2", "0x3"],
            "strings": ["a", "b"], "struct": {"flag": true, "inner": {"deep": 9}},
        })
    );
}

#[test]
fn the_circular_file_holds_the_latest_events_in_order() {
    let numbers: Vec<String> = Reader::open(corpus_file("circular.etl"))
        .unwrap()
        .filter(Event::is_trace_logging)
        .map(|event| event.decode().fields[0].node.to_string())
        .collect();
    assert_eq!(numbers.last().map(String::as_str), Some("59"));
    assert!(numbers.len() < 30);
    let first = 60 - numbers.len();
    assert_eq!(numbers, (first..60).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn the_named_trace_names_everything() {
    let mut reader = Reader::open(corpus_file("named.etl")).unwrap();
    let names = reader.names();
    let methods = reader.methods();
    assert_eq!(names.processes().map(|process| &*process.name).collect::<Vec<_>>(), ["a.exe", "c.exe"]);
    assert_eq!(names.file(0x77, 1_000_050).as_deref(), Some("C:\\b.txt"));
    assert_eq!(names.thread(70, 1_000_050).as_deref(), Some("worker"));
    assert_eq!(names.key(0x99, 1_000_050).as_deref(), Some("\\REGISTRY\\MACHINE\\X"));
    assert!(!reader.images().is_empty());
    assert!(!methods.is_empty());
    let mut stacks = Vec::new();
    while let Some(event) = reader.next_ref() {
        stacks.extend(event.stack().map(|stack| (event.header.descriptor.id, stack.len())));
    }
    assert_eq!(stacks, [(0x0F2E, 4), (0x0524, 3), (1, 3)], "a sample, a context switch, and an event with a key");
}
