//! Devices that sleep while nothing uses them. The expected lines are those of Microsoft's framework 1.9, with which `original`
//! compares all of these steps.

use std::time::Duration;

use crate::common::c::{FRAMEWORK, Log, build};
use etw_types::NtStatus;
use nt_host::{Builder, Device, Error, GapKind, NtHost, Rule};

const PING: u32 = 0x0022_2000;
const KEEP: u32 = 0x0022_2004;
const RELEASE: u32 = 0x0022_2008;
const STOP: u32 = 0x0022_200C;
const STOP_AND_WAIT: u32 = 0x0022_2010;
const RESUME: u32 = 0x0022_2014;
const STATE: u32 = 0x0022_2018;
const DISABLE: u32 = 0x0022_201C;
const ENABLE: u32 = 0x0022_2020;
const CHILD: u32 = 0x0022_2024;
const FAIL: u32 = 0x0022_2028;

/// What happens to a device.
pub(crate) type Steps = fn(&NtHost, &Device) -> Result<(), Error>;

/// The steps, each with a variant of the driver.
pub(crate) const SCENARIOS: [(&str, u32, Steps); 13] = [
    ("in use", 0, in_use),
    ("kept", 0, kept),
    ("stopped by the driver", 0, stopped),
    ("the system sleeps", 0, system_sleeps),
    ("the system sleeps, and the device is powered up", 2, system_sleeps),
    ("the system sleeps, and the device is armed", 1, system_sleeps),
    ("the device is armed", 1, in_use),
    ("the device cannot be armed", 5, not_armed),
    ("removed", 0, removed),
    ("pulled out", 0, pulled_out),
    ("other resources", 0, rebalanced),
    ("other settings", 0, other_settings),
    ("a child", 0, child),
];

fn driver(bug: u32) -> Builder {
    NtHost::builder().driver(build("kmdf_idle", bug, "FxDriverEntry", &FRAMEWORK))
}

fn wait(host: &NtHost, milliseconds: u64) -> Result<(), Error> {
    host.advance(Duration::from_millis(milliseconds))
}

/// Sends requests without buffers, all of which succeed.
fn send(device: &Device, codes: &[u32]) -> Result<(), Error> {
    codes.iter().try_for_each(|code| {
        let reply = device.ioctl(*code, &[], 0)?;
        assert_eq!(reply.status, NtStatus::Success, "{code:#X}");
        Ok(())
    })
}

fn in_use(host: &NtHost, device: &Device) -> Result<(), Error> {
    wait(host, 50)?;
    send(device, &[PING])?;
    wait(host, 80)?;
    send(device, &[STATE])?;
    wait(host, 30)?;
    send(device, &[STATE, PING])?;
    wait(host, 200)?;
    send(device, &[STATE])
}

fn kept(host: &NtHost, device: &Device) -> Result<(), Error> {
    let request = device.begin_ioctl(KEEP, &[], 0)?;
    wait(host, 500)?;
    send(device, &[STATE, RELEASE])?;
    assert_eq!(request.wait()?.status, NtStatus::Success);
    wait(host, 200)?;
    send(device, &[STATE])
}

fn stopped(host: &NtHost, device: &Device) -> Result<(), Error> {
    wait(host, 200)?;
    send(device, &[STOP])?;
    wait(host, 500)?;
    send(device, &[STATE, STOP, RESUME, STATE, RESUME])?;
    wait(host, 200)?;
    send(device, &[STATE, STOP_AND_WAIT, STATE, RESUME])?;
    wait(host, 200)?;
    send(device, &[STATE])
}

fn system_sleeps(host: &NtHost, device: &Device) -> Result<(), Error> {
    // Awake, then idle.
    for time in [1, 200] {
        send(device, &[PING])?;
        wait(host, time)?;
        device.sleep()?;
        send(device, &[STATE])?;
        device.wake()?;
        send(device, &[STATE, PING])?;
        wait(host, 1)?;
    }
    let request = device.begin_ioctl(PING, &[], 0)?;
    assert_eq!(request.wait()?.status, NtStatus::Success);
    device.sleep()?;
    let request = device.begin_ioctl(PING, &[], 0)?;
    wait(host, 500)?;
    device.wake()?;
    assert_eq!(request.wait()?.status, NtStatus::Success);
    wait(host, 200)?;
    send(device, &[STATE])
}

fn not_armed(host: &NtHost, device: &Device) -> Result<(), Error> {
    // Not for the sleep of the system: 1.9 does not cancel its wait/wake IRP then.
    wait(host, 150)?;
    send(device, &[STATE, PING])?;
    wait(host, 150)?;
    send(device, &[STATE])
}

fn removed(host: &NtHost, device: &Device) -> Result<(), Error> {
    wait(host, 200)?;
    device.clone().remove()
}

fn pulled_out(host: &NtHost, device: &Device) -> Result<(), Error> {
    wait(host, 200)?;
    device.clone().surprise_remove()
}

fn rebalanced(host: &NtHost, device: &Device) -> Result<(), Error> {
    for time in [1, 200] {
        wait(host, time)?;
        device.rebalance()?;
        send(device, &[STATE, PING])?;
    }
    wait(host, 200)?;
    send(device, &[STATE])
}

