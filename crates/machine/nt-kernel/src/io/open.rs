//! File objects: opens and closes devices.

use etw_types::NtStatus;
use nt_processor::layout::{ACCESS_STATE, DEVICE_OBJECT, FILE_OBJECT, IO_SECURITY_CONTEXT};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::{Outcome, fail};

use super::client::{Mode, Submission, send};
use super::device::{self, EXCLUSIVE};
use super::major::{CLEANUP, CLOSE, CREATE};
use super::request::dispatch_routine;
use super::text::new_string;
use super::{security, stack};
use crate::ex::object::{self, Lifetime};
use crate::{kernel, lock};

/// `FO_SYNCHRONOUS_IO`.
const SYNCHRONOUS: u32 = 2;

type Object = GuestPtr<DEVICE_OBJECT>;

/// Creates a file object of a device without notifying the driver. `name` is the part of the name that follows the
/// device's name.
pub fn new_file(device: Object, name: &str) -> Outcome<GuestPtr<FILE_OBJECT>> {
    let file: GuestPtr<FILE_OBJECT> = lock(&kernel().pool).try_new_object()?;
    file.Type().write(object::FILE_TYPE)?;
    file.Size().write(size_of::<FILE_OBJECT>() as u16)?;
    file.DeviceObject().write(device)?;
    file.Flags().write(SYNCHRONOUS)?;
    file.Lock().Header().initialize(1, 0)?;
    file.Event().Header().initialize(0, 0)?;
    if !name.is_empty() {
        file.FileName().write(new_string(name)?.read()?)?;
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
pub fn open(device: Object, name: &str, mode: Mode) -> Outcome<GuestPtr<FILE_OBJECT>> {
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

/// Why a device cannot be opened.
pub const GONE: &str = "the device does not exist or was removed";
/// Why an exclusive device cannot be opened.
pub const IN_USE: &str = "the device is exclusive, and a client has it open";

/// Returns why a device cannot be opened, or `None` if only the driver can refuse.
pub fn why_not_opened(device: Object) -> Result<Option<&'static str>, Fault> {
    if !device::exists(device) {
        return Ok(Some(GONE));
    }
    if device.Flags().read()? & EXCLUSIVE != 0 && device.ReferenceCount().read()? > 0 {
        return Ok(Some(IN_USE));
    }
    let routine = dispatch_routine(stack::top(device)?, CREATE)?;
    Ok(routine.is_null().then_some("the driver has no dispatch routine for IRP_MJ_CREATE"))
}

/// The functions that run after the last handle and the last reference of a file are released.
pub(super) const FILE: Lifetime = Lifetime {
    last_handle: |file| send_for_file(GuestPtr::new(file), CLEANUP).or_stop(),
    last_reference: |file| end(GuestPtr::new(file)).or_stop(),
};

/// Closes the handle of a client. As in Windows, a driver that has a handle to the file delays the cleanup, and one that
/// has a reference delays the close.
pub fn close(file: GuestPtr<FILE_OBJECT>) {
    object::manage(file.address(), FILE);
    object::last_handle_closed(file.address());
}

/// Sends `IRP_MJ_CLOSE`, because the last reference to a file was released, and frees the file object.
fn end(file: GuestPtr<FILE_OBJECT>) -> Result<(), Fault> {
    send_for_file(file, CLOSE)?;
    forget(file.DeviceObject().read()?, file)
}

fn send_for_file(file: GuestPtr<FILE_OBJECT>, major: u8) -> Result<(), Fault> {
    let device = file.DeviceObject().read()?;
    if device::is_in_memory(device) {
        send(stack::top(device)?, &Submission { major, file, ..Submission::default() })?;
    }
    Ok(())
}

fn forget(device: Object, file: GuestPtr<FILE_OBJECT>) -> Result<(), Fault> {
    lock(&kernel().pool).free_object(file.address());
    if device::is_in_memory(device) {
        device.ReferenceCount().change(|count| count.wrapping_sub(1))?;
        device::free_if_unused(device)?;
    }
    Ok(())
}
