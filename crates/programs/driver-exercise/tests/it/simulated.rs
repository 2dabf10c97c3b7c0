//! The whole exercise of the workflow, with nt-host's trace and replies in place of Windows, and each step failing once.

use std::fs;

use crate::machine::{MADE, Machine, printed};
use driver_exercise::{Status, Step};
use test_support::windows::Fault;

/// The calls of an exercise in which nothing fails.
const CALLS: [&str; 10] = [
    "machine.ps1",
    "install.ps1 -Check",
    "uninstall.ps1",
    "record.ps1 -Start",
    "install.ps1",
    "send.ps1",
    "collect.ps1",
    "remove.ps1",
    "record.ps1 -Stop",
    "uninstall.ps1",
];

#[test]
fn every_step_passes_and_the_trace_is_that_of_nt_host() {
    let machine = Machine::new("passes");
    let output = machine.exercise(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert_eq!(machine.0.calls(), CALLS);
    let evidence = machine.evidence();
    assert!(evidence.is_good(), "{evidence:?}");
    assert!(evidence.steps.iter().all(|step| step.status == Status::Passed), "{:?}", evidence.steps);
    assert_eq!(evidence.machine.map(|machine| (machine.build, machine.kmdf)), Some((26100, "1.33".into())));
    let statuses: Vec<&str> = evidence.replies.iter().map(|reply| &reply.status[..10]).collect();
    let good = "0x00000000";
    let small = "0xC0000023";
    let bad = "0xC000000D";
    let unknown = "0xC0000010";
    assert_eq!(statuses, [good, good, good, good, good, good, small, bad, unknown]);
    let compared = evidence.comparison.unwrap();
    assert!(compared.common > 20, "{compared:?}");
    assert!(compared.events == compared.expected, "{compared:?}");
    for name in ["windows.etl", "logs.zip", "install.log", "requests.log"] {
        assert!(machine.path("out").join(name).is_file(), "{name}");
    }
    assert!(machine.0.state().is_empty());
}

/// Whatever fails, the steps that clean up run, the evidence names the step, and what is left is known exactly.
#[test]
fn each_step_that_fails_once_leaves_evidence_and_a_clean_machine() {
    let machine = Machine::new("each");
    for (call, count, step, is_left) in [
        ("machine.ps1", 1, Step::Machine, false),
        ("install.ps1 -Check", 1, Step::Check, false),
        ("uninstall.ps1", 1, Step::Clean, true),
        ("verifier.ps1", 1, Step::Verifier, false),
        ("record.ps1 -Start", 1, Step::Record, false),
        ("install.ps1", 1, Step::Install, false),
        ("send.ps1", 1, Step::Requests, false),
        ("collect.ps1", 1, Step::Collect, false),
        ("remove.ps1", 1, Step::Remove, false),
        ("record.ps1 -Stop", 1, Step::Stop, false),
        ("verifier.ps1 -Off", 1, Step::VerifierOff, true),
        ("uninstall.ps1", 2, Step::Uninstall, true),
    ] {
        machine.0.reset();
        machine.0.set_fault(call, count, Fault::Fail).unwrap();
        let output = machine.exercise(&["--verifier"]);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(1), "{call}: {text}");
        let evidence = machine.evidence();
        let failed: Vec<Step> =
            evidence.steps.iter().filter(|result| result.status == Status::Failed).map(|result| result.step).collect();
        assert_eq!(failed.first(), Some(&step), "{call}: {:?}", evidence.steps);
        let reason = &evidence.steps.iter().find(|result| result.step == step).unwrap().reason;
        assert!(reason.contains("the machine refused it"), "{call}: {reason}");
        assert_eq!(!evidence.left.is_empty(), is_left, "{call}: {:?}", evidence.left);
        let state = machine.0.state();
        match step {
            // The certificate is gone, and the rest is named.
            Step::Uninstall => assert!(state.contains_key("driver") && !state.contains_key("certificate"), "{state:?}"),
            Step::VerifierOff => assert!(state.contains_key("verifier") && state.len() == 1, "{state:?}"),
            _ => assert!(state.is_empty(), "{call}: {state:?}"),
        }
        // Before anything is installed there is nothing to remove.
        if matches!(step, Step::Machine | Step::Check | Step::Clean) {
            assert!(!machine.0.calls().contains(&"install.ps1".to_owned()), "{call}");
        }
        // A trace is fetched whenever there is one.
        let has_trace = matches!(step, Step::Install | Step::Requests | Step::Collect | Step::Remove | Step::Uninstall);
        assert_eq!(evidence.comparison.is_some(), has_trace || step == Step::VerifierOff, "{call}");
    }
}

#[test]
fn replies_before_a_failure_are_kept() {
    let machine = Machine::new("replies");
    machine.0.set_fault("send.ps1", 1, Fault::Fail).unwrap();
    machine.exercise(&[]);
    assert_eq!(machine.evidence().replies.len(), 4);
}

#[test]
fn a_machine_without_test_mode_is_refused_and_not_changed() {
    let machine = Machine::new("test-mode");
    machine.0.set_test_mode(false).unwrap();
    let output = machine.exercise(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("bcdedit /set testsigning on"), "{}", printed(&output));
    assert_eq!(machine.0.calls(), ["machine.ps1", "install.ps1 -Check"]);
}

#[test]
fn a_trace_that_differs_ends_with_3_and_says_where() {
    let machine = Machine::new("differs");
    // A trace without the last events: the driver was not unloaded.
    fs::copy(super::machine::root().join("crates/traces/etw-etl/tests/corpus/simple.etl"), machine.path("trace.etl"))
        .unwrap();
    let output = machine.exercise(&[]);
    assert_eq!(output.status.code(), Some(3), "{}", printed(&output));
    assert!(printed(&output).contains("only in nt-host: WdkEtw.DriverSample/DriverEntry"), "{}", printed(&output));
    assert!(MADE.expected.is_file());
    assert!(!machine.evidence().is_good());
}

#[test]
fn a_folder_without_a_package_is_wrong_usage() {
    let machine = Machine::new("no-package");
    fs::remove_file(machine.path("package/package.psd1")).unwrap();
    let output = machine.exercise(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(printed(&output).contains("is not a driver package"), "{}", printed(&output));
}
