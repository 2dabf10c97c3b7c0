//! A driver that uses most of the crate.

use std::time::Duration;

use etw_types::{Guid, NtStatus};
use nt_host::{Below, Builder, GapKind, Matrix, NtHost, RequestKind, Resource, WmiOperation, WmiRequest};

use super::{code, driver};

const WAIT: u32 = code(0);
const PEEK: u32 = code(1);
const RELEASE_WAITING: u32 = code(2);
const BELOW: u32 = code(3);
const FORGET: u32 = code(4);
const ADD: u32 = code(5);
const VALUES: u32 = code(6);
const OWN: u32 = code(7);
const OWN_BELOW: u32 = code(8);
const PLUG: u32 = code(9);
const UNPLUG: u32 = code(10);
const LIST: u32 = code(11);
const NEITHER: u32 = code(12) | 3;
const STAY: u32 = code(13);
const REST: u32 = code(14);

/// Starts the driver that uses most of the crate, with two interrupts and something below it.
fn tour() -> NtHost {
    builder().start().expect("DriverEntry")
}

fn builder() -> Builder {
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
    assert!(found[0].ends_with("resources, 2 interrupts, true, and false"), "{found:?}");
    assert!(!found[0].starts_with('0'), "{found:?}");
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
    assert_eq!(status(PEEK), NtStatus::Success, "it is still there");
    assert_eq!(status(PEEK), NtStatus::Success, "it is still there");
    assert_eq!(status(RELEASE_WAITING), NtStatus::Success);
    assert_eq!(waiting.wait().expect("a reply").output, b"released");
    let cancelled = file.begin_ioctl(WAIT, &[], 16).expect("a request");
    cancelled.cancel().expect("a cancellation");
    assert_eq!(cancelled.wait().expect("a reply").status, NtStatus::Cancelled);
    assert_eq!(status(RELEASE_WAITING), NtStatus::NotFound, "the framework has removed it");

    assert_eq!(status(BELOW), NtStatus::DeviceBusy, "the driver changes the status");
    let forgotten = file.ioctl(FORGET, &[], 8).expect("a reply");
    assert_eq!(forgotten.status, NtStatus::Success);
    assert_eq!(forgotten.output.as_slice(), b"below".as_slice());

    // The driver's own request is sent twice, one time after the other.
    for _ in 0..2 {
        let own = file.begin_ioctl(OWN, &[], 16).expect("a request");
        host.advance(Duration::from_millis(10)).expect("time");
        let own = own.wait().expect("a reply");
        assert_eq!(own.status, NtStatus::Success);
        assert_eq!(own.output.as_slice(), b"mine".as_slice());
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
    assert_eq!(written.status, NtStatus::Success);
    assert_eq!(written.information, 4);
    assert_eq!(file.internal_ioctl(0x0022_0000, &[], 4).expect("a reply").output, 0x0022_0000_u32.to_le_bytes());
    // A driver that sends `METHOD_NEITHER` passes no buffers of a process.
    let internal = file.internal_ioctl(0x0022_0003, &[], 4).expect("a reply");
    assert_eq!(internal.status, NtStatus::InvalidDeviceRequest);
    assert_eq!(internal.information, 0);
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
fn buffers_in_the_clients_process_are_locked_and_copied() {
    let host = tour();
    let device = host.add_device().expect("a device");
    let ask = |input: &[u8], output| {
        let reply = device.ioctl(NEITHER, input, output).expect("a reply");
        (reply.status, reply.output)
    };
    assert_eq!(ask(b"abc", 8), (NtStatus::Success, b"cba".to_vec()));
    assert_eq!(ask(b"abc", 2), (NtStatus::BufferTooSmall, Vec::new()));
    assert_eq!(ask(b"", 8), (NtStatus::Success, Vec::new()));
    assert_eq!(ask(b"", 0), (NtStatus::Success, Vec::new()));
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_device_is_armed_before_it_sleeps_and_disarmed_when_it_wakes() {
    let host = tour();
    let device = host.add_device().expect("a device");
    let read = lines(&host).len();
    device.sleep().expect("sleep");
    assert_eq!(lines(&host)[read..], ["armed"]);
    device.wake().expect("wake");
    assert_eq!(lines(&host)[read..], ["armed", "disarmed"]);
    // A device that refuses to be armed is disarmed, and sleeps.
    let guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61a1);
    let limit = WmiRequest { guid, instance: 0, operation: WmiOperation::Set, input: vec![99, 0, 0, 0], output: 0 };
    assert_eq!(device.wmi(limit).expect("a reply").status, NtStatus::Success);
    device.sleep().expect("sleep");
    assert_eq!(lines(&host)[read..], ["armed", "disarmed", "armed", "disarmed"]);
    device.wake().expect("wake");
    assert_eq!(lines(&host)[read..].len(), 4);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn an_idle_device_stays_in_d0_while_the_driver_has_a_power_reference() {
    let host = tour();
    let device = host.add_device().expect("a device");
    let file = device.open().expect("a file");
    // How often the device has left D0. The queue of these requests is not power-managed, so they do not wake the device.
    let sleeps = |code| {
        let reply = file.internal_ioctl(code, &[], 4).expect("a reply");
        assert_eq!(reply.status, NtStatus::Success, "{code:#x}");
        reply.output
    };
    let minute = Duration::from_mins(1);
    host.advance(minute).expect("time");
    assert_eq!(sleeps(STAY), [1, 0, 0, 0], "it was idle for 10 seconds, and wakes up");
    host.advance(minute).expect("time");
    assert_eq!(sleeps(REST), [1, 0, 0, 0], "it stays in D0");
    host.advance(minute).expect("time");
    assert_eq!(sleeps(REST), [2, 0, 0, 0], "it sleeps again");
    // Removed while the driver has a power reference.
    assert_eq!(sleeps(STAY), [2, 0, 0, 0]);
    file.close().expect("a close");
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn devices_in_a_list_come_and_go_with_its_scans() {
    // The driver refuses to describe a lamp.
    let host = builder().allow(GapKind::NotAdded).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut read = lines(&host).len();
    let mut scan = |lamps: &[u8]| {
        assert_eq!(device.ioctl(LIST, lamps, 0).expect("a reply").status, NtStatus::Success, "{lamps:?}");
        let found = lines(&host);
        let mut new: Vec<String> = found[read..].iter().filter(|line| line.contains("lamp")).cloned().collect();
        read = found.len();
        new.sort();
        new
    };
    assert_eq!(scan(&[1, 2]), ["lamp 1 in the list", "lamp 2 in the list", "the lamp is on", "the lamp is on"]);
    assert_eq!(scan(&[2, 2]), ["the lamp goes", "the lamp is gone"]);
    // A lamp with this number is refused, so it has no device.
    assert_eq!(scan(&[2, 200]), [""; 0]);
    assert_eq!(scan(&[3]), ["lamp 3 in the list", "the lamp goes", "the lamp is gone", "the lamp is on"]);
    device.remove().expect("removal");
    let end = lines(&host);
    assert_eq!(end.iter().filter(|line| *line == "the lamp is gone").count(), 3, "{end:?}");
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
    assert_eq!(ask(1, WmiOperation::Method(1), &[5, 0, 0, 0], 4), (NtStatus::Success, vec![12, 0, 0, 0]));
    assert_eq!(ask(1, WmiOperation::Method(1), &[5, 0, 0], 4).0, NtStatus::BufferTooSmall);
    assert_eq!(ask(1, WmiOperation::Method(2), &[0; 4], 4).0, NtStatus::InvalidDeviceRequest);
    assert_eq!(ask(0, WmiOperation::Method(1), &[0; 4], 4).0, NtStatus::InvalidDeviceRequest);
    device.remove().expect("removal");
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
        device.ioctl(LIST, &[1, 2], 0)?;
        device.ioctl(NEITHER, b"abc", 8)?;
        device.sleep()?;
        device.wake()?;
        device.remove()?;
        host.unload().map(drop)
    });
    let survey = survey.expect("a run to the end");
    assert!(survey.failures > 30, "{survey}");
    survey.assert_clean();
}
