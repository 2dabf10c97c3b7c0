//! File objects: opens and closes devices.

use etw_types::NtStatus;

use super::client::{Mode, Submission, send};
use super::device::{self, EXCLUSIVE};
use super::request::{CLEANUP, CLOSE, CREATE};
use super::{security, stack};
use crate::kernel::{kernel, lock};
use crate::layout::{ACCESS_STATE, DEVICE_OBJECT, FILE_OBJECT, IO_SECURITY_CONTEXT};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{Outcome, fail};

/// `IO_TYPE_FILE`.
const TYPE: u16 = 5;
/// `FO_SYNCHRONOUS_IO`.
const SYNCHRONOUS: u32 = 2;

type Object = GuestPtr<DEVICE_OBJECT>;

/// Creates a file object of a device without notifying the driver. `name` is the part of the name that follows the
/// device's name.
pub(crate) fn new_file(device: Object, name: &str) -> Outcome<GuestPtr<FILE_OBJECT>> {
    let file: GuestPtr<FILE_OBJECT> = lock(&kernel().pool).try_new_object()?;
    file.Type().write(TYPE)?;
    file.Size().write(size_of::<FILE_OBJECT>() as u16)?;
    file.DeviceObject().write(device)?;
    file.Flags().write(SYNCHRONOUS)?;
    file.Lock().Header().initialize(1, 0)?;
    file.Event().Header().initialize(0, 0)?;
    if !name.is_empty() {
        file.FileName().write(device::new_string(name)?.read()?)?;
    }
    Ok(file)
}

/// The access that a client requests: `FILE_GENERIC_READ | FILE_GENERIC_WRITE`.
const ACCESS: u32 = 0x0012_019F;
/// The create options: `FILE_SYNCHRONOUS_IO_NONALERT | FILE_NON_DIRECTORY_FILE`.
const OPTIONS: u32 = 0x60;
/// The disposition `FILE_OPEN`, in the upper byte of the options.
const OPEN: u32 = 1 << 24;
/// `FILE_ATTRIBUTE_NORMAL`, and sharing for reading and writing in the upper word.
const SHARED: u64 = 3 << 16 | 0x80;

/// Opens a device. Its driver receives `IRP_MJ_CREATE` and may refuse.
pub(crate) fn open(device: Object, name: &str, mode: Mode) -> Outcome<GuestPtr<FILE_OBJECT>> {
    if !device::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    let opened = device.ReferenceCount().read()?;
    if device.Flags().read()? & EXCLUSIVE != 0 && opened > 0 {
        return fail(NtStatus::AccessDenied);
    }
    let file = new_file(device, name)?;
    device.ReferenceCount().write(opened.wrapping_add(1))?;
    let (context, state) = {
        let mut pool = lock(&kernel().pool);
        (pool.try_new_object::<IO_SECURITY_CONTEXT>()?, pool.try_new_object::<ACCESS_STATE>()?)
    };
    state.OriginalDesiredAccess().write(ACCESS)?;
    state.PreviouslyGrantedAccess().write(ACCESS)?;
    state.SubjectSecurityContext().PrimaryToken().write(security::token())?;
    context.AccessState().write(state)?;
    context.DesiredAccess().write(ACCESS)?;
    context.FullCreateOptions().write(OPTIONS)?;
    let parameters = [context.address(), (OPEN | OPTIONS).into(), SHARED, 0];
    let submission = Submission { major: CREATE, mode, parameters, file, ..Submission::default() };
    let status = send(stack::top(device)?, &submission)?.status;
    for address in [context.address(), state.address()] {
        lock(&kernel().pool).free_object(address);
    }
    if status.is_success() {
        return Ok(file);
    }
    forget(device, file)?;
    fail(status)
}

/// Closes a file: sends the cleanup of the last handle, then the close of the last reference.
pub(crate) fn close(device: Object, file: GuestPtr<FILE_OBJECT>) -> Result<(), Fault> {
    cleanup(device, file)?;
    end(device, file)
}

/// Sends `IRP_MJ_CLEANUP`, because the last handle of a file was closed.
pub(super) fn cleanup(device: Object, file: GuestPtr<FILE_OBJECT>) -> Result<(), Fault> {
    tell(device, file, CLEANUP)
}

/// Sends `IRP_MJ_CLOSE`, because the last reference to a file was released, and frees the file object.
pub(super) fn end(device: Object, file: GuestPtr<FILE_OBJECT>) -> Result<(), Fault> {
    tell(device, file, CLOSE)?;
    forget(device, file)
}

fn tell(device: Object, file: GuestPtr<FILE_OBJECT>, major: u8) -> Result<(), Fault> {
    if device::exists(device) {
        send(stack::top(device)?, &Submission { major, file, ..Submission::default() })?;
    }
    Ok(())
}

fn forget(device: Object, file: GuestPtr<FILE_OBJECT>) -> Result<(), Fault> {
    if device::exists(device) {
        device.ReferenceCount().change(|count| count.wrapping_sub(1))?;
    }
    lock(&kernel().pool).free_object(file.address());
    Ok(())
}
