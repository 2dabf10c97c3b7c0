//! `compare`: two traces of the same steps.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::kernel::{KernelTrace, START, wide, words};
use crate::common::{Run, etwctl, scratch};
use etw_etl::{Clock, EventData, ExtendedItem, FileMode, FileTime, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, InType, Keyword, Level, OutType};
use serde_json::{Value, json};

/// An event: its name and the status that is its only field.
type Written<'a> = (&'a str, u32);

/// Writes a trace. `base` is where its clock, threads and processes begin.
fn trace(name: &str, base: u32, events: &[Written<'_>]) -> PathBuf {
    let path = scratch(name);
    let clock = Clock { start: FileTime(133_594_528_890_000_000 + i64::from(base)), ..Clock::default() };
    let mode = FileMode::Sequential { max_bytes: None };
    let options = WriterOptions { clock, buffer_size: 1024, mode, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, options).unwrap();
    for (stamp, (name, status)) in (u64::from(base)..).zip(events) {
        let mut metadata = [0; 256];
        let mut payload = [0; 256];
        let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0);
        let builder = builder.field("Status", InType::U32, OutType::NtStatus, 0, &status.to_le_bytes());
        let (metadata, payload) = builder.finish().unwrap();
        let event = EventData {
            provider: Guid::from_name("MyDriver"),
            descriptor: EventDescriptor::new(Level::Informational, Keyword::from_bits(1))
                .with_channel(Channel::TraceLogging),
            items: &ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata),
            payload,
            timestamp: stamp,
            thread_id: base,
            process_id: base,
            ..EventData::default()
        };
        writer.write(0, &event).unwrap();
    }
    writer.close().unwrap();
    path
}

fn compare(first: &Path, second: &Path, options: &str) -> Run {
    etwctl(&format!("compare {} {} {options}", first.display(), second.display()))
}

