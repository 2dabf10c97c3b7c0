//! A call with processor state that the calling convention forbids is a finding at that call. The host keeps working.

use crate::common::c::build;
use nt_host::{NtHost, Report, Rule};

fn run(bug: u32) -> Report {
    let image = build("wdm_state", bug, "DriverEntry", &["ntoskrnl"]);
    NtHost::builder().driver(image).start().expect("DriverEntry").unload().expect("unload")
}

#[test]
fn the_direction_flag_and_the_floating_point_control_are_checked_at_each_call() {
    run(0).assert_clean();
    let source = include_str!("../../drivers/c/wdm_state.c");
    let line = (1..).zip(source.lines()).find(|(_, line)| line.contains("/* mark */")).map(|(number, _)| number);
    for (bug, part) in [(1, "direction flag"), (2, "MXCSR 0x7f80")] {
        let report = run(bug);
        let [finding] = report.findings() else { panic!("{bug}: {:?}", report.findings()) };
        assert_eq!((finding.rule, finding.routine.as_deref()), (Rule::BadArgument, Some("KeQuerySystemTimePrecise")));
        assert!(finding.detail.contains(part), "{}", finding.detail);
        assert_eq!(finding.place.as_ref().and_then(|place| place.line), line, "{bug}");
    }
}
