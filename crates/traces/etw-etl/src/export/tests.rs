//! Exports, parsed by other crates.

use etw_types::{EventDescriptor, Guid, InType, Level, Opcode, OutType};
use serde_json::{Value, json};

use super::{About, Exporter, Form, Format, UnknownFormat, json_node};
use crate::decode::Decoded;
use crate::format::classic::{SYSTEM_SIZE, SystemHeader, TYPE_SYSTEM_64};
use crate::format::event::EVENT_HEADER_FLAG_STRING_ONLY;
use crate::format::logfile::LogfileHeader;
use crate::testing::{descriptor, event_of, read, read_record, trace_logging};
use crate::{Clock, Event, EventData, ExtendedItem, ExtendedType, Report};

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
    assert_eq!(&value["pid"], &json!(4));
    assert_eq!(&value["tid"], &json!(7));
    assert_eq!(&value["cpu"], &json!(3));
    assert_eq!(&value["activity"], &Value::Null);
    assert_eq!(&value["related"], &Value::Null);
    assert_eq!(value["fields"], json!({"Length": 512}));
    let raw = json_line(&read_record(&[0x0A, 0, 0, 0x90, 5, 0, 0, 0, 0xAB, 0xCD], 0));
    assert_eq!(keys(&raw), [&KEYS[..], &["raw"]].concat());
    assert_eq!(&raw["kind"], &json!("wpp"));
    assert_eq!(&raw["raw"], &json!("abcd"));
    assert_eq!(&raw["pid"], &Value::Null);
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
    assert_eq!(order[0], "max", "in the order of the schema");
    assert_eq!(order[13], "twice#2", "in the order of the schema");
}

#[test]
fn csv_has_a_cell_for_every_key() {
    let event = trace_logging("a,\"b\"", |builder| builder.str8("text", "x\r\ny, \"z\""));
    let text = export(Format::Csv, &[event]);
    let (columns, row) = text.split_once("\r\n").unwrap();
    assert_eq!(
        columns.split(',').collect::<Vec<_>>(),
        [&KEYS[1..], &["raw", "process", "thread", "file", "key", "message"]].concat()
    );
    assert!(row.contains(",\"a,\"\"b\"\"\","), "{row}");
    assert!(row.ends_with(",\"{\"\"text\"\":\"\"x\\r\\ny, \\\"\"z\\\"\"\"\"}\",,,,,,\r\n"), "{row}");
}

#[test]
fn text_is_one_line_for_an_event() {
    let event = trace_logging("Read", |builder| builder.str8("File", "a\nb"));
    assert_eq!(
        export(Format::Text, &[event]),
        "2020-01-01T00:00:01.0000001Z 4:7 cpu3 TestProvider/Read File=\"a\\nb\" level=4 keyword=0x10\n"
    );
    let text = export(Format::Text, &[event_of(b"\xFF\x00\x00E\0", &[0xEE; 70])]);
    assert!(text.contains("/tracelogging 0 "), "{text}");
    assert!(text.ends_with("ee…(+6 bytes)\n"), "{text}");
}

