//! Schemas name events. Text in a trace cannot control a terminal, become a spreadsheet formula, or overwrite files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use etw_etl::{EventData, ExtendedItem, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};

const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
 <provider name="Test-Provider" guid="{11111111-2222-3333-4444-555555555555}" symbol="P" resourceFileName="p" messageFileName="p">
  <tasks><task name="Copy" value="3"/></tasks>
  <templates><template tid="t"><data name="Size" inType="win:UInt32"/></template></templates>
  <events><event value="7" task="Copy" template="t" message="copied %1 bytes"/></events>
 </provider></events></instrumentation></instrumentationManifest>"#;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("etwctl-schemas").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn etwctl(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_etwctl")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A trace with a manifest event and a TraceLogging event with this name.
fn trace(path: &Path, name: &str) {
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    let descriptor = EventDescriptor { id: 7, task: 3, ..EventDescriptor::default() };
    let provider = Guid::from_u128(0x1111_1111_2222_3333_4444_5555_5555_5555);
    let payload = 512_u32.to_le_bytes();
    writer
        .write(0, &EventData { provider, descriptor, payload: &payload, timestamp: 5, ..EventData::default() })
        .unwrap();
    let mut metadata = [0; 256];
    let mut payload = [0; 256];
    let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32(name, 7);
    let (metadata, payload) = builder.str8("text", "\x1b]0;title\x07\u{202e}").finish().unwrap();
    let items = ExtendedItem::trace_logging(b"\x08\x00=cmd|\x00", metadata);
    let descriptor = EventDescriptor::new(Level::Error, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
    writer.write(0, &EventData { descriptor, items: &items, payload, timestamp: 6, ..EventData::default() }).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_manifest_names_events_in_decode_and_stats() {
    let folder = folder("names");
    let file = folder.join("a.etl");
    let manifest = folder.join("a.man");
    trace(&file, "Plain");
    fs::write(&manifest, MANIFEST).unwrap();
    let file = file.to_str().unwrap();
    let manifest = manifest.to_str().unwrap();
    let plain = etwctl(&["stats", file]);
    assert!(text(&plain.stdout).contains("named_percent     75.0"), "{}", text(&plain.stdout));
    let hint = text(&plain.stderr);
    assert!(hint.contains("1 event of 11111111-2222-3333-4444-555555555555 has no schema"), "{hint}");
    let decoded = etwctl(&["decode", file]);
    assert!(
        text(&decoded.stderr).contains("has no schema; needed for decoding: --manifest"),
        "{}",
        text(&decoded.stderr)
    );
    for source in [manifest, folder.to_str().unwrap()] {
        let stats = etwctl(&["stats", file, "--manifest", source]);
        assert!(text(&stats.stdout).contains("named_percent     100.0"), "{}", text(&stats.stdout));
        let decoded = etwctl(&["decode", file, "--manifest", source]);
        assert!(text(&decoded.stdout).contains(" Test-Provider/Copy Size=512 "), "{}", text(&decoded.stdout));
    }
    let json = etwctl(&["decode", file, "--manifest", manifest, "--json", "--where", "event=Copy"]);
    let event: serde_json::Value = serde_json::from_str(text(&json.stdout)).unwrap();
    assert_eq!(event["message"], "copied 512 bytes");
    assert_eq!(event["fields"]["Size"], 512);
    let schema = etwctl(&["schema", manifest, "--json"]);
    let rows: serde_json::Value = serde_json::from_str(text(&schema.stdout)).unwrap();
    assert_eq!(rows["rows"][0]["fields"], serde_json::json!(["UInt32 Size"]));
}

#[test]
fn a_manifest_that_cannot_be_read_is_named() {
    let folder = folder("bad");
    let file = folder.join("a.etl");
    let manifest = folder.join("bad.man");
    trace(&file, "Plain");
    fs::write(&manifest, "<a/>").unwrap();
    for arguments in [
        &["decode", file.to_str().unwrap(), "--manifest", manifest.to_str().unwrap()][..],
        &["schema", manifest.to_str().unwrap()],
    ] {
        let failed = etwctl(arguments);
        assert_eq!(failed.status.code(), Some(2));
        assert!(text(&failed.stderr).contains("bad.man: not an instrumentation manifest"), "{}", text(&failed.stderr));
    }
    let skipped = etwctl(&["stats", file.to_str().unwrap(), "--manifest", folder.to_str().unwrap()]);
    assert!(text(&skipped.stderr).contains("note: skipped "), "{}", text(&skipped.stderr));
    assert!(skipped.status.success());
}

#[test]
fn names_and_values_of_a_trace_do_nothing_to_a_terminal_or_a_spreadsheet() {
    let file = folder("hostile").join("a.etl");
    trace(&file, "E\x1b[2J\u{202e}\nnext");
    let file = file.to_str().unwrap();
    for arguments in [&["decode", file][..], &["stats", file]] {
        let output = etwctl(arguments);
        let shown = text(&output.stdout);
        assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown:?}");
        assert!(shown.contains("E\\u{1b}[2J\\u{202e}\\nnext"), "{shown}");
    }
    let csv = etwctl(&["decode", file, "--csv"]);
    assert!(text(&csv.stdout).contains(",'=cmd|,"), "{}", text(&csv.stdout));
}

#[test]
fn an_output_never_replaces_the_input_and_is_complete_or_not_there() {
    let folder = folder("output");
    let file = folder.join("a.etl");
    let out = folder.join("out.json");
    trace(&file, "Plain");
    let before = fs::read(&file).unwrap();
    let refused = etwctl(&["decode", file.to_str().unwrap(), "--output", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("is the input"), "{}", text(&refused.stderr));
    assert_eq!(fs::read(&file).unwrap(), before);
    fs::write(&out, "what was there before").unwrap();
    let missing = etwctl(&["decode", folder.join("none.etl").to_str().unwrap(), "--output", out.to_str().unwrap()]);
    assert!(!missing.status.success());
    assert_eq!(fs::read_to_string(&out).unwrap(), "what was there before");
    assert!(etwctl(&["decode", file.to_str().unwrap(), "--json", "--output", out.to_str().unwrap()]).status.success());
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 4);
    let folder_refused = etwctl(&["decode", file.to_str().unwrap(), "--output", folder.to_str().unwrap()]);
    assert!(text(&folder_refused.stderr).contains("is a directory"), "{}", text(&folder_refused.stderr));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn the_store_of_manifests_is_used_by_every_command() {
    let folder = folder("store");
    let _ = fs::remove_dir_all(&folder);
    let file = folder.join("a.etl");
    let manifests = folder.join("manifests");
    let store = folder.join("store");
    fs::create_dir_all(&manifests).unwrap();
    trace(&file, "Plain");
    fs::write(manifests.join("a.man"), MANIFEST).unwrap();
    fs::write(manifests.join("bad.man"), "<no").unwrap();
    fs::write(manifests.join("other.txt"), "no manifest").unwrap();
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_etwctl")).args(arguments).env("ETWCTL_SCHEMAS", &store).output().unwrap()
    };
    let file = file.to_str().unwrap();
    assert!(text(&run(&["stats", file]).stdout).contains("named_percent     75.0"), "there is no store yet");
    let added = run(&["schemas", "add", manifests.to_str().unwrap(), "--json"]);
    let notes = text(&added.stderr);
    assert!(added.status.success(), "{notes}");
    assert!(notes.contains("skipped"), "{notes}");
    assert!(notes.contains("bad.man"), "{notes}");
    assert!(text(&added.stdout).contains("\"files\":1,\"providers\":1"), "{}", text(&added.stdout));
    assert!(text(&run(&["stats", file]).stdout).contains("named_percent     100.0"));
    assert!(text(&run(&["decode", file]).stdout).contains("Test-Provider/Copy Size=512"));
    let listed = run(&["schemas", "list", "--json"]);
    assert!(text(&listed.stdout).contains("\"provider\":\"Test-Provider\""), "{}", text(&listed.stdout));
    // A disk without space keeps the copy that is there.
    #[cfg(unix)]
    {
        let mut full = Command::new("sh");
        full.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" schemas add \"$1\"", env!("CARGO_BIN_EXE_etwctl")]);
        let full = full.arg(manifests.join("a.man")).env("ETWCTL_SCHEMAS", &store).output().unwrap();
        let error = text(&full.stderr);
        assert!(full.status.code() == Some(2), "{error}");
        assert!(error.contains("cannot add "), "{error}");
        assert!(!error.contains("partial"), "{error}");
        assert!(text(&run(&["stats", file]).stdout).contains("named_percent     100.0"));
    }
    let missing = run(&["schemas", "add", "no-such.man"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing.stderr));
    fs::remove_dir_all(folder).unwrap();
}
