//! Each broken driver has a finding with its rule, routine and line. Without its mistake the same image is clean.

use std::path::Path;
use std::time::Duration;

use crate::common;
use nt_host::{Error, Finding, GapKind, NtHost, Report, Rule};

/// Loads a driver, sends it a request if it has a device, unloads it, and advances the clock.
fn run(path: &Path, races: bool) -> Report {
    // Some drivers have a device only to leak it, and take no requests.
    let builder = NtHost::builder().driver(path).trace_all().allow(GapKind::NotReached);
    let host = if races { builder.races() } else { builder }.prepare().expect("a driver");
    let drive = || -> Result<(), Error> {
        host.load()?;
        if let Ok(device) = host.add_device() {
            device.ioctl(0x0022_2000, &[], 0)?;
        }
        host.unload()?;
        host.advance(Duration::from_secs(10))
    };
    match drive() {
        Ok(()) | Err(Error::Stopped(_)) => host.report(),
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn check(name: &str, rule: Rule, routine: Option<&str>) -> Finding {
    let report = run(&common::broken(name), rule == Rule::WriteRacesUnregister);
    let marked = common::marked_line(name).expect("a marked line");
    let found = report.findings_of(rule).find(|finding| {
        let line = finding.location.as_ref().and_then(|location| location.line);
        let file = finding.location.as_ref().and_then(|location| location.file.clone()).unwrap_or_default();
        line == Some(marked) && file.ends_with(&format!("{name}.rs"))
    });
    let Some(finding) = found else { panic!("{name}: {:#?}", report.findings()) };
    assert_eq!(finding.routine.as_deref(), routine, "{name}");
    assert!(finding.location.as_ref().is_some_and(|location| location.rva != 0), "{name}");
    let outermost = finding.stack.last().or(finding.location.as_ref()).and_then(|location| location.symbol.clone());
    let entered = ["DriverEntry", "dispatch", "run"].map(|entry| format!("{name}::{entry}"));
    assert!(outermost.is_some_and(|symbol| entered.contains(&symbol)), "{name}: {:#?}", finding.stack);
    run(&common::clean(name), rule == Rule::WriteRacesUnregister).assert_clean();
    finding.clone()
}

macro_rules! caught {
    ($($name:ident: $rule:ident, $routine:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), Rule::$rule, $routine);
        })*
    };
}

caught! {
    access_violation: AccessViolation, None;
    bad_argument: BadArgument, Some("ZwClose");
    bad_free: BadFree, Some("ExFreePoolWithTag");
    callback_after_unload: CallbackAfterUnload, Some("KeDelayExecutionThread");
    double_free: DoubleFree, Some("ExFreePoolWithTag");
    etw_misuse: EtwMisuse, Some("EtwUnregister");
    framework_misuse: FrameworkMisuse, Some("WdfObjectDelete");
    handle_leak: HandleLeak, None;
    hang: Hang, Some("KeWaitForSingleObject");
    illegal_instruction: IllegalInstruction, None;
    irql_changed: IrqlChanged, Some("DriverEntry");
    irql_too_high: IrqlTooHigh, Some("EtwRegister");
    irql_too_low: IrqlTooLow, Some("KeAcquireSpinLockAtDpcLevel");
    lock_leak: LockLeak, Some("DriverEntry");
    lock_misuse: LockMisuse, Some("KeReleaseSpinLock");
    lock_order: LockOrder, Some("KeAcquireSpinLockAtDpcLevel");
    no_execute: NoExecute, None;
    not_implemented: NotImplemented, Some("KeFooBar");
    object_leak: ObjectLeak, Some("IoCreateDevice");
    pageable_at_dispatch: PageableAtDispatch, None;
    pool_leak: PoolLeak, Some("ExAllocatePool2");
    pool_overrun: PoolOverrun, None;
    pool_slack: PoolOverrun, Some("ExFreePoolWithTag");
    registration_leak: RegistrationLeak, Some("EtwRegister");
    request_misuse: RequestMisuse, Some("IofCompleteRequest");
    request_never: RequestNever, Some("dispatch routine");
    request_twice: RequestTwice, Some("IofCompleteRequest");
    stack_overflow: StackOverflow, None;
    stale_registration: StaleRegistration, Some("EtwWrite");
    thread_leak: ThreadLeak, Some("PsCreateSystemThread");
    timer_leak: TimerLeak, Some("KeSetTimer");
    use_after_free: UseAfterFree, None;
    write_races_unregister: WriteRacesUnregister, Some("EtwUnregister");
    wrong_tag: WrongTag, Some("ExFreePoolWithTag");
}

/// Rules without a broken driver here: no driver can provoke the first, and callout drivers have tests of their own.
const ELSEWHERE: [Rule; 2] = [Rule::Host, Rule::WfpMisuse];

#[test]
fn every_rule_has_a_broken_driver() {
    let source = include_str!("rules.rs");
    for rule in Rule::ALL.iter().filter(|rule| !ELSEWHERE.contains(rule)) {
        let in_list = format!(": {rule:?}, ");
        let in_check = format!("Rule::{rule:?}, ");
        assert!(source.contains(&in_list) || source.contains(&in_check), "{rule:?} has no driver");
    }
}

#[test]
fn a_trap_names_the_component_that_is_not_modelled() {
    let finding = check("foreign_component", Rule::NotImplemented, Some("NdisGetVersion"));
    assert_eq!(finding.detail, "NdisGetVersion belongs to NDIS (NDIS.SYS): this host does not implement it");
}

#[test]
fn a_bug_check_names_its_code_and_parameters() {
    let finding = check("bug_check", Rule::BugCheck, Some("KeBugCheckEx"));
    assert_eq!(finding.detail, "bug check 0xE2 (0x1, 0x2, 0x3, 0x4)");
}

#[test]
fn a_fast_fail_names_its_code() {
    let finding = check("fast_fail", Rule::FastFail, None);
    assert_eq!(finding.detail, "__fastfail(3): corrupt list entry");
}

#[test]
fn a_panic_names_file_line_and_column() {
    let panic = check("rust_panic", Rule::RustPanic, Some("KeBugCheckEx"));
    let line = common::marked_line("rust_panic").expect("a marked line");
    assert!(panic.detail.ends_with(&format!("rust_panic.rs:{line}:5")), "{}", panic.detail);
}
