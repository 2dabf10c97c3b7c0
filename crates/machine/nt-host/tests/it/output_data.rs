//! Data in the output buffer of control requests: what the driver gets, the steps for it, and the fuzzer.

use crate::common::c;
use etw_types::NtStatus;
use nt_host::{Error, IoRequest, RequestKind};

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