const STEPS: [Written<'_>; 3] = [("Open", 0), ("Read", 0), ("Close", 0)];

#[test]
fn traces_of_the_same_steps_are_the_same_at_any_time() {
    let first = trace("same-1.etl", 4, &STEPS);
    let second = trace("same-2.etl", 9000, &STEPS);
    let run = compare(&first, &second, "");
    assert_eq!(run.code, 0, "{}", run.out);
    assert_eq!(run.err.as_str(), "", "{}", run.out);
    assert!(run.out.ends_with("the traces are the same\n"), "{}", run.out);
    assert!(run.out.contains(": 3 events"), "{}", run.out);
    let document: Value = serde_json::from_str(&compare(&first, &second, "--json").out).unwrap();
    assert_eq!(&document["result"], &json!("same"));
    assert_eq!(&document["common"], &json!(3));
    for path in [first, second] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_difference_is_shown_with_the_values_of_both_and_ends_with_3() {
    let first = trace("differ-1.etl", 4, &STEPS);
    let second = trace("differ-2.etl", 4, &[("Open", 0), ("Read", 0xC000_0010), ("Flush", 0), ("Close", 0)]);
    let run = compare(&first, &second, "");
    assert_eq!(run.code, 3, "{}", run.err);
    for part in [
        "~ MyDriver/Read: event 2 in the first trace, 2 in the second\n",
        "    Status: 0x00000000 STATUS_SUCCESS | 0xC0000010 STATUS_INVALID_DEVICE_REQUEST\n",
        "+ MyDriver/Flush: only in the second trace, as event 3\n",
        "the traces differ: 2 differences\n",
    ] {
        assert!(run.out.contains(part), "{part} in {}", run.out);
    }
    let run = compare(&first, &second, "--json");
    assert_eq!(run.code, 3);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["result"], "different");
    let changed = &document["differences"][0];
    assert_eq!(&changed["kind"], &json!("changed"));
    assert_eq!(&changed["first"], &json!(2));
    assert_eq!(&changed["second"], &json!(2));
    assert_eq!(changed["parts"][0]["name"], "Status");
    let added = &document["differences"][1];
    assert_eq!(&added["kind"], &json!("only-second"));
    assert_eq!(&added["first"], &json!(null));
    assert_eq!(&added["second"], &json!(3));
    for path in [first, second] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn selected_events_and_fields_are_compared() {
    let first = trace("select-1.etl", 4, &STEPS);
    let second = trace("select-2.etl", 4, &[("Open", 1), ("Tick", 0), ("Read", 0), ("Tick", 0), ("Close", 0)]);
    assert_eq!(compare(&first, &second, "--ignore Status").code, 3);
    assert_eq!(compare(&first, &second, "--where event!=Tick").code, 3);
    let run = compare(&first, &second, "--ignore Status --where event!=Tick --provider MyDriver");
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let run = compare(&first, &second, "--provider YourDriver");
    assert_eq!(run.code, 4, "{}", run.out);
    assert!(run.out.ends_with("nothing was compared\n"), "{}", run.out);
    assert!(run.err.contains("select-1.etl: no event is from provider 'YourDriver'"), "{}", run.err);
    assert!(run.err.contains("nothing was compared"), "{}", run.err);
    for path in [first, second] {
        fs::remove_file(path).unwrap();
    }
}

/// A trace of the kernel: a process, and a read of a file. `base` is where its ids, addresses and times begin.
fn kernel(name: &str, base: u32, bytes: u32) -> PathBuf {
    let mut trace = KernelTrace::new(1);
    let owner = (base, base + 4);
    let stamp = START + u64::from(base);
    let file = words(&[base + 0x1000, 0xFFFF]);
    trace.process(stamp, owner.0, "app.exe");
    trace.event(0, 0x0400, 2, stamp + 1, owner, &[file.clone(), wide("\\Device\\a.txt")].concat());
    let read = [words(&[0, 0, bytes, 0, 512, 0]), file, words(&[base, 0, base, 0, owner.1])].concat();
    trace.event(0, 0x010A, 3, stamp + 2, owner, &read);
    trace.stack(0, stamp + 2, owner, &[base]);
    trace.write(name)
}

#[test]
fn events_of_the_kernel_are_compared_without_addresses() {
    let first = kernel("kernel-1.etl", 4, 4096);
    let second = kernel("kernel-2.etl", 900, 4096);
    let third = kernel("kernel-3.etl", 900, 512);
    let same: Value = serde_json::from_str(&compare(&first, &second, "--json").out).unwrap();
    assert_eq!(same["differences"], json!([]));
    assert_eq!(&same["result"], &json!("same"));
    assert_eq!(&same["common"], &json!(3));
    let run = compare(&first, &third, "");
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.out.contains("    TransferSize: 4096 | 512\n"), "{}", run.out);
    assert!(run.out.contains("the traces differ: 1 difference\n"), "{}", run.out);
    for path in [first, second, third] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn traces_without_an_event_are_not_the_same() {
    let first = trace("empty-1.etl", 4, &[]);
    let second = trace("empty-2.etl", 5, &[]);
    let run = compare(&first, &second, "--json");
    assert_eq!(run.code, 4, "{}", run.err);
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["result"], "nothing");
    let other = trace("empty-3.etl", 5, &STEPS);
    assert_eq!(compare(&first, &other, "").code, 3, "one of them has events");
    for path in [first, second, other] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_trace_that_cannot_be_read_to_its_end_is_not_the_same() {
    let first = trace("cut-1.etl", 4, &STEPS);
    let second = trace("cut-2.etl", 4, &STEPS);
    let bytes = fs::read(&second).unwrap();
    fs::write(&second, &bytes[..bytes.len() - 1000]).unwrap();
    assert_eq!(compare(&first, &second, "").code, 4);
    assert_eq!(compare(&first, &first, "").code, 2);
    assert_eq!(compare(&first, Path::new("missing.etl"), "").code, 2);
    for path in [first, second] {
        fs::remove_file(path).unwrap();
    }
}
