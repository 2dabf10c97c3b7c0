//! The page is complete and bounded, and its data cannot break out of its element.

use etw_types::{EventDescriptor, Guid, InType, Level, Opcode, OutType};
use serde_json::Value;

use super::hash::hash;
use super::{Html, PAGE, SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH};
use crate::export::writer::FormatWriter as _;
use crate::export::{About, Exporter, Format};
use crate::testing::{TRAITS, descriptor, read, trace_logging};
use crate::{Event, EventData, ExtendedItem, ExtendedType};

/// Names that try to end the data, the script, an attribute or a line.
const HOSTILE: [&str; 6] = [
    "</script><script>document.title='broken'</script>",
    "<!--<script>",
    "]]>--><img src=x onerror=alert(1)>",
    "\"'`;${alert(1)}\\",
    "\u{2028}\u{2029}\u{202e}\u{0}\u{7f}",
    "__proto__",
];

fn page(events: &[Event], about: About) -> String {
    let mut exporter = Exporter::new(Vec::new(), Format::Html).unwrap();
    for event in events {
        exporter.event(event).unwrap();
    }
    exporter.about(about);
    String::from_utf8(exporter.finish().unwrap()).unwrap()
}

/// Parses the data as the page's script does. The data ends at the first `</`, as it does in a browser.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script id=\"trace\" type=\"application/json\">").unwrap();
    let (json, _) = rest.split_once("</").unwrap();
    assert!(!json.contains(['<', '>', '&']), "{json}");
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_policy_names_the_script_and_the_style_that_are_there() {
    assert_eq!(SCRIPT_HASH, hash(SCRIPT), "change SCRIPT_HASH with the script");
    assert_eq!(STYLE_HASH, hash(STYLE), "change STYLE_HASH with the style");
    let page = page(&[], About::default());
    assert!(page.contains(&format!("script-src '{SCRIPT_HASH}'")));
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains(&format!("<script>{SCRIPT}</script>")));
    assert!(page.contains(&format!("<style>{STYLE}</style>")));
    assert!(!page.contains("{{"), "a place of the page was not filled");
}

#[test]
fn the_page_has_no_way_to_the_network_and_none_from_text_to_markup() {
    for text in [PAGE, SCRIPT, STYLE] {
        for word in ["http:", "https:", "//cdn", "url(", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML"] {
            assert!(!text.contains(word), "{word}");
        }
        for word in ["document.write", "eval(", "new Function", "fetch(", "XMLHttp", "WebSocket", "import(", "style=\""]
        {
            assert!(!text.contains(word), "{word}");
        }
    }
    assert!(!SCRIPT.contains("</"), "the script could end its own element");
    assert!(!SCRIPT.contains("<!--"), "the script could end its own element");
}

#[test]
fn hostile_names_stay_text() {
    let events: Vec<Event> = HOSTILE
        .iter()
        .map(|name| {
            trace_logging(&name.replace('\0', ""), |builder| {
                let name = name.replace('\0', "");
                builder.counted(&name, InType::Str8, OutType::Utf8, 0, HOSTILE[0].as_bytes()).u32(&name, 1)
            })
        })
        .collect();
    let about = About { title: HOSTILE[0].into(), ..About::default() };
    let page = page(&events, about);
    assert_eq!(page.matches("</script>").count(), 2, "the data's and the script's");
    assert_eq!(page.matches("<script").count(), 2);
    let data = data(&page);
    assert_eq!(data["about"]["title"], HOSTILE[0]);
    let strings: Vec<&str> = data["strings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for (event, hostile) in data["events"].as_array().unwrap().iter().zip(HOSTILE) {
        let name = usize::try_from(event[2].as_u64().unwrap()).unwrap();
        assert_eq!(strings[name], hostile.replace('\0', ""));
        assert_eq!(event[17][0][1], HOSTILE[0]);
        assert_eq!(event[17][1][0], event[17][0][0], "a name that comes twice is there twice");
    }
}

