//! Data in the output buffer of control requests: what the driver gets, the steps for it, and the fuzzer.

use std::process::Command;

use crate::common::{self, c};
use etw_types::NtStatus;
use nt_host::{Bug, Error, Fuzz, Input, IoRequest, NtHost, RequestKind, Rule};

/// The code of `wdm_requests` with which it adds 1 to each byte of the output buffer, and the one with which it asks itself to do so.
const INCREMENT: u32 = 0x0022_2F08;
const ASK_ITSELF: u32 = 0x0022_2F04;

#[test]
fn a_driver_gets_the_data_in_the_output_buffer_unless_it_is_buffered() {
    let host = c::plain("wdm_requests").start().expect("DriverEntry");
    let device = host.open(r"\Device\CNeither").expect("the device");
    for method in 1..=3 {
        let code = INCREMENT | method;
        let output = |answer: Result<nt_host::Answer, Error>| answer.expect("an answer").output;
        assert_eq!(output(device.ioctl_with_output(code, &[7; 8], &[1, 2, 3])), [2, 3, 4], "{method}");
        assert_eq!(output(device.internal_ioctl_with_output(code, &[], &[9])), [10], "{method}");
        let begun = device.begin_ioctl_with_output(code, &[], &[0xFF, 5]).expect("a request");
        assert_eq!(output(begun.wait()), [0, 6], "{method}");
        // Zeroes follow the data, and without any the buffer has only zeroes.
        let kind = RequestKind::DEVICE_CONTROL;
        let request = IoRequest { kind, code, output: 4, output_data: vec![8], ..IoRequest::default() };
        assert_eq!(host.together(&[(&device, request)]).expect("answers")[0].output, [9, 1, 1, 1]);
        assert_eq!(output(device.ioctl(code, &[], 2)), [1, 1]);
    }
    let refused = device.ioctl_with_output(INCREMENT, &[7], &[1]).expect_err("METHOD_BUFFERED");
    assert!(refused.to_string().contains("222F08 is a METHOD_BUFFERED code"), "{refused}");
    assert_eq!(device.ioctl(INCREMENT, &[7], 1).expect("an answer").output, [8], "the input is in the same buffer");
    assert_eq!(device.ioctl(ASK_ITSELF, &[], 0).expect("an answer").status, NtStatus::Success);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn the_command_line_has_data_in_the_output_buffer() {
    let driver = c::build("wdm_requests", 0, "DriverEntry", &["ntoskrnl"]);
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
        assert!(code == Some(2) && text.contains(reason), "{text}");
    }
}

/// The control device of `kmdf_remote` gets its requests from the framework, and its other device as IRPs.
#[test]
fn a_framework_driver_gets_the_data_in_the_output_buffer_from_a_client_and_from_another_driver() {
    const DIRECT: u32 = 0x0022_2109;
    const OPEN: u32 = 0x0022_2014;
    const ASK: u32 = 0x0022_201C;
    let host = c::framework("kmdf_remote").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = c::Log::default();
    for (name, expected) in [(r"\Device\OwnControl", &[8, 2, 3][..]), (r"\Device\OwnPackets", &[8, 2])] {
        let file = host.open(name).expect("the device");
        assert_eq!(file.ioctl_with_output(DIRECT, &[], &[7, 2, 3]).expect("an answer").output, expected);
        file.close().expect("close");
        // The driver opens the device as a remote target, and sends it a request with 0x29 in the output buffer.
        let order = |argument: u32, code: u32| {
            let mut input: Vec<u8> = [1, argument, code].into_iter().flat_map(u32::to_le_bytes).collect();
            input.extend(name.encode_utf16().chain([0; 64]).take(64).flat_map(u16::to_le_bytes));
            input
        };
        assert_eq!(device.ioctl(OPEN, &order(2, 0), 0).expect("an answer").status, NtStatus::Success);
        log.lines(&host);
        assert_eq!(device.ioctl(ASK, &order(0, DIRECT), 0).expect("an answer").status, NtStatus::Success);
        let lines = log.lines(&host);
        assert!(lines.contains(&format!("asked: 0, {} bytes, 2a", expected.len())), "{lines:?}");
        assert_eq!(device.ioctl(0x0022_2018, &order(0, 0), 0).expect("an answer").status, NtStatus::Success);
    }
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

fn fuzz(bug: u32) -> nt_host::Harvest {
    let driver = c::build("fuzz_direct", bug, "DriverEntry", &["ntoskrnl"]);
    Fuzz::new(NtHost::builder().driver(driver)).seed(2).executions(3_000).run().expect("a session")
}

/// Returns the option of an input that sends data in the output buffer.
fn option(input: &Input) -> String {
    let is = |option: &String| option.starts_with("--ioctl=") && option.contains('/');
    input.options().into_iter().find(is).unwrap_or_default()
}

#[test]
fn the_fuzzer_finds_mistakes_that_data_in_the_output_buffer_leads_to() {
    let harvest = fuzz(1);
    for (rule, name, code, data) in
        [(Rule::PoolOverrun, "SendTable", "222001", "5441424c"), (Rule::BugCheck, "Scale", "222007", "454c4353")]
    {
        let is_found = |bug: &&Bug| {
            let symbol = bug.finding.place.as_ref().and_then(|place| place.symbol.clone());
            bug.finding.rule == rule && symbol.as_deref() == Some(name)
        };
        let bug = harvest.bugs.iter().find(is_found).unwrap_or_else(|| panic!("{rule:?} not found in {harvest}"));
        let (option, driver) = (option(&bug.input), c::build("fuzz_direct", 1, "DriverEntry", &["ntoskrnl"]));
        // The input does not matter, and is gone.
        assert!(bug.is_reproduced && option.starts_with(&format!("--ioctl={code}/")), "{option}");
        assert!(option.contains(&format!(":{data}")), "{option}");
        let run = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(driver).args(bug.input.options()).output();
        let text = String::from_utf8_lossy(&run.expect("nt-host").stdout).into_owned();
        assert!(text.contains(rule.id()) && text.contains(name), "{text}");
        assert!(bug.input.test("name", "driver.sys".as_ref()).contains(".ioctl_with_output(0x"), "{option}");
    }
    fuzz(0).assert_clean();
}
