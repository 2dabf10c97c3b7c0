//! The order and the IRQL of calls of the driver's functions by the kernel and the framework.

use std::path::PathBuf;

use crate::common::c::{FRAMEWORK, build, build_at, build_linked};
use nt_host::{Error, NtHost, Rule};

fn driver(level: &str, bug: u32) -> PathBuf {
    build_at(level, "wdm_callbacks", bug, "DriverEntry", &["ntoskrnl"])
}

fn callbacks(host: &NtHost) -> Vec<String> {
    host.callbacks().iter().map(ToString::to_string).collect()
}

/// The calls of a run. An optimised `Jump` is a jump to `Leaf`, which then returns to the caller of `Jump`.
fn expected(level: &str) -> Vec<&'static str> {
    let jump: &[&str] = if level == "-O0" { &["Jump at IRQL 0"] } else { &["Jump at IRQL 0", "Leaf at IRQL 0"] };
    let first = ["DriverEntry at IRQL 0", "Relative at IRQL 0", "Leaf at IRQL 0", "Empty at IRQL 0"];
    [&first[..], jump, &["Calls at IRQL 0", "Deferred at IRQL 2", "Unload at IRQL 0"]].concat()
}

#[test]
fn functions_are_recorded_and_do_what_they_do_otherwise() {
    for level in ["-O0", "-O2"] {
        for measures_coverage in [false, true] {
            let builder = NtHost::builder().driver(driver(level, 0)).record_callbacks();
            let builder = if measures_coverage { builder.measure_coverage() } else { builder };
            let host = builder.start().expect("DriverEntry");
            let report = host.unload().expect("unload");
            report.assert_clean();
            assert_eq!(report.output(), "count 1, value 1108\nunload\n", "{level}");
            assert_eq!(callbacks(&host), expected(level), "{level}");
            // The image is at another address when it is loaded again.
            host.load().expect("DriverEntry");
            host.unload().expect("unload").assert_clean();
            assert_eq!(callbacks(&host), expected(level).repeat(2), "{level}");
            if let Some(coverage) = host.coverage() {
                let is_hit = |rva: u64| u32::try_from(rva).is_ok_and(|rva| coverage.is_hit_at(rva));
                assert!(host.callbacks().iter().all(|call| is_hit(call.location.rva)), "{level}");
            }
        }
    }
    // Nothing is recorded unless it is asked for.
    let host = NtHost::builder().driver(driver("-O2", 0)).start().expect("DriverEntry");
    host.unload().expect("unload").assert_clean();
    assert!(host.callbacks().is_empty());
}

#[test]
fn no_call_is_missed_while_other_threads_call_the_same_function() {
    let host = NtHost::builder().driver(driver("-O2", 1)).record_callbacks().start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    report.assert_clean();
    assert!(report.output().contains("sum 400\n"), "{}", report.output());
    let count = |name: &str| callbacks(&host).iter().filter(|call| call.as_str() == name).count();
    assert_eq!(count("Add at IRQL 0"), 400);
    assert_eq!(count("Thread at IRQL 0"), 4);
}

#[test]
fn a_function_whose_first_instruction_faults_is_named() {
    let host = NtHost::builder().driver(driver("-O2", 2)).record_callbacks();
    let Err(Error::Stopped(report)) = host.start() else { panic!("the driver reads a bad address") };
    let finding = report.findings().first().expect("a finding");
    assert_eq!(finding.rule, Rule::AccessViolation);
    assert_eq!(finding.location.as_ref().and_then(|location| location.symbol.as_deref()), Some("Leaf"), "{finding}");
}

#[test]
fn without_symbols_functions_have_addresses() {
    let image = build_linked(&["/debug:none"], "wdm_callbacks", 0, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).record_callbacks().start().expect("DriverEntry");
    host.unload().expect("unload").assert_clean();
    let calls = callbacks(&host);
    assert_eq!(calls.len(), expected("-O0").len());
    assert!(calls.iter().all(|call| call.starts_with("image+0x")), "{calls:?}");
}

#[test]
fn the_callbacks_of_a_framework_driver_are_recorded() {
    let image = build("kmdf_life", 0, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).record_callbacks().start().expect("DriverEntry");
    host.add_device().expect("a device").remove().expect("removed");
    host.unload().expect("unload").assert_clean();
    let calls = callbacks(&host);
    let position = |name: &str| calls.iter().position(|call| *call == format!("{name} at IRQL 0"));
    let names = ["FxDriverEntry", "PrepareHardware", "D0Entry", "D0EntryPost", "IoInit", "QueryRemove", "D0Exit"];
    let order: Vec<Option<usize>> = names.into_iter().map(position).collect();
    assert!(order.iter().all(Option::is_some), "{calls:#?}");
    assert!(order.is_sorted(), "{calls:#?}");
}
