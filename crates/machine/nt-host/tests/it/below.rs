//! The test scripts the device below the driver: results, delays and failures, for IRPs and for I/O targets.

use std::time::Duration;

use crate::common::c::{FRAMEWORK, Log, build, framework, plain};
use etw_types::NtStatus;
use nt_host::{Below, Builder, Device, NtHost, RequestKind};

const ASK: u32 = 0x0022_2000;
const OWN: u32 = 0x0022_2004;
const FORWARD: u32 = 0x0022_2008;
const FORGET: u32 = 0x0022_200C;
const CANCEL: u32 = 0x0022_2010;

fn ioctl(code: u32, status: NtStatus, output: &[u8], milliseconds: u64) -> Below {
    let kind = Some(RequestKind::DEVICE_CONTROL);
    let delay = Duration::from_millis(milliseconds);
    Below { device: None, kind, code: Some(code), status, output: output.to_vec(), delay }
}

fn start(builder: Builder) -> (NtHost, Device, Log) {
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    log.lines(&host);
    (host, device, log)
}

#[test]
fn an_irp_is_completed_by_the_device_below_now_or_later() {
    for milliseconds in [0, 30] {
        let below = ioctl(0x0022_2FFC, NtStatus::Success, &[], milliseconds);
        let (host, device, mut log) = start(plain("wdm_stack").below(below));
        assert_eq!(device.ioctl(0x0022_2004, &[], 0).expect("a reply").status, NtStatus::Success);
        let line = if milliseconds == 0 { "below: 0, 0" } else { "below: 103, 0" };
        assert!(log.lines(&host).iter().any(|known| known.starts_with("below: ") && known == line), "{line}");
        device.remove().expect("removal");
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn an_irp_that_the_device_below_has_is_canceled() {
    let below = ioctl(0x0022_2FFC, NtStatus::Success, &[], 60_000);
    let (host, device, mut log) = start(plain("wdm_stack").below(below));
    assert_eq!(device.ioctl(0x0022_2008, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(log.lines(&host)[..2], ["canceled: 1", "below: 103, c0000120"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn an_io_target_is_used_and_a_timeout_ends_it() {
    let (host, device, mut log) =
        start(framework("kmdf_target").below(ioctl(ASK, NtStatus::Success, &[1, 2, 3, 4], 20)));
    assert_eq!(device.ioctl(ASK, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(log.lines(&host), ["asked: 0, 4 bytes, 4030201"]);
    host.unload().expect("unload").assert_clean();

    let (host, device, mut log) = start(framework("kmdf_target").below(ioctl(ASK, NtStatus::Success, &[1], 80)));
    assert_eq!(device.ioctl(ASK, &[], 0).expect("a reply").status, NtStatus::IoTimeout);
    assert_eq!(log.lines(&host), ["asked: c00000b5, 0 bytes, 0"]);
    host.unload().expect("unload").assert_clean();

    // The test does not script the device below.
    let (host, device, _) = start(framework("kmdf_target"));
    assert_eq!(device.ioctl(ASK, &[], 0).expect("a reply").status, NtStatus::InvalidDeviceRequest);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_request_of_the_drivers_own_comes_back_to_its_completion_routine() {
    let (host, device, mut log) = start(framework("kmdf_target").below(ioctl(OWN, NtStatus::NotSupported, &[], 10)));
    assert_eq!(device.ioctl(OWN, &[], 0).expect("a reply").status, NtStatus::Success);
    let back = "own came back: c00000bb, 0 bytes, same target 1, context 5, irql 2";
    assert_eq!(log.lines(&host), ["sent: 1", back]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_request_that_was_sent_is_canceled() {
    let (host, device, mut log) = start(framework("kmdf_target").below(ioctl(OWN, NtStatus::Success, &[], 60_000)));
    assert_eq!(device.ioctl(CANCEL, &[], 0).expect("a reply").status, NtStatus::Success);
    let back = "own came back: c0000120, 0 bytes, same target";
    let lines = log.lines(&host);
    assert!(lines[0] == "sent: 1", "{lines:?}");
    assert!(lines[1].starts_with(back), "{lines:?}");
    assert!(lines[2] == "canceled: 1", "{lines:?}");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_clients_request_goes_down_and_comes_back() {
    for (code, milliseconds) in [(FORWARD, 0), (FORWARD, 15), (FORGET, 0), (FORGET, 15)] {
        let below = Below { code: None, ..ioctl(code, NtStatus::Success, &[7, 8, 9], milliseconds) };
        let (host, device, mut log) = start(framework("kmdf_target").below(below));
        let reply = device.ioctl(code, &[1], 8).expect("a reply");
        assert_eq!(reply.status, NtStatus::Success, "{code:x}");
        assert_eq!(reply.output.as_slice(), [7, 8, 9].as_slice(), "{code:x}");
        let lines = if code == FORWARD { vec!["forwarded: 0, status 0"] } else { Vec::new() };
        assert_eq!(log.lines(&host), lines);
        host.unload().expect("unload").assert_clean();
    }
}

/// `FxPkgIo::DispatchStep1` in Microsoft's Windows-Driver-Frameworks, `shared/irphandlers/io/fxpkgio.cpp`.
#[test]
fn a_filter_passes_on_what_it_does_not_handle() {
    let read = |milliseconds| Below {
        kind: Some(RequestKind::READ),
        code: None,
        ..ioctl(0, NtStatus::Success, &[1, 2, 3], milliseconds)
    };
    let filter = || NtHost::builder().driver(build("kmdf_target", 1, "FxDriverEntry", &FRAMEWORK));
    for milliseconds in [0, 30] {
        let (host, device, mut log) =
            start(filter().below(read(milliseconds)).below(ioctl(ASK, NtStatus::Success, &[1], 0)));
        let reply = device.read(8).expect("a reply");
        assert_eq!(reply.status, NtStatus::Success);
        assert_eq!(reply.output, vec![1, 2, 3]);
        assert!(log.lines(&host).is_empty());
        // The filter handles control requests.
        assert_eq!(device.ioctl(ASK, &[], 0).expect("a reply").status, NtStatus::Success);
        assert_eq!(log.lines(&host), ["asked: 0, 1 bytes, 1"]);
        device.remove().expect("removal");
        host.unload().expect("unload").assert_clean();
    }
    // A client's request is canceled in the device below.
    let (host, device, _) = start(filter().below(read(60_000)));
    let pending = device.begin_read(8).expect("a request");
    pending.cancel().expect("a cancellation");
    assert_eq!(pending.wait().expect("a reply").status, NtStatus::Cancelled);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
    // A function driver completes what it does not handle.
    let (host, device, _) = start(framework("kmdf_target").below(read(0)));
    assert_eq!(device.read(8).expect("a reply").status, NtStatus::InvalidDeviceRequest);
    host.unload().expect("unload");
}
