//! I/O targets: their states, what happens to requests in each state, and devices that a driver opens.

use std::time::Duration;

use crate::common::c::{FRAMEWORK, Log, build, framework};
use etw_types::NtStatus;
use nt_host::{Below, Builder, Device, Notification, NtHost, RequestKind, Rule, TargetEvent};
use windows_constants::framework::{
    WdfIoTargetOpenByName, WdfIoTargetOpenLocalTargetByFile, WdfIoTargetOpenReopen, WdfIoTargetOpenUseExistingDevice,
};

const STATE: u32 = 0x0022_2000;
const STOP: u32 = 0x0022_2004;
const START: u32 = 0x0022_2008;
const PURGE: u32 = 0x0022_200C;
const SEND: u32 = 0x0022_2010;
const OPEN: u32 = 0x0022_2014;
const CLOSE: u32 = 0x0022_2018;
const ASK: u32 = 0x0022_201C;
const CANCEL: u32 = 0x0022_2020;
const QUERY: u32 = 0x0022_2024;
const NOTIFY: u32 = 0x0022_2028;
const BELOW: u32 = 0x0022_2100;
const SLOW: u32 = 0x0022_2104;
const OTHER: &str = r"\Device\Other";

struct Run {
    host: NtHost,
    device: Device,
    log: Log,
}

impl Run {
    fn new(builder: Builder) -> Self {
        let host = builder.start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        Self { host, device, log: Log::default() }
    }

    /// Has the driver do something with a target. Returns the status and the driver's output.
    fn order(&mut self, target: u32, code: u32, argument: u32, asked: u32, name: &str) -> (NtStatus, Vec<String>) {
        let mut name: Vec<u16> = name.encode_utf16().collect();
        name.resize(64, 0);
        let mut input: Vec<u8> = [target, argument, asked].into_iter().flat_map(u32::to_le_bytes).collect();
        input.extend(name.into_iter().flat_map(u16::to_le_bytes));
        let status = self.device.ioctl(code, &input, 0).expect("a reply").status;
        (status, self.log.lines(&self.host))
    }

    fn local(&mut self, code: u32, argument: u32) -> Vec<String> {
        self.order(0, code, argument, BELOW, "").1
    }

    fn remote(&mut self, code: u32, argument: u32) -> Vec<String> {
        self.order(1, code, argument, BELOW, "").1
    }

    fn end(mut self) -> Vec<String> {
        self.device.remove().expect("removal");
        self.host.unload().expect("unload").assert_clean();
        self.log.lines(&self.host)
    }
}

fn script(device: Option<&str>, milliseconds: u64) -> Below {
    Below {
        device: device.map(str::to_owned),
        kind: Some(RequestKind::DEVICE_CONTROL),
        code: Some(BELOW),
        status: NtStatus::Success,
        output: vec![1, 2],
        delay: Duration::from_millis(milliseconds),
    }
}

#[test]
fn a_stopped_target_keeps_requests_and_sends_them_when_it_starts() {
    let mut run = Run::new(framework("kmdf_remote").below(script(None, 0)));
    assert_eq!(run.local(STATE, 0), ["state 1"]);
    // WdfIoTargetLeaveSentIoPending.
    assert_eq!(run.local(STOP, 3), ["state 2"]);
    assert_eq!(run.local(SEND, 0), ["state 2"]);
    assert_eq!(run.local(SEND, 0), ["state 2"]);
    // A request whose timeout expires does not wait for the start.
    assert_eq!(run.local(SEND, 20), ["state 2"]);
    run.host.advance(Duration::from_millis(30)).expect("time");
    assert_eq!(run.log.lines(&run.host), ["back 3: c00000b5, 0 bytes, local"]);
    assert_eq!(run.local(SEND, 0), ["state 2"]);
    assert_eq!(run.local(CANCEL, 0), ["back 4: c0000120, 0 bytes, local", "canceled: 1", "state 2"]);
    assert_eq!(run.local(START, 0), ["back 1: 0, 0 bytes, local", "back 2: 0, 0 bytes, local", "state 1"]);
    assert_eq!(run.end(), ["the device goes"]);
}

