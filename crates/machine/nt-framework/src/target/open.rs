//! Opens I/O targets: by the name of a device, by a device object, or as they were opened before. Notifies them of the
//! removal of their devices.

use etw_types::NtStatus;
use nt_kernel::call_back;
use nt_kernel::ex::TargetEvent;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::io::device::{below, names};
use nt_kernel::io::pnp::bus;
use nt_kernel::io::{device as wdm, file as files};
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT, WDF_IO_TARGET_OPEN_PARAMS};
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Failure, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::file::FILE_OPENED;
use windows_constants::framework::{WdfIoTargetOpenByName, WdfIoTargetOpenReopen, WdfIoTargetOpenUseExistingDevice};

use crate::device::file;
use crate::device::{self, with_device};
use crate::state::with;
use crate::target::send;
use crate::target::state::close;
use crate::target::{Behind, State, Target, TargetEvents, with_target};
use crate::{Handle, object, structures};

functions! { pub(crate) FUNCTIONS;
    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn WdfIoTargetOpen(&call, target: Handle, params: GuestPtr<WDF_IO_TARGET_OPEN_PARAMS>) -> Outcome {
        open(target, params, call.from)
    }
}

/// Opens a target. `from` is the return address of the driver's call.
fn open(target: Handle, params: GuestPtr<WDF_IO_TARGET_OPEN_PARAMS>, from: u64) -> Outcome {
    let (kind, name) = with_target(target, |target| target.opened.clone());
    structures::IO_TARGET_OPEN_PARAMS.check(params)?;
    match params.Type().read()? {
        // As in Microsoft's framework, only a target that was opened by name can be opened again.
        WdfIoTargetOpenReopen if kind != WdfIoTargetOpenByName => return fail(NtStatus::InvalidDeviceRequest),
        WdfIoTargetOpenReopen => reopen(target, name, from)?,
        WdfIoTargetOpenByName => {
            let events = TargetEvents {
                query_remove: params.EvtIoTargetQueryRemove().read()?,
                remove_canceled: params.EvtIoTargetRemoveCanceled().read()?,
                remove_complete: params.EvtIoTargetRemoveComplete().read()?,
            };
            reopen(target, params.TargetDeviceName().text()?, from)?;
            with_target(target, |target| target.events = events);
        }
        WdfIoTargetOpenUseExistingDevice => {
            needs_closed(target)?;
            let behind = existing(params.TargetDeviceObject().read()?, params.TargetFileObject().read()?)?;
            with_target(target, |target| {
                (target.opened, target.watched) = ((WdfIoTargetOpenUseExistingDevice, String::new()), None);
            });
            return opened(target, behind);
        }
        // WdfIoTargetOpenLocalTargetByFile is only for user-mode drivers.
        _ => return fail(NtStatus::InvalidParameter),
    }
    Ok(params.FileInformation().write(FILE_OPENED as u32)?)
}

/// Returns an error if a target is open.
fn needs_closed(target: Handle) -> Outcome {
    let is_closed =
        with_target(target, |target| matches!(target.behind, Behind::Nothing) && target.state != State::DELETED);
    if is_closed { done(()) } else { fail(NtStatus::InvalidDeviceState) }
}

/// Starts a target whose device was opened. As in Microsoft's framework (targets/general/km/fxiotargetremotekm.cpp), the
/// device is first queried for its target device. Only a lack of memory is an error.
fn opened(target: Handle, behind: Behind) -> Outcome {
    let physical = match &behind {
        Behind::Scripted { device, .. } | Behind::Packets { device, .. } => bus::target_device(*device),
        Behind::Framework { device, .. } => framework_target(*device),
        Behind::Nothing => return done(()),
    };
    with_target(target, |target| target.behind = behind);
    match physical {
        Err(Failure::Fault(fault)) => return Err(fault.into()),
        Err(Failure::Status(NtStatus::InsufficientResources)) => {
            close(target, State::CLOSED);
            return fail(NtStatus::InsufficientResources);
        }
        physical => with_target(target, |target| target.physical = physical.unwrap_or_default()),
    }
    with_target(target, |target| target.state = State::STARTED);
    send::resend(target)?;
    done(())
}

