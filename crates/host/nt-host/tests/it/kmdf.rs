//! Drivers on `wdk-kmdf`: ports of Microsoft's samples, and one that tries to misuse the crate.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use crate::common;
use etw_types::{Guid, NtStatus};
use nt_host::{
    Below, Device, Error, GapKind, Matrix, NtHost, PendingRequest, RequestKind, Resource, WmiOperation, WmiRequest,
};

/// The workspace of the drivers.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../driver/wdk-kmdf/drivers")
}

/// Builds the drivers with `cargo xtask build`, or one package with one of its cases.
fn build(case: Option<(&str, &str)>) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--package", "xtask", "--", "build", "--manifest-path"]);
    cargo.arg(workspace().join("Cargo.toml"));
    if let Some((package, case)) = case {
        cargo.args(["--package", package]).env("WDK_KMDF_CASE", case);
    }
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")).output().expect("cargo")
}

/// The path of a driver. The first call builds all of them.
fn driver(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let output = build(None);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    common::built(name)
}

fn start(name: &str) -> NtHost {
    NtHost::builder().driver(driver(name)).start().expect("DriverEntry")
}

/// From the start of the echo device to the first tick, and between two ticks.
const FIRST_TICK: Duration = Duration::from_millis(100);
const PERIOD: Duration = Duration::from_secs(10);

