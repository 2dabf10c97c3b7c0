//! WDM and KMDF drivers written in C.

use crate::common::c::{FRAMEWORK, build};
use etw_types::NtStatus;
use nt_host::{NtHost, Report, Rule};

#[test]
fn a_wdm_driver_in_c_runs_and_is_clean() {
    let image = build("wdm", 0, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    let reply = device.ioctl(0x0022_2000, b"Hello, kernel", 64).expect("a reply");
    assert_eq!((reply.status, reply.output.as_slice()), (NtStatus::Success, b"HELLO, KERNEL".as_slice()));
    assert_eq!(device.ioctl(0x0022_2000, b"long", 2).expect("a reply").status, NtStatus::BufferTooSmall);
    assert_eq!(device.ioctl(0x0022_2004, b"", 0).expect("a reply").status, NtStatus::InvalidDeviceRequest);
    let report = host.unload().expect("unload");
    report.assert_clean();
    let expected = "c: \\Registry\\Machine\\System\\CurrentControlSet\\Services\\c_wdm_0 at irql 0, 123456789abcdef\n\
                    c: 1 requests, bye\n";
    assert_eq!(report.output(), expected);
}

#[test]
fn a_kmdf_driver_in_c_runs_and_is_clean() {
    let image = build("kmdf", 0, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let reply = device.ioctl(0x0022_2000, &[1, 2, 3], 4).expect("a reply");
    assert_eq!((reply.status, reply.output), (NtStatus::Success, 6_u32.to_le_bytes().to_vec()));
    assert_eq!(device.ioctl(0x0022_2000, &[], 4).expect("a reply").status, NtStatus::BufferTooSmall);
    device.remove().expect("removal");
    let report = host.unload().expect("unload");
    report.assert_clean();
    assert_eq!(report.output(), "c: device gone after 2 requests\n");
}

/// Runs a KMDF driver with the mistake `bug`; 0 is no mistake.
fn broken(bug: u32) -> Report {
    let image = build("kmdf_broken", bug, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    device.ioctl(0x0022_2000, &[], 0).expect("a reply");
    host.unload().expect("unload")
}

/// The line number of a mark in the driver's source.
fn marked(bug: u32) -> Option<u32> {
    let source = include_str!("../../drivers/c/kmdf_broken.c");
    let mark = format!("/* mark {bug} */");
    (1..).zip(source.lines()).find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

#[test]
fn mistakes_with_the_framework_are_caught_at_their_lines() {
    broken(0).assert_clean();
    for (bug, rule, routine, line) in [
        (1, Rule::RequestTwice, Some("WdfRequestComplete"), 1),
        (2, Rule::RequestNever, Some("EvtIo callback"), 2),
        (3, Rule::ObjectLeak, None, 3),
        (4, Rule::IrqlTooHigh, Some("WdfWaitLockAcquire"), 4),
        (5, Rule::RequestMisuse, Some("WdfRequestComplete"), 1),
    ] {
        let report = broken(bug);
        let found = report.of(rule).find(|finding| {
            let place = finding.place.as_ref();
            finding.routine.as_deref() == routine && place.is_some_and(|place| place.line == marked(line))
        });
        assert!(found.is_some(), "{bug}: {:#?}", report.findings());
    }
}
