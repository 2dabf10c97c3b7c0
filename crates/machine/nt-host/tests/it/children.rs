//! A bus driver: its child devices are added, listed and removed. They are removed before the bus device.

use crate::common::c::{FRAMEWORK, Log, build, framework};
use etw_types::NtStatus;
use nt_host::{Device, GapKind, NtHost};

const PLUG: u32 = 0x0022_2000;
const PULL: u32 = 0x0022_2004;
const LIST: u32 = 0x0022_2008;
const FIND: u32 = 0x0022_200C;
const QUERY: u32 = 0x0022_2010;
const MARK_MISSING: u32 = 0x0022_2014;
const NAMES: u32 = 0x0022_2018;
const ADDRESS: u32 = 0x0022_201C;
/// The number of a child that refuses to be removed.
const STAYS: u32 = 42;

fn ask(device: &Device, code: u32, number: u32) -> NtStatus {
    device.ioctl(code, &number.to_le_bytes(), 0).expect("a reply").status
}

#[test]
fn children_come_and_go_as_the_bus_driver_reports_them() {
    // The driver refuses one of its children.
    let host = framework("kmdf_bus").allow(GapKind::NotAdded).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    assert_eq!(log.lines(&host), ["scan", "create 1", "child 1 starts"]);
    assert_eq!(ask(&device, PLUG, 7), NtStatus::Success);
    assert_eq!(log.lines(&host), ["create 7", "child 7 starts"]);
    assert_eq!(ask(&device, PLUG, 7), NtStatus::ObjectNameExists);
    assert_eq!(ask(&device, LIST, 0), NtStatus::Success);
    assert_eq!(log.lines(&host), ["has 1, status 1", "has 7, status 1"]);
    for (number, line) in [(1, "slot 101"), (7, "slot 107")] {
        assert_eq!(ask(&device, ADDRESS, number), NtStatus::Success);
        assert_eq!(log.lines(&host), [line]);
    }
    // The driver passes a description of the wrong size.
    assert_eq!(ask(&device, ADDRESS, 0), NtStatus::InvalidDeviceRequest);
    assert_eq!(ask(&device, PULL, 7), NtStatus::Success);
    assert_eq!(log.lines(&host), ["a child was pulled out", "a child stops"]);
    assert_eq!(ask(&device, PULL, 7), NtStatus::NoSuchDevice);
    assert_eq!(ask(&device, ADDRESS, 7), NtStatus::NoSuchDevice);
    for (number, line) in [(1, "pdo 1, status 1"), (7, "pdo 0, status 3")] {
        assert_eq!(ask(&device, FIND, number), NtStatus::Success);
        assert_eq!(log.lines(&host), [line]);
    }
    // The driver's callback fails for this child, so it is never started.
    assert_eq!(ask(&device, PLUG, 99), NtStatus::Success);
    assert_eq!(log.lines(&host), ["create 99"]);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["child 1 is asked", "a child stops"]);
    host.unload().expect("unload").assert_clean();
}

