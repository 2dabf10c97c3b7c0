//! The gaps of a run that clients notice: requests, opens and interrupts that did not reach the driver.
//!
//! A request that the driver completes with an error has reached it, and is not a gap.

use etw_types::NtStatus;
use nt_kernel::io::device::Owner;
use nt_kernel::io::wmi::WmiRequest;
use nt_kernel::{IoRequest, RequestKind, kernel, lock};
use nt_verifier::verify::GapKind;
use nt_verifier::verify::gap;

/// The maximum number of device names that advice lists.
const MAX_NAMES: usize = 8;

/// What a client requested: the kind and the control code.
#[derive(Clone, Copy, Debug)]
pub(super) struct What {
    kind: RequestKind,
    code: u32,
}

impl What {
    pub(super) const fn new(request: &IoRequest) -> Self {
        Self { kind: request.kind, code: request.code }
    }

    /// Returns the name of the request, and of the IRP's major function.
    const fn names(self) -> (&'static str, &'static str) {
        match self.kind {
            RequestKind::CREATE => ("open", "IRP_MJ_CREATE"),
            RequestKind::READ => ("read", "IRP_MJ_READ"),
            RequestKind::WRITE => ("write", "IRP_MJ_WRITE"),
            RequestKind::DEVICE_CONTROL => ("ioctl", "IRP_MJ_DEVICE_CONTROL"),
            RequestKind::INTERNAL_DEVICE_CONTROL => ("internal ioctl", "IRP_MJ_INTERNAL_DEVICE_CONTROL"),
            _ => ("request", "its major function"),
        }
    }
}

fn add(detail: String, advice: Vec<String>) {
    gap::add_with(GapKind::NotReached, detail, advice);
}

/// Records that a request did not reach the driver.
pub(super) fn not_reached(what: What, why: &str, status: NtStatus) {
    // A fuzzer sends many such requests.
    if gap::are_enough() {
        return;
    }
    let (name, _) = what.names();
    let code = if what.kind.has_code() { format!(" {:08X}", what.code) } else { String::new() };
    add(format!("{name}{code} did not reach the driver: {why} ({status})"), Vec::new());
}

/// Records that the system completed a request for the driver. The status tells why.
pub(super) fn not_delivered(what: What, status: NtStatus, is_of_framework: bool) {
    if gap::are_enough() {
        return;
    }
    let (name, major) = what.names();
    let why = match (status, is_of_framework) {
        (NtStatus::NoSuchDevice, _) => "the device does not exist or was removed".to_owned(),
        (NtStatus::InsufficientResources, _) => "there was no memory for its buffers".to_owned(),
        (NtStatus::InvalidDeviceRequest, true) => format!("no queue of the device has a callback for {name} requests"),
        (NtStatus::InvalidDeviceState, true) => {
            "its queue was drained or purged, and takes no more requests".to_owned()
        }
        (NtStatus::Cancelled, true) => "it waited in a queue, and the driver did not take it from there".to_owned(),
        (NtStatus::InvalidDeviceRequest, false) => format!("the driver has no dispatch routine for {major}"),
        _ => "the system completed it".to_owned(),
    };
    not_reached(what, &why, status);
}

/// Records that the system refused to open a device.
pub(super) fn not_opened(why: &str, status: NtStatus) {
    add(format!("an open did not reach the driver: {why} ({status})"), Vec::new());
}

/// Returns the names and links of the driver's devices.
pub(super) fn device_names() -> Vec<String> {
    let mut names = nt_framework::names();
    {
        let io = lock(&kernel().io);
        let devices =
            io.devices.iter().filter(|device| device.owner == Owner::Driver).map(|device| device.name.clone());
        names.extend(devices.chain(io.links.iter().map(|link| link.name.clone())));
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Records that no device has this name.
pub(super) fn no_such_name(name: &str) {
    let status = NtStatus::ObjectNameNotFound;
    let mut names = device_names();
    names.truncate(MAX_NAMES);
    let advice = match names.as_slice() {
        [] => "the driver has created no device with a name".to_owned(),
        names => format!("the driver has {}", names.join(", ")),
    };
    add(format!("open {name} did not reach the driver: there is no device with this name ({status})"), vec![advice]);
}

/// Records that a file operation had no minifilter to go through.
pub(super) fn not_filtered(what: &str) {
    let why = nt_filters::why_not_filtered();
    gap::add(GapKind::NotReached, format!("{what} did not reach the driver: {why}"));
}

/// Records that no communication port has a name.
pub(super) fn no_such_port(name: &str) {
    let status = NtStatus::ObjectNameNotFound;
    let detail = format!("connect {name} did not reach the driver: there is no port with this name ({status})");
    add(detail, Vec::new());
}

/// Records that an interrupt has no service routine.
pub(super) fn interrupt(number: u32) {
    let advice = if kernel().config.resources.is_empty() {
        vec!["the device has no interrupts: add one with --resource line or --resource messages:COUNT".to_owned()]
    } else {
        Vec::new()
    };
    add(format!("interrupt {number} did not reach the driver: no service routine is connected to it"), advice);
}

/// Records that a WMI request did not reach the driver.
pub(super) fn wmi(requested: &WmiRequest, status: NtStatus) {
    add(format!("a WMI request for {} did not reach the driver ({status})", requested.guid), Vec::new());
}

/// Records that a device did not wake up.
pub(super) fn not_awake(status: NtStatus) {
    gap::add_with(GapKind::NotStarted, format!("the device did not wake up: {status}"), Vec::new());
}

/// Records that the driver refused the orderly removal of a device.
pub(super) fn not_removed(status: NtStatus) {
    let detail = format!("the driver refused the removal of its device with {status}");
    gap::add_with(GapKind::NotRemoved, detail, Vec::new());
}
