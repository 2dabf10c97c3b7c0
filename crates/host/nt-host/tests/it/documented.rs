//! What the pages of routines on Microsoft Learn state, checked by a driver that calls them. The expected values are in the
//! driver, each with the page that it comes from.

use crate::common::c::build;
use crate::kernel::{every_step_of, steps_succeed};
use nt_host::{Builder, NtHost, Rule};

/// The steps of `wdm_documented`, in order.
const STEPS: [&str; 1] = ["activity ids"];

fn driver(bug: u32) -> Builder {
    NtHost::builder().driver(build("wdm_documented", bug, "DriverEntry", &["ntoskrnl"]))
}

/// The line number of a mark in the driver's source.
fn marked(bug: u32) -> Option<u32> {
    let mark = format!("/* mark {bug} */");
    let mut lines = (1..).zip(include_str!("../../drivers/c/wdm_documented.c").lines());
    lines.find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

#[test]
fn routines_do_what_their_pages_state() {
    every_step_of(&driver(0).start().expect("DriverEntry"), &STEPS);
}

#[test]
fn the_irql_limit_of_a_routine_can_depend_on_its_arguments() {
    let host = driver(1).start().expect("DriverEntry");
    steps_succeed(&host, &STEPS);
    let report = host.unload().expect("unload");
    let finding = report.findings_of(Rule::IrqlTooHigh).next().expect("a finding");
    assert_eq!(finding.routine.as_deref(), Some("EtwActivityIdControl"));
    assert_eq!(finding.detail, "called at IRQL 2 with these arguments, allowed up to 1");
    assert_eq!(finding.place.as_ref().and_then(|place| place.line), marked(1));
    assert_eq!(report.findings().len(), 1, "{:#?}", report.findings());
}
