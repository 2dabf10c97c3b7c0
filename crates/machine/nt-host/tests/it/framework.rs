//! KMDF objects, Plug and Play, power, files and queues: which callbacks run, and in which order.

use std::time::Duration;

use crate::common::c::{FRAMEWORK, Log, build, framework};
use etw_types::NtStatus;
use nt_host::{Builder, Device, Error, GapKind, NtHost, RegistryValue, Rule};

const PING: u32 = 0x0022_2000;
const KEEP: u32 = 0x0022_2004;
const TREE: u32 = 0x0022_2008;
const REGISTRY: u32 = 0x0022_200C;
const COLLECTION: u32 = 0x0022_2010;
const MEMORY: u32 = 0x0022_2014;
const KEEP_CANCELABLE: u32 = 0x0022_2018;

fn start(name: &str) -> (NtHost, Device, Log) {
    let host = framework(name).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device, Log::default())
}

fn with_bug(bug: u32) -> Builder {
    NtHost::builder().driver(build("kmdf_life", bug, "FxDriverEntry", &FRAMEWORK))
}

fn status(device: &Device, code: u32, input: &[u8]) -> NtStatus {
    device.ioctl(code, input, 0).expect("a reply").status
}

#[test]
fn a_device_comes_and_goes_in_the_documented_order() {
    let (host, device, mut log) = start("kmdf_life");
    let up = ["DeviceAdd", "PrepareHardware 0", "D0Entry from 5", "D0EntryPostInterruptsEnabled", "SelfManagedIoInit"];
    assert_eq!(log.lines(&host), up);
    device.remove().expect("removal");
    let down = [
        "QueryRemove",
        "SelfManagedIoSuspend",
        "D0ExitPreInterruptsDisabled",
        "D0Exit to 5",
        "ReleaseHardware",
        "SelfManagedIoFlush",
        "SelfManagedIoCleanup",
        "cleanup device",
        "destroy device",
    ];
    assert_eq!(log.lines(&host), down);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_that_is_pulled_out_is_not_queried() {
    let (host, device, mut log) = start("kmdf_life");
    device.sleep().expect("sleep");
    log.lines(&host);
    device.surprise_remove().expect("removal");
    // Devices do not come and go while the system sleeps, so it wakes up first.
    let down = [
        "D0Entry from 4",
        "D0EntryPostInterruptsEnabled",
        "SelfManagedIoRestart",
        "SurpriseRemoval",
        "SelfManagedIoSuspend",
        "D0ExitPreInterruptsDisabled",
        "D0Exit to 5",
        "ReleaseHardware",
        "SelfManagedIoFlush",
        "SelfManagedIoCleanup",
        "cleanup device",
        "destroy device",
    ];
    assert_eq!(log.lines(&host), down);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_that_sleeps_holds_requests_and_goes_on_with_them_when_it_wakes() {
    let (host, device, mut log) = start("kmdf_life");
    let kept = device.begin_ioctl(KEEP, &[], 0).expect("a request");
    log.lines(&host);
    device.sleep().expect("sleep");
    let down = ["SelfManagedIoSuspend", "IoStop 1", "D0ExitPreInterruptsDisabled", "D0Exit to 4"];
    assert_eq!(log.lines(&host), down);
    let held = device.begin_ioctl(PING, &[], 0).expect("a request");
    assert_eq!(log.lines(&host), ["FileCreate"]);
    device.wake().expect("wake");
    let up = ["D0Entry from 4", "D0EntryPostInterruptsEnabled", "IoResume", "request of file", "SelfManagedIoRestart"];
    assert_eq!(log.lines(&host), up);
    for request in [kept, held] {
        assert_eq!(request.wait().expect("a reply").status, NtStatus::Success);
    }
    host.unload().expect("unload").assert_clean();
}

/// Microsoft's Windows-Driver-Frameworks: every exit from D0 in `shared/irphandlers/pnp/powerstatemachine.cpp` suspends
/// requests (`FxIoStopProcessingForPowerHold`). `FxPkgPnp::PnpCleanupForRemove` in `pnpstatemachine.cpp` purges them
/// later, and `PnpEventRemovedCommonCode` (`IRP_MN_REMOVE_DEVICE`) ends self-managed I/O. Clients have closed their files
/// by then.
#[test]
fn a_request_that_is_kept_ends_when_its_device_is_pulled_out() {
    let (host, device, mut log) = start("kmdf_life");
    let kept = device.begin_ioctl(KEEP, &[], 0).expect("a request");
    log.lines(&host);
    device.surprise_remove().expect("removal");
    assert_eq!(kept.wait().expect("a reply").status.as_int(), 0xC000_0120);
    let down = [
        "SurpriseRemoval",
        "SelfManagedIoSuspend",
        "IoStop 1",
        "D0ExitPreInterruptsDisabled",
        "D0Exit to 5",
        "ReleaseHardware",
        "IoStop 2",
        "SelfManagedIoFlush",
        "FileCleanup",
        "FileClose",
        "cleanup file",
        "SelfManagedIoCleanup",
        "cleanup device",
        "destroy device",
    ];
    assert_eq!(log.lines(&host), down);
    host.unload().expect("unload").assert_clean();
}

/// `FxIoQueue::StopProcessingForPower` in `shared/irphandlers/io/fxioqueue.cpp` cancels before it stops: a cancelable
/// request is suspended with the flag that says so, and is then canceled and not stopped again.
#[test]
fn a_cancelable_request_is_suspended_and_then_canceled_when_its_device_is_pulled_out() {
    let (host, device, mut log) = start("kmdf_life");
    let kept = device.begin_ioctl(KEEP_CANCELABLE, &[], 0).expect("a request");
    log.lines(&host);
    device.surprise_remove().expect("removal");
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Cancelled);
    let down = [
        "SurpriseRemoval",
        "SelfManagedIoSuspend",
        "IoStop 10000001",
        "D0ExitPreInterruptsDisabled",
        "D0Exit to 5",
        "ReleaseHardware",
        "cancel",
        "SelfManagedIoFlush",
    ];
    assert_eq!(log.lines(&host)[..8], down);
    host.unload().expect("unload").assert_clean();
}

/// Microsoft's documentation of `IRP_MN_QUERY_REMOVE_DEVICE` and `IRP_MN_REMOVE_DEVICE`: there are no open handles when
/// the device is removed.
#[test]
fn files_are_closed_before_a_device_leaves_in_an_orderly_way() {
    let (host, device, mut log) = start("kmdf_life");
    let file = device.open().expect("a file");
    log.lines(&host);
    device.remove().expect("removal");
    let down = ["QueryRemove", "FileCleanup", "FileClose", "cleanup file", "SelfManagedIoSuspend"];
    assert_eq!(log.lines(&host)[..5], down);
    drop(file);
    host.unload().expect("unload").assert_clean();
}

/// On Windows the client could not close its file, and the open file would veto the removal.
#[test]
fn a_request_that_cannot_be_canceled_is_found_when_its_device_leaves_in_an_orderly_way() {
    let (host, device, mut log) = start("kmdf_life");
    let kept = device.begin_ioctl(KEEP, &[], 0).expect("a request");
    log.lines(&host);
    device.remove().expect("removal");
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Cancelled);
    // The request keeps its file until the removal ends it. The file is closed before it is cleaned up with its device.
    let lines = log.lines(&host);
    assert_eq!(lines[..3], ["QueryRemove", "FileCleanup", "SelfManagedIoSuspend"]);
    let place = |line| lines.iter().position(|other| other == line).expect("a line");
    assert!(place("IoStop 2") < place("FileClose"), "{lines:?}");
    assert!(place("FileClose") < place("cleanup file"), "{lines:?}");
    let report = host.unload().expect("unload");
    let found: Vec<Rule> = report.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!(found, [Rule::RequestNever]);
}

