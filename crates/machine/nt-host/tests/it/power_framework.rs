//! The power management framework: conditions and states of components, and the power of their device.

use std::time::Duration;

use crate::common::c::{Log, build, plain};
use etw_types::NtStatus;
use nt_host::{Device, Error, GapKind, NtHost, Rule};

const USE: u32 = 0x0022_2000;
const IDLE: u32 = 0x0022_2004;
const WRONG: u32 = 0x0022_2008;

fn start() -> (NtHost, Device, Log) {
    let host = plain("wdm_power_framework").start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device, Log::default())
}

fn ask(device: &Device, code: u32, component: u32) {
    assert_eq!(device.ioctl(code, &component.to_le_bytes(), 0).expect("a reply").status, NtStatus::Success);
}

/// The order is that of Microsoft's pages on component-level power management.
#[test]
fn components_and_their_device_follow_their_use() {
    let (host, device, mut log) = start();
    host.advance(Duration::from_millis(1)).expect("time");
    // The driver has activated the second component before the start, so it stays active.
    assert_eq!(log.lines(&host), ["registered 0", "idle 0", "component 0: F2"]);
    ask(&device, USE, 0);
    assert_eq!(log.lines(&host), ["component 0: F0", "active 0, context 9, irql 0", "uses 0"]);
    ask(&device, IDLE, 0);
    ask(&device, IDLE, 1);
    host.advance(Duration::from_millis(5)).expect("time");
    let mut idle = log.lines(&host);
    idle.sort();
    assert_eq!(idle, ["component 0: F2", "idle 0", "idle 1"]);
    host.advance(Duration::from_millis(10)).expect("time");
    assert_eq!(log.lines(&host), ["power off"]);
    ask(&device, USE, 1);
    assert_eq!(log.lines(&host), ["power on", "active 1, context 9, irql 0", "uses 1"]);
    // A device that is used in the meantime stays on.
    ask(&device, IDLE, 1);
    host.advance(Duration::from_millis(5)).expect("time");
    ask(&device, USE, 1);
    host.advance(Duration::from_millis(20)).expect("time");
    assert_eq!(log.lines(&host), ["idle 1", "active 1, context 9, irql 0", "uses 1"]);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn mistakes_with_the_power_framework_are_found() {
    let (host, device, _) = start();
    ask(&device, WRONG, 0);
    let report = host.unload().expect("unload");
    let found: Vec<_> = report.findings().iter().map(|finding| (finding.rule, finding.routine.as_deref())).collect();
    let routines = [
        "PoFxIdleComponent",
        "PoFxActivateComponent",
        "PoFxCompleteIdleState",
        "PoFxReportDevicePoweredOn",
        "PoFxCompleteDirectedPowerDown",
        "PoFxSetDeviceIdleTimeout",
    ];
    assert_eq!(found, routines.map(|routine| (Rule::BadArgument, Some(routine))), "{report:#?}");
    let built = |bug| NtHost::builder().driver(build("wdm_power_framework", bug, "DriverEntry", &["ntoskrnl"]));
    let host = built(1).start().expect("DriverEntry");
    host.add_device().expect("a device");
    let report = host.unload().expect("unload");
    let details: Vec<&str> = report.findings().iter().map(|finding| &*finding.detail).collect();
    assert_eq!(details, ["does not remove a device of the power framework"], "{report:#?}");
    let host = built(2).allow(GapKind::NotStarted).start().expect("DriverEntry");
    match host.add_device() {
        Err(Error::Status(status)) => assert_eq!(status, NtStatus::InvalidParameter),
        other => panic!("{other:?}"),
    }
    host.unload().expect("unload").assert_clean();
}