#[test]
fn stopping_cancels_what_was_sent_or_waits_for_it() {
    for (action, milliseconds, back) in [(1, 60_000, "c0000120"), (2, 40, "0")] {
        let mut run = Run::new(framework("kmdf_remote").below(script(None, milliseconds)));
        assert_eq!(run.local(SEND, 0), ["state 1"]);
        assert_eq!(run.local(STOP, action), [format!("back 1: {back}, 0 bytes, local").as_str(), "state 2"]);
        run.end();
    }
    // WdfIoTargetLeaveSentIoPending: the request completes after its delay. The target is stopped immediately.
    let mut run = Run::new(framework("kmdf_remote").below(script(None, 40)));
    run.local(SEND, 0);
    assert_eq!(run.local(STOP, 3), ["state 2"]);
    run.host.advance(Duration::from_millis(50)).expect("time");
    assert_eq!(run.log.lines(&run.host), ["back 1: 0, 0 bytes, local"]);
    run.end();
}

#[test]
fn a_purged_target_cancels_everything_and_refuses_requests() {
    let mut run = Run::new(framework("kmdf_remote").below(script(None, 60_000)));
    run.local(SEND, 0);
    run.local(STOP, 3);
    run.local(SEND, 0);
    let mut lines = run.local(PURGE, 1);
    assert_eq!(lines.pop().as_deref(), Some("state 6"));
    lines.sort();
    assert_eq!(lines, ["back 1: c0000120, 0 bytes, local", "back 2: c0000120, 0 bytes, local"]);
    assert_eq!(run.order(0, SEND, 0, BELOW, "").0, NtStatus::InvalidDeviceState);
    assert_eq!(run.local(START, 0), ["state 1"]);
    assert_eq!(run.order(0, SEND, 0, BELOW, "").0, NtStatus::Success);
    // The request that was sent to the device below is canceled before the driver's device is removed.
    assert_eq!(run.end(), ["back 4: c0000120, 0 bytes, local", "the device goes"]);
}

#[test]
fn another_drivers_device_is_opened_by_name_and_used() {
    let mut run = Run::new(framework("kmdf_remote").below(script(Some(OTHER), 10)));
    // A target is started before it is first opened: FxIoTarget::Construct in Microsoft's
    // targets/general/fxiotarget.cpp. FxIoTarget::Start does not look whether it is open.
    assert_eq!(run.remote(STATE, 0), ["state 1"]);
    assert_eq!(run.order(1, START, 0, BELOW, "").0, NtStatus::Success);
    let (status, lines) = run.order(1, OPEN, WdfIoTargetOpenByName, 0, r"\Device\Missing");
    assert_eq!(status, NtStatus::ObjectNameNotFound);
    assert_eq!(lines.last().map(String::as_str), Some("state 4"));
    assert_eq!(run.order(1, SEND, 0, BELOW, "").0, NtStatus::InvalidDeviceState);
    let open = ["opened: 0, device 1, file 1, physical 1", "state 1"];
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenByName, 0, OTHER).1, open);
    // The target is already open.
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenByName, 0, OTHER).0, NtStatus::InvalidDeviceState);
    run.log.lines(&run.host);
    assert_eq!(run.remote(ASK, 0), ["asked: 0, 2 bytes, 201", "state 1"]);
    assert_eq!(run.remote(ASK, 5), ["asked: c00000b5, 0 bytes, 0", "state 1"]);
    // The local target is the device below, which the test does not script.
    assert_eq!(run.local(ASK, 0), ["asked: c0000010, 0 bytes, 0", "state 1"]);
    assert_eq!(run.remote(CLOSE, 1), ["state 3"]);
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenReopen, 0, "").1, open);
    run.remote(SEND, 0);
    assert_eq!(run.remote(CLOSE, 0), ["back 2: c0000120, 0 bytes, remote", "state 4"]);
    run.end();
}

