//! WDM and KMDF drivers written in C.
#![cfg(test)]

#[path = "common/c.rs"]
mod c;

use c::{FRAMEWORK, build};
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
    // The input is longer than the output, which limits the number of bytes.
    device.ioctl(0x0022_2000, &[7; 8], 4).expect("a reply");
    host.unload().expect("unload")
}

/// The line number of a mark in the driver's source.
fn marked(bug: u32) -> Option<u32> {
    let source = include_str!("../drivers/c/kmdf_broken.c");
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
        let found = report.of(rule).find(|finding| {
            let place = finding.place.as_ref();
            finding.routine.as_deref() == routine && place.is_some_and(|place| place.line == marked(line))
        });
        assert!(found.is_some(), "{bug}: {:#?}", report.findings());
    }
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

/// Sends a request that `wdm_requests` completes with a mistake; 0 is no mistake.
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

fn finish(host: &NtHost, reply: Result<nt_host::Answer, nt_host::Error>) -> Report {
    match reply {
        Ok(_) => host.unload().expect("unload"),
        Err(nt_host::Error::Stopped(report)) => *report,
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
        assert_eq!((finding.rule, finding.detail.as_str()), (rule, detail), "{mistake}, {way:?}");
        let line = finding.place.as_ref().and_then(|place| place.line).unwrap_or_default() as usize;
        let source = include_str!("../drivers/c/wdm_requests.c").lines().nth(line.saturating_sub(1));
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
    let detail = "the request is completed with 9 bytes, but its buffer has 8";
    every_way(1, |_| true, Rule::RequestMisuse, detail, "completed");
    // The I/O manager copies the bytes of a buffered request with a warning, too. In other requests, the number may be
    // the size that the driver needs.
    let copied = |way| is_buffered(way) && !matches!(way, Way::Write(_));
    every_way(2, copied, Rule::RequestMisuse, detail, "completed");
}

#[test]
fn a_wrong_stack_location_is_found_when_a_request_is_completed_or_sent() {
    let skipped = "the request is completed after IoSkipCurrentIrpStackLocation, and was not sent";
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
    every_way(6, is_direct, Rule::RequestMisuse, "the request is completed without its MDL", "completed");
    let garbage = "MdlAddress is 0x123456780, which is neither the MDL of the request nor one of IoAllocateMdl";
    every_way(7, |_| true, Rule::RequestMisuse, garbage, "completed");
    for way in WAYS.into_iter().filter(|way| is_buffered(*way) || is_control(*way, [1, 2])) {
        let report = request(8, way);
        let [finding] = report.findings() else { panic!("{way:?}: {:#?}", report.findings()) };
        assert!(finding.detail.ends_with(", which is not its own"), "{}", finding.detail);
    }
}
