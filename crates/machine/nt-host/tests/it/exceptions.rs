//! Structured exception handling of drivers in C.

use crate::common::c::build_at;
use nt_host::{Error, NtHost, Report, Rule};

/// The output of the driver if every exception is handled.
const TAKEN: &str = "fault c0000005
body
first filter c0000005
second filter c0000005
inner finally 1
outer finally 1
own finally 1
except
plain finally 0
continued 7
divide c0000094
address c0000005
copy c0000005
alignment 80000002
probe c0000005
write c0000005
fine 0
status c0000123
kept 4294967174
nested 3
raised 2
";

fn run(level: &str, bug: u32) -> Report {
    let image = build_at(level, "seh", bug, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).prepare().expect("a driver");
    match host.load().and_then(|()| host.unload().map(drop)) {
        Ok(()) | Err(Error::Stopped(_)) => host.report(),
        Err(error) => panic!("{error}"),
    }
}

/// The line number of a mark in the driver's source.
fn marked(mark: u32) -> Option<u32> {
    let source = include_str!("../../drivers/c/seh.c");
    let mark = format!("/* mark {mark} */");
    (1..).zip(source.lines()).find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

#[test]
fn handlers_take_exceptions_in_the_order_of_the_language() {
    for level in ["-O0", "-O1"] {
        let report = run(level, 0);
        report.assert_clean();
        assert_eq!(report.output(), TAKEN, "{level}");
    }
}

#[test]
fn an_exception_that_no_handler_catches_is_a_finding_at_its_line() {
    for (bug, rule, routine, mark, callers) in [
        (1, Rule::AccessViolation, None, 1, &["Declined", "DriverEntry"][..]),
        (2, Rule::BugCheck, Some("ExRaiseStatus"), 2, &[]),
        (3, Rule::UseAfterFree, None, 1, &["Freed", "DriverEntry"]),
        (4, Rule::AccessViolation, None, 1, &["AtDispatch", "DriverEntry"]),
    ] {
        let report = run("-O0", bug);
        let [finding] = report.findings() else { panic!("{bug}: {:#?}", report.findings()) };
        assert_eq!(finding.rule, rule, "{bug}");
        assert_eq!(finding.routine.as_deref(), routine, "{bug}");
        assert_eq!(finding.location.as_ref().and_then(|location| location.line), marked(mark), "{bug}");
        let stack: Vec<_> = finding.stack.iter().filter_map(|location| location.symbol.as_deref()).collect();
        assert_eq!(stack, callers, "{bug}");
        let output = report.output().strip_prefix(TAKEN).expect("the same as without the mistake");
        assert_eq!(output, if bug == 1 { "only filter c0000005\n" } else { "" });
    }
}

/// Only the filter and the functions that it calls can handle the filter's exception. The frame that the filter guards
/// cannot.
#[test]
fn a_filter_that_faults_is_a_finding() {
    let report = run("-O0", 5);
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(finding.rule, Rule::AccessViolation);
    assert_eq!(finding.location.as_ref().and_then(|location| location.line), marked(1));
    let stack: Vec<_> = finding.stack.iter().filter_map(|location| location.symbol.as_deref()).collect();
    assert_eq!(stack[stack.len() - 2..], ["FilterFaults", "DriverEntry"], "{stack:?}");
    assert_eq!(report.output(), TAKEN);
}