#[test]
fn a_device_of_the_same_driver_gets_the_requests_themselves() {
    let mut run = Run::new(framework("kmdf_remote"));
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenByName, 0, r"\Device\OwnControl").0, NtStatus::Success);
    run.log.lines(&run.host);
    assert_eq!(run.remote(ASK, 0), ["asked: 0, 3 bytes, c0b0a", "state 1"]);
    run.order(1, SEND, 0, SLOW, "");
    assert_eq!(
        run.order(1, CANCEL, 0, SLOW, "").1,
        ["the other device cancels", "back 1: c0000120, 0 bytes, remote", "canceled: 1", "state 1"]
    );
    run.order(1, SEND, 30, SLOW, "");
    run.host.advance(Duration::from_millis(40)).expect("time");
    assert_eq!(run.log.lines(&run.host), ["the other device cancels", "back 2: c00000b5, 0 bytes, remote"]);
    run.remote(CLOSE, 0);

    // The framework queries the opened device for its target device with IRP_MN_QUERY_DEVICE_RELATIONS (7):
    // FxIoTargetRemote::GetTargetDeviceRelations in Microsoft's targets/general/km/fxiotargetremotekm.cpp.
    let lines = run.order(1, OPEN, WdfIoTargetOpenByName, 0, r"\Device\OwnPackets").1;
    assert_eq!(lines, ["packet 0, 0", "packet 1b, 7", "opened: 0, device 1, file 1, physical 0", "state 1"]);
    assert_eq!(run.remote(ASK, 0), ["packet e, 0", "asked: 0, 2 bytes, e0d", "state 1"]);
    assert_eq!(run.remote(SEND, 0), ["packet e, 0", "back 3: 0, 0 bytes, remote", "state 1"]);
    assert_eq!(run.remote(CLOSE, 0), ["packet 12, 0", "packet 2, 0", "state 4"]);
    // Opening by device object sends no IRP_MJ_CREATE.
    let lines = ["packet 1b, 7", "opened: 0, device 1, file 0, physical 0", "state 1"];
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenUseExistingDevice, 0, "").1, lines);
    assert_eq!(run.remote(ASK, 0), ["packet e, 0", "asked: 0, 2 bytes, e0d", "state 1"]);
    run.end();
}

#[test]
fn a_target_is_notified_of_the_removal_of_its_device_or_closes_and_opens_again() {
    use TargetEvent::{QueryRemove, RemoveCanceled, RemoveComplete};
    let mut run = Run::new(framework("kmdf_remote").below(script(Some(OTHER), 0)));
    let notify = |run: &mut Run, event| {
        let told = run.host.notify(Notification::TargetDevice { device: OTHER.to_lowercase(), event });
        let told = told.expect("a notification");
        (told.called, told.status, run.log.lines(&run.host))
    };
    let nothing = Vec::<String>::new;
    assert_eq!(notify(&mut run, QueryRemove), (0, NtStatus::Success, nothing()), "the target is not open");

    // Without callbacks: closed, opened again, closed.
    run.order(1, OPEN, WdfIoTargetOpenByName, 0, OTHER);
    assert_eq!(notify(&mut run, QueryRemove), (1, NtStatus::Success, nothing()));
    assert_eq!(run.remote(STATE, 0), ["state 3"]);
    assert_eq!(notify(&mut run, RemoveCanceled), (1, NtStatus::Success, nothing()));
    assert_eq!(run.remote(STATE, 0), ["state 1"]);
    assert_eq!(notify(&mut run, RemoveComplete), (1, NtStatus::Success, nothing()));
    assert_eq!(run.remote(STATE, 0), ["state 4"]);

    // With callbacks, which the target keeps when it is opened again. The first query is refused.
    run.order(1, OPEN, WdfIoTargetOpenByName, 1, OTHER);
    let asked = || vec!["query remove, irql 0".to_owned()];
    assert_eq!(notify(&mut run, QueryRemove), (1, NtStatus::Unsuccessful, asked()));
    assert_eq!(run.remote(STATE, 0), ["state 1"]);
    assert_eq!(notify(&mut run, QueryRemove), (1, NtStatus::Success, asked()));
    assert_eq!(run.remote(STATE, 0), ["state 3"]);
    assert_eq!(notify(&mut run, RemoveCanceled).2, ["remove canceled, opened: 0"]);
    assert_eq!(notify(&mut run, QueryRemove).2, asked());
    assert_eq!(notify(&mut run, RemoveComplete).2, ["remove complete"]);
    assert_eq!(run.remote(STATE, 0), ["state 4"]);
    assert_eq!(notify(&mut run, RemoveComplete).0, 0, "a closed target is not told");

    // A driver can also register for the file object of the target.
    run.order(1, OPEN, WdfIoTargetOpenByName, 0, OTHER);
    assert_eq!(run.order(1, NOTIFY, 1, 0, "").0, NtStatus::Success);
    let notified = |event: &str| vec![format!("notified: version 1, 32 bytes, event {event}, file 1, context 7")];
    assert_eq!(notify(&mut run, QueryRemove), (2, NtStatus::Success, notified("cb3a4006")));
    // The registration keeps the file object, although the target has closed its handle.
    assert_eq!(notify(&mut run, RemoveComplete), (2, NtStatus::Success, notified("cb3a4008")));
    assert_eq!(run.order(1, NOTIFY, 0, 0, "").0, NtStatus::Success);
    assert_eq!(notify(&mut run, RemoveComplete), (0, NtStatus::Success, nothing()));
    run.end();
}