/// Returns the line of the first record of a file that ended at this time.
fn session_line(end_time: i64) -> String {
    let header = LogfileHeader {
        end_time,
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
    export(Format::Text, &[event])
}

#[test]
fn the_first_record_of_a_file_shows_the_facts_of_the_session() {
    let start = " session \"a \\u{1b}[31mname\" file=C:\\t.etl system=10.0.26100 processors=2";
    let closed = session_line(1);
    assert!(closed.ends_with(&format!("{start} buffers=1 lost=0\n")), "{closed}");
    let unclosed = session_line(0);
    assert!(unclosed.ends_with(&format!("{start} buffers=- lost=-\n")), "{unclosed}");
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
    assert!(text.contains("\"ts\":0.0,"), "{text}");
    assert!(text.contains("\"dur\":2.3,"), "{text}");
    assert_eq!(document["traceEvents"][2]["name"], "Begin");
    assert_eq!(document["traceEvents"][2]["cat"], "P");
    assert_eq!(document["traceEvents"][5]["args"]["open"], true);
}

#[test]
fn an_export_without_events_is_complete() {
    for format in Format::ALL {
        let text = export(*format, &[]);
        match format.form() {
            Form::Text | Form::JsonLines => assert_eq!(text, "", "{format:?}"),
            Form::Csv => assert!(text.lines().count() <= 1, "{format:?}: {text}"),
            Form::Json => assert!(serde_json::from_str::<Value>(&text).is_ok(), "{format:?}: {text}"),
            Form::Page => assert!(text.trim_end().ends_with("</html>"), "{format:?}"),
        }
    }
    let document: Value = serde_json::from_str(&export(Format::Chrome, &[])).unwrap();
    assert_eq!(document["traceEvents"], json!([]));
}

#[test]
fn formats_have_names_of_their_own() {
    let mut known = Vec::new();
    for format in Format::ALL {
        for name in [format.name()].iter().chain(format.other_names()) {
            assert_eq!(name.parse(), Ok(*format));
            assert!(!known.contains(name), "{name} is the name of two formats");
            known.push(*name);
        }
        assert!(UnknownFormat.to_string().contains(format.name()), "the error lists {format:?}");
    }
    assert_eq!("jsonl".parse(), Ok(Format::JsonLines));
    assert_eq!("perfetto".parse(), Ok(Format::Chrome));
    assert_eq!("xml".parse::<Format>(), Err(UnknownFormat));
}

#[test]
fn what_several_traces_lost_is_added() {
    let report = Report { events_lost: 1, buffers_lost: 2, lost_bytes: 3, ..Report::default() };
    let one = About { title: "one".into(), ..About::from(&report) };
    assert_eq!(one.events_lost, Some(1));
    assert_eq!(one.buffers_lost, Some(2));
    assert_eq!(one.unreadable_bytes, 3);
    let other = About { title: "other".into(), events_lost: Some(10), buffers_lost: Some(20), unreadable_bytes: 30 };
    let both = About { title: "one".into(), events_lost: Some(11), buffers_lost: Some(22), unreadable_bytes: 33 };
    assert_eq!(one.and(&other), both);
}

/// Returns the line of one event, decoded with frames.
fn with_frames(format: Format, event: &Event, frames: &[&str]) -> String {
    let decoded = Decoded { frames: frames.iter().map(ToString::to_string).collect(), ..event.decode() };
    let mut exporter = Exporter::new(Vec::new(), format).unwrap();
    exporter.decoded(&event.as_ref(), &decoded).unwrap();
    String::from_utf8(exporter.finish().unwrap()).unwrap()
}

#[test]
fn stacks_are_addresses_with_names_or_a_key() {
    let event = trace_logging("E", |builder| builder);
    let stack = event.clone().with_stack(&[0x10, 0xFFFF_F800_0000_1000]);
    let key = 0xABC_u64.to_le_bytes();
    let key = [&[0; 8][..], &key].concat();
    let items = [ExtendedItem { kind: ExtendedType::STACK_KEY64, data: &key }];
    let keyed = read(&EventData { items: &items, ..EventData::default() });
    for (event, frames, text, json) in [
        (&event, &[][..], None, json!({})),
        (&stack, &[], Some(" stack=0x10<-0xfffff80000001000"), json!({"stack": ["0x10", "0xfffff80000001000"]})),
        (
            &stack,
            &["f", "g h"],
            Some(" stack=\"f <- g h\""),
            json!({"stack": ["0x10", "0xfffff80000001000"], "frames": ["f", "g h"]}),
        ),
        (&keyed, &[], Some(" stack_key=0xabc"), json!({"stack_key": "0xabc"})),
    ] {
        let line = with_frames(Format::Text, event, frames);
        assert_eq!(line.contains("stack"), text.is_some(), "{line}");
        assert!(text.is_none_or(|text| line.ends_with(&format!("{text}\n"))), "{line}");
        let value: Value = serde_json::from_str(&with_frames(Format::JsonLines, event, frames)).unwrap();
        for key in ["stack", "frames", "stack_key"] {
            assert_eq!(value.get(key), json.get(key), "{key}");
        }
    }
}

#[test]
fn text_shows_what_an_event_has_and_nothing_else() {
    let related = Guid::from_u128(9).to_bytes_le();
    let descriptor = EventDescriptor { id: 17, version: 2, task: 5, ..EventDescriptor::default() };
    let event = read(&EventData {
        provider: Guid::from_u128(1),
        descriptor: descriptor.with_opcode(Opcode::Stop),
        activity: Guid::from_u128(2),
        items: &[ExtendedItem { kind: ExtendedType::RELATED_ACTIVITY_ID, data: &related }],
        payload: &[0xAB; 64],
        ..EventData::default()
    });
    let raw = "ab".repeat(64);
    assert_eq!(
        export(Format::Text, &[event]),
        format!(
            "2020-01-01T00:00:00.0000000Z 0:0 cpu3 00000000-0000-0000-0000-000000000001/manifest 17 id=17 version=2 level=0 \
             opcode=2 task=5 activity=00000000-0000-0000-0000-000000000002 \
             related=00000000-0000-0000-0000-000000000009 raw={raw}\n"
        )
    );
    let plain = read(&EventData::default());
    assert!(export(Format::Text, &[plain]).ends_with(" id=0 version=0 level=0\n"));
    // A message without a thread and with a sequence number.
    let message = read_record(&[0x0C, 0, 0, 0x90, 7, 0, 1, 0, 5, 0, 0, 0], 0);
    let text = export(Format::Text, std::slice::from_ref(&message));
    assert_eq!(text, "2020-01-01T00:00:00.0000000Z -:- cpu3 wpp 7 id=7 version=0 level=0 sequence=5\n");
    assert_eq!(json_line(&message)["sequence"], 5);
    // A string is shown although the event has no name, and a record that is not the first of a file is not a session.
    let string =
        read(&EventData { flags: EVENT_HEADER_FLAG_STRING_ONLY, payload: b"h\0i\0\0\0", ..EventData::default() });
    assert!(export(Format::Text, &[string]).contains(" id=0 version=0 message=hi level=0"));
    let mut other = vec![2, 0, 2, 0xC0, 0x24, 0, 0x01, 0xFF];
    other.resize(0x24, 0);
    assert!(
        export(Format::Text, &[read_record(&other, 0)])
            .contains(" system 0xff01 id=65281 version=2 level=0 opcode=1 raw=00000000\n")
    );
}

#[test]
fn levels_have_colours() {
    let event = |level| {
        let descriptor = EventDescriptor { level, ..EventDescriptor::default() };
        read(&EventData { descriptor, ..EventData::default() })
    };
    let coloured = |format, level| {
        let mut exporter = Exporter::new(Vec::new(), format).unwrap().with_colours();
        exporter.event(&event(level)).unwrap();
        String::from_utf8(exporter.finish().unwrap()).unwrap()
    };
    for (level, colour) in [
        (Level::Critical, Some("\x1b[1;31m")),
        (Level::Error, Some("\x1b[31m")),
        (Level::Warning, Some("\x1b[33m")),
        (Level::Informational, None),
        (Level::Verbose, Some("\x1b[2m")),
    ] {
        let plain = export(Format::Text, &[event(level)]);
        let painted = |line: &str| colour.map_or_else(|| line.to_owned(), |colour| format!("{colour}{line}\x1b[0m"));
        assert_eq!(coloured(Format::Text, level), format!("{}\n", painted(plain.trim_end())));
        let table = export(Format::Table, &[event(level)]);
        let last = table.lines().last().unwrap();
        assert_eq!(coloured(Format::Table, level).lines().last(), Some(painted(last).as_str()));
    }
}

#[test]
fn a_table_names_levels_phases_and_other_providers() {
    let event = |level, opcode, provider, id| {
        let descriptor = EventDescriptor { id, level: Level::from_int(level), ..EventDescriptor::default() };
        let descriptor = descriptor.with_opcode(Opcode::from_int(opcode));
        read(&EventData { provider: Guid::from_u128(provider), descriptor, payload: &[], ..EventData::default() })
    };
    let message = read_record(&[0x0C, 0, 0, 0x90, 7, 0, 1, 0, 5, 0, 0, 0], 0);
    let table = export(
        Format::Table,
        &[event(0, 0, 1, 5), event(1, 3, 1, 6), event(2, 2, 2, 7), event(3, 1, 1, 8), event(200, 0, 1, 9), message],
    );
    let rows: Vec<String> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rows[2..],
        [
            "0.0000 0.0000 always manifest 5",
            "0.0000 0.0000 critical manifest 6 opcode 3",
            "0.0000 0.0000 error 00000000-0000-0000-0000-000000000002/manifest 7 stop",
            "0.0000 0.0000 warning manifest 8 start",
            "0.0000 0.0000 200 manifest 9",
            "0.0000 0.0000 always wpp 7",
        ]
    );
    assert_eq!(rows[0], "provider 00000000-0000-0000-0000-000000000001");
    let in_activity = export(Format::Table, &[activity(Opcode::Info, 7, 0, 1, 0), activity(Opcode::Info, 8, 0, 1, 0)]);
    assert!(in_activity.contains("│ 1"), "{in_activity}");
    assert!(in_activity.contains("│ 2"), "{in_activity}");
    let bytes =
        |length| export(Format::Table, &[read(&EventData { payload: &[0xAB; 40][..length], ..EventData::default() })]);
    assert!(bytes(32).ends_with(&format!("raw={}\n", "ab".repeat(32))));
    assert!(bytes(33).ends_with("…(+1 bytes)\n"));
}