#[test]
fn a_device_whose_driver_refuses_to_let_it_go_keeps_its_files() {
    let host = with_bug(5).allow(GapKind::NotRemoved).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let file = device.open().expect("a file");
    let mut log = Log::default();
    log.lines(&host);
    assert!(device.clone().remove().is_err());
    assert_eq!(log.lines(&host), ["QueryRemove"]);
    assert_eq!(file.ioctl(PING, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(log.lines(&host), ["request of file"]);
    drop(file);
    host.unload().expect("unload").assert_clean();
}

/// Microsoft's Windows-Driver-Frameworks, `shared/irphandlers/pnp/pnpstatemachine.cpp`: the status of the start is
/// `STATUS_DEVICE_POWER_FAILURE` (`PnpEventHardwareAvailablePowerPolicyFailed`), unless `EvtDevicePrepareHardware` fails.
#[test]
fn a_device_that_fails_to_power_up_does_not_start() {
    let unsuccessful = "0xC0000001";
    let power_failure = "0xC000009E";
    let expected: [(u32, &str, &[&str]); 4] = [
        (1, unsuccessful, &["ReleaseHardware"]),
        (2, power_failure, &["D0Entry from 5", "ReleaseHardware"]),
        (3, power_failure, &["D0Entry from 5", "D0EntryPostInterruptsEnabled", "D0Exit to 5", "ReleaseHardware"]),
        (
            4,
            power_failure,
            &[
                "D0Entry from 5",
                "D0EntryPostInterruptsEnabled",
                "SelfManagedIoInit",
                "D0ExitPreInterruptsDisabled",
                "D0Exit to 5",
                "ReleaseHardware",
                "SelfManagedIoFlush",
                "SelfManagedIoCleanup",
            ],
        ),
    ];
    for (bug, status, events) in expected {
        let host = with_bug(bug).allow(GapKind::NotStarted).start().expect("DriverEntry");
        let error = host.add_device().expect_err("a device that fails to start");
        assert!(error.to_string().contains(status), "{bug}: {error}");
        let lines = Log::default().lines(&host);
        let expected = [&["DeviceAdd", "PrepareHardware 0"], events, &["cleanup device", "destroy device"]].concat();
        assert_eq!(lines, expected, "{bug}");
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn a_file_is_created_cleaned_up_and_closed_around_a_request() {
    let (host, device, mut log) = start("kmdf_life");
    log.lines(&host);
    assert_eq!(status(&device, PING, &[]), NtStatus::Success);
    assert_eq!(log.lines(&host), ["FileCreate", "request of file", "FileCleanup", "FileClose", "cleanup file"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn objects_are_cleaned_up_from_the_leaves_and_destroyed_when_no_reference_is_left() {
    let (host, device, mut log) = start("kmdf_life");
    log.lines(&host);
    assert_eq!(status(&device, TREE, &[]), NtStatus::Success);
    let lines = log.lines(&host);
    // Siblings are in the order of their creation: Microsoft's Windows-Driver-Frameworks,
    // `shared/object/fxobject.cpp`, `FxObject::AddChildObjectInternal` inserts at the tail.
    let tree = [
        "cleanup leaf",
        "cleanup first",
        "cleanup second",
        "cleanup parent",
        "destroy leaf",
        "destroy second",
        "destroy parent",
        "deleted",
        "destroy first",
    ];
    assert_eq!(lines.get(1..10).expect("the tree"), tree);
    assert_eq!(status(&device, COLLECTION, &[]), NtStatus::Success);
    assert_eq!(log.lines(&host).get(1).map(String::as_str), Some("2 items, zero and two"));
    host.unload().expect("unload").assert_clean();
}

#[test]
fn memory_comes_from_lookaside_lists_and_requests_describe_theirs() {
    let (host, device, mut log) = start("kmdf_life");
    log.lines(&host);
    assert_eq!(status(&device, MEMORY, b"hello"), NtStatus::Success);
    assert_eq!(log.lines(&host).get(1).map(String::as_str), Some("48 bytes, 5 described, there"));
    host.unload().expect("unload").assert_clean();
}

#[test]
fn values_under_the_parameters_key_are_read_and_written() {
    let host = framework("kmdf_life").parameter("Depth", RegistryValue::Dword(17)).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    log.lines(&host);
    assert_eq!(status(&device, REGISTRY, &[]), NtStatus::Success);
    assert_eq!(log.lines(&host).get(1..4).expect("values"), ["Depth 0 17", "Nothing c0000034", "Nothing 0 7"]);
    host.unload().expect("unload").assert_clean();
}

fn states(bug: u32) -> NtHost {
    states_of(bug).start().expect("DriverEntry")
}

fn states_with(bug: u32, intended: GapKind) -> NtHost {
    states_of(bug).allow(intended).start().expect("DriverEntry")
}

fn states_of(bug: u32) -> Builder {
    NtHost::builder().driver(build("kmdf_states", bug, "FxDriverEntry", &FRAMEWORK))
}

/// `FxDriver::Initialize` in Microsoft's core/fxdriver.cpp sets `AddDevice`, the unload routine and the dispatch
/// table.
#[test]
fn the_framework_takes_over_the_driver_object_and_receives_its_packets() {
    let host = states(0);
    let mut log = Log::default();
    assert_eq!(log.lines(&host), ["AddDevice 1, 28 dispatch routines, unload 1"]);
    let device = host.add_device().expect("a device");
    log.lines(&host);
    assert_eq!(status(&device, 0x0022_200C, &[]), NtStatus::Success);
    assert_eq!(log.lines(&host), ["from its own device: 0, 4 bytes, 1234"]);
    device.remove().expect("removal");
    log.lines(&host);
    host.unload().expect("unload").assert_clean();
    assert_eq!(log.lines(&host), ["EvtDriverUnload"]);
}

/// `FxRequest::GetDeviceControlOutputMemoryObject` in Microsoft's core/fxrequest.cpp refuses `METHOD_NEITHER` only for
/// requests of programs.
#[test]
fn another_driver_may_pass_buffers_without_a_method() {
    let host = states(0);
    let device = host.add_device().expect("a device");
    let file = device.open().expect("a file");
    assert_eq!(file.internal_ioctl(PING | 3, &[], 4).expect("a reply").output, [0x34, 0x12, 0, 0]);
    assert_eq!(file.ioctl(PING | 3, &[], 4).expect("a reply").status, NtStatus::InvalidDeviceRequest);
    drop((file, device));
    host.unload().expect("unload").assert_clean();
}

/// With `WdfDriverInitNoDispatchOverride`, `FxDriver::Initialize` sets none of them and drops the driver's callbacks.
#[test]
fn a_driver_that_keeps_its_driver_object_gets_no_callbacks() {
    let host = states_with(1, GapKind::NotAdded);
    let mut log = Log::default();
    assert_eq!(log.lines(&host), ["AddDevice 0, 0 dispatch routines, unload 0"]);
    assert!(matches!(host.add_device(), Err(Error::Status(NtStatus::Unsuccessful))), "its own AddDevice fails");
    host.unload().expect("unload").assert_clean();
    assert_eq!(log.lines(&host), ["own AddDevice", "own unload"]);
}

#[test]
fn a_driver_may_replace_add_device_and_call_the_frameworks() {
    let host = states(3);
    let mut log = Log::default();
    log.lines(&host);
    host.add_device().expect("a device").remove().expect("removal");
    assert_eq!(log.lines(&host)[..2], ["own AddDevice", "created, policy 500"]);
    host.unload().expect("unload").assert_clean();
}

/// The states are those of Microsoft's shared/irphandlers/pnp/pnpstatemachine.cpp: `StartedStopping`, `Stopped`,
/// `StartingFromStopped` and `Restarting`.
#[test]
fn a_device_that_is_stopped_and_restarted_shows_the_states_in_between() {
    let host = states(4);
    let mut log = Log::default();
    let device = host.add_device().expect("a device");
    log.lines(&host);
    device.rebalance().expect("a restart");
    let lines = [
        "D0Exit to 5",
        "pnp 120, power 314",
        "ReleaseHardware",
        "pnp 11e, power 315",
        "PrepareHardware, policy 563",
        "pnp 11d, power 315",
        "D0Entry from 5, policy 501",
        "pnp 118, power 30f",
        "asked for the state",
    ];
    assert_eq!(log.lines(&host), lines);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

/// The values are those of `WDF_DEVICE_POWER_POLICY_STATE` in Microsoft's wdfdevice.h; the order of states is that of
/// irphandlers/pnp/powerpolicystatemachine.cpp for a device without idle and wake settings.
#[test]
fn the_state_of_power_policy_follows_the_device() {
    let host = states(0);
    let mut log = Log::default();
    log.lines(&host);
    let device = host.add_device().expect("a device");
    let up = ["created, policy 500", "PrepareHardware, policy 500", "D0Entry from 5, policy 501", "SelfManagedIoInit"];
    assert_eq!(log.lines(&host), [&up[..], &["asked for the state"]].concat());
    let mut state = || {
        assert_eq!(status(&device, 0x0022_2004, &[]), NtStatus::Success);
        log.lines(&host)
    };
    assert_eq!(state(), ["policy 565"]);
    device.sleep().expect("sleep");
    assert_eq!(state(), ["D0Exit to 4", "policy 52c"]);
    device.wake().expect("wake");
    assert_eq!(state(), ["D0Entry from 4, policy 52e", "policy 565"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

/// Each request has a reference to its file, and the I/O manager sends `IRP_MJ_CLOSE` after the last one.
#[test]
fn a_closed_file_stays_until_its_last_request_is_completed() {
    let (host, device, mut log) = start("kmdf_life");
    let file = device.open().expect("a file");
    let requests = [0; 2].map(|_| file.begin_ioctl(KEEP_CANCELABLE, &[], 0).expect("a request"));
    log.lines(&host);
    file.close().expect("the end of the file");
    assert_eq!(log.lines(&host), ["FileCleanup"]);
    let [first, second] = requests;
    for (request, closes) in [(first, false), (second, true)] {
        request.cancel().expect("a cancellation");
        assert_eq!(request.wait().expect("a reply").status, NtStatus::Cancelled);
        host.advance(Duration::from_millis(1)).expect("time");
        assert_eq!(log.lines(&host).iter().any(|line| line == "FileClose"), closes);
    }
    // A client that closes its file when the device is removed does not delay the removal.
    let file = device.open().expect("a file");
    let request = file.begin_ioctl(KEEP_CANCELABLE, &[], 0).expect("a request");
    file.close().expect("the end of the file");
    log.lines(&host);
    device.remove().expect("removal");
    assert_eq!(request.wait().expect("a reply").status, NtStatus::Cancelled);
    let lines = log.lines(&host);
    let position = |wanted: &str| lines.iter().position(|line| line.starts_with(wanted));
    assert!(position("FileClose").is_some_and(|close| Some(close) < position("D0Exit")), "{lines:?}");
    host.unload().expect("unload").assert_clean();
}

/// The states in which Microsoft's irphandlers/pnp/pnpstatemachine.cpp and powerstatemachine.cpp call the driver.
#[test]
fn the_states_of_plug_and_play_and_power_follow_the_device() {
    let states = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().filter_map(|line| Some(line.strip_prefix("pnp ")?.replace(", power", ""))).collect()
    };
    for (bug, surprise) in [(4, false), (4, true), (5, false)] {
        let host = states_of(bug).start().expect("DriverEntry");
        let mut log = Log::default();
        let device = host.add_device().expect("a device");
        // The device is created; PrepareHardware, D0Entry, SelfManagedIoInit.
        assert_eq!(states(log.lines(&host)), ["105 300", "108 300", "108 30f", "108 312"]);
        let state = |device: &Device| assert_eq!(status(device, 0x0022_2004, &[]), NtStatus::Success);
        state(&device);
        device.sleep().expect("sleep");
        state(&device);
        device.wake().expect("wake");
        state(&device);
        let pageable = ["119 307", "119 31c", "119 31f", "119 333", "119 307"];
        let not_pageable = ["119 8308", "119 831d", "119 8320", "119 8334", "119 8308"];
        assert_eq!(states(log.lines(&host)), if bug == 4 { pageable } else { not_pageable });
        if surprise {
            device.surprise_remove().expect("removal");
            // SurpriseRemoval, D0Exit, ReleaseHardware.
            assert_eq!(states(log.lines(&host)), ["127 307", "129 314", "12a 315"]);
        } else {
            device.remove().expect("removal");
            assert_eq!(states(log.lines(&host)), ["10e 314", "117 315"]);
        }
        host.unload().expect("unload").assert_clean();
    }
}

/// `FxPkgPnp::SetDeviceFailed` in Microsoft's irphandlers/pnp/fxpkgpnp.cpp only tells the Plug and Play manager that
/// the state has changed. The manager asks for the state on its own thread, which first finishes a start.
#[test]
fn a_device_that_fails_is_queried_for_its_state_and_then_removed() {
    let down = ["asked for the state", "SurpriseRemoval", "D0Exit to 5", "ReleaseHardware"];
    let host = states_with(0, GapKind::NotStarted);
    let mut log = Log::default();
    let device = host.add_device().expect("a device");
    log.lines(&host);
    assert_eq!(status(&device, 0x0022_2008, &[]), NtStatus::Success);
    host.advance(Duration::from_millis(1)).expect("time");
    assert_eq!(log.lines(&host), [["failing"].as_slice(), &down].concat());
    host.unload().expect("unload").assert_clean();

    let host = states_with(2, GapKind::NotStarted);
    let mut log = Log::default();
    host.add_device().expect("a device that starts and then fails");
    host.advance(Duration::from_millis(1)).expect("time");
    let lines = log.lines(&host);
    assert_eq!(
        lines[3..],
        [["D0Entry from 5, policy 501", "D0Entry ends", "SelfManagedIoInit"].as_slice(), &down].concat()
    );
    host.unload().expect("unload").assert_clean();
}
