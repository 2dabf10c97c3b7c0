//! Devices with resources and interrupts that the test raises, and IRPs that a KMDF driver preprocesses.

use crate::common::c::{FRAMEWORK, Log, build, framework, plain};
use etw_types::NtStatus;
use nt_host::{Builder, Device, Error, GapKind, NtHost, Resource, Rule};

pub(crate) const LOCK: u32 = 0x0022_2000;
pub(crate) const TWICE: u32 = 0x0022_2004;
const KEEP: u32 = 0x0022_2008;
const PACKET: u32 = 0x0022_200C;
const REFUSED: u32 = 0x0022_2010;
const COUNTED: u32 = 0x0022_2014;
const DELETE: u32 = 0x0022_2018;
pub(crate) const INFO: u32 = 0x0022_201C;
pub(crate) const SYNC: u32 = 0x0022_2020;
pub(crate) const ACQUIRE: u32 = 0x0022_2024;
pub(crate) const ENABLE: u32 = 0x0022_2028;
pub(crate) const DISABLE: u32 = 0x0022_202C;
const POLICY: u32 = 0x0022_2030;

fn start(builder: Builder) -> (NtHost, Device, Log) {
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device, Log::default())
}

fn with_bug(name: &str, bug: u32) -> Builder {
    NtHost::builder().driver(build(name, bug, "FxDriverEntry", &FRAMEWORK))
}