#[test]
fn a_page_has_a_limit_of_events_and_of_bytes_and_shows_the_total() {
    let event = trace_logging("E", |builder| builder.u32("N", 1));
    let page = |mut html: Html| {
        let mut text = String::new();
        html.start(&mut text);
        (0..8).for_each(|_| html.event(&mut text, &event.as_ref(), &event.decode()));
        html.about(About { events_lost: Some(3), buffers_lost: Some(4), unreadable_bytes: 5, ..About::default() });
        let left_out = html.left_out();
        let bytes = html.bytes;
        html.finish(&mut text);
        let data = data(&text);
        assert_eq!(data["about"]["events"], 8);
        assert_eq!(data["about"]["lost_events"], 3);
        assert_eq!(&data["about"]["lost_buffers"], &Value::from(4));
        assert_eq!(&data["about"]["unreadable"], &Value::from(5));
        assert_eq!(data["about"]["start"], "2020-01-01T00:00:01.0000001Z");
        let shown = data["events"].as_array().unwrap().len() as u64;
        assert_eq!(shown + left_out, 8);
        (shown, bytes)
    };
    let (all, bytes) = page(Html::default());
    assert_eq!(all, 8);
    assert_eq!(page(Html { max_events: 5, ..Html::default() }).0, 5);
    // The event that reaches the limit is the last one.
    assert_eq!(page(Html { max_bytes: bytes - 1, ..Html::default() }).0, 8);
    assert_eq!(page(Html { max_bytes: bytes / 2, ..Html::default() }).0, 4);
    assert_eq!(Html::default().max_events, 100_000, "as documented");
    assert_eq!(Html::default().max_bytes >> 20, 96, "as documented");
}

#[test]
fn events_around_problems_stay_if_others_are_left_out() {
    let event = |number: u64| {
        let level = if matches!(number, 500 | 930) { Level::Warning } else { Level::Informational };
        let items = ExtendedItem::trace_logging(TRAITS, b"\x05\x00\x00E\0");
        let descriptor = EventDescriptor { level, ..descriptor() };
        read(&EventData { timestamp: 100 + number, items: &items, descriptor, ..EventData::default() })
    };
    let html = Html { max_events: 300, ..Html::default() };
    let mut exporter = Exporter::with_writer(Vec::new(), Box::new(html)).unwrap();
    (0..1000).for_each(|number| exporter.event(&event(number)).unwrap());
    assert_eq!(exporter.left_out(), 1000 - 300);
    let data = data(&String::from_utf8(exporter.finish().unwrap()).unwrap());
    let times: Vec<u64> = data["events"].as_array().unwrap().iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert_eq!(times.len(), 300);
    assert_eq!(&data["about"]["leading"], &Value::from(270));
    assert_eq!(times[..270], (0..270).collect::<Vec<_>>());
    assert_eq!(times[270..], (475..505).collect::<Vec<_>>(), "around the first problem, until the page is full");
    assert_eq!(
        data["about"]["gaps"],
        serde_json::json!([[270, 474, 205], [505, 999, 495]]),
        "what is left out, and when"
    );

    let html = Html { max_events: 1000, ..Html::default() };
    let mut exporter = Exporter::with_writer(Vec::new(), Box::new(html)).unwrap();
    (0..1100).for_each(|number| exporter.event(&event(number)).unwrap());
    let data = self::data(&String::from_utf8(exporter.finish().unwrap()).unwrap());
    let times: Vec<u64> = data["events"].as_array().unwrap().iter().map(|row| row[0].as_u64().unwrap()).collect();
    let kept: Vec<u64> = (0..900).chain(905..956).chain(1051..1100).collect();
    assert_eq!(times, kept, "the first, those around the problem, the last");
    assert_eq!(data["about"]["gaps"], serde_json::json!([[900, 904, 5], [956, 1050, 95]]));
}

#[test]
fn an_empty_trace_is_a_page_too() {
    let data = data(&page(&[], About::default()));
    assert_eq!(data["events"].as_array().unwrap().len(), 0);
    assert_eq!(data["about"]["start"], "");
}

#[test]
fn numbers_that_a_script_cannot_hold_are_text() {
    let event = trace_logging("E", |builder| {
        builder
            .u64("max", u64::MAX)
            .u64("safe", (1 << 53) - 1)
            .u64("unsafe", 1 << 53)
            .i64("negative", -(1 << 53))
            .i64("safe negative", 1 - (1 << 53))
            .f64("half", 0.5)
            .f32("half32", -0.5)
            .f64("nan", f64::NAN)
            .f64("other nan", f64::from_bits(0x7FF8_0000_0000_0001))
            .f32("nan32", f32::NAN)
            .f32("other nan32", f32::from_bits(0x7FC0_0001))
            .f32("infinite", f32::NEG_INFINITY)
            .f64("infinity", f64::INFINITY)
            .str16("half text", &[0x61, 0xD800])
            .field("date", InType::SystemTime, OutType::Default, 0, &[1; 16])
            .bool8("no", false)
            .array("list", InType::U8, OutType::Default, 0, 2, &[1, 2])
    });
    let data = data(&page(&[event], About::default()));
    let values: Vec<&Value> = data["events"][0][17].as_array().unwrap().iter().map(|field| &field[1]).collect();
    let expected = serde_json::json!([
        "18446744073709551615",
        9_007_199_254_740_991_u64,
        "9007199254740992",
        "-9007199254740992",
        -9_007_199_254_740_991_i64,
        0.5,
        -0.5,
        "NaN",
        "NaN(0x7ff8000000000001)",
        "NaN",
        "NaN(0x7fc00001)",
        "-Infinity",
        "Infinity",
        {"text": "a\u{FFFD}", "bytes": "610000d8"},
        [257, 257, 257, 257, 257, 257, 257, 257],
        false,
        [1, 2],
    ]);
    assert_eq!(serde_json::json!(values), expected);
}

