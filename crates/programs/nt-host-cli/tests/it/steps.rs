//! Options for what clients and devices below send: data in output buffers, memory of clients, scripted answers.

use std::process::Command;

use test_support::drivers::c::{FRAMEWORK, build};

use crate::common;

/// The codes of `kmdf_remote` with which it opens a device and sends it a request, and that of the request.
const OPEN: u32 = 0x0022_2014;
const ASK: u32 = 0x0022_201C;
const BELOW: u32 = 0x0022_2100;
/// `WDF_IO_TARGET_OPEN_TYPE`.
const BY_NAME: u32 = 2;
const OTHER: &str = r"\Device\Other";

#[test]
fn the_command_line_has_data_in_the_output_buffer() {
    let driver = build("wdm_requests", 0, "DriverEntry", &["ntoskrnl"]);
    let run = |steps: &[&str]| common::run(&driver, &[&["--open", r"\Device\CNeither"], steps].concat());
    let (_, text) = run(&["--ioctl", "222F09:07/:0102", "--begin-ioctl", "222F0B/3:10", "--ioctl", "222F0A/:ff"]);
    for line in [
        "ioctl 00222F09: 0x00000000 STATUS_SUCCESS 0203",
        "ioctl 00222F0B: 0x00000000 STATUS_SUCCESS 110101",
        "ioctl 00222F0A: 0x00000000 STATUS_SUCCESS 00",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for (option, reason) in [
        (
            "222F08/:01",
            "222F08 is a METHOD_BUFFERED code, and its driver never gets what the output buffer holds: send the data as input",
        ),
        ("222F09/1:0102", "a buffer of 1 bytes cannot hold 2: expected a larger length, or none"),
        ("222F09/:0", "'222F09/:0'"),
    ] {
        let (code, text) = run(&["--ioctl", option]);
        assert!(code == Some(2), "{text}");
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn the_command_line_has_memory_of_a_client() {
    let driver = build("wdm_memory", 0, "DriverEntry", &["ntoskrnl"]);
    let run = |steps: &[&str]| common::run(&driver, steps);
    let request = format!("222000:{}", "0100001000000000".to_owned() + "0200000000000000");
    let steps = ["--client-memory", "0x10000000/6:0102", "--ioctl", &request];
    let (code, text) = run(&steps);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("ioctl 00222000: 0x00000000 STATUS_SUCCESS\nmemory 0x10000001: 0301\n"), "{text}");
    let (_, text) = run(&[&steps[..], &["--client-memory", "0x10000000/:05", "--json"]].concat());
    assert!(text.contains(r#""memory":[{"address":"0x10000000","data":"050301000000"}]"#), "{text}");
    let (code, text) = run(&["--client-memory", "0/16"]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("the client cannot have memory at 0x0: 0xC000000D STATUS_INVALID_PARAMETER"), "{text}");
}

/// The thread that reads may run before or after the dispatch routine returns: the run must not depend on that.
#[test]
fn a_buffer_changes_after_the_first_read_whichever_thread_reads_it() {
    let image = build("wdm_neither", 0, "DriverEntry", &["ntoskrnl"]);
    let words = ["--virtual-time", "--json", "--change", "0=0x1000", "--ioctl", "222003:0800000009000000"];
    let outputs: Vec<_> = (0..10).map(|_| common::run(&image, &words)).collect();
    let (code, text) = &outputs[0];
    assert_eq!(*code, Some(0), "{text}");
    assert!(text.contains("first 8, second 1000, last 9"), "{text}");
    for output in &outputs {
        assert_eq!(output, &outputs[0], "the same run again");
    }
}

#[test]
fn the_command_scripts_the_device_below() {
    let image = build("kmdf_target", 0, "FxDriverEntry", &FRAMEWORK);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    let below = ["--below", "ioctl:222008=0:0102@5ms", "--below", "any=C00000BB"];
    let output = command.arg("run").arg(image).args(below).args(["--ioctl", "222008", "--ioctl", "22200C"]).output();
    let output = output.expect("the command");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("ioctl 00222008: 0x00000000 STATUS_SUCCESS 0102"), "{text}");
    assert!(text.contains("ioctl 0022200C: 0xC00000BB STATUS_NOT_SUPPORTED"), "{text}");
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
fn the_command_scripts_another_drivers_device() {
    let image = build("kmdf_remote", 0, "FxDriverEntry", &FRAMEWORK);
    let order = |argument: u32, name: &str| {
        let mut name: Vec<u16> = name.encode_utf16().collect();
        name.resize(64, 0);
        let mut input: Vec<u8> = [1, argument, BELOW].into_iter().flat_map(u32::to_le_bytes).collect();
        input.extend(name.into_iter().flat_map(u16::to_le_bytes));
        input.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    command.arg("run").arg(image).args(["--remote", r"\Device\Other,ioctl:222100=0:01020304@5ms"]);
    command.args(["--ioctl", &format!("{OPEN:x}:{}", order(BY_NAME, OTHER)), "--ioctl"]);
    let output = command.arg(format!("{ASK:x}:{}", order(0, ""))).output().expect("the command");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("asked: 0, 4 bytes, 4030201"), "{text}");
    assert_eq!(output.status.code(), Some(0), "{text}");
}