/// Queries a framework device for its target device.
fn framework_target(device: Handle) -> Outcome<GuestPtr<DEVICE_OBJECT>> {
    let wdm = with_device(device, |device| device.wdm);
    bus::target_device(wdm)
}

/// Opens a target by the name of its device.
fn reopen(target: Handle, name: String, from: u64) -> Outcome {
    needs_closed(target)?;
    let (behind, handle) = open_name(&name, from).inspect_err(|_| close(target, State::CLOSED))?;
    let watched = match &behind {
        Behind::Scripted { name, .. } => name.clone(),
        _ => None,
    };
    with_target(target, |target| {
        target.handle = handle;
        (target.opened, target.watched) = ((WdfIoTargetOpenByName, name), watched);
    });
    opened(target, behind)
}

/// Opens a device by its name: a framework device, another device of the driver, or a scripted device.
fn open_name(name: &str, from: u64) -> Outcome<(Behind, KernelHandle)> {
    if let Some((device, rest)) = device::find(name) {
        return Ok((Behind::Framework { device, file: file::open(device, &rest)? }, KernelHandle::default()));
    }
    let Some((device, rest)) = names::resolve(name) else {
        below::note_missing(name);
        return fail(NtStatus::ObjectNameNotFound);
    };
    let (file, handle) = files::open(device, &rest, from)?;
    Ok((packets(device, file), handle))
}

/// Returns whether a device receives IRPs or is scripted, with its file.
fn packets(device: GuestPtr<DEVICE_OBJECT>, file: GuestPtr<FILE_OBJECT>) -> Behind {
    match wdm::name_of_others(device) {
        Some(name) => Behind::Scripted { name: Some(name).filter(|name| !name.is_empty()), device, file },
        None => Behind::Packets { device, file },
    }
}

/// Returns the device for a device object. The device is not opened again, because the driver opened it to get the
/// pointer.
fn existing(object: GuestPtr<DEVICE_OBJECT>, file: GuestPtr<FILE_OBJECT>) -> Outcome<Behind> {
    match device::by_device_object(object) {
        Some(device) => Ok(Behind::Framework { device, file: Handle::NULL }),
        None if wdm::exists(object) => Ok(packets(object, file)),
        None => {
            verify::find(
                Rule::BadArgument,
                format_args!("{object:#x} is not a device object, or the device was deleted"),
            );
            fail(NtStatus::InvalidParameter)
        }
    }
}

/// Notifies the targets of a device that it is removed: calls the driver's callback, or else does what the framework
/// does by default. Returns a status for each target.
pub fn target_changed(device: &str, event: TargetEvent) -> Vec<NtStatus> {
    let is_watching = |target: &Target| target.watched.as_ref().is_some_and(|watched| names::are_same(watched, device));
    let targets: Vec<Handle> =
        with(|framework| framework.all().filter(|(_, target)| is_watching(target)).map(|(handle, _)| handle).collect());
    targets.into_iter().filter(|target| object::exists(*target)).map(|target| changed(target, event)).collect()
}

fn changed(target: Handle, event: TargetEvent) -> NtStatus {
    let events = with_target(target, |target| target.events);
    let (name, callback) = match event {
        TargetEvent::QueryRemove => ("EvtIoTargetQueryRemove", events.query_remove),
        TargetEvent::RemoveCanceled => ("EvtIoTargetRemoveCanceled", events.remove_canceled),
        TargetEvent::RemoveComplete => ("EvtIoTargetRemoveComplete", events.remove_complete),
    };
    if !callback.is_null() {
        let status = NtStatus::from_int(call_back(name, PASSIVE, callback, &[target.as_int()]) as u32);
        // Only EvtIoTargetQueryRemove returns a status.
        return if event == TargetEvent::QueryRemove { status } else { NtStatus::Success };
    }
    match event {
        TargetEvent::QueryRemove => close(target, State::CLOSED_FOR_QUERY_REMOVE),
        TargetEvent::RemoveComplete => close(target, State::CLOSED),
        TargetEvent::RemoveCanceled => {
            let name = with_target(target, |target| target.opened.1.clone());
            if let Err(Failure::Status(status)) = reopen(target, name, 0) {
                return status;
            }
        }
    }
    NtStatus::Success
}
