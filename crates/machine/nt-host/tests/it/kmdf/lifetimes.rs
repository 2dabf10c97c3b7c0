//! A driver that tries to use what is gone: devices that are removed or deleted while their callbacks need them. The steps also run on
//! Microsoft's framework (`original::rust`).

use std::time::Duration;

use etw_types::NtStatus;
use nt_host::{Below, Builder, Device, Error, NtHost, RequestKind, Rule};

use super::{code, driver};

const SHARE: u32 = code(0);
const SEND: u32 = code(1);
const DELETE_IN_WORK: u32 = code(2);
const CREATE_CONTROL: u32 = code(3);
const NEXT: u32 = code(4);
const TO_TARGET: u32 = code(5);
const FORGET: u32 = code(6);
/// How long the device below keeps a request.
const KEPT: Duration = Duration::from_secs(5);

/// The driver, above a device that keeps its requests for a while.
pub(crate) fn builder() -> Builder {
    let below = Below {
        device: None,
        kind: Some(RequestKind::DEVICE_CONTROL),
        code: Some(TO_TARGET),
        status: NtStatus::Success,
        output: Vec::new(),
        delay: KEPT,
    };
    NtHost::builder().driver(driver("kmdf_lifetimes.sys")).below(below)
}

fn ask(device: &Device, code: u32, input: &[u8]) -> Result<(), Error> {
    let reply = device.ioctl(code, input, 0)?;
    assert_eq!(reply.status, NtStatus::Success, "{code:#x}");
    Ok(())
}

/// The driver's lines, without their prefix.
fn lines(host: &NtHost) -> Vec<String> {
    host.report().output().lines().filter_map(|line| line.strip_prefix("lifetimes: ")).map(str::to_owned).collect()
}

/// Removes a device while the target of another one has its request. Returns the driver's lines.
pub(crate) fn remove_while_a_request_is_sent(host: &NtHost) -> Result<Vec<String>, Error> {
    let sender = host.add_device()?;
    let other = host.add_device()?;
    ask(&other, SHARE, &[])?;
    ask(&sender, SEND, &[])?;
    sender.remove()?;
    host.advance(KEPT)?;
    let found = lines(host);
    other.remove()?;
    Ok(found)
}

/// Lets a work item delete its own control device. Returns the driver's lines.
pub(crate) fn delete_in_work(host: &NtHost) -> Result<Vec<String>, Error> {
    let device = host.add_device()?;
    ask(&device, DELETE_IN_WORK, &[])?;
    host.advance(Duration::from_millis(1))?;
    let found = lines(host);
    device.remove()?;
    Ok(found)
}

/// Lets a client delete the control device that it has open. Returns the driver's lines before and after the client closes it.
pub(crate) fn delete_in_queue(host: &NtHost) -> Result<Vec<String>, Error> {
    let device = host.add_device()?;
    ask(&device, CREATE_CONTROL, &[])?;
    let file = host.open(r"\Device\Lifetimes")?;
    assert_eq!(file.write(b"x")?.status, NtStatus::Success);
    let mut found = lines(host);
    found.push("closed".to_owned());
    file.close()?;
    found.extend(lines(host).split_off(found.len() - 1));
    device.remove()?;
    Ok(found)
}

/// Adds a filter above a device of this kind. Returns the statuses of a write and of a read, for which it asks for references.
pub(crate) fn filter(host: &NtHost, lower: u8) -> Result<[NtStatus; 2], Error> {
    let device = host.add_device()?;
    ask(&device, NEXT, &[lower])?;
    let filter = host.add_device()?;
    let statuses = [filter.write(b"input")?.status, filter.read(4)?.status];
    filter.remove()?;
    device.remove()?;
    Ok(statuses)
}

/// Lets the driver forget a control device. Returns the driver's lines of the unload and what the run finds after it.
pub(crate) fn forget(host: &NtHost) -> Result<(Vec<String>, Vec<Rule>), Error> {
    let device = host.add_device()?;
    ask(&device, FORGET, &[])?;
    device.remove()?;
    let before = lines(host).len();
    let report = host.unload()?;
    Ok((lines(host).split_off(before), report.findings().iter().map(|finding| finding.rule).collect()))
}

fn start() -> NtHost {
    builder().start().expect("DriverEntry")
}

#[test]
fn a_request_that_outlives_its_device_finds_the_devices_value() {
    let host = start();
    let found = remove_while_a_request_is_sent(&host).expect("the steps");
    host.unload().expect("unload").assert_clean();
    assert_eq!(
        found,
        [
            "sender cleaned up",
            "completed 0x0, alive true, again Some(NtStatus(0xC0000056 STATUS_DELETE_PENDING))",
            "sender dropped, passive true"
        ]
    );
}

#[test]
fn a_control_device_that_its_work_item_deletes_stays_until_the_work_is_done() {
    let host = start();
    let found = delete_in_work(&host).expect("the steps");
    host.unload().expect("unload").assert_clean();
    assert_eq!(found, ["control cleaned up", "control deleted, alive true, value true", "control dropped"]);
}

#[test]
fn a_control_device_that_its_client_deletes_stays_until_it_is_closed() {
    let host = start();
    let found = delete_in_queue(&host).expect("the steps");
    host.unload().expect("unload").assert_clean();
    assert_eq!(found, ["control deleted by its client, alive true", "closed", "control cleaned up", "control dropped"]);
}

#[test]
fn a_filter_has_no_references_to_the_clients_memory() {
    let host = start();
    let references = [NtStatus::Success; 2];
    let none = [NtStatus::InvalidDeviceRequest; 2];
    for (lower, expected) in [(1, references), (2, none), (3, none)] {
        assert_eq!(filter(&host, lower).expect("the steps"), expected, "{lower}");
    }
    host.unload().expect("unload").assert_clean();
}

/// The framework deletes the device with the driver object, after the memory that the device's value has.
#[test]
fn a_control_device_that_is_never_deleted_does_not_drop_its_value() {
    let (lines, rules) = forget(&start()).expect("the steps");
    assert_eq!(lines, ["forgotten cleaned up, memory true"]);
    assert!(!rules.is_empty(), "the driver must delete the device");
    assert!(rules.iter().all(|rule| *rule == Rule::ObjectLeak), "{rules:?}");
}