#[test]
fn the_echo_driver_returns_what_was_written_when_its_timer_ticks() {
    let host = start("kmdf_echo.sys");
    let device = host.add_device().expect("a device");
    let nothing = device.read(8).expect("a reply");
    assert_eq!((nothing.status, nothing.information), (NtStatus::Success, 0), "nothing was written yet");
    let write = device.begin_write(b"hello").expect("a request");
    host.advance(FIRST_TICK).expect("time");
    let written = write.wait().expect("a reply");
    assert_eq!((written.status, written.information), (NtStatus::Success, 5));
    // The queue is sequential: each tick completes one request.
    let (long, short) = (device.begin_read(64).expect("a request"), device.begin_read(2).expect("a request"));
    host.advance(PERIOD).expect("time");
    assert_eq!(long.wait().expect("a reply").output, b"hello");
    host.advance(PERIOD).expect("time");
    assert_eq!(short.wait().expect("a reply").output, b"he");
    let refused = device.write(&vec![0; 40 * 1024 + 1]).expect("a reply");
    assert_eq!((refused.status, refused.information), (NtStatus::BufferOverflow, 0));
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn the_echo_driver_gives_a_cancelled_request_back_and_takes_the_next_one() {
    let host = start("kmdf_echo.sys");
    let device = host.add_device().expect("a device");
    let (first, second) =
        (device.begin_write(b"one").expect("a request"), device.begin_write(b"two").expect("a request"));
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

#[test]
fn the_echo_driver_completes_its_request_before_it_sleeps_and_works_afterwards() {
    let host = start("kmdf_echo.sys");
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

#[test]
fn the_echo_driver_is_clean_whatever_fails() {
    let builder = NtHost::builder().driver(driver("kmdf_echo.sys"));
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
        assert_eq!((reply.status, reply.output.as_slice()), (NtStatus::Success, REPLY), "{code:#x}");
        let short = file.ioctl(code, b"x", 4).expect("a reply");
        assert_eq!((short.status, short.output.as_slice()), (NtStatus::Success, b"this".as_slice()), "{code:#x}");
    }
    assert_eq!(file.ioctl(BUFFERED, b"kept", 8).expect("a reply").status, NtStatus::Success);
    assert_eq!(file.read(64).expect("a reply").output, b"kept", "the input is the file's");
    let other = host.open(r"\\.\NONPNP").expect("a file");
    assert_eq!(other.read(64).expect("a reply").output, b"", "of no other file");
    let taken = file.ioctl(IN_DIRECT, b"x", 16).expect("a reply");
    assert_eq!((taken.status, taken.information), (NtStatus::Success, 16));
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
fn the_tour_driver_is_clean_whatever_fails() {
    // A device that cannot be started is intended here: most calls that fail prevent it.
    let builder = NtHost::builder().driver(driver("kmdf_tour.sys")).allow(GapKind::NotStarted).allow(GapKind::NotAdded);
    let survey = Matrix::new(builder.resource(Resource::LineInterrupt)).run(|host| {
        host.load()?;
        let device = host.add_device()?;
        device.ioctl(PLUG, &[], 0)?;
        device.ioctl(ADD, &[0; 8], 8)?;
        device.remove()?;
        host.unload().map(drop)
    });
    let survey = survey.expect("a run to the end");
    assert!(survey.failures > 30, "{survey}");
    survey.assert_clean();
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

const fn misuse(function: u32) -> u32 {
    0x0022_0000 | (0x800 + function) << 2
}

const WRITE_NOTHING: u32 = misuse(0);
const WRITE_TOO_MUCH: u32 = misuse(1);
const DROP: u32 = misuse(2);
const MOVE: u32 = misuse(3);
const KEEP: u32 = misuse(4);
const RELEASE: u32 = misuse(5);
const NEST: u32 = misuse(6);
const LEAK: u32 = misuse(7);
const CONFUSE: u32 = misuse(8);
const FORWARD_AWAY: u32 = misuse(9);
const REUSE_INPUT: u32 = misuse(10);
const ABANDON: u32 = misuse(11);

#[test]
fn a_client_gets_the_bytes_that_were_written_and_no_others() {
    let host = start("kmdf_misuse.sys");
    let device = host.add_device().expect("a device");
    for (code, status, output) in [
        (WRITE_NOTHING, NtStatus::Success, b"".as_slice()),
        (WRITE_TOO_MUCH, NtStatus::Success, b"four"),
        (ABANDON, NtStatus::Success, b""),
        (REUSE_INPUT, NtStatus::InvalidDeviceRequest, b""),
        (DROP, NtStatus::Cancelled, b""),
        (MOVE, NtStatus::Success, b""),
        (CONFUSE, NtStatus::InvalidDeviceRequest, b""),
        (NEST, NtStatus::Success, &[0, 1, 1, 0]),
    ] {
        let reply = device.ioctl(code, b"input", 32).expect("a reply");
        assert_eq!((reply.status, reply.output.as_slice()), (status, output), "{code:#x}");
    }
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

fn keep(device: &Device) -> PendingRequest {
    device.begin_ioctl(KEEP, &[], 0).expect("a request")
}

#[test]
fn one_request_is_kept_and_completed_once_by_whoever_comes_first() {
    let host = start("kmdf_misuse.sys");
    let device = host.add_device().expect("a device");
    let kept = keep(&device);
    assert_eq!(device.ioctl(KEEP, &[], 0).expect("a reply").status, NtStatus::DeviceBusy, "there is one already");
    assert_eq!(device.ioctl(RELEASE, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Success);
    assert_eq!(device.ioctl(RELEASE, &[], 0).expect("a reply").status, NtStatus::NotFound, "it is gone");
    let cancelled = keep(&device);
    cancelled.cancel().expect("a cancellation");
    assert_eq!(cancelled.wait().expect("a reply").status, NtStatus::Cancelled);
    assert_eq!(
        device.ioctl(RELEASE, &[], 0).expect("a reply").status,
        NtStatus::NotFound,
        "the client has cancelled it"
    );
    // A device that keeps a request sleeps, because the driver acknowledges it.
    let kept = keep(&device);
    device.sleep().expect("sleep");
    device.wake().expect("wake");
    assert_eq!(device.ioctl(RELEASE, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(kept.wait().expect("a reply").status, NtStatus::Success);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn handles_that_outlive_their_device_do_nothing_and_its_value_is_dropped_after_the_last_one() {
    let host = start("kmdf_misuse.sys");
    let device = host.add_device().expect("a device");
    assert_eq!(device.ioctl(LEAK, &[], 0).expect("a reply").status, NtStatus::Success);
    device.remove().expect("removal");
    let second = host.add_device().expect("a device");
    assert_eq!(
        second.ioctl(FORWARD_AWAY, &[], 0).expect("a reply").status,
        NtStatus::DeletePending,
        "the queue is gone"
    );
    second.remove().expect("removal");
    let report = host.unload().expect("unload");
    report.assert_clean();
    let lines: Vec<&str> = report.output().lines().filter(|line| line.starts_with("misuse")).collect();
    let expected = [
        "misuse: cleanup",
        // The second device, to which nothing refers.
        "misuse: cleanup",
        "misuse: dropped",
        "misuse: the value outlives its device: false",
        "misuse: dropped",
        "misuse: unload",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_queue_of_another_device_is_refused() {
    let host = start("kmdf_misuse.sys");
    let (first, second) = (host.add_device().expect("a device"), host.add_device().expect("a device"));
    assert_eq!(first.ioctl(LEAK, &[], 0).expect("a reply").status, NtStatus::Success);
    let refused = second.ioctl(FORWARD_AWAY, &[], 0).expect("a reply");
    assert!(refused.status.is_error(), "{}", refused.status);
    first.remove().expect("removal");
    second.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_whose_value_cannot_be_made_is_not_added() {
    for (routine, call) in
        [("WdfTimerCreate", 1), ("WdfWorkItemCreate", 2), ("WdfObjectCreate", 1), ("WdfIoQueueCreate", 2)]
    {
        let builder = NtHost::builder().driver(driver("kmdf_misuse.sys")).allow(GapKind::NotAdded);
        let host = builder.fail_call(routine, NtStatus::InsufficientResources, call).start().expect("DriverEntry");
        match host.add_device() {
            Err(Error::Status(status)) => assert_eq!(status, NtStatus::InsufficientResources, "{routine}"),
            other => panic!("{routine}: {other:?}"),
        }
        host.unload().expect("unload").assert_clean();
    }
}

#[test]
fn the_compiler_refuses_what_would_be_unsound() {
    let source = fs::read_to_string(workspace().join("refused/src/lib.rs")).expect("the cases");
    driver("kmdf_refused.sys");
    let mut cases = 0;
    for line in source.lines().filter_map(|line| line.strip_prefix("#[cfg(case = \"")) {
        let (case, error) = line.split_once("\")] // ").expect("a case with its error");
        let output = build(Some(("kmdf-refused", case)));
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{case} compiles");
        let errors = text.lines().filter(|line| line.starts_with("error[") || line.starts_with("error: lifetime"));
        let errors: Vec<&str> = errors.collect();
        assert!(errors.iter().all(|line| line.starts_with(error)) && !errors.is_empty(), "{case}: {text}");
        cases += 1;
    }
    assert!(cases > 12, "{cases} cases");
}

const WAIT: u32 = misuse(0);
const PEEK: u32 = misuse(1);
const RELEASE_WAITING: u32 = misuse(2);
const BELOW: u32 = misuse(3);
const FORGET: u32 = misuse(4);
const ADD: u32 = misuse(5);
const VALUES: u32 = misuse(6);
const OWN: u32 = misuse(7);
const OWN_BELOW: u32 = misuse(8);
const PLUG: u32 = misuse(9);
const UNPLUG: u32 = misuse(10);

/// Starts the driver that uses most of the crate, with two interrupts and something below it.
fn tour() -> NtHost {
    let below = |code, status, output: &[u8]| Below {
        device: None,
        kind: Some(RequestKind::DEVICE_CONTROL),
        code: Some(code),
        status,
        output: output.to_vec(),
        delay: Duration::from_millis(10),
    };
    NtHost::builder()
        .driver(driver("kmdf_tour.sys"))
        .resource(Resource::LineInterrupt)
        .resource(Resource::MessageInterrupts(1))
        .below(below(BELOW, NtStatus::NotSupported, &[]))
        .below(below(FORGET, NtStatus::Success, b"below"))
        .below(below(OWN_BELOW, NtStatus::Success, b"mine"))
        // When it is removed by surprise, the driver reports that the device has failed.
        .allow(GapKind::NotStarted)
        .start()
        .expect("DriverEntry")
}

/// The driver's lines so far, without their prefix.
fn lines(host: &NtHost) -> Vec<String> {
    host.report().output().lines().filter_map(|line| line.strip_prefix("tour: ")).map(str::to_owned).collect()
}

#[test]
fn a_device_reads_its_properties_and_keys_and_opens_other_devices_when_it_starts() {
    let host = tour();
    let device = host.add_device().expect("a device");
    let found = lines(&host);
    assert!(found[0].ends_with("resources, true, and false") && !found[0].starts_with('0'), "{found:?}");
    assert_eq!(found[1], "a hardware id of 26 bytes");
    let rest = [
        "42, 3 bytes of type 3, gone true",
        "42, 3 bytes of type 3, gone true",
        "helper 4 4 2 3, restarted true",
        "missing true",
    ];
    assert_eq!(found[2..], rest);
    device.remove().expect("removal");
    let end = lines(&host);
    assert_eq!(end[6..], ["query remove", "counts [0, 0, 0, 0]", "flush", "self-managed cleanup"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn requests_wait_in_a_manual_queue_are_sent_below_and_have_typed_buffers() {
    let host = tour();
    let device = host.add_device().expect("a device");
    let file = device.open().expect("a file");
    let status = |code| file.ioctl(code, &[], 0).expect("a reply").status;
    assert_eq!(status(PEEK), NtStatus::NotFound);
    let waiting = file.begin_ioctl(WAIT, &[], 16).expect("a request");
    assert_eq!((status(PEEK), status(PEEK)), (NtStatus::Success, NtStatus::Success), "it is still there");
    assert_eq!(status(RELEASE_WAITING), NtStatus::Success);
    assert_eq!(waiting.wait().expect("a reply").output, b"released");
    let cancelled = file.begin_ioctl(WAIT, &[], 16).expect("a request");
    cancelled.cancel().expect("a cancellation");
    assert_eq!(cancelled.wait().expect("a reply").status, NtStatus::Cancelled);
    assert_eq!(status(RELEASE_WAITING), NtStatus::NotFound, "the framework has removed it");

    assert_eq!(status(BELOW), NtStatus::DeviceBusy, "the driver changes the status");
    let forgotten = file.ioctl(FORGET, &[], 8).expect("a reply");
    assert_eq!((forgotten.status, forgotten.output.as_slice()), (NtStatus::Success, b"below".as_slice()));

    // The driver's own request is sent twice, one time after the other.
    for _ in 0..2 {
        let own = file.begin_ioctl(OWN, &[], 16).expect("a request");
        host.advance(Duration::from_millis(10)).expect("time");
        let own = own.wait().expect("a reply");
        assert_eq!((own.status, own.output.as_slice()), (NtStatus::Success, b"mine".as_slice()));
    }

    let terms: Vec<u8> = [u32::MAX, 3].into_iter().flat_map(u32::to_le_bytes).collect();
    assert_eq!(file.ioctl(ADD, &terms, 8).expect("a reply").output, [2, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(file.ioctl(ADD, &terms[..7], 8).expect("a reply").status, NtStatus::BufferTooSmall);
    assert_eq!(file.ioctl(ADD, &terms, 7).expect("a reply").status, NtStatus::BufferTooSmall);
    assert_eq!(file.ioctl(VALUES, &[], 32).expect("a reply").output, [1, 2, 0, 3, 0, 0, 0, 3, 0, 0, 0]);

    assert_eq!(file.read(8).expect("a reply").output, b"read");
    assert_eq!(file.read(3).expect("a reply").status, NtStatus::BufferTooSmall);
    assert_eq!(file.read(0).expect("a reply").status, NtStatus::Success, "the driver gets an empty read");
    let written = file.write(b"?www").expect("a reply");
    assert_eq!((written.status, written.information), (NtStatus::Success, 4));
    assert_eq!(file.internal_ioctl(0x0022_0003, &[], 4).expect("a reply").output, 0x0022_0003_u32.to_le_bytes());
    file.close().expect("a close");
    device.surprise_remove().expect("removal");
    let end = lines(&host);
    for line in ["cleanup of file 1", "close of file 1", "drop of file 1", "surprise removal"] {
        assert_eq!(end.iter().filter(|known| *known == line).count(), 1, "{line}: {end:?}");
    }
    assert_eq!(end.iter().filter(|known| *known == "own true, true").count(), 2, "{end:?}");
    assert!(end.contains(&"sent, 0xC00000BB STATUS_NOT_SUPPORTED, 0 bytes".to_owned()), "{end:?}");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn an_interrupt_is_followed_by_a_dpc_or_a_work_item() {
    let host = tour();
    let device = host.add_device().expect("a device");
    assert!(device.interrupt(0).expect("an interrupt"), "the service routine claims it");
    assert!(device.interrupt(1).expect("an interrupt"), "the second one, too");
    host.advance(Duration::from_millis(1)).expect("time");
    let found = lines(&host);
    assert_eq!(found[6..], ["DPC after Some(1)", "work after 0 files, false"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_on_a_bus_comes_and_goes_and_its_value_is_dropped() {
    let host = tour();
    let device = host.add_device().expect("a device");
    let status = |code| device.ioctl(code, &[], 0).expect("a reply").status;
    let mut read = lines(&host).len();
    let mut new = |count: usize| {
        let found = lines(&host);
        let new: Vec<String> =
            found[read..].iter().filter(|line| line.contains("lamp") || line.ends_with('W')).cloned().collect();
        read = found.len();
        assert_eq!(new.len(), count, "{new:?}");
        new
    };
    assert_eq!(status(UNPLUG), NtStatus::NotFound);
    assert_eq!(status(PLUG), NtStatus::Success);
    let mut plugged = new(2);
    plugged.sort();
    assert_eq!(plugged, ["40 W", "the lamp is on"]);
    assert_eq!(status(UNPLUG), NtStatus::Success);
    assert_eq!(new(2), ["the lamp goes", "the lamp is gone"]);
    assert_eq!(status(PLUG), NtStatus::Success);
    new(2);
    // The bus goes with the lamp on it, and with the driver's reference to the lamp.
    device.remove().expect("removal");
    assert_eq!(new(2), ["the lamp goes", "the lamp is gone"]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn management_data_is_queried_and_set_by_its_size() {
    let host = tour();
    let device = host.add_device().expect("a device");
    let ask = |block: u8, operation, input: &[u8], output| {
        let guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61a0 + u128::from(block));
        let asked = WmiRequest { guid, instance: 0, operation, input: input.to_vec(), output };
        let reply = device.wmi(asked).expect("a reply");
        (reply.status, reply.output)
    };
    device.read(4).expect("a reply");
    assert_eq!(ask(0, WmiOperation::Query, &[], 64), (NtStatus::Success, vec![1, 0, 0, 0, 1, 0, 0, 0]));
    assert_eq!(ask(0, WmiOperation::Query, &[], 7).0, NtStatus::BufferTooSmall);
    assert_eq!(ask(0, WmiOperation::Set, &[0; 8], 0).0, NtStatus::WmiReadOnly);
    assert_eq!(ask(1, WmiOperation::Set, &[7, 0, 0, 0], 0).0, NtStatus::Success);
    assert_eq!(ask(1, WmiOperation::Query, &[], 64), (NtStatus::Success, vec![7, 0, 0, 0]));
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}
