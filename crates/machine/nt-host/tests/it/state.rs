//! A call with processor state that the calling convention forbids is a finding at that call. The host keeps working.

use crate::common::c::build;
use nt_host::{NtHost, Report, Rule};

fn run(bug: u32) -> Report {
    let image = build("wdm_state", bug, "DriverEntry", &["ntoskrnl"]);
    NtHost::builder().driver(image).start().expect("DriverEntry").unload().expect("unload")
}

fn line_with(mark: &str) -> Option<u32> {
    let source = include_str!("../../drivers/c/wdm_state.c");
    (1..).zip(source.lines()).find(|(_, line)| line.contains(mark)).map(|(number, _)| number)
}

#[test]
fn forbidden_processor_state_is_found_at_the_call() {
    run(0).assert_clean();
    for (bug, part) in
        [(1, "direction flag"), (2, "MXCSR 0x7f80"), (3, "another FS base"), (4, "EFLAGS.AC"), (5, "another GS base")]
    {
        let report = run(bug);
        let [finding] = report.findings() else { panic!("{bug}: {:?}", report.findings()) };
        assert_eq!(finding.rule, Rule::BadArgument);
        assert_eq!(finding.routine.as_deref(), Some("KeQuerySystemTimePrecise"));
        assert!(finding.detail.starts_with("called with "), "{}", finding.detail);
        assert!(finding.detail.contains(part), "{}", finding.detail);
        assert_eq!(finding.location.as_ref().and_then(|location| location.line), line_with("/* mark */"), "{bug}");
    }
}

/// The host's code runs next, with its own thread-local data and addresses that are not aligned.
#[test]
fn forbidden_processor_state_is_found_at_the_return_of_a_callback() {
    for (bug, part) in [
        (11, "direction flag"),
        (12, "MXCSR 0x7f80"),
        (13, "another FS base"),
        (14, "EFLAGS.AC"),
        (15, "another GS base"),
    ] {
        let report = run(bug);
        let [finding] = report.findings() else { panic!("{bug}: {:?}", report.findings()) };
        assert_eq!(finding.rule, Rule::BadArgument);
        assert_eq!(finding.routine.as_deref(), Some("DriverEntry"));
        assert!(finding.detail.starts_with("returned with "), "{}", finding.detail);
        assert!(finding.detail.contains(part), "{}", finding.detail);
    }
}

/// In kernel mode, the processor does not check alignment, so the driver continues.
#[test]
fn an_access_with_alignment_checks_is_found_and_works() {
    let report = run(20);
    let [finding] = report.findings() else { panic!("{:?}", report.findings()) };
    assert_eq!(finding.rule, Rule::BadArgument);
    assert_eq!(finding.routine.as_deref(), None);
    assert!(finding.detail.contains("alignment check flag"), "{}", finding.detail);
    assert_eq!(finding.location.as_ref().and_then(|location| location.line), line_with("/* unaligned */"));
}