#[test]
fn strings_are_shared_and_times_are_relative() {
    let event = |timestamp, tag| {
        let items = ExtendedItem::trace_logging(TRAITS, if tag { b"\x05\x00\x01E\0" } else { b"\x05\x00\x00E\0" });
        read(&EventData { timestamp, items: &items, ..EventData::default() })
    };
    let data = data(&page(&[event(100, false), event(50, false), event(175, true)], About::default()));
    let rows = data["events"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row[0].as_i64().unwrap()).collect::<Vec<_>>(), [0, -50, 75]);
    assert_eq!(data["about"]["duration"], 75);
    assert_eq!(&rows[0][1], &Value::from(0));
    assert_eq!(&rows[0][2], &Value::from(1));
    assert_eq!(&rows[0][3], &Value::from(2));
    assert_eq!(rows[0].as_array().unwrap()[1..18], rows[2].as_array().unwrap()[1..18], "the same strings");
    assert_eq!(data["strings"][0], "TestProvider");
    assert_eq!(&rows[0][18], &Value::from(0));
    assert_eq!(&rows[2][18]["tag"], &Value::from("0x200000"));
    assert_eq!(rows[0][14], -1, "no activity");
}

#[test]
fn structs_stacks_and_undecoded_data_are_kept() {
    let frames = [1_u64, 0xFFFF_F800_0000_1000, 0xFFFF_F800_0000_2000].map(u64::to_le_bytes).concat();
    let event = read(&EventData {
        provider: Guid::from_name("Manifest"),
        descriptor: descriptor().with_channel(etw_types::Channel::from_int(0)),
        items: &[ExtendedItem { kind: ExtendedType::STACK_TRACE64, data: &frames }],
        payload: &[0xAB; 5000],
        ..EventData::default()
    });
    let data = data(&page(&[event], About::default()));
    let more = &data["events"][0][18];
    assert_eq!(more["stack"], serde_json::json!(["0xfffff80000001000", "0xfffff80000002000"]));
    assert_eq!(more["size"].as_u64(), Some(5000));
    assert_eq!(more["raw"].as_str().map(str::len), Some(8192));
    let nested = trace_logging("S", |builder| builder.structure("Outer", 1, 0).u32("Inner", 7));
    let data = self::data(&page(&[nested], About::default()));
    assert_eq!(data["events"][0][17], serde_json::json!([["Outer", {"fields": [["Inner", 7]]}]]));
}

#[test]
fn a_span_ends_although_its_stop_is_left_out() {
    let event = |timestamp, opcode, thread_id| {
        let items = ExtendedItem::trace_logging(TRAITS, b"\x05\x00\x00E\0");
        let descriptor = descriptor().with_opcode(opcode);
        read(&EventData { timestamp, items: &items, descriptor, thread_id, ..EventData::default() })
    };
    // The page holds the first 36 and the last 4 of 100 events.
    let html = Html { max_events: 40, ..Html::default() };
    let mut exporter = Exporter::with_writer(Vec::new(), Box::new(html)).unwrap();
    exporter.event(&event(100, Opcode::Start, 7)).unwrap();
    exporter.event(&event(101, Opcode::Start, 8)).unwrap();
    (2..60).for_each(|number| exporter.event(&event(100 + number, Opcode::Info, 9)).unwrap());
    exporter.event(&event(160, Opcode::Stop, 7)).unwrap();
    // Its start is left out as well.
    exporter.event(&event(161, Opcode::Start, 6)).unwrap();
    (62..99).for_each(|number| exporter.event(&event(100 + number, Opcode::Info, 9)).unwrap());
    exporter.event(&event(199, Opcode::Stop, 8)).unwrap();
    assert_eq!(exporter.left_out(), 60);
    let data = data(&String::from_utf8(exporter.finish().unwrap()).unwrap());
    assert_eq!(data["spans"], serde_json::json!([[0, null, 60], [1, 39, 99]]));
}

#[test]
fn losses_that_the_trace_does_not_tell_are_null() {
    let event = trace_logging("E", |builder| builder);
    let about = About { events_lost: None, buffers_lost: Some(2), ..About::default() };
    let data = data(&page(&[event], about));
    assert_eq!(data["about"]["lost_events"], Value::Null);
    assert_eq!(data["about"]["lost_buffers"], 2);
}
