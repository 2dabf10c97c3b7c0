//! A driver that tries to misuse the crate, and code that must not compile.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use etw_types::{Guid, NtStatus};
use nt_host::{Device, Error, GapKind, NtHost, PendingRequest, Resource, WmiOperation, WmiRequest};

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
const ATTEMPT: u32 = code(15);
const OVERRUN: u32 = code(16);
const REQUEUE: u32 = code(17);
const SEND_AWAY: u32 = code(18);
const NEXT: u32 = code(19);

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
        (ATTEMPT, NtStatus::Success, &[0; 4]),
        (OVERRUN, NtStatus::Success, b""),
        (NEST, NtStatus::Success, &[0, 1, 1, 0]),
    ] {
        let reply = device.ioctl(code, b"input", 32).expect("a reply");
        assert_eq!(reply.status, status, "{code:#x}: {}", host.report().output());
        assert_eq!(reply.output.as_slice(), output, "{code:#x}: {}", host.report().output());
    }
    assert_eq!(device.read(8).expect("a reply").information, 0, "the reply does not fit");
    assert_eq!(device.write(b"abc").expect("a reply").information, 3, "not more than there is");
    assert!(device.ioctl(REQUEUE, b"input", 32).expect("a reply").status.is_error(), "it was not in that queue");
    let guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61b0);
    for method in [1, 2] {
        let operation = WmiOperation::Method(method);
        let asked = WmiRequest { guid, instance: 0, operation, input: vec![0; 8], output: 8 };
        assert_eq!(device.wmi(asked).expect("a reply").status, NtStatus::BufferTooSmall);
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
    let sent = second.ioctl(SEND_AWAY, &[], 0).expect("a reply");
    assert!(sent.status.is_error(), "the device below is gone: {}", sent.status);
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
    let first = host.add_device().expect("a device");
    let second = host.add_device().expect("a device");
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
    let first = host.add_device().expect("a device");
    let second = host.add_device().expect("a device");
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
fn a_device_that_is_added_with_a_mistake_does_not_start() {
    let builder = NtHost::builder().driver(driver("kmdf_misuse.sys"));
    let host = builder.allow(GapKind::NotAdded).allow(GapKind::NotStarted).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    for (mistake, expected) in [
        (1, NtStatus::InvalidParameter),
        (2, NtStatus::Unsuccessful),
        // It was added, but its callbacks find no value.
        (3, NtStatus::DeviceNotReady),
    ] {
        assert_eq!(device.ioctl(NEXT, &[mistake], 0).expect("a reply").status, NtStatus::Success);
        match host.add_device() {
            Err(Error::Status(status)) => assert_eq!(status, expected, "{mistake}"),
            other => panic!("{mistake}: {other:?}"),
        }
    }
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn an_interrupt_that_is_deferred_twice_is_deferred_once() {
    let builder = NtHost::builder().driver(driver("kmdf_misuse.sys")).resource(Resource::LineInterrupt);
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    assert!(device.interrupt(0).expect("an interrupt"), "the second call is refused");
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

/// Functions that take no arguments, or any value of theirs: they only read, or choose a setting.
const HARMLESS: [&str; 13] = [
    "allow_zero_length",
    "as_int",
    "create_io_default_queue",
    "dispatch",
    "input_length",
    "kind",
    "not_power_managed",
    "output_length",
    "parallel_up_to",
    "sequential",
    "wakes",
    "wide",
    "written",
];

#[test]
fn every_safe_function_has_an_attempt_to_misuse_it() {
    let sources = |folder: PathBuf| {
        let files = fs::read_dir(folder).expect("sources").map(|entry| entry.expect("a source").path());
        files.map(|path| fs::read_to_string(path).expect("a source")).collect::<String>()
    };
    let attempts = sources(workspace().join("misuse/src")) + &sources(workspace().join("refused/src"));
    let is_called = |name: &str| {
        let calls = [".", "::"].map(|before| format!("{before}{name}"));
        let after = |found: &str, call: &str| found[call.len()..].starts_with(['(', ')', ':', ',']);
        calls.iter().any(|call| attempts.match_indices(call).any(|(place, _)| after(&attempts[place..], call)))
    };
    let crate_sources = sources(workspace().join("../src"));
    let functions = crate_sources.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("pub ")?;
        let name = line.strip_prefix("const ").unwrap_or(line).strip_prefix("fn ")?;
        name.split(['(', '<']).next()
    });
    let functions: BTreeSet<&str> = functions.filter(|name| *name != "raw").collect();
    assert!(functions.len() > 100, "{functions:?}");
    let missing: Vec<_> = functions.iter().filter(|name| !HARMLESS.contains(name) && !is_called(name)).collect();
    assert!(missing.is_empty(), "nothing tries to misuse {missing:?}");
    let unknown: Vec<_> = HARMLESS.iter().filter(|name| !functions.contains(*name) || is_called(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
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
        assert!(errors.iter().all(|line| line.starts_with(error)), "{case}: {text}");
        assert!(!errors.is_empty(), "{case}: {text}");
        cases += 1;
    }
    assert!(cases > 12, "{cases} cases");
}
