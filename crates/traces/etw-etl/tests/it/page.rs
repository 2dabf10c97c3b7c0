//! The page in a browser: headless Chromium opens it, uses it, and reports what it shows.
//!
//! If Chromium is not available, the tests say so and pass. Screenshots of the page, light and dark, wide and narrow, are left in
//! the build folder for inspection.

#[path = "../../src/export/html/hash.rs"]
mod hash;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::{START, folder, options};
use etw_etl::{
    About, Decoder, EventData, Exporter, ExtendedItem, ExtendedType, FileTime, Format, FrameNames, Reader, Writer,
    WriterOptions,
};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
use serde_json::{Value, json};

const TRAITS: &[u8] = b"\x0c\x00Page.Test\x00";
const HOSTILE: &str =
    "</script><img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>";

/// One event of the test trace.
struct Step<'a> {
    at: u64,
    thread: u32,
    name: &'a str,
    level: Level,
    opcode: Opcode,
    activity: u128,
    related: u128,
}

const STEPS: [Step<'static>; 14] = [
    step(0, 7, "Load", Level::Informational, Opcode::Info, 0, 0),
    step(200, 7, "Request", Level::Informational, Opcode::Start, 1, 0),
    step(300, 7, "Copy", Level::Verbose, Opcode::Start, 2, 1),
    step(350, 7, "Block", Level::Verbose, Opcode::Info, 2, 0),
    step(420, 9, "Other", Level::Informational, Opcode::Start, 3, 0),
    step(450, 7, "Copy", Level::Verbose, Opcode::Stop, 2, 0),
    step(480, 7, "Refused", Level::Error, Opcode::Info, 1, 0),
    step(520, 7, "Request", Level::Informational, Opcode::Stop, 1, 0),
    step(600, 9, "Warn", Level::Warning, Opcode::Info, 3, 0),
    step(700, 9, "Other", Level::Informational, Opcode::Stop, 3, 0),
    step(760, 11, "Tick", Level::Verbose, Opcode::Info, 0, 0),
    step(840, 11, "Tick", Level::Verbose, Opcode::Info, 0, 0),
    step(880, 11, "Halt", Level::Critical, Opcode::Info, 0, 0),
    step(900, 7, "Open", Level::LogAlways, Opcode::Start, 4, 0),
];

const fn step(
    at: u64,
    thread: u32,
    name: &str,
    level: Level,
    opcode: Opcode,
    activity: u128,
    related: u128,
) -> Step<'_> {
    Step { at, thread, name, level, opcode, activity, related }
}

/// Names two functions at one address, and nothing elsewhere.
#[derive(Debug)]
struct Names;

impl FrameNames for Names {
    fn names(&self, _process: u32, address: u64) -> Vec<String> {
        let names: &[&str] = if address == 0x1000 { &["driver.sys!push (ring.rs:21)", "driver.sys!read"] } else { &[] };
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}

/// Writes the page of a trace with nested activities on three threads, every level, and a hostile event.
fn write_page(folder: &Path) -> PathBuf {
    let path = folder.join("page.etl");
    let mut writer = Writer::create(&path, WriterOptions { buffer_size: 65536, ..options() }).unwrap();
    for step in &STEPS {
        write(&mut writer, step, |builder| {
            builder
                .u32("Length", u32::try_from(step.at).unwrap())
                .ntstatus("Status", 0)
                .structure("Outer", 1, 0)
                .u32("Inner", 7)
        });
    }
    let hostile = step(910, 7, HOSTILE, Level::Informational, Opcode::Info, 0, 0);
    write(&mut writer, &hostile, |builder| {
        builder.str8(HOSTILE, HOSTILE).str8("Text", "two words").ntstatus("Status", 0xC000_00BB)
    });
    writer.add_lost(3, 1);
    writer.close_at(FileTime(START.0 + 10_000_000)).unwrap();

    let mut reader = Reader::open(&path).unwrap();
    let decoder = Decoder::default().with_names(Arc::new(Names));
    let mut exporter = Exporter::new(Vec::new(), Format::Html).unwrap().with_decoder(decoder);
    for event in reader.by_ref().filter(etw_etl::Event::is_trace_logging) {
        exporter.event(&event).unwrap();
    }
    exporter.about(About { title: "A test of the page".into(), ..About::from(reader.report()) });
    let page = folder.join("page.html");
    fs::write(&page, exporter.finish().unwrap()).unwrap();
    page
}

fn write(writer: &mut Writer, step: &Step<'_>, build: impl FnOnce(EventBuilder<'_>) -> EventBuilder<'_>) {
    let mut metadata = vec![0; 4096];
    let mut payload = vec![0; 4096];
    let (metadata, payload) = build(EventBuilder::new(&mut metadata, &mut payload, step.name, 0)).finish().unwrap();
    let related = Guid::from_u128(step.related).to_bytes_le();
    let mut items = ExtendedItem::trace_logging(TRAITS, metadata).to_vec();
    if step.related != 0 {
        items.insert(0, ExtendedItem { kind: ExtendedType::RELATED_ACTIVITY_ID, data: &related });
    }
    let stack: Vec<u8> = [0, 0x1000, 0x2000_u64].iter().flat_map(|word| word.to_le_bytes()).collect();
    if step.name == "Refused" {
        items.push(ExtendedItem { kind: ExtendedType::STACK_TRACE64, data: &stack });
    }
    let event = EventData {
        provider: Guid::from_name("Page.Test"),
        descriptor: EventDescriptor::new(step.level, Keyword::from_bits(1))
            .with_channel(Channel::TraceLogging)
            .with_opcode(step.opcode),
        thread_id: step.thread,
        process_id: 4,
        timestamp: 1_000_000 + step.at * 1000,
        activity: Guid::from_u128(step.activity),
        items: &items,
        payload,
        ..EventData::default()
    };
    writer.write(0, &event).unwrap();
}

