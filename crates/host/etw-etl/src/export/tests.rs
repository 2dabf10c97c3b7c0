//! Exports, parsed by other crates.

use etw_types::{Guid, InType, Opcode, OutType};
use serde_json::{Value, json};

use super::{Exporter, Format};
use crate::format::classic::{SYSTEM_SIZE, SystemHeader, TYPE_SYSTEM_64};
use crate::format::logfile::LogfileHeader;
use crate::testing::{descriptor, event_of, read, read_record, trace_logging};
use crate::{Clock, Event, EventData, ExtendedItem, ExtendedType};

const KEYS: [&str; 19] = [
    "schema_version",
    "time",
    "provider",
    "provider_id",
    "event",
    "kind",
    "id",
    "version",
    "channel",
    "level",
    "opcode",
    "task",
    "keyword",
    "pid",
    "tid",
    "cpu",
    "activity",
    "related",
    "fields",
];

fn export(format: Format, events: &[Event]) -> String {
    let mut exporter = Exporter::new(Vec::new(), format).unwrap();
    for event in events {
        exporter.event(event).unwrap();
    }
    String::from_utf8(exporter.finish().unwrap()).unwrap()
}

fn json_line(event: &Event) -> Value {
    serde_json::from_str(&export(Format::JsonLines, std::slice::from_ref(event))).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_lines_have_stable_keys_in_a_stable_order() {
    let event = trace_logging("Read", |builder| builder.u32("Length", 512));
    let value = json_line(&event);
    assert_eq!(keys(&value), KEYS);
    assert_eq!(value["time"], "2020-01-01T00:00:01.0000001Z");
    assert_eq!(value["provider"], "TestProvider");
    assert_eq!(value["event"], "Read");
    assert_eq!(value["kind"], "tracelogging");
    assert_eq!(value["keyword"], "0x10");
    assert_eq!((&value["pid"], &value["tid"], &value["cpu"]), (&json!(4), &json!(7), &json!(3)));
    assert_eq!((&value["activity"], &value["related"]), (&Value::Null, &Value::Null));
    assert_eq!(value["fields"], json!({"Length": 512}));
    let raw = json_line(&read_record(&[0x0A, 0, 0, 0x90, 5, 0, 0, 0, 0xAB, 0xCD], 0));
    assert_eq!(keys(&raw), [&KEYS[..], &["raw"]].concat());
    assert_eq!((&raw["kind"], &raw["raw"], &raw["pid"]), (&json!("wpp"), &json!("abcd"), &Value::Null));
}

#[test]
fn json_values_have_one_type_and_lose_nothing() {
    let event = trace_logging("E", |builder| {
        builder
            .u64("max", u64::MAX)
            .i64("min", i64::MIN)
            .u64("safe", (1 << 53) - 1)
            .f64("tenth", 0.1)
            .f32("tenth32", 0.1)
            .f64("negative zero", -0.0)
            .f64("nan", f64::NAN)
            .f64("other nan", f64::from_bits(0x7FF8_0000_0000_0001))
            .f32("infinite", f32::NEG_INFINITY)
            .str16("half", &[0x61, 0xD800])
            .str16("nul", &[0x61, 0, 0x22, 0x5C, 0x0A, 0x1F])
            .counted("bytes", InType::Str8, OutType::Utf8, 0, &[0x61, 0xFF])
            .u8("twice", 1)
            .u8("twice", 2)
    });
    let line = json_line(&event);
    let fields = &line["fields"];
    assert!(line["raw"].as_str().unwrap().contains("610000d8"), "the bytes of what does not fit its type: {line}");
    assert_eq!(
        fields,
        &json!({
            "max": u64::MAX,
            "min": i64::MIN,
            "safe": 9_007_199_254_740_991_u64,
            "tenth": 0.1,
            "tenth32": 0.1,
            "negative zero": -0.0,
            "nan": null,
            "other nan": null,
            "infinite": null,
            "half": "a\u{FFFD}",
            "nul": "a\0\"\\\n\u{1f}",
            "bytes": "a\u{FFFD}",
            "twice": 1,
            "twice#2": 2,
        })
    );
    let order: Vec<&str> = keys(fields);
    assert_eq!((order[0], order[13]), ("max", "twice#2"), "in the order of the schema");
}

#[test]
fn csv_has_a_cell_for_every_key() {
    let event = trace_logging("a,\"b\"", |builder| builder.str8("text", "x\r\ny, \"z\""));
    let text = export(Format::Csv, &[event]);
    let (columns, row) = text.split_once("\r\n").unwrap();
    assert_eq!(columns.split(',').collect::<Vec<_>>(), [&KEYS[1..], &["raw"]].concat());
    assert!(row.contains(",\"a,\"\"b\"\"\","), "{row}");
    assert!(row.ends_with(",\"{\"\"text\"\":\"\"x\\r\\ny, \\\"\"z\\\"\"\"\"}\",\r\n"), "{row}");
}

#[test]
fn text_is_one_line_for_an_event() {
    let event = trace_logging("Read", |builder| builder.str8("File", "a\nb"));
    assert_eq!(
        export(Format::Text, &[event]),
        "2020-01-01T00:00:01.0000001Z 4:7 cpu3 TestProvider/Read File=\"a\\nb\" level=4 keyword=0x10\n"
    );
    let text = export(Format::Text, &[event_of(b"\xFF\x00\x00E\0", &[0xEE; 70])]);
    assert!(text.contains(" tracelogging ") && text.ends_with("ee…(+6 bytes)\n"), "{text}");
}

#[test]
fn the_first_record_of_a_file_shows_the_facts_of_the_session() {
    let header = LogfileHeader {
        logger_name: "a \x1b[31mname".into(),
        file_name: "C:\\t.etl".into(),
        processors: 2,
        provider_version: 26100,
        pointer_size: 8,
        ..LogfileHeader::default()
    };
    let body = header.to_bytes();
    let size = u16::try_from(SYSTEM_SIZE + body.len()).unwrap();
    let prefix = SystemHeader { version: 2, header_type: TYPE_SYSTEM_64, size, ..SystemHeader::default() };
    let record = [&prefix.to_bytes()[..], &body].concat();
    let event = Event::from_record(&record, 0, &Clock::default()).unwrap();
    let text = export(Format::Text, &[event]);
    assert!(
        text.ends_with(
            " session \"a \\u{1b}[31mname\" file=C:\\t.etl system=10.0.26100 processors=2 buffers=1 lost=0\n"
        ),
        "{text}"
    );
}

fn activity(opcode: Opcode, activity: u128, task: u16, thread_id: u32, timestamp: u64) -> Event {
    let metadata = if opcode == Opcode::Start { b"\x09\x00\x00Begin\0" } else { b"\x09\x00\x00Ended\0" };
    let related = Guid::from_u128(9).to_bytes_le();
    let [traits, schema] = ExtendedItem::trace_logging(b"\x04\x00P\0", metadata);
    read(&EventData {
        descriptor: descriptor().with_opcode(opcode).with_task(task),
        activity: Guid::from_u128(activity),
        thread_id,
        process_id: 4,
        timestamp,
        items: &[ExtendedItem { kind: ExtendedType::RELATED_ACTIVITY_ID, data: &related }, traits, schema],
        ..EventData::default()
    })
}

#[test]
fn a_table_shows_relative_times_and_brackets() {
    let mut events = vec![
        trace_logging("Open", |builder| builder.ntstatus("Status", 0xC000_00BB).str8("File", "a b")),
        activity(Opcode::Start, 7, 0, 10, 10_015_001),
        activity(Opcode::Stop, 7, 0, 10, 10_004_001),
    ];
    let table = export(Format::Table, &events);
    let expected = [
        "  provider TestProvider\n",
        "      ms    delta  level  activity  event          fields\n",
        "  0.0000   0.0000  info             Open           Status=STATUS_NOT_SUPPORTED File=\"a b\"\n",
        "  1.5000   1.5000  info   ┌ 1       P/Begin start\n",
        "  0.4000  -1.1000  info   └ 1       P/Ended stop\n",
    ];
    assert_eq!(table, expected.concat());
    assert_eq!(export(Format::Table, &[]), "");
    let text = [trace_logging("Log", |builder| builder.str8("message", "it said STATUS_SUCCESS"))];
    assert!(export(Format::Table, &text).contains("message=\"it said STATUS_SUCCESS\""), "only statuses are shortened");
    events.extend(std::iter::repeat_n(event_of(b"\xFF\x00\x00E\0", &[0xEE; 70]), 1000));
    let table = export(Format::Table, &events);
    assert_eq!(table.matches("raw=").count(), 1000, "pages join");
    assert!(table.ends_with("ee…(+38 bytes)\n"), "{table}");
}

#[test]
fn activities_are_spans_on_the_track_of_the_thread_that_started_them() {
    let text = export(
        Format::Chrome,
        &[
            activity(Opcode::Info, 1, 0, 10, 0),
            activity(Opcode::Start, 1, 0, 10, 100),
            activity(Opcode::Start, 2, 0, 10, 101),
            activity(Opcode::Start, 0, 5, 11, 110),
            activity(Opcode::Start, 0, 5, 11, 115),
            activity(Opcode::Stop, 0, 5, 11, 116),
            activity(Opcode::Stop, 1, 0, 12, 123),
            activity(Opcode::Stop, 3, 0, 12, 130),
            activity(Opcode::Stop, 0, 5, 11, 140),
        ],
    );
    let document: Value = serde_json::from_str(&text).unwrap();
    let events: Vec<_> = document["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let number = |key: &str| event[key].as_f64();
            (event["ph"].as_str().unwrap(), event["tid"].as_u64().unwrap(), number("ts").unwrap(), number("dur"))
        })
        .collect();
    assert_eq!(
        events,
        [
            ("i", 10, 0.0, None),
            ("X", 11, 11.5, Some(0.1)),
            ("X", 10, 10.0, Some(2.3)),
            ("i", 12, 13.0, None),
            ("X", 11, 11.0, Some(3.0)),
            ("i", 10, 10.1, None),
        ]
    );
    assert_eq!(document["traceEvents"][2]["name"], "Begin");
    assert_eq!(document["traceEvents"][2]["cat"], "P");
    assert_eq!(document["traceEvents"][5]["args"]["open"], true);
}