#[test]
fn what_only_user_mode_drivers_can_open_is_refused_and_only_names_are_opened_again() {
    let mut run = Run::new(framework("kmdf_remote"));
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenLocalTargetByFile, 0, "").0, NtStatus::InvalidParameter);
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenReopen, 0, "").0, NtStatus::InvalidDeviceRequest);
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenUseExistingDevice, 0, "").0, NtStatus::Success);
    assert_eq!(run.order(1, CLOSE, 1, 0, "").0, NtStatus::Success);
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenReopen, 0, "").0, NtStatus::InvalidDeviceRequest);
    run.end();
}

#[test]
fn an_interface_comes_from_the_device_of_the_target() {
    let mut run = Run::new(framework("kmdf_remote"));
    assert_eq!(run.local(QUERY, 0), ["interface: c00000bb, 0 bytes, version 0", "state 1"]);
    run.order(1, OPEN, WdfIoTargetOpenUseExistingDevice, 0, "");
    let lines = ["packet 1b, 8", "interface 11223344, data 5", "interface: 0, 32 bytes, version 3", "state 1"];
    assert_eq!(run.remote(QUERY, 0), lines);
    run.end();
}

#[test]
fn a_request_to_a_target_that_was_never_opened_is_found() {
    let mut run = Run::new(framework("kmdf_remote"));
    assert_eq!(run.order(1, SEND, 0, BELOW, "").0, NtStatus::InvalidDeviceState);
    run.device.remove().expect("removal");
    let report = run.host.unload().expect("unload");
    let found: Vec<_> = report.findings().iter().map(|found| (found.rule, found.detail.as_str())).collect();
    assert_eq!(found, [(Rule::FrameworkMisuse, "sends a request to an I/O target that is not open")]);
}

#[test]
fn a_device_that_succeeds_a_query_without_a_result_is_found() {
    let image = build("kmdf_remote", 1, "FxDriverEntry", &FRAMEWORK);
    let mut run = Run::new(NtHost::builder().driver(image));
    assert_eq!(run.order(1, OPEN, WdfIoTargetOpenUseExistingDevice, 0, "").0, NtStatus::Success);
    run.device.remove().expect("removal");
    let report = run.host.unload().expect("unload");
    let found: Vec<_> = report.findings().iter().map(|found| (found.rule, found.detail.as_str())).collect();
    let what = "completes a query for the target device without the device in IoStatus.Information";
    assert_eq!(found, [(Rule::RequestMisuse, what)]);
}
