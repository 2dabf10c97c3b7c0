//! WMI requests to a KMDF driver and to a WDM driver.

use std::time::Duration;

use crate::common::c::{FRAMEWORK, Log, build, framework};
use etw_types::{Guid, NtStatus};
use nt_host::{Device, Error, GapKind, NtHost, Rule, WmiOperation, WmiRequest};

/// The block of `kmdf_wmi` whose queries return the instance's context.
const CONTEXT_BLOCK: Guid = Guid::from_u128(0x5566_7788_1122_3344_0102_0304_0506_0708);
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
    // A driver completes this with STATUS_SUCCESS and WNODE_TOO_SMALL. The result says how much is needed.
    let reply = device.wmi(WmiRequest { output: 2, ..request() }).expect("a reply");
    assert_eq!(reply.status, NtStatus::BufferTooSmall);
    assert_eq!(reply.information, 4);
    assert_eq!(reply.output.len(), 0);
    assert_eq!(ask(device, 1, WmiOperation::Query, &[], 8).0, NtStatus::WmiInstanceNotFound);
    assert_eq!(ask(device, 0, WmiOperation::Set, &[7, 0, 0, 0], 0), done(&[]));
    assert_eq!(ask(device, 0, WmiOperation::Query, &[], 8), done(&[7, 0, 0, 0]));
    // Neither driver has a routine that sets an item. Microsoft's framework and library return this status
    // (irphandlers/wmi/fxwmiirphandler.cpp).
    assert_eq!(ask(device, 0, WmiOperation::SetItem(1), &[1], 0).0, NtStatus::WmiReadOnly);
    assert_eq!(ask(device, 0, WmiOperation::Events(true), &[], 0), done(&[]));
    assert_eq!(ask(device, 0, WmiOperation::Method(3), &[8], 4), done(&[9]));
    let mut said = log.lines(host);
    said.retain(|line| !line.starts_with("node"));
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
fn a_driver_of_the_framework_is_queried_and_fires_events() {
    // Some requests are for instances and routines that the driver does not have.
    let host = framework("kmdf_wmi").allow(GapKind::NotReached).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    // Microsoft's irphandlers/wmi/fxwmiprovider.cpp and fxwmiinstance.cpp check the configurations in this way. They
    // accept a second provider with the same GUID.
    let created =
        ["without a flag: c000000d", "with two flags: c000000d", "the same again: 0", "without a context: c000000d"];
    assert_eq!(log.lines(&host), created);
    let lines = [
        "query, room 8, irql 0",
        "set 4 bytes, same provider 1",
        "control 1, 1",
        "method 3, 1 in, 4 out, events 1",
        "nt-host: WMI event 11223344-5566-7788-0102-030405060708, 4 bytes",
    ];
    check(&host, &device, &mut log, lines);
    let context = |output| {
        let reply = device.wmi(WmiRequest { guid: CONTEXT_BLOCK, output, ..request() }).expect("a reply");
        (reply.status, reply.information, reply.output)
    };
    assert_eq!(context(12), (NtStatus::Success, 12, vec![0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]));
    assert_eq!(context(8), (NtStatus::BufferTooSmall, 12, Vec::new()));
    // Less than the provider's minimum.
    assert_eq!(ask(&device, 0, WmiOperation::Set, &[7], 0), (NtStatus::WmiSetFailure, Vec::new()));
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

/// Microsoft's irphandlers/wmi/fxwmiprovider.cpp writes through the address; the function's declaration requires it.
#[test]
fn a_provider_without_a_place_for_its_handle_stops_the_system() {
    let image = build("kmdf_wmi", 1, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    assert!(matches!(host.add_device(), Err(Error::Stopped(_))), "the run stops");
    let report = host.report();
    let [found] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(found.rule, Rule::FrameworkMisuse);
    assert_eq!(found.routine.as_deref(), Some("WdfWmiProviderCreate"));
}

fn library(bug: u32) -> NtHost {
    let image = build("wdm_wmi", bug, "DriverEntry", &["ntoskrnl", "wmilib"]);
    NtHost::builder().driver(image).start().expect("DriverEntry")
}

#[test]
fn registration_that_needs_more_than_a_page_is_queried_again() {
    // The library: it asks the driver each time.
    let host = library(1);
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    host.advance(Duration::from_millis(1)).expect("time");
    assert_eq!(log.lines(&host), ["registration", "registration"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();

    // A driver that handles the IRP itself. WMI releases its reference to the physical device.
    for (bug, details) in
        [(2, [].as_slice()), (3, &["IRP_MN_REGINFO_EX returned a device in WMIREGGUID.Pdo without a reference to it"])]
    {
        let host = library(bug);
        let device = host.add_device().expect("a device");
        let mut log = Log::default();
        host.advance(Duration::from_millis(1)).expect("time");
        assert_eq!(log.lines(&host), ["size 4096, path 0", "size 5000, path 0"]);
        device.remove().expect("removal");
        let report = host.unload().expect("unload");
        let found: Vec<&str> = report.findings().iter().map(|found| found.detail.as_str()).collect();
        assert_eq!(found, details);
    }
}

#[test]
fn a_driver_leaves_packets_to_the_library() {
    let host = library(0);
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    host.advance(Duration::from_millis(1)).expect("time");
    assert_eq!(log.lines(&host), ["registration"]);
    // WNODE_FLAG_SINGLE_INSTANCE and WNODE_FLAG_STATIC_INSTANCE_NAMES.
    assert_eq!(device.wmi(request()).expect("a reply").status, NtStatus::Success);
    assert_eq!(log.lines(&host).first().map(String::as_str), Some("node 82"));
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