/// Learn, *Handling an `IRP_MN_QUERY_REMOVE_DEVICE` Request*: the Plug and Play manager asks the drivers of the device's
/// descendants first, and removes nothing if one refuses. In Microsoft's irphandlers/pnp/pnpstatemachine.cpp only
/// `PnpEventSurpriseRemoved` and its siblings call `EvtDeviceSurpriseRemoval`: children that leave in an orderly way do not
/// get it.
#[test]
fn a_bus_leaves_with_its_children_in_the_same_way_unless_a_child_refuses() {
    let host = framework("kmdf_bus").allow(GapKind::NotRemoved).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    assert_eq!(ask(&device, PLUG, STAYS), NtStatus::Success);
    log.lines(&host);
    assert!(device.clone().remove().is_err());
    assert_eq!(log.lines(&host), ["child 1 is asked", "child 42 is asked"]);
    assert_eq!(ask(&device, LIST, 0), NtStatus::Success);
    assert_eq!(log.lines(&host), ["has 1, status 1", "has 42, status 1"]);
    device.surprise_remove().expect("removal");
    assert_eq!(log.lines(&host), ["a child was pulled out", "a child stops"].repeat(2));
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_is_reported_as_missing_once() {
    let host = framework("kmdf_bus").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    assert_eq!(ask(&device, MARK_MISSING, 0), NtStatus::InvalidParameter, "the bus is not a child");
    assert_eq!(ask(&device, PLUG, 7), NtStatus::Success);
    let mut log = Log::default();
    log.lines(&host);
    assert_eq!(ask(&device, MARK_MISSING, 7), NtStatus::Success);
    assert_eq!(log.lines(&host), ["a child was pulled out", "a child stops"]);
    // The driver still has a reference to the child's device.
    assert_eq!(ask(&device, MARK_MISSING, 7), NtStatus::NoSuchDevice);
    assert_eq!(ask(&device, PLUG, 7), NtStatus::Success);
    assert_eq!(log.lines(&host), ["create 7", "child 7 starts"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn device_interfaces_have_names_by_class_and_reference_string() {
    let host = framework("kmdf_bus").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    log.lines(&host);
    assert_eq!(ask(&device, NAMES, 0), NtStatus::Success);
    // STATUS_OBJECT_NAME_NOT_FOUND for an interface without its reference string, and for one that was not created.
    assert_eq!(log.lines(&host), ["names: 0 0 c0000034 c0000034 0"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn interfaces_are_found_by_type_size_and_version() {
    let host = framework("kmdf_bus").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    log.lines(&host);
    // Whether to ask the child; type, size and version; a number that the driver passes in its structure.
    let mut query = |question: [u32; 5]| {
        let input: Vec<u8> = question.into_iter().flat_map(u32::to_le_bytes).collect();
        (device.ioctl(QUERY, &input, 0).expect("a reply").status, log.lines(&host))
    };
    let mut check = |question, status, lines: &[&str]| {
        let (found, logged) = query(question);
        assert_eq!(found, status);
        assert_eq!(logged.iter().map(String::as_str).collect::<Vec<_>>(), lines.to_vec());
    };
    let one_way = 1;
    let two_way = 2;
    let given = ["reference, context 5", "interface: 40 bytes, number 7"];
    check([0, one_way, 40, 2, 0], NtStatus::Success, &given);
    // A newer or larger version is compatible; an older or smaller one is not.
    check([0, one_way, 48, 3, 0], NtStatus::Success, &given);
    let nothing = ["interface: 0 bytes, number 0"];
    check([0, one_way, 39, 2, 0], NtStatus::NotSupported, &nothing);
    check([0, one_way, 40, 1, 0], NtStatus::NotSupported, &nothing);
    check([0, 3, 40, 2, 0], NtStatus::NotSupported, &nothing);
    // The bus answers for its child.
    check([1, one_way, 40, 2, 0], NtStatus::Success, &given);
    // The callback reads the structure of the asking driver, and decides.
    let asked = |number: u32| format!("process: child 1, type 2, number {number}, data 6");
    let left = |number: u32| format!("interface: 0 bytes, number {number}");
    for (number, status, after) in
        [(20, NtStatus::Success, 21), (98, NtStatus::NotSupported, 98), (99, NtStatus::Unsuccessful, 99)]
    {
        check([1, two_way, 40, 1, number], status, &[&asked(number), &left(after)]);
    }
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_child_without_memory_for_its_description_is_not_added() {
    let image = build("kmdf_bus", 1, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).memory(1 << 20).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    assert_eq!(ask(&device, PLUG, 7), NtStatus::InsufficientResources);
    assert_eq!(Log::default().lines(&host), ["scan"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_bus_driver_that_is_unloaded_loses_its_children_first() {
    let host = framework("kmdf_bus").start().expect("DriverEntry");
    host.add_device().expect("a device");
    host.unload().expect("unload").assert_clean();
    // The bus device leaves in an orderly way, and so does its child.
    assert!(host.report().output().ends_with("child 1 is asked\na child stops\n"), "{}", host.report().output());
}
