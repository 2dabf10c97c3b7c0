//! A trace of any length arrives, and a run that lost something is not clean.
#![cfg(test)]

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::c::build_with;
use nt_host::NtHost;

fn flood(count: u32, size: u32) -> PathBuf {
    let flags = ["-O1".to_owned(), format!("-DCOUNT={count}"), format!("-DSIZE={size}")];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    build_with(&flags, "wdm_flood", 0, "DriverEntry", &["ntoskrnl"])
}

/// They are read one by one from a file: no message between the processes grows with them.
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
    assert_eq!((lost.expect("a trace"), next), (0, COUNT));
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_run_that_lost_an_event_is_not_clean() {
    let image = flood(3, 65_500);
    let host = NtHost::builder().driver(&image).trace_all().start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    assert!(report.findings().is_empty() && !report.is_clean());
    assert_eq!(report.losses().events, 3);
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&image).output().expect("a run");
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("3 events were lost") && text.contains("incomplete"), "{text}");
}