#[test]
fn a_table_is_written_in_pages_and_when_it_is_flushed() {
    let mut exporter = Exporter::new(Vec::new(), Format::Table).unwrap();
    let event = trace_logging("E", |builder| builder);
    (0..498).for_each(|_| exporter.event(&event).unwrap());
    assert!(exporter.out.is_empty());
    // The names of the columns are the first row of a page.
    exporter.event(&event).unwrap();
    let lines = |exporter: &Exporter<Vec<u8>>| str::from_utf8(&exporter.out).unwrap().lines().count();
    assert_eq!(lines(&exporter), 501, "and the provider");
    exporter.event(&event).unwrap();
    assert_eq!(lines(&exporter), 501);
    exporter.flush().unwrap();
    assert_eq!(lines(&exporter), 502);
}

#[test]
fn many_fields_have_unique_names() {
    for count in [15, 16, 17, 40] {
        let event = trace_logging("E", |builder| (0..count).fold(builder, |builder, number| builder.u8("f", number)));
        let line = json_line(&event);
        let fields = line["fields"].as_object().unwrap();
        assert_eq!(fields.len(), usize::from(count));
        assert_eq!(&fields["f"], &json!(0));
        assert_eq!(&fields["f#2"], &json!(1));
        assert_eq!(&fields[&format!("f#{count}")], &json!(count - 1));
    }
}

