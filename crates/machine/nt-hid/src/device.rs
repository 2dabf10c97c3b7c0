//! The start and the removal of a device.

use std::sync::Arc;

use etw_types::NtStatus;
use nt_kernel::io::device::{self as objects, stack};
use nt_kernel::io::request::client::Submission;
use nt_kernel::io::request::complete_with;
use nt_kernel::{Kernel, kernel, lock};
use nt_processor::layout::{HID_DEVICE_ATTRIBUTES, IO_STACK_LOCATION, IRP};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Outcome, fail, status_of};
use nt_verifier::verify::gap;
use windows_constants::hid::{
    HID_HID_DESCRIPTOR_TYPE, HID_REPORT_DESCRIPTOR_TYPE, IOCTL_HID_GET_DEVICE_ATTRIBUTES,
    IOCTL_HID_GET_DEVICE_DESCRIPTOR, IOCTL_HID_GET_REPORT_DESCRIPTOR,
};
use windows_constants::request::{IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE, IRP_MN_START_DEVICE};

use super::minidriver::{self, Control};
use super::state::{Description, Object, state};
use super::{code, report};

/// The size of `HID_DESCRIPTOR`.
const DESCRIPTOR: u32 = 9;

/// Returns whether the class driver does more with a plug-and-play request than pass it to the minidriver.
pub(super) const fn handles(minor: u8) -> bool {
    matches!(minor, IRP_MN_START_DEVICE | IRP_MN_REMOVE_DEVICE)
}

/// Starts or removes a device. The minidriver gets a request of its own, and passes it down; then the class driver does its
/// part, and completes the IRP.
pub(super) fn plug_and_play(
    device: Object,
    irp: GuestPtr<IRP>,
    place: GuestPtr<IO_STACK_LOCATION>,
) -> Outcome<NtStatus> {
    let minor = place.MinorFunction().read()?;
    let parameters = place.Parameters().read()?;
    let submission = Submission { major: IRP_MJ_PNP, minor, parameters, ..Submission::default() };
    let mut status = minidriver::send(device, &submission)?.status;
    if minor == IRP_MN_REMOVE_DEVICE {
        let lower = state().devices.get(&device).map(|device| device.lower);
        complete_with(irp, status, 0)?;
        lower.map_or(Ok(()), |lower| delete(device, lower))?;
        return Ok(status);
    }
    if status.is_success() {
        status = status_of(describe(device))?;
    }
    Ok(complete_with(irp, status, 0)?)
}

/// Detaches and deletes a device.
pub(super) fn delete(device: Object, lower: Object) -> Result<(), Fault> {
    state().devices.remove(&device);
    stack::detach(lower)?;
    objects::delete(device)
}

/// Asks the minidriver for the descriptors and attributes of a device that has started.
fn describe(device: Object) -> Outcome {
    let descriptor = query(device, IOCTL_HID_GET_DEVICE_DESCRIPTOR, DESCRIPTOR)?;
    let length = match descriptor.as_slice() {
        [length, HID_HID_DESCRIPTOR_TYPE, _, _, _, count, HID_REPORT_DESCRIPTOR_TYPE, low, high]
            if u32::from(*length) >= DESCRIPTOR && *count != 0 =>
        {
            u16::from_le_bytes([*low, *high])
        }
        bytes => return refuse(&format!("the HID descriptor is not valid: {bytes:02x?}")),
    };
    let attributes = query(device, IOCTL_HID_GET_DEVICE_ATTRIBUTES, size_of::<HID_DEVICE_ATTRIBUTES>() as u32)?;
    let number = |at: usize| attributes.get(at..).and_then(|rest| rest.first_chunk()).copied().map(u16::from_le_bytes);
    let (Some(vendor), Some(product), Some(version)) = (number(4), number(6), number(8)) else {
        return refuse(&format!("HID_DEVICE_ATTRIBUTES has only {} bytes", attributes.len()));
    };
    let bytes = query(device, IOCTL_HID_GET_REPORT_DESCRIPTOR, length.into())?;
    if bytes.len() != usize::from(length) {
        return refuse(&format!("the report descriptor has {} bytes, the HID descriptor says {length}", bytes.len()));
    }
    let reports = match report::parse(&bytes) {
        Ok(reports) => reports,
        Err(reason) => return refuse(&format!("the report descriptor is not valid: {reason}")),
    };
    if let Some(known) = state().devices.get_mut(&device) {
        known.description = Some(Arc::new(Description { vendor, product, version, reports }));
    }
    Ok(())
}

/// The device cannot start, because of what the minidriver said.
fn refuse(reason: &str) -> Outcome {
    gap::note(reason.to_owned());
    fail(NtStatus::Unsuccessful)
}

/// Asks the minidriver for data.
fn query(device: Object, code: u32, size: u32) -> Outcome<Vec<u8>> {
    let Kernel { pool, .. } = kernel();
    let buffer: GuestPtr<u8> = lock(pool).try_new_objects(size.into())?;
    let completion = minidriver::send_control(device, Control { code, output: size, buffer, ..Control::default() })?;
    let bytes = buffer.array(completion.information.min(size.into())).read()?;
    lock(pool).free_object(buffer.address());
    if completion.status.is_success() {
        return Ok(bytes);
    }
    gap::note(format!("the minidriver completed {} with {}", code::name(code), completion.status));
    fail(completion.status)
}
