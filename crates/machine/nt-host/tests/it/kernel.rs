//! WDM drivers: device stacks, Plug and Play, power, cancellation, and routines of every part of the kernel.

use std::time::Duration;

use crate::common::c;
use crate::common::c::{Log, plain};
use etw_types::NtStatus;
use nt_host::{Builder, Device, Error, GapKind, NtHost, Os, RegistryKey, RegistryValue, Rule};

const WAIT: u32 = 0x0022_2000;
const BELOW: u32 = 0x0022_2004;

/// The steps of `wdm_kernel`, in order.
const STEPS: [&str; 14] = [
    "pool and lookaside lists",
    "memory descriptor lists",
    "resources and system threads",
    "fast mutexes",
    "push locks",
    "spin locks",
    "work items",
    "timers and deferred calls",
    "extended timers",
    "registry",
    "semaphores and mutexes",
    "bit maps",
    "devices by name",
    "the upper halves of slots",
];

fn start() -> (NtHost, Device, Log) {
    started(plain("wdm_stack"))
}

/// The device reports that it has failed, which is a gap.
fn start_to_fail() -> (NtHost, Device, Log) {
    started(plain("wdm_stack").allow(GapKind::NotStarted))
}

fn started(builder: Builder) -> (NtHost, Device, Log) {
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device, Log::default())
}

/// The steps of `wdm_objects`, in order.
const OBJECTS: [&str; 15] = [
    "exported data",
    "processes",
    "threads",
    "processors",
    "devices",
    "packets",
    "files by name",
    "lookaside lists",
    "the service's key",
    "values of the registry",
    "activity ids",
    "modules and opaque objects",
    "links between directories of names",
    "callbacks about boot drivers",
    "conversions and information about the system",
];

/// The steps of `wdm_system`, in order.
const SYSTEM: [&str; 14] = [
    "the kernel's image",
    "modules",
    "security descriptors",
    "generic tables",
    "cancel-safe queues",
    "the run-time library",
    "counts of characters",
    "printing",
    "buses and ports",
    "names of objects",
    "symbolic links",
    "smaller routines",
    "information about keys",
    "sessions",
];

/// The steps of `wdm_lifetime`, in order.
const LIFETIME: [&str; 5] =
    ["records of bug-check callbacks", "references", "attached devices", "open files", "queued work items"];
/// The steps of `wdm_conform`, in order.
const CONFORM: [&str; 8] = [
    "references of objects",
    "names of events and directories",
    "contents of directories",
    "identity of threads",
    "affinity",
    "waiters for a resource",
    "limits of stacks",
    "sizes of files",
];

/// The steps of `wdm_sync`, in order.
const SYNC: [&str; 6] =
    ["guarded mutexes", "flushed deferred calls", "shared resources", "pulsed events", "satisfied waits", "queues"];

/// Has a driver run its steps and checks that each one returns 0. A step that fails returns a status or a line number.
pub(crate) fn every_step(driver: &str, steps: &[&str]) {
    every_step_of(&plain(driver).start().expect("DriverEntry"), steps);
}

pub(crate) fn every_step_of(host: &NtHost, steps: &[&str]) {
    steps_succeed(host, steps);
    host.unload().expect("unload").assert_clean();
}

/// Has a driver run its steps, and checks that each one returns 0.
pub(crate) fn steps_succeed(host: &NtHost, steps: &[&str]) {
    let device = host.add_device().expect("a device");
    let reply = device.ioctl(0x0022_2000, &[], 256).expect("a reply");
    assert_eq!(reply.status, NtStatus::Success);
    let words = reply.output.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    let failed: Vec<(&str, String)> = steps
        .iter()
        .zip(words)
        .filter(|(_, status)| *status != 0)
        .map(|(step, status)| (*step, format!("{status:#x}, or line {}", status & 0xFFFF)))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(reply.output.len(), steps.len() * 4);
}

#[test]
fn every_part_of_the_kernel_does_what_a_driver_checks() {
    every_step("wdm_kernel", &STEPS);
}

#[test]
fn objects_data_threads_and_files_are_as_on_windows() {
    every_step("wdm_objects", &OBJECTS);
}

#[test]
fn counts_names_threads_and_processors_are_as_documented() {
    every_step("wdm_conform", &CONFORM);
}

#[test]
fn features_of_older_and_larger_drivers_work_as_on_windows() {
    let deep = RegistryKey::Path(r"\Registry\Machine\Software\CSystem\Deep".into());
    let builder = plain("wdm_system").trace_all().registry(deep, "Given", RegistryValue::Dword(7));
    let host = builder.start().expect("DriverEntry");
    every_step_of(&host, &SYSTEM);
    assert!(host.notes().iter().any(|note| note.starts_with("MM_SYSTEM_RANGE_START at image+")), "{:?}", host.notes());
}

#[test]
fn a_driver_without_an_unload_routine_stays_and_leaks_nothing() {
    let host = plain("wdm_stays").start().expect("DriverEntry");
    assert!(matches!(host.unload(), Err(Error::NotUnloaded)), "it stays");
    host.report().assert_clean();
}

