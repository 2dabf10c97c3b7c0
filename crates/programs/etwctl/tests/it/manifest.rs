//! The generated functions of `etw-manifest` write manifest events, and `--manifest` decodes them to the same
//! values.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use crate::common::{etwctl, scratch};
use etw_engine::Enable;
use etw_etl::{EventData, Writer, WriterOptions};
use etw_symbols::Host;
use etw_types::{Guid, NtStatus};
use serde_json::{Value, json};

#[rustfmt::skip]
mod rich {
    include!("../../../../traces/etw-manifest/tests/data/rich.rs");
}

/// Writes every event of the manifest with the generated functions, and writes the events that a session got to a trace.
fn trace(path: &Path) {
    // The provider is a static: only one test at a time can register it.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap();
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("rich");
    // SAFETY: the provider is unregistered below, before this function returns, and no other thread uses it.
    assert_eq!(unsafe { rich::PROVIDER.register() }, NtStatus::Success);
    session.enable(*rich::PROVIDER.id(), Enable::default());
    let text: Vec<u16> = "hi".encode_utf16().collect();
    let flags = rich::Flags(rich::Flags::CACHED.0 | rich::Flags::PAGED.0);
    let id = Guid::from_u128(0x0102);
    let sid = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
    let parts = [2026, 11, 0, 15, 1, 2, 3, 4];
    let time = 133_594_528_890_000_000;
    let status = 0xC000_00BB;
    let fast = rich::Mode::FAST;
    let first = rich::device_failed(
        None,
        -1,
        fast,
        -2,
        3,
        -4,
        flags,
        -5,
        u64::MAX,
        1.5,
        2.5,
        true,
        &id,
        0x1000,
        time,
        &parts,
        &sid,
        status,
        0xFF00,
        &text,
        b"ansi",
    );
    let second = rich::transfer_retried(None, b"abc", b"TAG1", &[1, 2], &[3, 4], &text);
    let third = rich::probed(None, 1, &[9, 0, 1, b'x', 0]);
    let statuses = [first, second, third, rich::event_512_v0(None)];
    assert_eq!(statuses, [NtStatus::Success; 4]);
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    for (timestamp, event) in (1..).zip(session.events()) {
        let provider = event.provider;
        let descriptor = event.descriptor;
        let payload = event.payload.as_slice();
        writer.write(0, &EventData { provider, descriptor, payload, timestamp, ..EventData::default() }).unwrap();
    }
    writer.close().unwrap();
    assert_eq!(rich::PROVIDER.unregister(), NtStatus::Success);
}

#[test]
fn events_of_generated_functions_are_named_whole_and_as_written() {
    let path = scratch("rich.etl");
    trace(&path);
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/etw-manifest/tests/data/rich.man");
    let command = format!("--manifest {}", manifest.display());
    let stats = etwctl(&format!("stats {} {command} --json", path.display()));
    let stats: Value = serde_json::from_str(&stats.out).unwrap();
    assert_eq!(stats["named_percent"], "100.0", "{stats:#}");
    assert_eq!(stats["whole_percent"], "100.0", "{stats:#}");
    let decoded = etwctl(&format!("decode {} {command} --json --provider WdkEtw-Rich", path.display()));
    assert_eq!(decoded.code, 0, "{}", decoded.err);
    let events: Vec<Value> = decoded.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 4, "{}", decoded.out);
    let first = &events[0]["fields"];
    for (name, value) in [
        ("I8", json!(-1)),
        ("U8", json!("Fast")),
        ("I16", json!(-2)),
        ("U16", json!("0x3")),
        ("I64", json!(-5)),
        ("U64", json!(u64::MAX)),
        ("F32", json!(1.5)),
        ("F64", json!(2.5)),
        ("Bool", json!(true)),
        ("Id", json!(Guid::from_u128(0x0102).to_string())),
        ("Address", json!("0x1000")),
        ("Time", json!("2024-05-06T07:08:09.0000000Z")),
        ("Parts", json!("2026-11-15T01:02:03.004Z")),
        ("Sid", json!("S-1-5-18")),
        ("Status", json!("0xC00000BB STATUS_NOT_SUPPORTED")),
        ("Mask", json!("0xff00")),
        ("Text", json!("hi")),
        ("Ansi", json!("ansi")),
    ] {
        assert_eq!(first[name], value, "{name}: {first:#}");
    }
    let flags = first["U32"].as_str().unwrap();
    assert!(flags.contains("Cached"), "{flags}");
    assert!(flags.contains("Paged"), "{flags}");
    let message = events[0]["message"].as_str().unwrap();
    assert!(message.starts_with("The device "), "{message}");
    assert!(message.contains("STATUS_NOT_SUPPORTED in mode Fast."), "{message}");
    let sized = json!({"Size": 3, "Data": "616263", "Tag": "TAG1", "Count": 2, "Numbers": [1, 2], "Ids": [3, 4], "Counted": "hi"});
    assert_eq!(events[1]["fields"], sized);
    assert_eq!(events[2]["fields"], json!({"Count": 1, "Items": [{"Key": 9, "Size": 1, "Name": "x"}]}));
    assert_eq!(events[3]["message"], "A transfer started.");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_field_of_an_unknown_type_is_noted_and_the_other_events_keep_their_fields() {
    let path = scratch("unknown-type.etl");
    let manifest = scratch("unknown-type.man");
    trace(&path);
    let text = include_str!("../../../../traces/etw-manifest/tests/data/rich.man");
    fs::write(
        &manifest,
        text.replace("<data name=\"I32\" inType=\"win:Int32\"/>", "<data name=\"I32\" inType=\"win:Int33\"/>"),
    )
    .unwrap();
    let decoded = etwctl(&format!("decode {} --manifest {} --json", path.display(), manifest.display()));
    assert_eq!(decoded.code, 0, "{}", decoded.err);
    let note = format!(
        "note: {}: unknown inType 'win:Int33': from the field 'I32' on, the payload is shown as bytes (line 49, column 13)",
        manifest.display()
    );
    assert!(decoded.err.contains(&note), "{}", decoded.err);
    let events: Vec<Value> = decoded.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&Value> = events.iter().filter(|event| event["provider"] == "WdkEtw-Rich").collect();
    assert_eq!(&events[0]["fields"]["I16"], &json!(-2));
    assert_eq!(&events[1]["fields"]["Tag"], &json!("TAG1"));
    assert!(events[0]["fields"]["I32"].is_string(), "{}", events[0]);
    assert!(events[0]["fields"]["U32"].is_null(), "{}", events[0]);
    let schema = etwctl(&format!("schema {}", manifest.display()));
    assert!(schema.err.contains(&note), "{}", schema.err);
    assert!(schema.out.contains("unknown type win:Int33 I32"), "{}", schema.err);
}
