//! `doctor` on running sessions and on files.

use std::fs;
use std::path::Path;

use crate::common::{Run, demo_trace, etwctl, etwctl_with, scratch};
use etw_etl::{EventData, ExtendedItem, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};
use serde_json::Value;

/// The results of all checks with this name.
fn results(run: &Run, check: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out));
    let checks = document["checks"].as_array().unwrap().iter().filter(|row| row["check"] == check);
    checks.map(|row| row["result"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_session_that_waits_for_a_provider_is_explained() {
    let script = "start S --real-time\nenable S MyDriver --level 3 --any 0x2\n\
                  doctor MyDriver --session S --level verbose --keyword 0x4\n";
    let run = etwctl_with("batch", script);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    for line in [
        "problem   registration: a session enabled it, but it is not registered",
        "ok        session: session 'S' enabled the provider",
        "problem   level: session 'S' accepts events up to level 3; the event has level 5",
        "          -> enable the provider with --level 5",
        "problem   keywords: session 'S' accepts events with a keyword of 0x2; the event has keyword 0x4",
        "          -> enable the provider with --any 0x6 and without --all",
        "ok        losses: session 'S' lost nothing",
        "unknown   filters:",
    ] {
        assert!(run.out.contains(line), "{line} in {}", run.out);
    }
}

#[test]
fn a_file_shows_whether_the_provider_is_in_it() {
    let path = demo_trace("doctor.etl");
    let file = path.display();
    let found = etwctl(&format!("doctor Etwctl-Demo {file} --json"));
    assert_eq!(found.code, 0, "{}{}", found.out, found.err);
    assert_eq!(results(&found, "provider"), ["ok"]);
    assert_eq!(results(&found, "requests"), ["unknown"]);
    let event = etwctl(&format!("doctor Etwctl-Demo {file} --level error --keyword 0x1 --json"));
    assert_eq!(event.code, 0);
    assert_eq!(results(&event, "event"), vec!["ok".to_owned()]);
    let event = etwctl(&format!("doctor Etwctl-Demo {file} --level critical --json"));
    assert_eq!(event.code, 1);
    assert_eq!(results(&event, "event"), vec!["problem".to_owned()]);
    let mistyped = etwctl(&format!("doctor Etwctl-Dmeo {file}"));
    assert_eq!(mistyped.code, 1);
    assert!(
        mistyped.out.contains("no event has this provider id or name; did you mean 'Etwctl-Demo'?"),
        "{}",
        mistyped.out
    );
    let alone = etwctl(&format!("doctor {file} --json"));
    let document: Value = serde_json::from_str(&alone.out).unwrap();
    assert_eq!(alone.code, 0, "the provider of the file: {}", alone.err);
    assert_eq!(document["provider"], "Etwctl-Demo", "the provider of the file: {}", alone.err);
    fs::remove_file(path).unwrap();
}

/// A file with one event of a provider with these traits.
fn trace(path: &Path, provider: Guid, traits: &[u8]) {
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    let mut metadata = [0; 64];
    let mut payload = [0; 64];
    let (metadata, payload) = EventBuilder::new(&mut metadata, &mut payload, "E", 0).finish().unwrap();
    let descriptor = EventDescriptor::new(Level::Error, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
    let items = ExtendedItem::trace_logging(traits, metadata);
    writer.write(0, &EventData { provider, descriptor, items: &items, payload, ..EventData::default() }).unwrap();
    writer.close().unwrap();
}

#[test]
fn traits_and_ids_that_are_not_of_the_name_are_named() {
    let path = scratch("doctor-traits.etl");
    let mut traits = b"\x1e\x00MyDriver\x00\x13\x00\x01".to_vec();
    traits.extend([7; 16]);
    for (provider, traits, expected) in [
        (Guid::from_name("MyDriver"), &traits[..], "traits: they name group 07070707-0707-0707-0707-070707070707"),
        (Guid::from_name("MyDriver"), b"\x0b\x00MyDriver\x00", "ok        traits: they name no group"),
        (Guid::from_name("MyDriver"), b"\x0d\x00MyDriver\x00\x13\x00", "problem   traits: they are malformed"),
        (
            Guid::from_u128(5),
            b"\x0b\x00MyDriver\x00",
            "possible  provider: 1 event; their provider id is 00000000-0000-0000-0000-000000000005, which is not computed from the name",
        ),
    ] {
        trace(&path, provider, traits);
        let run = etwctl(&format!("doctor MyDriver {}", path.display()));
        assert!(run.out.contains(expected), "{expected} in {}{}", run.out, run.err);
        assert_eq!(run.code, i32::from(expected.starts_with("problem")), "{}", run.out);
    }
    // A file that ends early is incomplete, regardless of its content.
    let bytes = fs::read(&path).unwrap();
    let name = bytes.windows(8).rposition(|window| window == b"MyDriver").unwrap();
    fs::write(&path, &bytes[..name]).unwrap();
    let cut = etwctl(&format!("doctor MyDriver {} --json", path.display()));
    assert_eq!(cut.code, 4, "{}", cut.err);
    assert_eq!(results(&cut, "losses"), vec!["possible".to_owned()], "{}", cut.err);
    fs::remove_file(path).unwrap();
}
