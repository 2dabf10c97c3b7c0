//! The virtual clock: timers, delays, waits and locks end at exact times, and no test waits for real time.

use std::time::Duration;

use crate::common::c::{FRAMEWORK, Log, build, framework};
use nt_host::{Device, IoRequest, NtHost, RequestKind, Rule};

const START_TIMERS: u32 = 0x0022_2000;
const STOP_TIMERS: u32 = 0x0022_2004;
const WAITS: u32 = 0x0022_2008;
const DEFERRED: u32 = 0x0022_200C;
const LOCKS: u32 = 0x0022_2010;
const SCOPE: u32 = 0x0022_2014;
const PARENTS: u32 = 0x0022_2018;
const ENDS: u32 = 0x0022_201C;

fn start() -> (NtHost, Device, Log) {
    let host = framework("kmdf_time").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device, Log::default())
}

fn order(device: &Device, code: u32) {
    assert!(device.ioctl(code, &[], 0).expect("a reply").status.is_success());
}

#[test]
fn timers_fire_at_their_moments_at_their_levels() {
    let (host, device, mut log) = start();
    order(&device, START_TIMERS);
    assert_eq!(log.lines(&host), ["was set 0", "was set 1"]);
    host.advance(Duration::from_millis(160)).expect("time");
    let expected =
        ["tick 1 at 50", "tick 2 at 100", "once at 120, irql 2", "tick 3 at 150", "passive until 160, irql 0"];
    assert_eq!(log.lines(&host), expected);
    order(&device, STOP_TIMERS);
    host.advance(Duration::from_secs(1)).expect("time");
    assert_eq!(log.lines(&host), ["stops 0", "stops 1"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_timer_that_still_runs_is_stopped_with_its_device() {
    let (host, device, mut log) = start();
    order(&device, START_TIMERS);
    device.remove().expect("removal");
    log.lines(&host);
    host.advance(Duration::from_secs(1)).expect("time");
    assert!(log.lines(&host).is_empty());
    host.unload().expect("unload").assert_clean();
}

#[test]
fn no_time_passes_while_the_threads_of_clients_start_and_end() {
    const UNKNOWN: u32 = 0x0022_2FFC;
    let (host, device, mut log) = start();
    let first = device.open().expect("a file");
    let second = device.open().expect("a file");
    order(&device, START_TIMERS);
    log.lines(&host);
    let request = IoRequest { kind: RequestKind::DEVICE_CONTROL, code: UNKNOWN, ..IoRequest::default() };
    // With the schedule 0, they run at the same time.
    for schedule in 0..50 {
        let answers = host.interleave(schedule, &[(&first, request.clone()), (&second, request.clone())]);
        assert!(answers.expect("replies").iter().all(|answer| answer.status.is_error()));
    }
    assert!(log.lines(&host).is_empty(), "no timer has fired");
    drop((first, second));
    host.unload().expect("unload").assert_clean();
}

/// Microsoft's Windows-Driver-Frameworks: `FlushAndRundown` in `shared/core/fxtimer.cpp`, `shared/core/fxworkitem.cpp` and
/// `kmdf/src/core/fxdpc.cpp` sets the parent to NULL before the cleanup callback. The order of siblings is that of
/// `shared/object/fxobject.cpp`, `FxObject::AddChildObjectInternal`.
#[test]
fn timers_work_items_and_dpcs_have_no_parent_when_they_are_cleaned_up() {
    let (host, device, mut log) = start();
    order(&device, PARENTS);
    assert_eq!(log.lines(&host), ["parents 1 1 1"]);
    device.remove().expect("removal");
    let expected = [
        "cleanup timer, parent 0",
        "cleanup work item, parent 0",
        "cleanup dpc, parent 0",
        "destroy timer, parent 0",
        "destroy work item, parent 0",
        "destroy dpc, parent 0",
    ];
    assert_eq!(log.lines(&host), expected);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn delays_and_waits_take_virtual_time_only() {
    let (host, device, mut log) = start();
    // With a real clock this call would take a year.
    host.advance(Duration::from_hours(365 * 24)).expect("time");
    order(&device, WAITS);
    let expected = [
        "delayed until 500",
        "waited: 102 at 700",
        "looked: 102 at 700",
        "timer: 0 at 730",
        "either: 1 at 760",
        "both: 0 at 760",
    ];
    assert_eq!(log.lines(&host), expected);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_deferred_call_runs_at_dispatch_level_and_hands_over_to_a_work_item() {
    let (host, device, mut log) = start();
    order(&device, DEFERRED);
    assert_eq!(log.lines(&host), ["dpc at irql 2", "work at irql 0"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_wait_lock_is_waited_for_until_its_timeout_or_its_release() {
    let (host, device, mut log) = start();
    order(&device, LOCKS);
    let mut lines = log.lines(&host);
    assert_eq!(lines.first().map(String::as_str), Some("contender 102 at 20"));
    assert_eq!(lines.split_off(lines.len() - 2), ["spin lock at irql 2", "without it at irql 0"]);
    assert_eq!(lines, ["contender 102 at 20", "released at 50", "contender 0 at 50"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn callbacks_of_a_scope_run_one_at_a_time() {
    let (host, device, mut log) = start();
    order(&device, SCOPE);
    assert_eq!(log.lines(&host), ["scoped, 0 inside"]);
    host.unload().expect("unload").assert_clean();
}

/// Microsoft's Windows-Driver-Frameworks: `FxWorkItem::FlushAndRundown` in `shared/core/fxworkitem.cpp`.
#[test]
fn a_work_item_runs_before_it_is_deleted_and_may_delete_itself() {
    let (host, device, mut log) = start();
    order(&device, ENDS);
    assert_eq!(log.lines(&host), ["last work", "deleted", "ends itself", "ended itself"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn callbacks_that_wait_for_themselves_are_found() {
    let image = build("kmdf_time", 1, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    order(&device, ENDS);
    order(&device, START_TIMERS);
    host.advance(Duration::from_millis(160)).expect("time");
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.findings().iter().map(|finding| finding.detail.as_str()).collect();
    let call = |function| format!("calls {function} for an object whose callback calls it");
    assert_eq!(found, [call("WdfWorkItemFlush"), call("WdfTimerStop")]);
    assert_eq!(report.findings_of(Rule::FrameworkMisuse).count(), 2);
}
