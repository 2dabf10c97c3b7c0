//! The configuration space of a PCI device that a test describes.

use std::path::PathBuf;

use crate::common::c::{Log, build, framework};
use nt_host::{GapKind, NtHost, Rule, pci_header};

fn image() -> PathBuf {
    variant(0)
}

fn variant(bug: u32) -> PathBuf {
    build("wdm_pci", bug, "DriverEntry", &["ntoskrnl", "hal"])
}

#[test]
fn a_driver_finds_its_device_in_each_way() {
    let mut space = pci_header(0x8086, 0x10D3).to_vec();
    space.resize(0x1000, 0);
    space[8] = 2;
    space[0x2C..0x30].copy_from_slice(&[0x43, 0x10, 0x69, 0x83]);
    let host = NtHost::builder().driver(image()).pci(&space).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let expected = [
        "interface: 00000000",
        "identifier 10d38086, 4 bytes",
        "command 7, 2 bytes; end 2",
        "write: 00000000, 1 bytes",
        "read: 00000000, 4 bytes, 40",
        "beyond: c000000d",
        "bus data: 10d38086, 4 bytes; other slot: 2 bytes",
        r"hardware PCI\VEN_8086&DEV_10D3&SUBSYS_83691043&REV_02",
        "class System, 14 bytes",
    ];
    assert_eq!(Log::default().lines(&host), expected);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn an_interface_that_is_not_dereferenced_is_found() {
    let host = NtHost::builder().driver(variant(1)).pci(&pci_header(0x8086, 0x10D3)).start().expect("DriverEntry");
    host.add_device().expect("a device").remove().expect("removal");
    let report = host.unload().expect("unload");
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    let place = finding.location.as_ref().and_then(|location| location.symbol.as_deref());
    assert_eq!(finding.rule, Rule::ObjectLeak);
    assert_eq!(place, Some("Send"));
    assert_eq!(finding.detail, "does not release 1 reference to an object");
}

#[test]
fn a_framework_driver_asks_its_bus() {
    let host = framework("kmdf_pci").pci(&pci_header(0x1AF4, 0x1041)).start().expect("DriverEntry");
    host.add_device().expect("a device").remove().expect("removal");
    assert_eq!(Log::default().lines(&host), ["identifier 10411af4"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn without_a_space_the_report_says_how_to_add_one() {
    let host = NtHost::builder().driver(image()).start().expect("DriverEntry");
    assert!(host.add_device().is_err());
    let report = host.unload().expect("unload");
    let [gap] = report.gaps() else { panic!("{:#?}", report.gaps()) };
    assert_eq!(gap.kind, GapKind::NotStarted);
    assert!(gap.advice.iter().any(|advice| advice.contains("(BUS_INTERFACE_STANDARD): nt-host has it")), "{gap:#?}");
}