/// Raises an interrupt. Returns whether a service routine claimed it, or the status if none is connected.
fn interrupt(device: &Device, number: u32) -> Result<bool, NtStatus> {
    match device.interrupt(number) {
        Ok(claimed) => Ok(claimed),
        Err(Error::Status(status)) => Err(status),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn an_interrupt_runs_the_routine_at_the_devices_irql_and_then_its_dpc() {
    let memory = Resource::Memory { start: 0xFE00_0000, length: 0x1000 };
    let builder = framework("kmdf_hardware").resource(Resource::LineInterrupt).resource(memory);
    // The test also raises interrupts that are not connected.
    let builder = builder.allow(GapKind::NotReached);
    let (host, device, mut log) = start(builder);
    let expected = [
        "prepare: 2 raw",
        "resource 2, flags 0: 9 90",
        "resource 3, flags 0: fe000000 0",
        "d0 entry",
        "enable 0, irql 9",
    ];
    assert_eq!(log.lines(&host), expected);
    assert_eq!(interrupt(&device, 0), Ok(true));
    assert_eq!(log.lines(&host), ["isr 0, message 0, irql 9", "queued 1", "dpc, irql 2, device 1"]);
    // The second interrupt object is not connected, because the device has only one interrupt.
    assert_eq!(interrupt(&device, 1), Err(NtStatus::NotFound));
    device.ioctl(LOCK, &[], 0).expect("a reply");
    let expected = [
        "locked, irql 9",
        "synchronised, irql 9, context 6",
        "synchronised: 1, irql 0",
        "vector 90, irql 9, message 0",
    ];
    assert_eq!(log.lines(&host), expected);
    device.ioctl(TWICE, &[], 0).expect("a reply");
    assert_eq!(log.lines(&host), ["disable 0, irql 9", "enable 0, irql 9"]);
    assert_eq!(interrupt(&device, 0), Ok(false));
    device.sleep().expect("sleep");
    assert_eq!(log.lines(&host)[1..], ["disable 0, irql 9", "d0 exit"]);
    assert_eq!(interrupt(&device, 0), Err(NtStatus::NotFound));
    device.wake().expect("waking up");
    assert_eq!(log.lines(&host), ["d0 entry", "enable 0, irql 9"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn each_message_has_its_interrupt_object() {
    let (host, device, mut log) = start(framework("kmdf_hardware").resource(Resource::MessageInterrupts(2)));
    let expected = [
        "prepare: 2 raw",
        "resource 2, flags 3: 9 90",
        "resource 2, flags 3: 9 91",
        "d0 entry",
        "enable 0, irql 9",
        "enable 1, irql 9",
    ];
    assert_eq!(log.lines(&host), expected);
    assert_eq!(interrupt(&device, 1), Ok(true));
    assert_eq!(log.lines(&host), ["isr 1, message 1, irql 9", "queued 1", "dpc, irql 2, device 1"]);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["disable 1, irql 9", "disable 0, irql 9", "d0 exit"]);
    host.unload().expect("unload").assert_clean();
}

/// The routine waits for a DPC. No finding results, and the DPC runs while the routine waits.
#[test]
fn a_passive_level_interrupt_runs_its_routine_at_passive_level_and_then_its_work_item() {
    let (host, device, mut log) = start(with_bug("kmdf_hardware", 4).resource(Resource::LineInterrupt));
    assert_eq!(log.lines(&host)[2..], ["d0 entry", "enable 0, irql 0"]);
    assert_eq!(interrupt(&device, 0), Ok(true));
    let expected = ["isr 0, message 0, irql 0", "waited 0", "queued 1", "work item, irql 0, lock 1"];
    assert_eq!(log.lines(&host), expected);
    device.ioctl(LOCK, &[], 0).expect("a reply");
    let expected = [
        "locked, irql 0",
        "synchronised, irql 0, context 6",
        "synchronised: 1, irql 0",
        "vector 90, irql 0, message 0",
    ];
    assert_eq!(log.lines(&host), expected);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["disable 0, irql 0", "d0 exit"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn interrupt_objects_for_descriptors_have_these_interrupts_and_end_with_the_hardware() {
    let (host, device, mut log) = start(with_bug("kmdf_hardware", 5).resource(Resource::MessageInterrupts(2)));
    assert_eq!(log.lines(&host)[3..], ["created 0", "created 0", "d0 entry", "enable 0, irql 9", "enable 1, irql 9"]);
    assert_eq!(interrupt(&device, 1), Ok(true));
    // The number is that of the object, as in `FxInterrupt::Initialize`, and not that of the message.
    assert_eq!(log.lines(&host)[0], "isr 0, message 0, irql 9");
    assert_eq!(interrupt(&device, 0), Ok(true));
    assert_eq!(log.lines(&host)[0], "isr 1, message 1, irql 9");
    device.remove().expect("removal");
    let expected = ["disable 1, irql 9", "disable 0, irql 9", "d0 exit", "release", "cleanup of 0", "cleanup of 1"];
    assert_eq!(log.lines(&host), expected);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_driver_cannot_delete_an_object_that_only_the_framework_deletes() {
    let (host, device, mut log) = start(framework("kmdf_hardware").resource(Resource::LineInterrupt));
    device.ioctl(DELETE, &[], 0).expect("a reply");
    log.lines(&host);
    assert_eq!(interrupt(&device, 0), Ok(true));
    assert_eq!(log.lines(&host)[0], "isr 0, message 0, irql 9");
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["disable 0, irql 9", "d0 exit"]);
    let report = host.unload().expect("unload");
    let found: Vec<_> =
        report.findings().iter().map(|finding| (finding.rule, finding.routine.as_deref(), &*finding.detail)).collect();
    let expected =
        ["interrupt", "queue"].map(|kind| format!("deletes an object that only the framework deletes: {kind}"));
    assert_eq!(found, expected.each_ref().map(|what| (Rule::FrameworkMisuse, Some("WdfObjectDelete"), &**what)));
}

/// What the driver may not do with the interrupt follows `shared/irphandlers/pnp/interruptobject.cpp` and `fxinterruptapi.cpp` of
/// Microsoft's published sources. Without an interrupt there is no lock, and `WdfInterruptSynchronize` reads through NULL.
#[test]
fn an_interrupt_that_is_not_connected_has_no_lock() {
    let (host, device, mut log) = start(framework("kmdf_hardware"));
    log.lines(&host);
    for code in [INFO, ENABLE, DISABLE, ACQUIRE] {
        device.ioctl(code, &[], 0).expect("a reply");
    }
    let first = "info: processors 0, number 0, vector 0, irql 0, mode 0, polarity 0, message 0, share 0, object 0";
    let expected = [first, "info: processors 0, number 1, vector 0", "acquired, irql 0"];
    assert_eq!(log.lines(&host), expected);
    assert_eq!(interrupt(&device, 0), Err(NtStatus::NotFound));
    let Err(Error::Stopped(report)) = device.ioctl(SYNC, &[], 0) else { panic!("a lock") };
    let found: Vec<_> = report.findings().iter().map(|finding| (finding.rule, finding.routine.as_deref())).collect();
    let expected = [
        (Rule::FrameworkMisuse, Some("WdfInterruptAcquireLock")),
        (Rule::FrameworkMisuse, Some("WdfInterruptReleaseLock")),
        (Rule::AccessViolation, Some("WdfInterruptSynchronize")),
    ];
    assert_eq!(found, expected, "{report:#?}");
}

#[test]
fn an_interrupt_that_the_driver_disables_stays_disconnected_until_the_driver_enables_it() {
    let builder = framework("kmdf_hardware").resource(Resource::LineInterrupt).allow(GapKind::NotReached);
    let (host, device, mut log) = start(builder);
    log.lines(&host);
    device.ioctl(DISABLE, &[], 0).expect("a reply");
    device.sleep().expect("sleep");
    device.wake().expect("waking up");
    assert_eq!(log.lines(&host), ["disable 0, irql 9", "d0 exit", "d0 entry"]);
    assert_eq!(interrupt(&device, 0), Err(NtStatus::NotFound));
    for code in [ENABLE, ENABLE, POLICY] {
        device.ioctl(code, &[], 0).expect("a reply");
    }
    assert_eq!(log.lines(&host), ["enable 0, irql 9"]);
    assert_eq!(interrupt(&device, 0), Ok(true));
    let report = host.unload().expect("unload");
    let found: Vec<_> = report.findings().iter().map(|finding| (finding.rule, finding.routine.as_deref())).collect();
    let policy = (Rule::BadArgument, Some("WdfInterruptSetPolicy"));
    assert_eq!(found, [(Rule::FrameworkMisuse, Some("WdfInterruptEnable")), policy, policy]);
}

#[test]
fn a_device_whose_interrupt_cannot_be_enabled_or_disabled_fails() {
    let builder = with_bug("kmdf_hardware", 7).resource(Resource::LineInterrupt).allow(GapKind::NotStarted);
    let host = builder.start().expect("DriverEntry");
    let mut log = Log::default();
    match host.add_device() {
        Err(Error::Status(status)) => assert_eq!(status, NtStatus::DevicePowerFailure),
        other => panic!("{other:?}"),
    }
    // It was not enabled, so it is not disabled.
    assert_eq!(log.lines(&host)[2..], ["d0 entry", "enable 0, irql 9", "d0 exit"]);
    host.unload().expect("unload").assert_clean();
    let (host, device, mut log) = start(with_bug("kmdf_hardware", 8).resource(Resource::LineInterrupt));
    device.sleep().expect("sleep");
    assert_eq!(log.lines(&host)[4..], ["disable 0, irql 9", "d0 exit"]);
    let report = host.unload().expect("unload");
    let gaps: Vec<_> = report.gaps().iter().map(|gap| (gap.kind, &*gap.detail)).collect();
    assert_eq!(gaps, [(GapKind::NotStarted, "EvtInterruptDisable returned 0xC0000001 STATUS_UNSUCCESSFUL")]);
}

#[test]
fn interrupt_objects_are_refused_in_the_wrong_place_or_without_what_they_need_there() {
    let (host, device, mut log) = start(with_bug("kmdf_hardware", 6).resource(Resource::LineInterrupt));
    let expected = [
        "too early c000000d",
        "prepare: 1 raw",
        "resource 2, flags 0: 9 90",
        "without descriptors c0000184",
        "d0 entry",
        "too late c0000184",
    ];
    assert_eq!(log.lines(&host), expected);
    device.remove().expect("removal");
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.findings_of(Rule::FrameworkMisuse).map(|finding| finding.detail.as_str()).collect();
    let expected = [
        "InterruptRaw and InterruptTranslated must be NULL in EvtDriverDeviceAdd",
        "InterruptRaw and InterruptTranslated must be set in EvtDevicePrepareHardware",
        "called outside of EvtDriverDeviceAdd and EvtDevicePrepareHardware",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_service_routine_that_waits_is_found() {
    let (host, device, _) = start(with_bug("kmdf_hardware", 1).resource(Resource::LineInterrupt));
    device.interrupt(0).expect("an interrupt");
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.findings_of(Rule::IrqlTooHigh).map(|finding| finding.detail.as_str()).collect();
    assert_eq!(found, ["called at IRQL 9, allowed up to 1"]);
}

#[test]
fn a_driver_without_the_framework_connects_to_messages_or_to_a_line() {
    let (host, device, mut log) = start(plain("wdm_interrupt").resource(Resource::MessageInterrupts(3)));
    let expected = ["start: 3 resources", "the first: 30102, level 9, vector 90", "connected: 0, version 3"];
    assert_eq!(log.lines(&host), expected);
    assert_eq!(interrupt(&device, 2), Ok(true));
    assert_eq!(log.lines(&host), ["message 2, context 5, irql 9", "dpc, irql 2"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();

    let (host, device, mut log) = start(plain("wdm_interrupt").resource(Resource::LineInterrupt));
    let expected = ["connected: 0, version 2", "inside, irql 9, context 4", "synchronised: 1, irql 0"];
    assert_eq!(log.lines(&host)[2..], expected);
    assert_eq!(interrupt(&device, 0), Ok(false));
    assert_eq!(log.lines(&host), ["line, context 5, irql 9"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();

    let (host, device, mut log) = start(plain("wdm_interrupt").allow(GapKind::NotReached));
    assert_eq!(log.lines(&host), ["start: 0 resources"]);
    assert_eq!(interrupt(&device, 0), Err(NtStatus::NotFound));
    host.unload().expect("unload").assert_clean();
}

#[test]
fn drivers_can_replace_what_a_device_requires_before_it_starts() {
    let image = build("wdm_interrupt", 2, "DriverEntry", &["ntoskrnl"]);
    let builder = || NtHost::builder().driver(&image);
    let memory = Resource::Memory { start: 0xFE00_0000, length: 0x1000 };
    let line = ["filter: 104 bytes", "requires 2, type 2, vectors 10 to 10", "start: 2 resources"];
    let message = ["filter: 72 bytes", "requires 1, type 2, vectors fffffffe to fffffffe", "start: 1 resources"];
    for (builder, expected) in [
        (builder().resource(Resource::LineInterrupt).resource(memory), &line[..]),
        (builder().resource(Resource::MessageInterrupts(1)), &message),
        (builder(), &["filter: 0 bytes", "start: 0 resources"]),
    ] {
        let (host, _, mut log) = start(builder);
        assert_eq!(log.lines(&host)[..expected.len()], *expected);
        // The list that the driver allocated is freed.
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn an_interrupt_that_stays_connected_is_found() {
    let image = build("wdm_interrupt", 1, "DriverEntry", &["ntoskrnl"]);
    let (host, ..) = start(NtHost::builder().driver(image).resource(Resource::LineInterrupt));
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.findings_of(Rule::ObjectLeak).map(|finding| finding.detail.as_str()).collect();
    assert_eq!(found, ["does not remove a connected interrupt"]);
}

#[test]
fn a_driver_sees_packets_before_the_framework() {
    let (host, device, mut log) = start(with_bug("kmdf_hardware", 3));
    assert_eq!(log.lines(&host), ["packet 1b.0", "prepare: 0 raw", "d0 entry"]);
    let reply = device.ioctl(COUNTED, &[9], 2).expect("a reply");
    assert_eq!(reply.status, NtStatus::Success);
    assert_eq!(reply.output.as_slice(), [9, 9].as_slice());
    assert_eq!(log.lines(&host), ["packet 0.0", "packet e.0", "completion routine: 0, 2 bytes, context 8"]);
    assert_eq!(device.ioctl(REFUSED, &[], 0).expect("a reply").status, NtStatus::AccessDenied);
    assert_eq!(device.ioctl(PACKET, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(log.lines(&host)[4..], [format!("packet: major e, code {PACKET:x}")]);
    let pending = device.begin_ioctl(KEEP, &[], 0).expect("a request");
    pending.cancel().expect("a cancellation");
    assert_eq!(pending.wait().expect("a reply").status, NtStatus::Cancelled);
    assert_eq!(log.lines(&host), ["packet 0.0", "packet e.0", "canceled"]);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["packet 1b.1", "packet 1b.2", "d0 exit"]);
    let device = host.add_device().expect("another device");
    log.lines(&host);
    device.surprise_remove().expect("removal");
    assert_eq!(log.lines(&host), ["packet 1b.17", "d0 exit", "packet 1b.2"]);
    host.unload().expect("unload").assert_clean();

    // A driver without a preprocess callback can get the IRP of a request, too.
    let (host, device, mut log) = start(framework("kmdf_hardware"));
    log.lines(&host);
    device.ioctl(PACKET, &[], 0).expect("a reply");
    assert_eq!(log.lines(&host), [format!("packet: major e, code {PACKET:x}")]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_packet_without_a_location_for_the_framework_is_found() {
    let (host, device, _) = start(with_bug("kmdf_hardware", 2));
    device.ioctl(PACKET, &[], 0).expect("a reply");
    device.remove().expect("removal");
    let report = host.unload().expect("unload");
    let found: Vec<&str> = report.findings_of(Rule::RequestMisuse).map(|finding| finding.detail.as_str()).collect();
    let what = "the framework's stack location is not set up: call IoSkipCurrentIrpStackLocation";
    assert!(!found.is_empty(), "{found:?}");
    assert!(found.iter().all(|detail| *detail == what), "{found:?}");
}
