//! The bus driver: how the physical devices of the host complete plug-and-play requests, and the query for the physical
//! device of a stack.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_CAPABILITIES, DEVICE_OBJECT, DEVICE_RELATIONS, IO_STACK_LOCATION, IRP};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::{NO_RESOURCES, Outcome, fail};
use nt_verifier::verify::{self, Rule};
use windows_constants::plug_play::TargetDeviceRelation;
use windows_constants::power::{PowerDeviceD0, PowerDeviceD3, PowerDeviceUnspecified, PowerSystemSleeping3};
use windows_constants::request::{
    IRP_MJ_PNP, IRP_MN_CANCEL_STOP_DEVICE, IRP_MN_QUERY_CAPABILITIES, IRP_MN_QUERY_DEVICE_RELATIONS,
    IRP_MN_QUERY_INTERFACE, IRP_MN_READ_CONFIG, IRP_MN_START_DEVICE, IRP_MN_SURPRISE_REMOVAL, IRP_MN_WRITE_CONFIG,
    SL_PENDING_RETURNED,
};

use crate::ex::object;
use crate::io::device::{interface, stack};
use crate::io::request::Io;
use crate::io::request::client::{Completion, Submission, send};
use crate::io::{device, request};
use crate::pci;
use crate::{Kernel, kernel, lock};

/// The device power state for each system power state, from `PowerSystemUnspecified`: D0 while the system works, else D3.
#[rustfmt::skip]
const DEVICE_STATES: [u32; 7] = [
    PowerDeviceUnspecified, PowerDeviceD0, PowerDeviceD3, PowerDeviceD3, PowerDeviceD3, PowerDeviceD3, PowerDeviceD3,
];
/// The bit of `WakeFromD3` among the flags of `DEVICE_CAPABILITIES`.
const WAKE_FROM_D3: u32 = 1 << 13;

type Object = GuestPtr<DEVICE_OBJECT>;

/// Completes a plug-and-play request as a bus driver does for its physical device. The bus keeps the status of requests
/// that it does not know, as documented for unsupported minor functions.
pub(in crate::io) fn serve(
    device: Object,
    irp: GuestPtr<IRP>,
    place: GuestPtr<IO_STACK_LOCATION>,
) -> Result<NtStatus, Fault> {
    let untouched = irp.IoStatus().Status().read()?;
    let parameters = place.Parameters().read()?;
    match place.MinorFunction().read()? {
        IRP_MN_START_DEVICE..=IRP_MN_CANCEL_STOP_DEVICE | IRP_MN_SURPRISE_REMOVAL => Ok(NtStatus::Success),
        IRP_MN_QUERY_CAPABILITIES => {
            let [capabilities, ..] = parameters;
            if let Some(place) = GuestPtr::<DEVICE_CAPABILITIES>::new(capabilities).non_null() {
                place.DeviceState().write(DEVICE_STATES)?;
                place.Flags().change(|flags| flags | WAKE_FROM_D3)?;
                place.DeviceWake().write(PowerDeviceD3)?;
                place.SystemWake().write(PowerSystemSleeping3)?;
            }
            Ok(NtStatus::Success)
        }
        IRP_MN_QUERY_DEVICE_RELATIONS if requests_target(parameters) => relate(device, irp),
        IRP_MN_QUERY_INTERFACE => {
            let found = interface::of_bus(parameters)?;
            Ok(if found { NtStatus::Success } else { untouched })
        }
        minor @ (IRP_MN_READ_CONFIG | IRP_MN_WRITE_CONFIG) if pci::is_present() => {
            configure(irp, parameters, minor == IRP_MN_WRITE_CONFIG)
        }
        _ => Ok(untouched),
    }
}

