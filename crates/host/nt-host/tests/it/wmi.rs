//! WMI requests to a KMDF driver and to a WDM driver.

use crate::common::c::{Log, build, framework};
use etw_types::{Guid, NtStatus};
use nt_host::{Device, GapKind, NtHost, WmiOperation, WmiRequest};

const BLOCK: Guid = Guid::from_u128(0x1122_3344_5566_7788_0102_0304_0506_0708);

fn ask(device: &Device, instance: u32, operation: WmiOperation, input: &[u8], output: u32) -> (NtStatus, Vec<u8>) {
    let asked = WmiRequest { guid: BLOCK, instance, operation, input: input.to_vec(), output };
    let reply = device.wmi(asked).expect("a reply");
    (reply.status, reply.output)
}

/// Sends the requests that both drivers support. `lines` is the driver's expected output.
fn check(host: &NtHost, device: &Device, log: &mut Log, lines: [&str; 5]) {
    let done = |output: &[u8]| (NtStatus::Success, output.to_vec());
    assert_eq!(ask(device, 0, WmiOperation::Query, &[], 8), done(&[5, 0, 0, 0]));
    assert_eq!(ask(device, 0, WmiOperation::Query, &[], 2).0, NtStatus::BufferTooSmall);
    assert_eq!(ask(device, 1, WmiOperation::Query, &[], 8).0, NtStatus::WmiInstanceNotFound);
    assert_eq!(ask(device, 0, WmiOperation::Set, &[7, 0, 0, 0], 0), done(&[]));
    assert_eq!(ask(device, 0, WmiOperation::Query, &[], 8), done(&[7, 0, 0, 0]));
    // Neither driver has a routine that sets an item.
    assert_eq!(ask(device, 0, WmiOperation::SetItem(1), &[1], 0).0, NtStatus::InvalidDeviceRequest);
    assert_eq!(ask(device, 0, WmiOperation::Events(true), &[], 0), done(&[]));
    assert_eq!(ask(device, 0, WmiOperation::Method(3), &[8], 4), done(&[9]));
    let mut said = log.lines(host);
    said.retain(|line| !line.starts_with("query") || line.ends_with("room 8") || line.contains("room 8,"));
    assert_eq!(said[0], lines[0]);
    assert_eq!(said[1], lines[1]);
    assert_eq!(said[3..], lines[2..]);
    let unknown = WmiRequest { guid: Guid::from_u128(1), ..request() };
    assert_eq!(device.wmi(unknown).expect("a reply").status, NtStatus::WmiGuidNotFound);
}

fn request() -> WmiRequest {
    WmiRequest { guid: BLOCK, instance: 0, operation: WmiOperation::Query, input: Vec::new(), output: 8 }
}

#[test]
fn a_driver_of_the_framework_is_asked_and_fires_events() {
    // Some requests are for instances and routines that the driver does not have.
    let host = framework("kmdf_wmi").allow(GapKind::NotReached).start().expect("DriverEntry");
    let (device, mut log) = (host.add_device().expect("a device"), Log::default());
    assert_eq!(log.lines(&host), ["twice: c0000035"]);
    let lines = [
        "query, room 8, irql 0",
        "set 4 bytes, same provider 1",
        "control 1, 1",
        "method 3, 1 in, 4 out, events 1",
        "nt-host: WMI event 11223344-5566-7788-0102-030405060708, 4 bytes",
    ];
    check(&host, &device, &mut log, lines);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_driver_leaves_packets_to_the_library() {
    let image = build("wdm_wmi", 0, "DriverEntry", &["ntoskrnl", "wmilib"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let (device, mut log) = (host.add_device().expect("a device"), Log::default());
    assert_eq!(log.lines(&host), ["registration"]);
    let lines = [
        "query 0.0, 1, room 8",
        "set 0.0, 4 bytes",
        "control 0, function 0, 1",
        "method 0.0.3, 1 in, 4 out",
        "nt-host: WMI event 11223344-5566-7788-0102-030405060708, 4 bytes",
    ];
    check(&host, &device, &mut log, lines);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}