#[test]
fn arrays_have_the_type_of_their_elements() {
    let event = trace_logging("E", |builder| {
        builder
            .array("letters", InType::U8, OutType::String, 0, 2, b"ab")
            .array("bad", InType::U8, OutType::String, 0, 2, &[0x61, 0xFF])
            .array("wide", InType::U32, OutType::String, 0, 2, &[65, 0, 0, 0, 66, 0, 0, 0])
            .array("one", InType::U8, OutType::Default, 0, 1, &[1])
            .field("custom", InType::U32, OutType::NtStatus, 0, &[0xBB, 0, 0, 0xC0])
    });
    let line = json_line(&event);
    let expected = json!({"letters": "ab", "bad": "a\u{FFFD}", "wide": [65, 66], "one": [1], "custom": "0xC00000BB STATUS_NOT_SUPPORTED"});
    assert_eq!(line["fields"], expected);
    assert!(line["raw"].is_string(), "a character was replaced");
    let mut json = String::new();
    let field = &event.decode().fields[1];
    assert!(!json_node(&mut json, field, &field.node));
    let field = &event.decode().fields[0];
    assert!(json_node(&mut json, field, &field.node));
    assert_eq!(json, "\"a\u{FFFD}\"\"ab\"");
}

#[test]
fn csv_guards_names_that_look_like_formulas() {
    for (name, cell) in
        [("=1+1", ",'=1+1,"), ("-a", ",'-a,"), ("a=", ",a=,"), ("a\"", ",\"a\"\"\","), ("a\nb", ",\"a\nb\",")]
    {
        let text = export(Format::Csv, &[trace_logging(name, |builder| builder)]);
        assert!(text.contains(cell), "{text}");
    }
}

#[test]
fn chrome_shows_records_without_a_name_or_a_thread() {
    let events = [
        read_record(&[0x0A, 0, 0, 0x90, 5, 0, 0, 0, 0xAB, 0xCD], 10_000),
        read(&EventData { provider: Guid::from_u128(1), thread_id: 8, timestamp: 5, ..EventData::default() }),
    ];
    let document: Value = serde_json::from_str(&export(Format::Chrome, &events)).unwrap();
    let [unknown, message, manifest] = [0, 1, 2].map(|index| &document["traceEvents"][index]);
    assert_eq!(unknown["args"]["name"], "(unknown process)");
    assert_eq!(message["pid"], -1, "0 is the process of the idle threads");
    assert_eq!(unknown["pid"], message["pid"]);
    assert_eq!(&message["name"], &json!("wpp 5"));
    assert_eq!(&message["cat"], &json!("wpp"));
    assert_eq!(&message["tid"], &json!(3));
    assert_eq!(manifest["cat"], "00000000-0000-0000-0000-000000000001");
    assert_eq!(&manifest["name"], &json!("manifest 0"));
    assert_eq!(&manifest["tid"], &json!(8));
    assert_eq!(manifest["ts"].as_f64(), Some(-999.5), "before the first");
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
        let one = &usual["fields"][name];
        let other = &odd["fields"][name];
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

#[test]
fn chrome_keeps_the_bytes_of_an_event_that_is_not_decoded() {
    let event = read(&EventData { payload: b"\x01\x02", ..EventData::default() });
    let document: Value = serde_json::from_str(&export(Format::Chrome, &[event])).unwrap();
    let written = &document["traceEvents"][0];
    assert_eq!(&written["name"], &json!("manifest 0"));
    assert_eq!(&written["args"]["raw"], &json!("0102"));
    let text = trace_logging("Read", |builder| {
        builder.counted("Text", InType::Str8, OutType::Utf8, 0, b"\xFF").u8("Number", 7)
    });
    let document: Value = serde_json::from_str(&export(Format::Chrome, &[text])).unwrap();
    let arguments = &document["traceEvents"][0]["args"];
    assert_eq!(&arguments["Number"], &json!(7), "a value does not fit its type");
    assert!(arguments["raw"].is_string(), "a value does not fit its type");
}
