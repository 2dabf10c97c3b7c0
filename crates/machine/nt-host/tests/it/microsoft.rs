//! Microsoft's rules: for each rule that the table says is checked, a driver breaks it, and the finding has its name. The
//! same driver without the mistake is clean.

use std::time::Duration;

use crate::common::c::build;
use etw_types::NtStatus;
use nt_host::{Below, Builder, Error, GapKind, MicrosoftRule, NtHost, RegistryValue, Report, RequestKind, Rule};

/// The drivers that break rules: the set of rules, and the source. Each row of a driver's table of rules is a macro whose
/// name ends with `_OF`.
const DRIVERS: [(&str, &str); 4] = [
    ("wdm", include_str!("../../drivers/c/wdm_rules_irql.c")),
    ("wdm", include_str!("../../drivers/c/wdm_rules_locks.c")),
    ("wdm", include_str!("../../drivers/c/wdm_rules_requests.c")),
    ("wdm", include_str!("../../drivers/c/wdm_rules_own.c")),
];

/// Returns the names of the rules that a driver breaks.
fn rules(source: &str) -> Vec<&str> {
    let rows = source.lines().filter_map(|line| line.trim().split_once("_OF("));
    rows.filter(|(before, _)| before.chars().all(|c| c.is_ascii_uppercase()))
        .filter_map(|(_, row)| row.split_once(',').map(|(name, _)| name))
        .collect()
}

fn rule(set: &str, name: &str) -> &'static MicrosoftRule {
    let found = MicrosoftRule::all().find(|rule| (rule.set, rule.name) == (set, name));
    found.unwrap_or_else(|| panic!("{name} is not a rule of {set}"))
}

/// Returns a builder of a host for a driver that breaks a rule, or does the same correctly. The device below completes
/// every request later.
fn builder(driver: &str, rule: &MicrosoftRule, broken: bool) -> Builder {
    let image = build(driver, 0, "DriverEntry", &["ntoskrnl"]);
    let mut builder = NtHost::builder()
        .driver(image)
        .parameter("Rule", RegistryValue::Text(rule.name.into()))
        .parameter("Broken", RegistryValue::Dword(broken.into()));
    // IRP_MJ_POWER and IRP_MJ_PNP.
    for kind in [None, Some(RequestKind::from_int(0x16)), Some(RequestKind::from_int(0x1B))] {
        let delay = Duration::from_millis(1);
        let output = Vec::new();
        builder = builder.below(Below { device: None, kind, code: None, status: NtStatus::Success, output, delay });
    }
    if matches!(rule.name, "IoSetCompletionExCompleteIrp" | "IoSetCompletionRoutineExCheck") {
        builder = builder.fail_call("IoSetCompletionRoutineEx", NtStatus::InsufficientResources, 1);
    }
    if broken && rule.rules == [Rule::Hang] {
        builder = builder.patience(Duration::from_millis(500));
    }
    GapKind::ALL.iter().fold(builder, |builder, kind| builder.allow(*kind))
}

/// Ends a run that has stopped. Other results are the driver's business.
fn unless_stopped<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Err(Error::Stopped(report)) => Err(Error::Stopped(report)),
        other => Ok(other.ok()),
    }
}

/// Sends every kind of request to a device that is then removed, and to one that is removed by surprise.
fn exercise(host: &NtHost) -> Result<(), Error> {
    for surprise in [false, true] {
        let Some(device) = unless_stopped(host.add_device())? else { continue };
        host.advance(Duration::from_millis(10))?;
        if let Some(file) = unless_stopped(device.open())? {
            unless_stopped(file.read(8))?;
            unless_stopped(file.write(&[7; 8]))?;
            unless_stopped(file.ioctl(0x0022_2000, &[], 0))?;
            unless_stopped(file.internal_ioctl(0x0022_2003, &[], 0))?;
            unless_stopped(file.close())?;
        }
        unless_stopped(device.sleep())?;
        unless_stopped(device.wake())?;
        unless_stopped(if surprise { device.surprise_remove() } else { device.remove() })?;
    }
    unless_stopped(host.unload()).map(drop)
}

fn run(driver: &str, rule: &MicrosoftRule, broken: bool) -> Report {
    let host = builder(driver, rule, broken).start().unwrap_or_else(|error| panic!("{rule}: {error}"));
    match exercise(&host) {
        Ok(()) | Err(Error::Stopped(_)) => host.report(),
        Err(error) => panic!("{rule}: {error}"),
    }
}

/// Breaks every rule of a driver, and keeps it.
fn check(driver: &str) {
    let path = format!("{}/drivers/c/{driver}.c", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).expect("the source");
    let mut failures = Vec::new();
    for name in rules(&source) {
        let rule = rule("wdm", name);
        let report = run(driver, rule, true);
        let named = report.findings().iter().find(|finding| finding.microsoft.contains(&rule));
        if !named.is_some_and(|finding| rule.rules.contains(&finding.rule)) {
            failures.push(format!("{name} is not found: {:#?}", report.findings()));
        }
        let report = run(driver, rule, false);
        if !report.is_clean() {
            failures.push(format!("{name} is found without the mistake: {:#?}", report.findings()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn rules_about_irqls() {
    check("wdm_rules_irql");
}

#[test]
fn rules_about_locks() {
    check("wdm_rules_locks");
}

#[test]
fn rules_about_requests() {
    check("wdm_rules_requests");
}

#[test]
fn rules_about_own_requests() {
    check("wdm_rules_own");
}

#[test]
fn every_rule_that_is_checked_has_a_driver() {
    let known: Vec<(&str, &str)> =
        DRIVERS.iter().flat_map(|(set, source)| rules(source).into_iter().map(move |name| (*set, name))).collect();
    // The rules for KMDF have tests of their own, in `kmdf_rules`.
    for rule in MicrosoftRule::all().filter(|rule| rule.set == "wdm") {
        assert_eq!(rule.is_checked(), known.contains(&(rule.set, rule.name)), "{} {rule}", rule.set);
    }
}