/// Keeps a wait/wake IRP until it is canceled. A device has at most one.
pub(in crate::io) fn wait_for_wake(
    device: Object,
    irp: GuestPtr<IRP>,
    place: GuestPtr<IO_STACK_LOCATION>,
) -> Result<NtStatus, Fault> {
    let Kernel { io, .. } = kernel();
    let is_second = lock(io).wait_wake.insert(device, irp);
    if let Some(first) = is_second {
        lock(io).wait_wake.insert(device, first);
        return complete(irp, NtStatus::DeviceBusy);
    }
    place.Control().change(|control| control | SL_PENDING_RETURNED)?;
    request::when_canceled(irp, move || end_wait(io, device, NtStatus::Cancelled).or_stop());
    if irp.Cancel().read()? != 0 {
        request::cancel(irp)?;
    }
    Ok(NtStatus::Pending)
}

/// Completes the wait/wake IRP of a physical device, if there is one.
fn end_wait(io: &Mutex<Io>, device: Object, status: NtStatus) -> Result<(), Fault> {
    let irp = lock(io).wait_wake.remove(&device);
    if let Some(irp) = irp {
        request::not_cancelable(irp);
        complete(irp, status)?;
    }
    Ok(())
}

fn complete(irp: GuestPtr<IRP>, status: NtStatus) -> Result<NtStatus, Fault> {
    irp.IoStatus().Status().write(status)?;
    request::complete(irp)?;
    Ok(status)
}

/// Reads or writes the configuration space. The parameters are the space, the buffer, the offset and the length.
fn configure(irp: GuestPtr<IRP>, parameters: [u64; 4], writes: bool) -> Result<NtStatus, Fault> {
    let [space, buffer, offset, length] = parameters;
    // `PCI_WHICHSPACE_CONFIG` is 0.
    if space as u32 != 0 {
        return Ok(NtStatus::InvalidParameter);
    }
    let buffer = GuestPtr::new(buffer);
    let offset = offset as u32;
    let length = length as u32;
    let count = if writes { pci::write(buffer, offset, length)? } else { pci::read(buffer, offset, length)? };
    irp.IoStatus().Information().write(count.into())?;
    Ok(if count == length { NtStatus::Success } else { NtStatus::InvalidParameter })
}

/// Completes a query for the target device: returns the device, with a reference, in memory that the sender frees.
pub fn relate(device: Object, irp: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
    let from = thread::site().map_or(0, |site| site.from);
    let memory = lock(&kernel().pool).allocate(size_of::<DEVICE_RELATIONS>() as u64, *b"PpRl", true, from);
    let Some(relations) = memory.map(GuestPtr::<DEVICE_RELATIONS>::new) else { return Ok(NO_RESOURCES) };
    object::reference(device.address(), from);
    relations.write(DEVICE_RELATIONS { Count: 1, Padding: 0, Objects: device })?;
    irp.IoStatus().Information().write(relations.address())?;
    Ok(NtStatus::Success)
}

/// Returns whether the parameters of `IRP_MN_QUERY_DEVICE_RELATIONS` ask for the target device.
pub const fn requests_target(parameters: [u64; 4]) -> bool {
    let [kind, ..] = parameters;
    kind & 0xFFFF_FFFF == TargetDeviceRelation as u64
}

/// Queries a device for the physical device at the bottom of its stack, to which the caller gets a reference.
pub fn target_device(device: Object) -> Outcome<Object> {
    let top = stack::top(device)?;
    let parameters = [TargetDeviceRelation.into(), 0, 0, 0];
    let submission =
        Submission { major: IRP_MJ_PNP, minor: IRP_MN_QUERY_DEVICE_RELATIONS, parameters, ..Submission::default() };
    let Completion { status, information, .. } = device::hold(top, || send(top, &submission))?;
    status.ok()?;
    let Some(relations) = GuestPtr::<DEVICE_RELATIONS>::new(information).non_null() else {
        // The sender reads through the address.
        let what = format_args!("completes a query for the target device without the device in IoStatus.Information");
        verify::find(Rule::RequestMisuse, what);
        return fail(NtStatus::NotSupported);
    };
    let target = relations.Objects().read()?;
    lock(&kernel().pool).free_object(relations.address());
    Ok(target)
}
