//! Microsoft's rules for KMDF drivers. A driver breaks the rule that its parameter names; without the mistake it is clean.

use std::time::Duration;

use crate::common::c::{FRAMEWORK, build};
use etw_types::NtStatus;
use nt_host::{Below, Builder, Error, GapKind, Location, MicrosoftRule, NtHost, RegistryValue, Report, Resource};

/// The control codes of the drivers: the request that the rule is about, and one that ends what the driver keeps.
const GO: u32 = 0x0022_2000;
const RELEASE: u32 = 0x0022_2004;

/// What happens to the driver's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    Add,
    Control,
    Repeat,
    Read,
    Write,
    Internal,
    Cancel,
    /// A second request comes while the first one is pending.
    Release,
    Sleep,
    Surprise,
    /// A routine fails: its first call, or its second one.
    First(&'static str),
    Second(&'static str),
}

use Steps::{Add, Cancel, Control, First, Internal, Read, Release, Repeat, Second, Sleep, Surprise, Write};

const BUFFERS: &str = "kmdf_rules_buffers";
const REQUESTS: &str = "kmdf_rules_requests";
const SEND: &str = "kmdf_rules_send";
const DEVICES: &str = "kmdf_rules_devices";

const RULES: &[(&str, &[(&str, Steps)])] = &[
    (
        BUFFERS,
        &[
            ("BufAfterReqCompletedRead", Read),
            ("BufAfterReqCompletedReadA", Read),
            ("BufAfterReqCompletedWrite", Write),
            ("BufAfterReqCompletedWriteA", Write),
            ("BufAfterReqCompletedIoctl", Control),
            ("BufAfterReqCompletedIoctlA", Control),
            ("BufAfterReqCompletedIntIoctl", Internal),
            ("BufAfterReqCompletedIntIoctlA", Internal),
            ("MemAfterReqCompletedRead", Read),
            ("MemAfterReqCompletedReadA", Read),
            ("MemAfterReqCompletedWrite", Write),
            ("MemAfterReqCompletedWriteA", Write),
            ("MemAfterReqCompletedIoctl", Control),
            ("MemAfterReqCompletedIoctlA", Control),
            ("MemAfterReqCompletedIntIoctl", Internal),
            ("MemAfterReqCompletedIntIoctlA", Internal),
            ("MdlAfterReqCompletedRead", Read),
            ("MdlAfterReqCompletedReadA", Read),
            ("MdlAfterReqCompletedWrite", Write),
            ("MdlAfterReqCompletedWriteA", Write),
            ("MdlAfterReqCompletedIoctl", Control),
            ("MdlAfterReqCompletedIoctlA", Control),
            ("MdlAfterReqCompletedIntIoctl", Internal),
            ("MdlAfterReqCompletedIntIoctlA", Internal),
        ],
    ),
    (
        REQUESTS,
        &[
            ("ChangeQueueState", Control),
            ("CompleteCanceledReq", Cancel),
            ("DeferredRequestCompleted", Cancel),
            ("DoubleCompletion", Control),
            ("DoubleCompletionLocal", Control),
            ("DrvAckIoStop", Sleep),
            ("EvtIoResumeGetParam", Sleep),
            ("EvtIoStopCancel", Sleep),
            ("EvtIoStopCompleteOrStopAck", Sleep),
            ("EvtIoStopGetParam", Sleep),
            ("EvtIoStopResume", Sleep),
            ("EvtSurpriseRemoveNoRequestComplete", Surprise),
            ("EvtSurpriseRemoveNoSuspendQueue", Surprise),
            ("FileObjectConfigured", Control),
            ("FwdIrpToIoQueueValid", Control),
            ("InputBufferAPI", Read),
            ("InvalidReqAccess", Control),
            ("InvalidReqAccessLocal", Control),
            ("KmdfIrql", Control),
            ("KmdfIrql2", Control),
            ("MarkCancOnCancReqLocal", Control),
            ("OutputBufferAPI", Write),
            ("ParentObjectCheck", Repeat),
            ("ParentObjectCheckLock", Repeat),
            ("ReqIsCancOnCancReq", Control),
            ("ReqNotCanceledLocal", Control),
            ("RequestCompleted", Control),
            ("RequestCompletedLocal", Control),
            ("SetCompletionRoutineFromDispatch", Control),
            ("StopAckWithinEvtIoStop", Control),
            ("WdfIoQueueFindRequestFailed", Release),
            ("WdfIoQueueRetrieveFoundRequest", Release),
            ("WdfIoQueueRetrieveNextRequest", Release),
        ],
    ),
    (
        SEND,
        &[
            ("InternalIoctlReqs", Internal),
            ("IoctlReqs", Control),
            ("NoCancelFromEvtSurpriseRemove", Surprise),
            ("ReadReqs", Read),
            ("ReqCompletionRoutine", Control),
            ("ReqDelete", Control),
            ("ReqMarkCancelableSend", Control),
            ("ReqSendFail", Control),
            ("ReqSendWhileSpinlock", Control),
            ("RequestFormattedValid", Control),
            ("RequestGetStatusValid", Control),
            ("RequestSendAndForgetNoFormatting", Control),
            ("RequestSendAndForgetNoFormatting2", Control),
            ("Spinlock", Control),
            ("SpinlockDpc", Control),
            ("SpinlockRelease", Control),
            ("WdfInterruptLock", Control),
            ("WdfInterruptLockRelease", Control),
            ("WdfSpinlock", Control),
            ("WdfSpinlockRelease", Control),
            ("WdfWaitlock", Control),
            ("WdfWaitlockRelease", Control),
            ("WriteReqs", Write),
        ],
    ),
    (
        DEVICES,
        &[
            ("AccessHardwareKey", Add),
            ("AddPdotoStaticChildlist", Add),
            ("ChildDeviceInitApi", Add),
            ("ChildListConfiguration", Add),
            ("Cleanup4CtlDeviceRegistered", Add),
            ("ControlDeviceDeleted", Add),
            ("ControlDeviceInitAPI", Add),
            ("ControlDeviceInitAllocate", Add),
            ("CtlDeviceFinishInitDeviceAdd", Add),
            ("CtlDeviceFinishInitDrEntry", Add),
            ("DeviceCreateFail", First("WdfDeviceCreate")),
            ("DeviceInitAPI", Add),
            ("DeviceInitAllocate", Add),
            ("DoubleDeviceInitFree", Add),
            ("DriverCreate", Add),
            ("FDOPowerPolicyOwnerAPI", Add),
            ("InitFreeDeviceCallback", First("WdfDeviceInitAssignName")),
            ("InitFreeDeviceCreate", First("WdfDeviceInitAssignName")),
            ("InitFreeDeviceCreateType2", Add),
            ("InitFreeDeviceCreateType4", Second("WdfDeviceCreate")),
            ("InitFreeNull", Add),
            ("MiniportOnlyWdmDevice", Add),
            ("NonFDONotPowerPolicyOwnerAPI", Add),
            ("NonPnPDrvPowerPolicyOwnerAPI", Add),
            ("PdoDeviceInitAPI", Add),
            ("PdoInitFreeDeviceCallback", First("WdfPdoInitAssignDeviceID")),
            ("PdoInitFreeDeviceCreate", First("WdfPdoInitAssignDeviceID")),
            ("PdoInitFreeDeviceCreateType2", Add),
            ("PdoInitFreeDeviceCreateType4", Second("WdfDeviceCreate")),
        ],
    ),
];

/// Takes the steps with a loaded driver.
fn take(host: &NtHost, steps: Steps) -> Result<(), Error> {
    let device = match host.add_device() {
        // A driver that cannot create its device has to say so.
        Err(Error::Status(_)) => return Ok(()),
        added => added?,
    };
    match steps {
        // Children are created in a work item.
        Add | First(_) | Second(_) => host.advance(Duration::from_millis(1))?,
        Control => drop(device.ioctl(GO, &[1, 2, 3, 4], 8)?),
        Repeat => {
            device.ioctl(GO, &[], 0)?;
            device.ioctl(GO, &[], 0)?;
        }
        Read => drop(device.read(8)?),
        Write => drop(device.write(&[1, 2, 3, 4])?),
        Internal => {
            let file = device.open()?;
            file.internal_ioctl(GO, &[1, 2, 3, 4], 8)?;
            file.close()?;
        }
        Cancel => {
            let request = device.begin_ioctl(GO, &[], 0)?;
            request.cancel()?;
            request.wait()?;
        }
        Release => {
            let request = device.begin_ioctl(GO, &[], 0)?;
            device.ioctl(RELEASE, &[], 0)?;
            request.wait()?;
        }
        Sleep => {
            let request = device.begin_ioctl(GO, &[], 0)?;
            device.sleep()?;
            device.wake()?;
            device.ioctl(RELEASE, &[], 0)?;
            request.wait()?;
        }
        Surprise => {
            let request = device.begin_ioctl(GO, &[], 0)?;
            device.surprise_remove()?;
            request.wait()?;
            return Ok(());
        }
    }
    device.remove()
}

fn builder(driver: &str, rule: &str, steps: Steps) -> Builder {
    let below = Below {
        device: None,
        kind: None,
        code: None,
        status: NtStatus::Success,
        output: Vec::new(),
        delay: Duration::from_millis(if steps == Surprise { 10_000 } else { 0 }),
    };
    let builder = NtHost::builder()
        .driver(build(driver, 0, "FxDriverEntry", &FRAMEWORK))
        .parameter("Rule", RegistryValue::Text(rule.into()))
        .resource(Resource::LineInterrupt)
        .below(below);
    let failed = NtStatus::InsufficientResources;
    match steps {
        First("WdfDeviceCreate") => builder.fail_call("WdfDeviceCreate", failed, 1).allow(GapKind::NotAdded),
        First(routine) => builder.fail_call(routine, failed, 1),
        Second(routine) => builder.fail_call(routine, failed, 2),
        _ => builder,
    }
}

fn run(driver: &str, rule: &str, steps: Steps, broken: bool) -> Report {
    let builder = builder(driver, rule, steps);
    let builder = if broken { builder.parameter("Broken", RegistryValue::Dword(1)) } else { builder };
    let host = builder.prepare().expect("a driver");
    let drive = || -> Result<(), Error> {
        host.load()?;
        take(&host, steps)?;
        host.unload()?;
        Ok(())
    };
    match drive() {
        Ok(()) => {}
        Err(Error::Stopped(_)) if broken => {}
        Err(error) => panic!("{rule}: {error}\n{:#?}", host.report().findings()),
    }
    host.report()
}

/// Returns whether a report has a finding about a rule, in a line of the driver or of a function that it called.
fn names(report: &Report, driver: &str, rule: &str) -> bool {
    let file = format!("{driver}.c");
    let is_in_driver = |place: &Location| place.file.as_ref().is_some_and(|known| known.ends_with(&file));
    report.findings().iter().any(|finding| {
        finding.microsoft.iter().any(|known| (known.set, known.name) == ("kmdf", rule))
            && finding.location.iter().chain(&finding.stack).any(is_in_driver)
    })
}

fn check(driver: &str) {
    let mut wrong = Vec::new();
    let listed = |report: &Report| report.findings().iter().map(ToString::to_string).collect::<Vec<_>>();
    for (rule, steps) in RULES.iter().filter(|(known, _)| *known == driver).flat_map(|(_, rules)| *rules) {
        let report = run(driver, rule, *steps, true);
        if !names(&report, driver, rule) {
            wrong.push(format!("{rule} is not found: {:#?}", listed(&report)));
        }
        let report = run(driver, rule, *steps, false);
        if !report.is_clean() {
            wrong.push(format!("{rule} is kept: {:#?} {:#?}", listed(&report), report.gaps()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn buffers_of_a_completed_request_are_not_used() {
    check(BUFFERS);
}

#[test]
fn rules_about_received_requests_are_checked() {
    check(REQUESTS);
}

#[test]
fn rules_about_sent_requests_and_locks_are_checked() {
    check(SEND);
}

#[test]
fn rules_about_devices_are_checked() {
    check(DEVICES);
}

#[test]
fn every_rule_that_is_checked_has_a_driver_that_breaks_it() {
    let mut tested: Vec<&str> = RULES.iter().flat_map(|(_, rules)| rules.iter().map(|(rule, _)| *rule)).collect();
    let mut claimed: Vec<&str> =
        MicrosoftRule::all().filter(|rule| rule.set == "kmdf" && rule.is_checked()).map(|rule| rule.name).collect();
    tested.sort_unstable();
    claimed.sort_unstable();
    assert_eq!(tested, claimed);
}