#[test]
fn an_export_without_events_is_complete() {
    assert_eq!(export(Format::JsonLines, &[]), "");
    let document: Value = serde_json::from_str(&export(Format::Chrome, &[])).unwrap();
    assert_eq!(document["traceEvents"], json!([]));
    assert_eq!("perfetto".parse(), Ok(Format::Chrome));
    assert!("xml".parse::<Format>().is_err());
}

/// The JSON type of a field depends on its schema, not on its value in an event.
#[test]
fn a_field_has_one_json_type_for_all_of_its_values() {
    let types = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let line = |bool32: u32, time: u64, status: u64, letters: [u8; 2], text: &[u16]| {
        json_line(&trace_logging("E", |builder| {
            builder
                .field("bool32", InType::Bool32, OutType::Default, 0, &bool32.to_le_bytes())
                .field("bool8", InType::U8, OutType::Boolean, 0, &bool32.to_le_bytes()[..1])
                .field("time", InType::FileTime, OutType::Default, 0, &time.to_le_bytes())
                .field("status", InType::U64, OutType::NtStatus, 0, &status.to_le_bytes())
                .field("letter", InType::U8, OutType::String, 0, &letters[..1])
                .u64("number", time)
                .str16("text", text)
        }))
    };
    let usual = line(1, 133_594_528_890_000_000, 0, *b"ab", &[0x61]);
    let odd = line(7, u64::MAX / 2, 1 << 40, [0xFF, 0x61], &[0xD800]);
    for name in ["bool32", "bool8", "time", "status", "letter", "number", "text"] {
        let (one, other) = (&usual["fields"][name], &odd["fields"][name]);
        assert_eq!(types(one), types(other), "{name}: {one} and {other}");
    }
    assert_eq!(usual.get("raw"), None);
    assert!(odd["raw"].is_string(), "the bytes of what does not fit");
}

#[test]
fn a_table_counts_from_a_moment_and_fits_a_width() {
    let event = trace_logging("Read", |builder| builder.str8("File", &"x".repeat(30)).str8("Other", &"y".repeat(30)));
    let table = |width: usize| {
        let origin = crate::FileTime(event.header.time.0 - 20_000);
        let mut exporter =
            Exporter::new(Vec::new(), Format::Table).unwrap().with_width(width).since(origin).with_colours();
        exporter.event(&event).unwrap();
        String::from_utf8(exporter.finish().unwrap()).unwrap()
    };
    assert!(table(200).contains("2.0000  0.0000  info"), "{}", table(200));
    for width in [60, 80, 100, 200] {
        let longest = table(width).lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width, "{longest} of {width}: {}", table(width));
    }
}
