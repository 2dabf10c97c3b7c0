//! Ports of Microsoft's samples.

use std::time::Duration;

use etw_types::NtStatus;
use nt_host::{Matrix, NtHost};

use super::{driver, start};

/// The port of the echo sample, and the same driver without `wdk-kmdf`.
const ECHO: [&str; 2] = ["kmdf_echo.sys", "kmdf_echo_raw.sys"];
/// From the start of the echo device to the first tick, and between two ticks.
const FIRST_TICK: Duration = Duration::from_millis(100);
const PERIOD: Duration = Duration::from_secs(10);

#[test]
fn the_echo_driver_returns_what_was_written_when_its_timer_ticks() {
    for name in ECHO {
        let host = start(name);
        let device = host.add_device().expect("a device");
        let nothing = device.read(8).expect("a reply");
        assert_eq!(nothing.status, NtStatus::Success, "nothing was written yet");
        assert_eq!(nothing.information, 0, "nothing was written yet");
        let write = device.begin_write(b"hello").expect("a request");
        host.advance(FIRST_TICK).expect("time");
        let written = write.wait().expect("a reply");
        assert_eq!(written.status, NtStatus::Success);
        assert_eq!(written.information, 5);
        // The queue is sequential: each tick completes one request.
        let long = device.begin_read(64).expect("a request");
        let short = device.begin_read(2).expect("a request");
        host.advance(PERIOD).expect("time");
        assert_eq!(long.wait().expect("a reply").output, b"hello");
        host.advance(PERIOD).expect("time");
        assert_eq!(short.wait().expect("a reply").output, b"he");
        let refused = device.write(&vec![0; 40 * 1024 + 1]).expect("a reply");
        assert_eq!(refused.status, NtStatus::BufferOverflow);
        assert_eq!(refused.information, 0);
        device.remove().expect("removal");
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn the_echo_driver_gives_a_cancelled_request_back_and_takes_the_next_one() {
    for name in ECHO {
        let host = start(name);
        let device = host.add_device().expect("a device");
        let first = device.begin_write(b"one").expect("a request");
        let second = device.begin_write(b"two").expect("a request");
        first.cancel().expect("a cancellation");
        assert_eq!(first.wait().expect("a reply").status, NtStatus::Cancelled);
        host.advance(FIRST_TICK).expect("time");
        assert_eq!(second.wait().expect("a reply").status, NtStatus::Success);
        let read = device.begin_read(8).expect("a request");
        host.advance(PERIOD).expect("time");
        assert_eq!(read.wait().expect("a reply").output, b"two");
        device.remove().expect("removal");
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn the_echo_driver_completes_its_request_before_it_sleeps_and_works_afterwards() {
    for name in ECHO {
        let host = start(name);
        let device = host.add_device().expect("a device");
        let write = device.begin_write(b"awake").expect("a request");
        device.sleep().expect("sleep");
        assert_eq!(write.wait().expect("a reply").status, NtStatus::Success);
        device.wake().expect("wake");
        let read = device.begin_read(8).expect("a request");
        host.advance(FIRST_TICK).expect("time");
        assert_eq!(read.wait().expect("a reply").output, b"awake");
        device.surprise_remove().expect("removal");
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn the_echo_driver_is_clean_whatever_fails() {
    for name in ECHO {
        let builder = NtHost::builder().driver(driver(name));
        let survey = Matrix::new(builder).run(|host| {
            host.load()?;
            let device = host.add_device()?;
            let write = device.begin_write(b"hello")?;
            host.advance(FIRST_TICK)?;
            write.wait()?;
            device.remove()?;
            host.unload().map(drop)
        });
        let survey = survey.expect("a run to the end");
        assert!(survey.failures > 8, "{survey}");
        survey.assert_clean();
    }
}

const IN_DIRECT: u32 = 40001 << 16 | 0x900 << 2 | 1;
const OUT_DIRECT: u32 = 40001 << 16 | 0x901 << 2 | 2;
const BUFFERED: u32 = 40001 << 16 | 0x902 << 2;
const NEITHER: u32 = 40001 << 16 | 0x903 << 2 | 3;
const REPLY: &[u8] = b"this String is from Device Driver !!!\0";

#[test]
fn the_ioctl_driver_replies_whichever_way_its_buffers_are_passed() {
    let host = start("kmdf_ioctl.sys");
    let file = host.open(r"\\.\NONPNP").expect("a file");
    for code in [BUFFERED, OUT_DIRECT] {
        let reply = file.ioctl(code, b"from the client", 100).expect("a reply");
        assert_eq!(reply.status, NtStatus::Success, "{code:#x}");
        assert_eq!(reply.output.as_slice(), REPLY, "{code:#x}");
        let short = file.ioctl(code, b"x", 4).expect("a reply");
        assert_eq!(short.status, NtStatus::Success, "{code:#x}");
        assert_eq!(short.output.as_slice(), b"this".as_slice(), "{code:#x}");
    }
    assert_eq!(file.ioctl(BUFFERED, b"kept", 8).expect("a reply").status, NtStatus::Success);
    assert_eq!(file.read(64).expect("a reply").output, b"kept", "the input is the file's");
    let other = host.open(r"\\.\NONPNP").expect("a file");
    assert_eq!(other.read(64).expect("a reply").output, b"", "of no other file");
    let taken = file.ioctl(IN_DIRECT, b"x", 16).expect("a reply");
    assert_eq!(taken.status, NtStatus::Success);
    assert_eq!(taken.information, 16);
    for (code, input, output, status) in [
        (BUFFERED, b"".as_slice(), 8, NtStatus::InvalidParameter),
        (BUFFERED, b"x", 0, NtStatus::InvalidParameter),
        (NEITHER, b"x", 8, NtStatus::InvalidDeviceRequest),
    ] {
        assert_eq!(file.ioctl(code, input, output).expect("a reply").status, status, "{code:#x}");
    }
    other.close().expect("a close");
    file.close().expect("a close");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn the_ioctl_driver_is_clean_whatever_fails() {
    let survey = Matrix::new(NtHost::builder().driver(driver("kmdf_ioctl.sys"))).run(|host| {
        host.load()?;
        let file = host.open(r"\\.\NONPNP")?;
        file.ioctl(BUFFERED, b"x", 64)?;
        file.close()?;
        host.unload().map(drop)
    });
    let survey = survey.expect("a run to the end");
    assert!(survey.failures > 4, "{survey}");
    survey.assert_clean();
}
