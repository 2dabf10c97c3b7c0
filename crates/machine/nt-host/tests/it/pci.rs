//! The configuration space of a PCI device that a test describes.

use std::path::PathBuf;
use std::process::Command;

use crate::common::c::{Log, build, framework, temporary};
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
    let place = finding.place.as_ref().and_then(|place| place.symbol.as_deref());
    assert_eq!((finding.rule, place), (Rule::ObjectLeak, Some("Send")));
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

#[test]
fn the_command_takes_identifiers_or_a_file() {
    let image = image();
    let folder = temporary("pci");
    let (file, short) = (folder.join("space.bin"), folder.join("short.bin"));
    std::fs::write(&file, [pci_header(0x1AF4, 0x1000).as_slice(), &[0; 0xF00]].concat()).expect("a file");
    std::fs::write(&short, [0; 8]).expect("a file");
    let run = |pci: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&image).args(["--pci", pci]).output();
        let output = output.expect("nt-host runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, printed, _) = run("8086:10D3");
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("identifier 10d38086, 4 bytes") && printed.contains("end 0"), "{printed}");
    let (code, printed, _) = run(file.to_str().expect("a path in UTF-8"));
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("identifier 10001af4, 4 bytes") && printed.contains("end 2"), "{printed}");
    for (pci, reason) in [
        (short.to_str().expect("a path in UTF-8"), "has 8 bytes: a configuration space has 256 or 4096"),
        ("8086", "`8086` is neither VENDOR:DEVICE, for example 8086:10D3, nor a file"),
    ] {
        let (code, _, error) = run(pci);
        assert!(code == Some(2) && error.contains(reason), "{pci}: {error}");
    }
}
