//! A bus driver: its child devices are added, listed and removed. They are removed before the bus device.
#![cfg(test)]

#[path = "common/c.rs"]
mod c;

use c::{FRAMEWORK, Log, build, framework};
use etw_types::NtStatus;
use nt_host::{Device, NtHost};

const PLUG: u32 = 0x0022_2000;
const PULL: u32 = 0x0022_2004;
const LIST: u32 = 0x0022_2008;
const FIND: u32 = 0x0022_200C;

fn ask(device: &Device, code: u32, number: u32) -> NtStatus {
    device.ioctl(code, &number.to_le_bytes(), 0).expect("a reply").status
}

#[test]
fn children_come_and_go_as_the_bus_driver_reports_them() {
    let host = framework("kmdf_bus").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    assert_eq!(log.lines(&host), ["scan", "create 1", "child 1 starts"]);
    assert_eq!(ask(&device, PLUG, 7), NtStatus::Success);
    assert_eq!(log.lines(&host), ["create 7", "child 7 starts"]);
    assert_eq!(ask(&device, PLUG, 7), NtStatus::ObjectNameExists);
    assert_eq!(ask(&device, LIST, 0), NtStatus::Success);
    assert_eq!(log.lines(&host), ["has 1, status 1", "has 7, status 1"]);
    assert_eq!(ask(&device, PULL, 7), NtStatus::Success);
    assert_eq!(log.lines(&host), ["a child was pulled out", "a child stops"]);
    assert_eq!(ask(&device, PULL, 7), NtStatus::NoSuchDevice);
    for (number, line) in [(1, "pdo 1, status 1"), (7, "pdo 0, status 3")] {
        assert_eq!(ask(&device, FIND, number), NtStatus::Success);
        assert_eq!(log.lines(&host), [line]);
    }
    // The driver's callback fails for this child, so it is never started.
    assert_eq!(ask(&device, PLUG, 99), NtStatus::Success);
    assert_eq!(log.lines(&host), ["create 99"]);
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["a child was pulled out", "a child stops"]);
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
    assert!(host.report().output().ends_with("a child was pulled out\na child stops\n"), "{}", host.report().output());
}
