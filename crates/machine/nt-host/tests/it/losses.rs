//! A trace of any length arrives complete, and a run that lost an event is not clean.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::c::build_with;
use etw_etl::Reader;
use nt_host::NtHost;

fn flood(count: u32, size: u32) -> PathBuf {
    let flags = ["-O1".to_owned(), format!("-DCOUNT={count}"), format!("-DSIZE={size}")];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    build_with(&flags, "wdm_flood", 0, "DriverEntry", &["ntoskrnl"])
}

/// 1.1 GB is too much for one message or for a queue in memory.
#[test]
#[ignore = "takes minutes and a gigabyte of disk"]
fn a_trace_of_a_gigabyte_arrives() {
    const COUNT: u32 = 18_500;
    let builder = NtHost::builder().driver(flood(COUNT, 60_000)).trace_all().patience(Duration::from_mins(20));
    let host = builder.start().expect("DriverEntry");
    let mut next = 0;
    let lost = host.trace().visit(|event| {
        assert_eq!(event.payload().first_chunk().copied().map(u32::from_le_bytes), Some(next));
        next += 1;
    });
    assert_eq!(lost.expect("a trace"), 0);
    assert_eq!(next, COUNT);
    host.unload().expect("unload").assert_clean();
}

/// The events are read one by one from a file, so no message between the processes grows with their number.
#[test]
fn many_large_events_arrive() {
    const COUNT: u32 = 400;
    let patience = Duration::from_mins(5);
    let builder = NtHost::builder().driver(flood(COUNT, 60_000)).trace_all().patience(patience);
    let host = builder.start().expect("DriverEntry");
    let mut next = 0;
    let lost = host.trace().visit(|event| {
        let payload = event.payload();
        assert_eq!(payload.first_chunk().copied().map(u32::from_le_bytes), Some(next));
        assert_eq!(payload.len(), 60_000);
        next += 1;
    });
    assert_eq!(lost.expect("a trace"), 0);
    assert_eq!(next, COUNT);
    // The virtual clock does not advance while the driver writes, so all time stamps are the same. The trace file must
    // keep the order of the writes anyway.
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many_large_events.etl");
    host.trace().write_etl(&path).expect("a trace file");
    let mut stamps = BTreeSet::new();
    let numbers = Reader::open(&path).expect("a trace file").filter_map(|event| {
        // Skip the file's header event: only the driver's events have this size.
        let number = event.payload().first_chunk().copied().map(u32::from_le_bytes);
        (event.payload().len() == 60_000).then(|| stamps.insert(event.header.stamp));
        number.filter(|_| event.payload().len() == 60_000)
    });
    assert!(numbers.eq(0..COUNT));
    assert_eq!(stamps.len(), 1);
    std::fs::remove_file(path).expect("the trace file");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_run_that_lost_an_event_is_not_clean() {
    let image = flood(3, 65_500);
    let host = NtHost::builder().driver(&image).trace_all().start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    assert!(report.findings().is_empty());
    assert!(!report.is_clean());
    assert_eq!(report.losses().events, 3);
}

/// The text that the driver prints first, in UTF-8.
const GREETING: &str = "Grüße 日本\n";

#[test]
fn debug_output_that_was_dropped_is_counted_and_the_run_is_not_clean() {
    let flags = ["-O0", "-DLINK=0", "-DCOUNT=1000"];
    let image = build_with(&flags, "wdm_print", 0, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(&image).start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    report.assert_clean();
    assert!(report.output().starts_with(GREETING), "{}", report.output());
    assert_eq!(report.output().len(), GREETING.len() + 1000 * 100, "by default, there is room");

    let builder = NtHost::builder().driver(&image).debug_output(GREETING.len() as u64 + 50);
    let report = builder.start().expect("DriverEntry").unload().expect("unload");
    assert!(report.findings().is_empty());
    assert!(!report.is_clean());
    assert!(!report.is_complete());
    assert_eq!(report.losses().output, 1000 * 100 - 50);
    assert_eq!(report.output(), format!("{GREETING}{}", "0".repeat(50)));
}
