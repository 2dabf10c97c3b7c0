//! Independent readers open our files and find what we wrote.
//!
//! Two readers from the Python package index are installed into a virtual environment in the build folder. If Python or the
//! package index is not available, the tests say so and pass. A file captured on Windows is read by the same scripts, so that a
//! script that never finds anything is noticed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::common;
use crate::common::{folder, genuine, options};
use etw_etl::format::classic::{PERFINFO_SIZE, SystemHeader, TYPE_PERFINFO_64};
use etw_etl::{Buffer, Decoder, Event, Reader, Writer};
use serde_json::Value;
use test_support::{python, run};

/// Size of an event header in bytes.
const HEADER: usize = 0x50;
const PACKAGES: [&str; 2] = ["dissect.etl==3.14", "etl-parser==1.0.1"];

/// The interpreter of the environment, or why there is none.
static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("etw-etl-witnesses");
    python(&environment, "dissect.etl, etl.etl", &PACKAGES, 15)
});

/// Returns what a script finds in a trace. Prints a message and returns `None` if the script cannot be run.
fn witness(script: &str, trace: &Path) -> Option<Value> {
    let python = match &*PYTHON {
        Ok(python) => python,
        Err(reason) => {
            println!("skipped: no environment with the readers: {reason}");
            return None;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness").join(script);
    let found = run(Command::new(python).arg(script).arg(trace)).unwrap_or_else(|error| panic!("{error}"));
    Some(serde_json::from_str(&found).unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn event_records(trace: &Path) -> Vec<Event> {
    Reader::open(trace).unwrap().filter(|event| event.header.provider.is_some()).collect()
}

/// Checks that dissect.etl finds what this crate reads.
fn dissect_agrees(trace: &Path) {
    let Some(found) = witness("dissect_reader.py", trace) else { return };
    let reader = Reader::open(trace).unwrap();
    assert_eq!(found["session"], reader.header().logger_name.as_str());
    assert_eq!(found["file"], reader.header().file_name.as_str());
    assert_eq!(found["start"], reader.header().start_time);
    let theirs = found["events"].as_array().unwrap();
    let ours = event_records(trace);
    assert_eq!(theirs.len(), ours.len(), "{}", trace.display());
    for event in &ours {
        // They read in file order, we in time order, so events are matched by their bytes.
        let rest = hex(&event.record()[HEADER..]);
        let time = event.header.time.to_string();
        let matching = theirs.iter().find(|other| {
            other["payload"] == rest.as_str()
                && other["time"].as_str().is_some_and(|other| time.starts_with(&other[..19]))
        });
        let other = matching.unwrap_or_else(|| panic!("not found: {}", event.decode()));
        assert_eq!(other["provider_bytes"], hex(&event.header.provider.unwrap().to_bytes_le()));
        assert_eq!(other["pid"], event.header.process_id.unwrap());
        assert_eq!(other["tid"], event.header.thread_id.unwrap());
        if event.is_trace_logging() && event.items().count() > 0 {
            assert_eq!(other["provider"], event.decode().provider.unwrap());
            assert_eq!(other["schema"], hex(event.item(etw_etl::ExtendedType::EVENT_SCHEMA_TL).unwrap()));
        }
    }
}

#[test]
fn dissect_reads_every_event_of_our_files() {
    let folder = folder("witnesses-dissect");
    // dissect.etl expects 32 frames in every stack, and fails at those of this file.
    for (name, make) in common::CORPUS.into_iter().filter(|(name, _)| *name != "named.etl") {
        let trace = folder.join(name);
        make(&trace);
        dissect_agrees(&trace);
    }
    if let Some(captured) = genuine() {
        dissect_agrees(&captured.join("airbus_lxcore_kernel.etl"));
    }
}

#[test]
fn etl_parser_finds_the_names_and_values_that_we_wrote() {
    let trace = folder("witnesses-etl-parser").join("simple.etl");
    common::write_simple(&trace);
    let Some(found) = witness("etl_parser_reader.py", &trace) else { return };
    let events = found["events"].as_array().unwrap();
    assert_eq!(events.len(), 20);
    for number in 0..20_u64 {
        let event = events.iter().find(|event| event["fields"]["Number"] == number).unwrap();
        assert_eq!(event["event"], format!("Simple{}", number % 2));
        assert_eq!(&event["pid"], &Value::from(4));
        assert_eq!(&event["tid"], &Value::from(100 + number % 3));
        let fields = &event["fields"];
        assert_eq!(&fields["Signed"], &Value::from(-5));
        assert_eq!(&fields["Large"], &Value::from(u64::MAX - number));
        assert_eq!(fields["Name"], format!("name {number}"));
        // etl-parser treats one byte of the count as part of the text, also in files captured on Windows.
        assert_eq!(fields["Text"], format!("\0text {number}"));
    }
}

/// Hook id (group and type) and class version of kernel events whose numbers etl-parser reads as documented. Events
/// with a SID are not included: etl-parser takes the first bytes of the `TOKEN_USER` for the SID.
const KERNEL_EVENTS: [(u16, u16); 17] = [
    (0x0420, 2),
    (0x0423, 2),
    (0x0424, 2),
    (0x030B, 2),
    (0x0501, 2),
    (0x0502, 2),
    (0x0501, 3),
    (0x0502, 3),
    (0x0503, 3),
    (0x0504, 3),
    (0x010A, 3),
    (0x010B, 3),
    (0x140A, 3),
    (0x1402, 3),
    (0x1403, 3),
    (0x1404, 3),
    (0x1421, 2),
];

#[test]
fn etl_parser_finds_the_numbers_of_kernel_events() {
    let trace = folder("witnesses-kernel").join("kernel.etl");
    let mut writer = Writer::create(&trace, options()).unwrap();
    for (place, (hook_id, version)) in KERNEL_EVENTS.into_iter().enumerate() {
        let timestamp = 2_000_000 + u64::try_from(place).unwrap();
        // No two fields have the same value; the zeros at the end terminate a text.
        let data: Vec<u8> = (1..60_u8).flat_map(|byte| [byte, byte ^ 0x55]).chain([0; 4]).collect();
        let size = u16::try_from(PERFINFO_SIZE + data.len()).unwrap();
        let header = SystemHeader {
            version,
            header_type: TYPE_PERFINFO_64,
            size,
            hook_id,
            timestamp,
            ..SystemHeader::default()
        };
        let mut buffer = Buffer::new(1024, 0);
        buffer.push_record(&[&header.to_perfinfo_bytes()[..], &data].concat(), timestamp).unwrap();
        writer.write_buffer(&mut buffer, timestamp).unwrap();
    }
    writer.close().unwrap();
    let Some(found) = witness("etl_parser_reader.py", &trace) else { return };
    let theirs = found["kernel"].as_array().unwrap();
    let mut reader = Reader::open(&trace).unwrap();
    let mut decoder = Decoder::default();
    let mut compared = Vec::new();
    while let Some(event) = reader.next_ref() {
        let hook = event.header.descriptor.id;
        let version = u16::from(event.header.descriptor.version);
        if !KERNEL_EVENTS.contains(&(hook, version)) {
            continue;
        }
        let of_event = |other: &&Value| other["hook"] == hook && other["version"] == version;
        let other = theirs.iter().find(of_event).unwrap_or_else(|| panic!("{hook:#x} version {version} is not known"));
        let ours = decoder.decode(&event);
        for (place, number) in other["numbers"].as_array().unwrap().iter().enumerate() {
            let value = ours.fields.get(place).map(|field| field.node.to_string()).unwrap_or_default();
            let digits = value.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
            let value = digits.unwrap_or_else(|| value.parse());
            assert_eq!(value.ok(), number[1].as_u64(), "{hook:#x} version {version}: {number} in {ours}");
        }
        compared.push((hook, version));
    }
    assert_eq!(compared, KERNEL_EVENTS);
}
