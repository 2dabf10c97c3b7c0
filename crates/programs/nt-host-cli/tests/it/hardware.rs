//! Hardware that the command line scripts: interrupts, ports, registers, the configuration space of a PCI device.

use std::process::Command;

use nt_host::pci_header;
use test_support::drivers::c::{FRAMEWORK, build};
use test_support::drivers::temporary;

#[test]
fn the_command_raises_interrupts() {
    let image = build("kmdf_hardware", 0, "FxDriverEntry", &FRAMEWORK);
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&image).args(arguments).output();
        let output = output.expect("the command");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) = run(&["--resource", "messages:2", "--interrupt", "1", "--interrupt", "0"]);
    assert!(text.contains("interrupt 1: handled\ninterrupt 0: handled\n"), "{text}");
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(&["--resource", "line", "--interrupt", "1"]);
    assert!(text.contains("interrupt 1: not connected"), "{text}");
    assert_eq!(code, Some(4), "{text}");
}

#[test]
fn the_command_scripts_and_shows_hardware() {
    let image = build("wdm_registers", 0, "DriverEntry", &["ntoskrnl"]);
    let arguments = ["--port", "0x379=0,0x80", "--register", "0xFE000010=5,6", "--no-device"];
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(image).args(arguments).output();
    let output = output.expect("nt-host runs");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{printed}");
    for line in [
        "| register 5, then 6",
        "hardware\n  port 0x379: read 0x00\n  port 0x379: read 0x80\n  port 0x378: write 0x41\n",
        "  register 0xfe000010: read 0x00000006\n",
    ] {
        assert!(printed.contains(line), "{line}:\n{printed}");
    }
}

#[test]
fn the_command_takes_identifiers_or_a_file() {
    let image = build("wdm_pci", 0, "DriverEntry", &["ntoskrnl", "hal"]);
    let folder = temporary("pci");
    let file = folder.join("space.bin");
    let short = folder.join("short.bin");
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
    assert!(printed.contains("identifier 10d38086, 4 bytes"), "{printed}");
    assert!(printed.contains("end 0"), "{printed}");
    let (code, printed, _) = run(file.to_str().expect("a path in UTF-8"));
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("identifier 10001af4, 4 bytes"), "{printed}");
    assert!(printed.contains("end 2"), "{printed}");
    for (pci, reason) in [
        (short.to_str().expect("a path in UTF-8"), "has 8 bytes: a configuration space has 256 or 4096"),
        ("8086", "`8086` is neither VENDOR:DEVICE, for example 8086:10D3, nor a file"),
    ] {
        let (code, _, error) = run(pci);
        assert!(code == Some(2), "{pci}: {error}");
        assert!(error.contains(reason), "{pci}: {error}");
    }
}