#[test]
fn a_limit_of_memory_is_the_drivers_and_not_the_hosts() {
    let host = plain("wdm_stays").memory(1024).allow(GapKind::NotLoaded).prepare().expect("a machine");
    assert!(
        matches!(host.load(), Err(Error::DriverEntry(NtStatus::InsufficientResources, _))),
        "no memory for the driver"
    );
    host.report().assert_clean();
}

#[test]
fn a_driver_that_takes_devices_needs_an_unload_routine_and_may_delete_a_device_before_it_passes_the_removal_on() {
    let host = plain("wdm_stays").hide("RtlRandomEx").start().expect("DriverEntry");
    host.add_device().expect("a device").remove().expect("a removal");
    assert_eq!(Log::default().lines(&host), (1..=7).map(|number| format!("passed {number}")).collect::<Vec<_>>());
    host.report().assert_clean();
    assert!(matches!(host.unload(), Err(Error::NotUnloaded)), "it stays");
    let found: Vec<_> = host.report().findings().iter().map(|found| found.detail.clone()).collect();
    assert_eq!(found, ["has AddDevice but no unload routine"]);
}

#[test]
fn deleted_devices_and_records_live_as_long_as_on_windows() {
    every_step("wdm_lifetime", &LIFETIME);
}

#[test]
fn what_is_never_released_or_used_too_late_is_found() {
    for (bug, rule, routine, detail) in [
        (1, Rule::ObjectLeak, None, "does not release 1 reference to an object"),
        (2, Rule::UseAfterFree, None, "in a freed buffer or object"),
        (3, Rule::ObjectLeak, None, "does not remove a bug-check callback"),
    ] {
        let image = c::build("wdm_lifetime", bug, "DriverEntry", &["ntoskrnl"]);
        let host = NtHost::builder().driver(image).start().expect("DriverEntry");
        let _ = host.add_device().expect("a device").ioctl(0x0022_2000, &[], 256);
        let _ = host.unload();
        let report = host.report();
        let [found] = report.findings() else { panic!("{bug}: {:#?}", report.findings()) };
        assert_eq!(found.rule, rule, "{bug}: {found:?}");
        assert_eq!(found.routine.as_deref(), routine, "{bug}: {found:?}");
        assert!(found.detail.contains(detail), "{bug}: {}", found.detail);
    }
}