/// Opens a page and returns the resulting DOM. Prints a message and returns `None` if there is no browser.
fn browse(page: &Path, hash: &str, arguments: &[&str]) -> Option<String> {
    // A fresh profile, so that nothing comes from the user or from another test.
    let profile = page.with_file_name(format!("profile-{}-{:?}", std::process::id(), std::thread::current().id()));
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom"])
        .args(["--virtual-time-budget=3000", "--force-device-scale-factor=1"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("file://{}{hash}", page.display()))
        .output();
    let _ = fs::remove_dir_all(&profile);
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => panic!("chromium failed: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            println!("skipped: no chromium to open the page with: {error}");
            None
        }
    }
}

/// Adds a script to a page. If `is_allowed` is set, the page's policy also allows it.
fn with_script(page: &Path, name: &str, script: &str, is_allowed: bool) -> PathBuf {
    let text = fs::read_to_string(page).unwrap();
    let mut text = text.replace("</body>", &format!("<script>{script}</script></body>"));
    if is_allowed {
        text = text.replace("script-src '", &format!("script-src '{}' '", hash::hash(script)));
    }
    let path = page.with_file_name(name);
    fs::write(&path, text).unwrap();
    path
}

/// Returns the content of an element, given the text directly before and after it.
fn between<'a>(dom: &'a str, before: &str, behind: &str) -> &'a str {
    let (_, rest) = dom.split_once(before).unwrap_or_else(|| panic!("no {before} in the page"));
    rest.split_once(behind).unwrap_or_else(|| panic!("no {behind} behind {before}")).0
}

fn from_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    let mut word = 0_u32;
    let mut bits = 0;
    for byte in text.trim_end_matches('=').bytes() {
        (word, bits) = (word << 6 | u32::from(digit(byte)), bits + 6);
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(word >> bits & 0xFF).unwrap());
        }
    }
    out
}