fn other_settings(host: &NtHost, device: &Device) -> Result<(), Error> {
    wait(host, 200)?;
    send(device, &[DISABLE])?;
    wait(host, 500)?;
    send(device, &[STATE, ENABLE, STATE])?;
    wait(host, 200)?;
    send(device, &[STATE])
}

fn child(host: &NtHost, device: &Device) -> Result<(), Error> {
    wait(host, 200)?;
    send(device, &[CHILD])?;
    wait(host, 500)?;
    send(device, &[STATE])
}

/// Starts a driver with its device, and ignores the lines until then.
fn start(bug: u32) -> (NtHost, Device, Log) {
    let host = driver(bug).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    log.lines(&host);
    (host, device, log)
}

#[test]
fn a_device_sleeps_when_nothing_uses_it_and_wakes_for_the_next_request() {
    let (host, device, mut log) = start(0);
    in_use(&host, &device).expect("all steps");
    let down = [
        "SelfManagedIoSuspend, pnp 119, power 31a, policy 506",
        "D0Exit to 4",
        "D0Exit, pnp 119, power 31c, policy 507",
        "state, pnp 119, power 31f, policy 508",
    ];
    let awake = ["ping, pnp 119, power 307, policy 505", "state, pnp 119, power 307, policy 505"];
    let up = [
        "D0Entry from 4",
        "D0Entry, pnp 119, power 333, policy 50a",
        "ping, pnp 119, power 32b, policy 50b",
        "SelfManagedIoRestart, pnp 119, power 32b, policy 50b",
    ];
    assert_eq!(log.lines(&host), [&awake[..], &down, &up, &down].concat());
    // To be removed, the device must be in D0.
    device.remove().expect("removal");
    let lines = log.lines(&host);
    let gone = [
        "QueryRemove, pnp 10b, power 31f, policy 508",
        "D0Entry from 4",
        "D0Entry, pnp 137, power 333, policy 50a",
        "SelfManagedIoRestart, pnp 137, power 32b, policy 50b",
        "SelfManagedIoSuspend, pnp 10e, power 314, policy 55b",
        "D0Exit to 5",
        "D0Exit, pnp 10e, power 314, policy 55b",
        "ReleaseHardware",
        "SelfManagedIoFlush",
        "SelfManagedIoCleanup",
    ];
    assert_eq!(lines, gone);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn all_steps_are_clean() {
    for (name, bug, steps) in SCENARIOS {
        let host = driver(bug).start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        steps(&host, &device).unwrap_or_else(|error| panic!("{name}: {error}"));
        host.unload().expect("unload").assert_clean();
    }
}

/// The callbacks of a device, without its states.
fn callbacks(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.split(", pnp").next()).filter(|line| !line.contains(" from ")).collect()
}

#[test]
fn a_device_that_fails_to_sleep_or_to_wake_is_removed() {
    for (bug, code) in [(3, None), (4, Some(PING))] {
        let host = driver(bug).allow(GapKind::NotStarted).allow(GapKind::NotReached).start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        let mut log = Log::default();
        wait(&host, 200).expect("time");
        if let Some(code) = code {
            assert_eq!(device.ioctl(code, &[], 0).expect("a reply").status, NtStatus::Cancelled);
            wait(&host, 1).expect("time");
        }
        let lines = log.lines(&host);
        let end = ["ReleaseHardware", "SelfManagedIoFlush", "SurpriseRemoval", "SelfManagedIoCleanup"];
        let found = callbacks(&lines);
        assert_eq!(found[found.len() - end.len()..], end, "{bug}: {lines:#?}");
        assert!(lines.iter().any(|line| line == "SurpriseRemoval, pnp 12c, power 315, policy 563"), "{lines:#?}");
        assert_eq!(device.ioctl(STATE, &[], 0).expect("a reply").status, NtStatus::NoSuchDevice);
        host.unload().expect("unload").assert_clean();
    }
}

/// The request is completed, but the thread of the client is still in the driver while another one removes the device. On Windows the
/// call has a reference to the file, which stays open until the call returns, and the device with it.
#[test]
fn a_device_is_not_deleted_while_a_client_begins_a_request() {
    let host = driver(0).allow(GapKind::NotStarted).allow(GapKind::NotReached).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let mut log = Log::default();
    log.lines(&host);
    assert_eq!(device.ioctl(FAIL, &[], 0).expect("a reply").status, NtStatus::InvalidDeviceRequest);
    wait(&host, 1).expect("time");
    let lines = log.lines(&host);
    let position =
        |line: &str| lines.iter().position(|found| found.starts_with(line)).unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(position("SurpriseRemoval") < position("end of the wait"), "{lines:#?}");
    assert!(position("end of the wait") < position("SelfManagedIoCleanup"), "{lines:#?}");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_driver_that_resumes_idle_power_too_often_is_found() {
    let (host, device, _) = start(0);
    send(&device, &[STOP, RESUME, RESUME]).expect("replies");
    let report = host.unload().expect("unload");
    let [finding] = report.findings() else { panic!("{report:#?}") };
    assert_eq!(finding.rule, Rule::FrameworkMisuse);
    assert_eq!(finding.routine.as_deref(), Some("WdfDeviceResumeIdleNoTrack"));
}
