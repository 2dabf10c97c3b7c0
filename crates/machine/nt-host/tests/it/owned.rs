//! State that belongs to the kernel and that a driver must not change, or must restore.

use crate::common::c::build;
use nt_host::{Finding, NtHost, Report, Rule};

fn run(bug: u32) -> Report {
    let driver = build("wdm_owned", bug, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(driver).start().expect("DriverEntry");
    host.unload().expect("unload")
}

fn finding(bug: u32) -> Finding {
    let report = run(bug);
    let [finding] = report.findings() else { panic!("{bug}: {:#?}", report.findings()) };
    finding.clone()
}

fn marked(mark: u32) -> Option<u32> {
    let source = include_str!("../../drivers/c/wdm_owned.c");
    let mark = format!("/* mark {mark} */");
    (1..).zip(source.lines()).find(|(_, line)| line.ends_with(&mark)).map(|(number, _)| number)
}

fn line(finding: &Finding) -> Option<u32> {
    finding.location.as_ref().and_then(|location| location.line)
}

#[test]
fn a_driver_that_writes_to_its_thread_is_found() {
    for bug in [1, 2] {
        let finding = finding(bug);
        assert_eq!(finding.rule, Rule::AccessViolation, "{finding}");
        assert!(finding.detail.starts_with("overwrites the object of the current thread (KTHREAD)"), "{finding}");
        assert_eq!(
            finding.location.as_ref().and_then(|location| location.symbol.as_deref()),
            Some("DriverEntry"),
            "{finding}"
        );
    }
}

#[test]
fn a_driver_that_writes_a_register_of_the_kernel_is_found_at_its_line() {
    for (bug, name) in [(3, "IA32_GS_BASE"), (4, "IA32_LSTAR")] {
        let finding = finding(bug);
        assert_eq!(finding.rule, Rule::IllegalInstruction, "{finding}");
        assert!(finding.detail.starts_with(&format!("wrmsr: writes {name},")), "{finding}");
        let inlined = finding.location.iter().chain(&finding.stack).filter_map(|location| location.line);
        let lines: Vec<u32> = inlined.collect();
        assert!(lines.iter().any(|line| Some(*line) == marked(bug)), "{finding}: {lines:?}");
    }
}

#[test]
fn a_driver_that_leaves_interrupts_disabled_is_found() {
    let returned = finding(5);
    assert_eq!(returned.rule, Rule::BadArgument, "{returned}");
    assert!(returned.detail.starts_with("returned with interrupts disabled, by cli at image+0x"), "{returned}");
    let called = finding(6);
    assert_eq!(called.rule, Rule::BadArgument, "{called}");
    assert!(called.detail.starts_with("called with interrupts disabled, by cli at image+0x"), "{called}");
    assert_eq!(line(&called), marked(6), "{called}");
}

#[test]
fn a_driver_that_restores_interrupts_and_writes_other_registers_is_clean() {
    for bug in [0, 20, 21] {
        run(bug).assert_clean();
    }
}