#[test]
fn a_person_can_use_the_page() {
    let page = write_page(&folder("page-use"));
    let page = with_script(&page, "use.html", include_str!("../page/interact.js"), true);
    let Some(dom) = browse(&page, "", &["--window-size=1400,900"]) else { return };
    let found: Value = serde_json::from_slice(&from_base64(between(&dom, "<pre id=\"found\">", "<"))).unwrap();
    let filters = json!({
        "": 15, "level:warning": 1, "level<=warning": 4, "provider:page": 15, "event:copy": 2, "Length>100": 13,
        "\"two words\"": 1, "-tid:7": 6, "Status:not_supported": 1, "Outer.Inner=7": 14, "nothing like this": 0,
        "event:copy or level:warning": 3, "not (tid:7 or tid:9)": 3, "level:error or (event:tick and not tid:7)": 3,
    });
    assert_eq!(found["filters"], filters);
    assert_eq!(found["nothing"], true);
    assert_eq!(found["times"], json!(["0.0000", "60.0000", "0.0000", "28.0000"]));
    assert_eq!(found["cut"], 0, "names that are cut");
    let top = json!(["Request", "2", "13.3 %", "32.00 ms", "Other", "2", "13.3 %", "28.00 ms"]);
    assert_eq!(&found["top"], &top);
    assert_eq!(&found["narrowed"], &json!(["event=\"Request\"", 2]));
    assert_eq!(found["topShown"], json!(["Other", "Warn"]), "of the events that are shown");
    assert_eq!(found["title"], "Copy start");
    let fields = json!([["Length", "300"], ["Status", "0x00000000 STATUS_SUCCESS"], ["Outer", ""], ["Inner", "7"]]);
    assert_eq!(found["fields"], fields);
    assert_eq!(&found["kin"], &json!(2));
    assert_eq!(&found["selected"], &json!(["2"]));
    assert_eq!(&found["related"], &json!(2));
    assert_eq!(found["clicked"], "Warn");
    for key in ["zoomed", "dragged", "keyMoved", "keyZoomed", "all"] {
        assert_eq!(found[key], true, "{key}: {found:#}");
    }
    assert_eq!(&found["first"], &json!(0));
    assert_eq!(&found["next"], &json!("Refused"));
    assert_eq!(&found["cleared"], &Value::Null);
    assert_eq!(found["focused"], "filter");
    assert_eq!(found["light"], json!(["Scheme: light", "rgb(255, 255, 255)"]));
    assert_eq!(found["dark"], json!(["Scheme: dark", "rgb(20, 23, 27)"]));
    assert_eq!(found["auto"], "Scheme: auto");
    assert_eq!(found["durations"], json!(["32.00 ms", "32.00 ms", "open", ""]));
    assert_eq!(found["groups"], json!(["Request", "Other", "Copy", "Open"]), "the longest first");
    assert_eq!(&found["histogram"], &json!([1, 0, 0, 0.25]));
    assert_eq!(&found["place"], &json!(3));
    assert_eq!(&found["longer"], &json!(4));
    assert_eq!(&found["longest"], &json!("Request"));
    assert_eq!(&found["problem"], &json!("Refused"));
    assert_eq!(&found["back"], &json!("Refused"));
    assert_eq!(found["stack"], json!(["driver.sys!push (ring.rs:21)", "driver.sys!read", "0x2000"]));
    assert_eq!(found["lanes"], json!(["thread 7", "thread 9", "thread 11"]));
    let summary = found["summary"].as_str().unwrap();
    for part in ["15 events", "1 provider", "3 threads", "4 activities", "3 events, 1 buffer lost"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
}

#[test]
fn the_address_leads_to_a_filter_an_event_and_a_scheme() {
    let page = write_page(&folder("page-address"));
    let Some(dom) = browse(&page, "#filter=level%3Aerror&event=7&scheme=dark", &["--window-size=1400,900"]) else {
        return;
    };
    assert!(dom.contains("<html lang=\"en\" data-scheme=\"dark\""));
    assert_eq!(dom.matches("<tr class=\"row\"").count(), 1);
    assert_eq!(between(&dom, "class=\"count\" aria-live=\"polite\">", "<"), "1 of 15 events");
    assert_eq!(between(&dom, "<h2>", "<"), "Refused");
}

#[test]
fn hostile_names_are_shown_and_do_nothing() {
    let page = write_page(&folder("page-hostile"));
    let Some(dom) = browse(&page, "#event=15", &["--window-size=1400,900"]) else { return };
    assert_eq!(between(&dom, "<title>", "<"), "A test of the page");
    assert!(!dom.contains("<img"), "text became an element");
    assert!(dom.contains("&lt;/script&gt;&lt;img src=x"), "the name is not shown");
}

#[test]
fn the_policy_keeps_other_scripts_from_running() {
    let folder = folder("page-policy");
    let page = write_page(&folder);
    let script = "document.title = 'foreign';";
    let Some(dom) = browse(&with_script(&page, "refused.html", script, false), "", &[]) else { return };
    assert_eq!(between(&dom, "<title>", "<"), "A test of the page");
    let allowed = browse(&with_script(&page, "allowed.html", script, true), "", &[]).unwrap();
    assert_eq!(between(&allowed, "<title>", "<"), "foreign", "the test would not notice a script that runs");
}

#[test]
fn pictures_are_taken_in_both_schemes_and_widths() {
    let folder = folder("page-pictures");
    let page = write_page(&folder);
    for (name, size, address, scheme) in [
        ("light-wide", "1400,900", "#event=3", "1"),
        ("dark-wide", "1400,900", "#event=3", "0"),
        ("light-narrow", "500,900", "", "1"),
        ("dark-narrow", "500,900", "#event=9", "0"),
    ] {
        let picture = folder.join(format!("{name}.png"));
        let _ = fs::remove_file(&picture);
        let picture_argument = format!("--screenshot={}", picture.display());
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let size = format!("--window-size={size}");
        if browse(&page, address, &[&picture_argument, &scheme, &size]).is_none() {
            return;
        }
        let bytes = fs::read(&picture).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"), "{name}: {} bytes", bytes.len());
        assert!(bytes.len() > 10_000, "{name}: {} bytes", bytes.len());
    }
}
