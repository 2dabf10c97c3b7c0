//! WDM and KMDF drivers written in C.

use crate::common::c;
use crate::common::c::{FRAMEWORK, build};
use etw_types::NtStatus;
use nt_host::{Builder, Error, GapKind, NtHost, Outcome, RegistryKey, RegistryValue, Report, Rule};

#[test]
fn a_wdm_driver_in_c_runs_and_is_clean() {
    let image = build("wdm", 0, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    let reply = device.ioctl(0x0022_2000, b"Hello, kernel", 64).expect("a reply");
    assert_eq!(reply.status, NtStatus::Success);
    assert_eq!(reply.output.as_slice(), b"HELLO, KERNEL".as_slice());
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
    assert_eq!(reply.status, NtStatus::Success);
    assert_eq!(reply.output, 6_u32.to_le_bytes().to_vec());
    assert_eq!(device.ioctl(0x0022_2000, &[], 4).expect("a reply").status, NtStatus::BufferTooSmall);
    device.remove().expect("removal");
    let report = host.unload().expect("unload");
    report.assert_clean();
    assert_eq!(report.output(), "c: device gone after 2 requests\n");
}

/// Runs a KMDF driver with the mistake `bug`; 0 is not a mistake.
fn broken(bug: u32) -> Report {
    let image = build("kmdf_broken", bug, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    // The input is longer than the output, which limits the number of bytes.
    device.ioctl(0x0022_2000, &[7; 8], 4).expect("a reply");
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
        (6, Rule::RequestMisuse, Some("WdfRequestComplete"), 1),
    ] {
        let report = broken(bug);
        let found = report.findings_of(rule).find(|finding| {
            let place = finding.location.as_ref();
            finding.routine.as_deref() == routine && place.is_some_and(|location| location.line == marked(line))
        });
        assert!(found.is_some(), "{bug}: {:#?}", report.findings());
    }
}

/// Runs a KMDF driver that calls `WdfVerifierDbgBreakPoint`, with these settings of the framework.
fn with_breakpoint(settings: &[(&str, u32)]) -> Report {
    let image = build("kmdf_broken", 7, "FxDriverEntry", &FRAMEWORK);
    let key = r"\Registry\Machine\System\CurrentControlSet\Services\c_kmdf_broken_7\Parameters\Wdf";
    let set = |builder: Builder, (name, value): &(&str, u32)| {
        builder.registry(RegistryKey::Path(key.into()), name, RegistryValue::Dword(*value))
    };
    let host = settings.iter().fold(NtHost::builder().driver(image), set).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    match device.ioctl(0x0022_2000, &[7; 8], 4) {
        Ok(_) => host.unload().expect("unload"),
        Err(Error::Stopped(report)) => *report,
        Err(error) => panic!("{error}"),
    }
}

/// The page of `WdfVerifierDbgBreakPoint` says which values of the registry make it break.
#[test]
fn the_breakpoint_of_the_frameworks_verifier_stops_only_where_the_registry_says_so() {
    for settings in [&[][..], &[("VerifierOn", 0)], &[("DbgBreakOnError", 0), ("VerifierOn", 1)]] {
        with_breakpoint(settings).assert_clean();
    }
    for settings in [&[("DbgBreakOnError", 1)][..], &[("VerifierOn", 1)], &[("DbgBreakOnError", 1), ("VerifierOn", 0)]]
    {
        let report = with_breakpoint(settings);
        let finding = report.findings_of(Rule::BugCheck).next().expect("a finding");
        assert_eq!(finding.routine.as_deref(), Some("WdfVerifierDbgBreakPoint"), "{settings:?}");
        assert_eq!(finding.location.as_ref().and_then(|location| location.line), marked(7), "{settings:?}");
    }
}

/// A builder of a host for the driver whose device needs a port name.
fn gaps(bug: u32) -> Builder {
    NtHost::builder().driver(build("wdm_gaps", bug, "DriverEntry", &["ntoskrnl"]))
}

fn with_port(bug: u32) -> Builder {
    gaps(bug).registry(RegistryKey::Device, "PortName", RegistryValue::Text("COM5".into()))
}

/// Checks that a report has no findings and one gap. Returns its detail and its advice.
fn only_gap(report: &Report, kind: GapKind) -> (String, String) {
    let [gap] = report.gaps() else { panic!("{:#?}", report.gaps()) };
    assert_eq!(report.outcome(), Outcome::Incomplete, "{gap}");
    assert_eq!(gap.kind, kind, "{gap}");
    assert!(!report.is_clean(), "{:?}", report.findings());
    assert!(!report.is_complete(), "{:?}", report.findings());
    assert!(report.findings().is_empty(), "{:?}", report.findings());
    (gap.detail.clone(), gap.advice.join("; "))
}

#[test]
fn a_device_that_does_not_start_is_never_clean_and_the_missing_value_is_named() {
    let host = gaps(0).start().expect("DriverEntry");
    assert!(matches!(host.add_device(), Err(Error::Status(NtStatus::ObjectNameNotFound))));
    let (detail, advice) = only_gap(&host.unload().expect("unload"), GapKind::NotStarted);
    assert_eq!(detail, "IRP_MN_START_DEVICE was completed with 0xC0000034 STATUS_OBJECT_NAME_NOT_FOUND");
    assert!(
        advice.starts_with(
            r"the driver looked for the registry value PortName: set it with --registry device\PortName=VALUE"
        ),
        "{advice}"
    );
    // With the value it starts.
    let host = with_port(0).start().expect("DriverEntry");
    host.add_device().expect("a device").remove().expect("removal");
    host.unload().expect("unload").assert_clean();
    // A test can state that it intends the failure.
    let host = gaps(0).allow(GapKind::NotStarted).start().expect("DriverEntry");
    assert!(host.add_device().is_err());
    host.unload().expect("unload").assert_clean();
}

#[test]
#[should_panic(expected = "name it with `Builder::allow`")]
fn a_report_with_a_gap_does_not_pass_for_clean() {
    let host = gaps(0).start().expect("DriverEntry");
    assert!(host.add_device().is_err());
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_that_is_not_added_is_never_clean() {
    for (bug, kind, detail) in [
        (1, GapKind::NotAdded, "AddDevice returned 0xC00000BB STATUS_NOT_SUPPORTED"),
        (2, GapKind::NotAdded, "AddDevice returned success without attaching a device"),
        (3, GapKind::NotStarted, "IRP_MN_START_DEVICE was completed with 0xC00000BB STATUS_NOT_SUPPORTED"),
    ] {
        let host = with_port(bug).start().expect("DriverEntry");
        assert!(host.add_device().is_err(), "{bug}");
        let (found, advice) = only_gap(&host.unload().expect("unload"), kind);
        assert_eq!(found, detail, "{bug}");
        let names_interface =
            advice.contains("interface 496b8280-6f25-11d0-beaf-08002be2092f (BUS_INTERFACE_STANDARD)");
        assert_eq!(names_interface, bug == 3, "{bug}: {advice}");
    }
    let start = |bug| {
        let image = build("kmdf_life", bug, "FxDriverEntry", &FRAMEWORK);
        NtHost::builder().driver(image).start().expect("DriverEntry")
    };
    // A device that does not wake up, and one that the driver declares failed, are not exercised from then on.
    let host = start(7);
    let device = host.add_device().expect("a device");
    device.sleep().expect("sleep");
    device.wake().expect("the framework completes the IRP with success");
    let (detail, _) = only_gap(&host.unload().expect("unload"), GapKind::NotStarted);
    assert_eq!(detail, "EvtDeviceD0Entry returned 0xC0000001 STATUS_UNSUCCESSFUL");
    let host = start(8);
    host.add_device().expect("a device");
    let (detail, _) = only_gap(&host.unload().expect("unload"), GapKind::NotStarted);
    assert_eq!(detail, "the driver reported with WdfDeviceSetFailed that its device failed");
    let host = start(2);
    assert!(host.add_device().is_err());
    let (detail, advice) = only_gap(&host.unload().expect("unload"), GapKind::NotStarted);
    assert_eq!(detail, "EvtDeviceD0Entry returned 0xC0000001 STATUS_UNSUCCESSFUL");
    assert!(advice.contains("no hardware resources: add them with, for example, --resource line"), "{advice}");
}

#[test]
fn a_driver_with_the_framework_and_its_own_add_device_gets_a_device() {
    let host = c::framework("kmdf_miniport").start().expect("DriverEntry");
    host.add_device().expect("a device").remove().expect("removal");
    let report = host.unload().expect("unload");
    report.assert_clean();
    // After the start, Windows asks for capabilities, state and children.
    assert_eq!(report.output(), "added\npnp d\npnp 0\npnp 9\npnp 14\npnp 7\npnp 1\npnp 2\n");
}

#[test]
fn a_request_that_fails_in_the_driver_is_clean_and_one_that_does_not_reach_it_is_not() {
    let host = with_port(0).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let reply = device.ioctl(0x0022_2000, &[], 0).expect("a reply");
    assert_eq!(reply.status, NtStatus::InvalidDeviceRequest);
    assert!(reply.reached);
    assert_eq!(host.report().outcome(), Outcome::Clean);
    // The system completes it with the same status.
    let reply = device.read(16).expect("a reply");
    assert_eq!(reply.status, NtStatus::InvalidDeviceRequest);
    assert!(!reply.reached);
    let (detail, _) = only_gap(&host.report(), GapKind::NotReached);
    assert!(
        detail.starts_with("read did not reach the driver: the driver has no dispatch routine for IRP_MJ_READ"),
        "{detail}"
    );

    let host = c::framework("kmdf").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let reply = device.write(&[1]).expect("a reply");
    assert_eq!(reply.status, NtStatus::InvalidDeviceRequest);
    assert!(!reply.reached);
    let (detail, _) = only_gap(&host.report(), GapKind::NotReached);
    assert!(
        detail.starts_with("write did not reach the driver: no queue of the device has a callback for write requests"),
        "{detail}"
    );
    device.clone().remove().expect("removal");
    assert!(!device.ioctl(0x0022_2000, &[1], 4).expect("a reply").reached);
    assert_eq!(device.interrupt(0).ok(), None);
    assert!(host.open(r"\\.\Nothing").is_err());
    let details: Vec<String> = host.report().gaps().iter().map(ToString::to_string).collect();
    for (detail, part) in details.iter().zip([
        "not-reached: write",
        "ioctl 00222000 did not reach the driver: the device does not exist or was removed",
        "interrupt 0 did not reach the driver: no service routine is connected to it; the device has no interrupts",
        r"open \\.\Nothing did not reach the driver: there is no device with this name",
    ]) {
        assert!(detail.contains(part), "{detail}");
    }
    assert_eq!(details.len(), 4, "{details:#?}");
}

#[test]
fn a_driver_that_refuses_to_be_opened_or_removed_is_distinguished() {
    let host = with_port(5).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    // The open reached the driver.
    assert!(matches!(device.open(), Err(Error::Status(NtStatus::AccessDenied))));
    host.report().assert_clean();
    // The request behind the open did not.
    assert!(!device.ioctl(0x0022_2000, &[], 0).expect("a reply").reached);
    let (detail, _) = only_gap(&host.report(), GapKind::NotReached);
    assert!(detail.contains("the driver refused to open the device for it"), "{detail}");

    let host = with_port(4).start().expect("DriverEntry");
    assert!(host.add_device().expect("a device").remove().is_err());
    let report = host.unload().expect("unload");
    assert!(report.gaps().iter().all(|gap| gap.kind == GapKind::NotRemoved), "{:?}", report.gaps());
    assert_eq!(report.outcome(), Outcome::Incomplete);
    assert_eq!(report.findings().len(), 0);
}

#[test]
fn a_driver_that_is_not_loaded_or_a_failure_that_does_not_happen_is_a_gap() {
    let host = with_port(0).fail_call("PsSetCreateProcessNotifyRoutineEx", NtStatus::AccessDenied, 1).prepare();
    let host = host.expect("a machine");
    assert!(host.load().is_err());
    let (detail, _) = only_gap(&host.report(), GapKind::NotLoaded);
    assert_eq!(detail, "DriverEntry returned 0xC0000022 STATUS_ACCESS_DENIED");
    // The second call removes the routine, and cannot fail.
    let host = with_port(0).fail_call("PsSetCreateProcessNotifyRoutineEx", NtStatus::AccessDenied, 2).start();
    let (detail, _) = only_gap(&host.expect("DriverEntry").unload().expect("unload"), GapKind::NotFailed);
    assert_eq!(detail, "PsSetCreateProcessNotifyRoutineEx did not fail: the driver called it once");
}

/// A way to pass data: a device of `wdm_requests`, and the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Read(&'static str),
    Write(&'static str),
    /// A control request with this `METHOD_…`.
    Control(u32),
}

const WAYS: [Way; 10] = [
    Way::Read("CBuffered"),
    Way::Write("CBuffered"),
    Way::Read("CDirect"),
    Way::Write("CDirect"),
    Way::Read("CNeither"),
    Way::Write("CNeither"),
    Way::Control(0),
    Way::Control(1),
    Way::Control(2),
    Way::Control(3),
];

/// Sends a request that `wdm_requests` completes with a mistake; 0 is not a mistake.
fn request(mistake: u32, way: Way) -> Report {
    let host = c::plain("wdm_requests").start().expect("DriverEntry");
    let (Way::Read(name) | Way::Write(name)) = way else { return control(&host, mistake, way) };
    let file = host.open(&format!(r"\Device\{name}")).expect("the device");
    assert_eq!(file.ioctl(0x0022_2F00, &mistake.to_le_bytes(), 0).expect("a reply").status, NtStatus::Success);
    finish(&host, if way == Way::Read(name) { file.read(8) } else { file.write(&[7; 8]) })
}

fn control(host: &NtHost, mistake: u32, way: Way) -> Report {
    let Way::Control(method) = way else { panic!("{way:?}") };
    let file = host.open(r"\Device\CNeither").expect("the device");
    assert_eq!(file.ioctl(0x0022_2F00, &mistake.to_le_bytes(), 0).expect("a reply").status, NtStatus::Success);
    finish(host, file.ioctl(0x0022_2000 | method, &[7; 4], 8))
}

fn finish(host: &NtHost, reply: Result<nt_host::Answer, Error>) -> Report {
    match reply {
        Ok(_) => host.unload().expect("unload"),
        Err(Error::Stopped(report)) => *report,
        Err(error) => panic!("{error}"),
    }
}

/// Sends every kind of request. Each one in `ways` must have one finding: its text, and its place in the driver.
fn every_way(mistake: u32, ways: impl Fn(Way) -> bool, rule: Rule, detail: &str, mark: &str) {
    for way in WAYS {
        let report = request(mistake, way);
        if !ways(way) {
            report.assert_clean();
            continue;
        }
        let [finding] = report.findings() else { panic!("{mistake}, {way:?}: {:#?}", report.findings()) };
        assert_eq!(finding.rule, rule, "{mistake}, {way:?}");
        assert_eq!(finding.detail.as_str(), detail, "{mistake}, {way:?}");
        let line = finding.location.as_ref().and_then(|location| location.line).unwrap_or_default() as usize;
        let source = include_str!("../../drivers/c/wdm_requests.c").lines().nth(line.saturating_sub(1));
        assert!(source.unwrap_or_default().ends_with(&format!("/* {mark} */")), "{mistake}, {way:?}: line {line}");
    }
}

const fn is_control(way: Way, methods: [u32; 2]) -> bool {
    matches!(way, Way::Control(method) if method == methods[0] || method == methods[1])
}

fn is_buffered(way: Way) -> bool {
    matches!(way, Way::Read("CBuffered") | Way::Write("CBuffered") | Way::Control(0))
}

#[test]
fn requests_that_are_completed_correctly_are_clean_and_free_their_lists() {
    every_way(0, |_| false, Rule::RequestMisuse, "", "");
}

#[test]
fn more_bytes_than_the_buffer_has_are_found_in_every_kind_of_request() {
    let detail = "completes the request with 9 bytes, but its buffer has 8";
    every_way(1, |_| true, Rule::RequestMisuse, detail, "completed");
    // The I/O manager copies the bytes of a buffered request with a warning, too. In other requests, the number may be
    // the size that the driver needs.
    let copied = |way| is_buffered(way) && !matches!(way, Way::Write(_));
    every_way(2, copied, Rule::RequestMisuse, detail, "completed");
}

#[test]
fn a_wrong_stack_location_is_found_when_a_request_is_completed_or_sent() {
    let skipped = "completes the request after IoSkipCurrentIrpStackLocation without sending it";
    every_way(3, |_| true, Rule::RequestMisuse, skipped, "completed");
    let range = "CurrentLocation is 9, but the IRP has 1 stack locations";
    every_way(4, |_| true, Rule::BugCheck, &format!("{range} (bug check 0x44)"), "completed");
    let place = "CurrentStackLocation is not stack location 1 of the IRP";
    every_way(5, |_| true, Rule::RequestMisuse, place, "completed");
    let used_up = "the IRP has no more stack locations (bug check 0x35)";
    every_way(9, |_| true, Rule::BugCheck, used_up, "sent");
    every_way(10, |_| true, Rule::RequestMisuse, range, "sent");
}

#[test]
fn a_request_that_is_completed_without_its_own_buffers_is_found() {
    let is_direct = |way| matches!(way, Way::Read("CDirect") | Way::Write("CDirect")) || is_control(way, [1, 2]);
    every_way(6, is_direct, Rule::RequestMisuse, "completes a request without its MDL", "completed");
    let garbage = "MdlAddress is 0x123456780, which is neither the MDL of the request nor one of IoAllocateMdl";
    every_way(7, |_| true, Rule::RequestMisuse, garbage, "completed");
    for way in WAYS.into_iter().filter(|way| is_buffered(*way) || is_control(*way, [1, 2])) {
        let report = request(8, way);
        let [finding] = report.findings() else { panic!("{way:?}: {:#?}", report.findings()) };
        assert!(finding.detail.ends_with(", which is not its own"), "{}", finding.detail);
    }
}