#[test]
fn a_file_that_the_driver_keeps_is_closed_after_the_last_reference_at_passive_level() {
    let host = plain("wdm_lifetime").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    let file = device.open().expect("a file");
    assert_eq!(file.ioctl(0x0022_2004, &[], 0).expect("a reply").status, NtStatus::Success);
    file.close().expect("closed");
    assert_eq!(log.lines(&host), ["function 12, irql 0"]);
    device.ioctl(0x0022_2008, &[], 0).expect("a reply");
    host.advance(Duration::from_millis(1)).expect("time");
    assert_eq!(log.lines(&host), ["function 2, irql 0"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn threads_synchronize_as_on_windows() {
    every_step("wdm_sync", &SYNC);
    // Guarded mutexes raise the IRQL only since Windows 8.
    every_step_of(&plain("wdm_sync").os(Os::Win7).start().expect("DriverEntry"), &SYNC);
}

#[test]
fn a_resource_that_another_thread_has_is_not_released() {
    let image = c::build("wdm_sync", 1, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    host.add_device().expect("a device").ioctl(0x0022_2000, &[], 256).expect("a reply");
    let report = host.unload().expect("unload");
    let found: Vec<_> = report.findings().iter().map(|found| (found.rule, found.routine.as_deref())).collect();
    assert_eq!(found, [(Rule::LockMisuse, Some("ExReleaseResourceLite"))]);
}

#[test]
fn a_packet_in_a_cancel_safe_queue_is_taken_once_or_canceled() {
    let host = plain("wdm_system").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    device.ioctl(0x0022_2000, &[], 256).expect("the queue is initialised");
    let file = device.open().expect("a file");
    let waiting = file.begin_read(1).expect("a request");
    assert_eq!(file.write(&[0]).expect("a reply").status, NtStatus::Success);
    assert_eq!(waiting.wait().expect("a reply").information, 1);
    let waiting = file.begin_read(1).expect("a request");
    waiting.cancel().expect("a cancellation");
    assert_eq!(waiting.wait().expect("a reply").status, NtStatus::Cancelled);
    let late = file.write(&[0]).expect("a reply");
    assert_eq!(late.status, NtStatus::Unsuccessful);
    assert_eq!(late.information, 1);
    file.close().expect("closed");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_starts_and_goes_through_its_stack() {
    let (host, device, mut log) = start();
    // After the start, Windows asks for capabilities, state and children.
    let up = ["added, 2 locations", "pnp d", "pnp 0", "started below: 0", "pnp 9", "pnp 14", "pnp 7"];
    assert_eq!(log.lines(&host), up);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["pnp 1", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
    assert_eq!(log.lines(&host), ["unloaded, no device"]);
}

#[test]
fn a_device_that_is_pulled_out_gets_a_surprise_removal() {
    let (host, device, mut log) = start();
    log.lines(&host);
    device.surprise_remove().expect("removal");
    assert_eq!(log.lines(&host), ["pnp 17", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

/// Documented for `IoInvalidateDeviceState`: the Plug and Play manager sends `IRP_MN_QUERY_PNP_DEVICE_STATE`, and removes
/// a device that returns `PNP_DEVICE_FAILED`.
#[test]
fn a_device_that_reports_its_failure_is_queried_and_removed() {
    let (host, device, mut log) = start_to_fail();
    log.lines(&host);
    assert_eq!(device.ioctl(0x0022_200C, &[], 0).expect("a reply").status, NtStatus::Success);
    host.advance(Duration::from_millis(1)).expect("time");
    let mut lines = log.lines(&host);
    // The client of the request closes its file before or after the query.
    lines.retain(|line| line != "cleanup");
    assert_eq!(lines, ["pnp 14", "pnp 17", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

/// Windows sends no plug-and-play requests while the system sleeps.
#[test]
fn a_sleeping_device_is_woken_up_before_it_is_queried_or_removed() {
    let woken = ["system power 2, 1", "device power 2, 1", "device power 1 done: 0"];
    let (host, device, mut log) = start();
    device.sleep().expect("sleep");
    log.lines(&host);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), [&woken[..], &["pnp 1", "pnp 2", "removed"]].concat());
    host.unload().expect("unload").assert_clean();

    let (host, device, mut log) = start_to_fail();
    device.sleep().expect("sleep");
    // The device reports that it has failed. It is asked for its state after it has woken up.
    assert_eq!(device.ioctl(0x0022_200C, &[], 0).expect("a reply").status, NtStatus::Success);
    host.advance(Duration::from_millis(1)).expect("time");
    assert!(!log.lines(&host).contains(&"pnp 17".to_owned()));
    device.wake().expect("wake");
    host.advance(Duration::from_millis(1)).expect("time");
    assert_eq!(log.lines(&host), [&woken[..], &["pnp 14", "pnp 17", "pnp 2", "removed"]].concat());
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_that_gets_other_resources_is_queried_stopped_and_started() {
    let (host, device, mut log) = start();
    log.lines(&host);
    device.rebalance().expect("a restart");
    let lines = ["pnp 5", "pnp 4", "pnp 0", "started below: 0", "pnp 9", "pnp 14", "pnp 7"];
    assert_eq!(log.lines(&host), lines);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_that_is_ejected_is_removed_in_an_orderly_way() {
    let (host, device, mut log) = start();
    log.lines(&host);
    assert_eq!(device.ioctl(0x0022_2010, &[], 0).expect("a reply").status, NtStatus::Success);
    host.advance(Duration::from_millis(1)).expect("time");
    let mut lines = log.lines(&host);
    lines.retain(|line| line != "cleanup");
    assert_eq!(lines, ["pnp 1", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_link_to_the_physical_device_opens_the_drivers_device() {
    let image = c::build("wdm_stack", 1, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let mut log = Log::default();
    let device = host.add_device().expect("a device");
    assert_eq!(log.lines(&host)[0], r"name: 0, \Device\NtHost0");
    let file = host.open(r"\\.\CStack").expect("a file");
    log.lines(&host);
    assert_eq!(file.ioctl(BELOW, &[], 0).expect("a reply").status, NtStatus::Success);
    // The file is closed before the device is removed.
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["below: c0000010, c0000010", "pnp 1", "cleanup", "pnp 2", "removed"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn the_owner_of_power_policy_asks_for_its_device() {
    let (host, device, mut log) = start();
    log.lines(&host);
    device.sleep().expect("sleep");
    let lines = ["system power 3, 4", "system power 2, 4", "device power 2, 4", "device power 4 done: 0"];
    assert_eq!(log.lines(&host), lines);
    device.wake().expect("wake");
    assert_eq!(log.lines(&host), ["system power 2, 1", "device power 2, 1", "device power 1 done: 0"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_pending_request_is_canceled_by_its_routine() {
    let (host, device, mut log) = start();
    log.lines(&host);
    let request = device.begin_ioctl(WAIT, &[], 0).expect("a request");
    request.cancel().expect("a cancellation");
    assert_eq!(log.lines(&host), ["canceled at irql 0"]);
    assert_eq!(request.wait().expect("a reply").status.as_int(), 0xC000_0120);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_request_that_a_driver_builds_comes_back_with_its_status() {
    let (host, device, mut log) = start();
    log.lines(&host);
    assert_eq!(device.ioctl(BELOW, &[], 0).expect("a reply").status, NtStatus::Success);
    // The device below belongs to the host, which completes this request with STATUS_INVALID_DEVICE_REQUEST.
    assert_eq!(log.lines(&host), ["below: c0000010, c0000010", "cleanup"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}
