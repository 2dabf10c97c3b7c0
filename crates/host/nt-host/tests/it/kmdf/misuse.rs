//! A driver that tries to misuse the crate, and code that must not compile.

use std::fs;

use etw_types::NtStatus;
use nt_host::{Device, Error, GapKind, NtHost, PendingRequest};

use super::{build, code, driver, start, workspace};

const WRITE_NOTHING: u32 = code(0);
const WRITE_TOO_MUCH: u32 = code(1);
const DROP: u32 = code(2);
const MOVE: u32 = code(3);
const KEEP: u32 = code(4);
const RELEASE: u32 = code(5);
const NEST: u32 = code(6);
const LEAK: u32 = code(7);
const CONFUSE: u32 = code(8);
const FORWARD_AWAY: u32 = code(9);
const REUSE_INPUT: u32 = code(10);
const ABANDON: u32 = code(11);
const KEEP_AWAY: u32 = code(12);
const UNLOCKED: u32 = code(14) | 3;

#[test]
fn a_client_gets_the_bytes_that_were_written_and_no_others() {
    let host = start("kmdf_misuse.sys");
    let device = host.add_device().expect("a device");
    for (code, status, output) in [
        (WRITE_NOTHING, NtStatus::Success, b"".as_slice()),
        (WRITE_TOO_MUCH, NtStatus::Success, b"four"),
        (ABANDON, NtStatus::Success, b""),
        (REUSE_INPUT, NtStatus::InvalidDeviceRequest, b""),
        (DROP, NtStatus::Cancelled, b""),
        (MOVE, NtStatus::Success, b""),
        (CONFUSE, NtStatus::InvalidDeviceRequest, b""),
        (UNLOCKED, NtStatus::Success, b""),
        (NEST, NtStatus::Success, &[0, 1, 1, 0]),
    ] {
        let reply = device.ioctl(code, b"input", 32).expect("a reply");
        assert_eq!((reply.status, reply.output.as_slice()), (status, output), "{code:#x}");
    }
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

fn keep(device: &Device) -> PendingRequest {
    device.begin_ioctl(KEEP, &[], 0).expect("a request")
}

#[test]
fn one_request_is_kept_and_completed_once_by_the_driver_or_its_client() {
    let host = start("kmdf_misuse.sys");
    let device = host.add_device().expect("a device");
    let kept = keep(&device);
    assert_eq!(device.ioctl(KEEP, &[], 0).expect("a reply").status, NtStatus::DeviceBusy, "there is one already");
    assert_eq!(device.ioctl(RELEASE, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Success);
    assert_eq!(device.ioctl(RELEASE, &[], 0).expect("a reply").status, NtStatus::NotFound, "it is gone");
    let cancelled = keep(&device);
    cancelled.cancel().expect("a cancellation");
    assert_eq!(cancelled.wait().expect("a reply").status, NtStatus::Cancelled);
    assert_eq!(
        device.ioctl(RELEASE, &[], 0).expect("a reply").status,
        NtStatus::NotFound,
        "the client has cancelled it"
    );
    // A device that keeps a request sleeps, because the driver acknowledges it.
    let kept = keep(&device);
    device.sleep().expect("sleep");
    device.wake().expect("wake");
    assert_eq!(device.ioctl(RELEASE, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Success);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn handles_that_outlive_their_device_do_nothing_and_its_value_is_dropped_after_the_last_one() {
    let host = start("kmdf_misuse.sys");
    let device = host.add_device().expect("a device");
    assert_eq!(device.ioctl(LEAK, &[], 0).expect("a reply").status, NtStatus::Success);
    device.remove().expect("removal");
    let second = host.add_device().expect("a device");
    assert_eq!(
        second.ioctl(FORWARD_AWAY, &[], 0).expect("a reply").status,
        NtStatus::DeletePending,
        "the queue is gone"
    );
    second.remove().expect("removal");
    let report = host.unload().expect("unload");
    report.assert_clean();
    let lines: Vec<&str> = report.output().lines().filter(|line| line.starts_with("misuse")).collect();
    let expected = [
        "misuse: cleanup",
        // The second device, to which nothing refers.
        "misuse: cleanup",
        "misuse: dropped",
        "misuse: the value outlives its device: false",
        "misuse: dropped",
        "misuse: unload",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_queue_of_another_device_is_refused() {
    let host = start("kmdf_misuse.sys");
    let (first, second) = (host.add_device().expect("a device"), host.add_device().expect("a device"));
    assert_eq!(first.ioctl(LEAK, &[], 0).expect("a reply").status, NtStatus::Success);
    let refused = second.ioctl(FORWARD_AWAY, &[], 0).expect("a reply");
    assert!(refused.status.is_error(), "{}", refused.status);
    first.remove().expect("removal");
    second.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_request_in_a_place_of_another_device_can_be_cancelled() {
    let host = start("kmdf_misuse.sys");
    let (first, second) = (host.add_device().expect("a device"), host.add_device().expect("a device"));
    assert_eq!(first.ioctl(LEAK, &[], 0).expect("a reply").status, NtStatus::Success);
    for _ in 0..2 {
        let kept = second.begin_ioctl(KEEP_AWAY, &[], 0).expect("a request");
        kept.cancel().expect("a cancellation");
        assert_eq!(kept.wait().expect("a reply").status, NtStatus::Cancelled);
    }
    // The first device goes. Its place is still there, because the driver keeps it.
    first.remove().expect("removal");
    let kept = second.begin_ioctl(KEEP_AWAY, &[], 0).expect("a request");
    kept.cancel().expect("a cancellation");
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Cancelled);
    second.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_whose_value_cannot_be_made_is_not_added() {
    for (routine, call) in
        [("WdfTimerCreate", 1), ("WdfWorkItemCreate", 2), ("WdfObjectCreate", 1), ("WdfIoQueueCreate", 2)]
    {
        let builder = NtHost::builder().driver(driver("kmdf_misuse.sys")).allow(GapKind::NotAdded);
        let host = builder.fail_call(routine, NtStatus::InsufficientResources, call).start().expect("DriverEntry");
        match host.add_device() {
            Err(Error::Status(status)) => assert_eq!(status, NtStatus::InsufficientResources, "{routine}"),
            other => panic!("{routine}: {other:?}"),
        }
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn the_compiler_refuses_what_would_be_unsound() {
    let source = fs::read_to_string(workspace().join("refused/src/lib.rs")).expect("the cases");
    driver("kmdf_refused.sys");
    let mut cases = 0;
    for line in source.lines().filter_map(|line| line.strip_prefix("#[cfg(case = \"")) {
        let (case, error) = line.split_once("\")] // ").expect("a case with its error");
        let output = build(Some(("kmdf-refused", case)));
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{case} compiles");
        let errors = text.lines().filter(|line| line.starts_with("error[") || line.starts_with("error: lifetime"));
        let errors: Vec<&str> = errors.collect();
        assert!(errors.iter().all(|line| line.starts_with(error)) && !errors.is_empty(), "{case}: {text}");
        cases += 1;
    }
    assert!(cases > 12, "{cases} cases");
}
