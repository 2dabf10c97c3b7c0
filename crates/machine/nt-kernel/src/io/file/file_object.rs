//! File objects: opens and closes devices.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::{ACCESS_STATE, DEVICE_OBJECT, FILE_OBJECT, IO_SECURITY_CONTEXT};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::{Outcome, fail};
use windows_constants::device::{DO_EXCLUSIVE, IO_TYPE_FILE};
use windows_constants::file::{
    FILE_ATTRIBUTE_NORMAL, FILE_NON_DIRECTORY_FILE, FILE_OPEN, FILE_SHARE_READ, FILE_SHARE_WRITE,
    FILE_SYNCHRONOUS_IO_NONALERT, FO_SYNCHRONOUS_IO,
};
use windows_constants::request::{IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE};
use windows_constants::security::{FILE_GENERIC_READ, FILE_GENERIC_WRITE};

use crate::ex::object::{self, Lifetime};
use crate::io::device::stack;
use crate::io::request::client::{Mode, Submission, send};
use crate::io::request::dispatch_routine;
use crate::io::text::new_string;
use crate::io::{device, security};
use crate::pool::Pool;
use crate::{Kernel, kernel, lock};

type Object = GuestPtr<DEVICE_OBJECT>;

/// Creates a file object of a device without notifying the driver. `name` is the part of the name that follows the
/// device's name.
pub fn new_file(device: Object, name: &str) -> Outcome<GuestPtr<FILE_OBJECT>> {
    let file: GuestPtr<FILE_OBJECT> = lock(&kernel().pool).try_new_object()?;
    file.Type().write(IO_TYPE_FILE)?;
    file.Size().write(size_of::<FILE_OBJECT>() as u16)?;
    file.DeviceObject().write(device)?;
    file.Flags().write(FO_SYNCHRONOUS_IO)?;
    file.Lock().Header().initialize(1, 0)?;
    file.Event().Header().initialize(0, 0)?;
    if !name.is_empty() {
        file.FileName().write(new_string(name)?.read()?)?;
    }
    Ok(file)
}

/// The access that a client requests.
const ACCESS: u32 = FILE_GENERIC_READ | FILE_GENERIC_WRITE;
/// The create options.
const OPTIONS: u32 = FILE_SYNCHRONOUS_IO_NONALERT | FILE_NON_DIRECTORY_FILE;
/// The disposition, in the upper byte of the options.
const OPEN: u32 = FILE_OPEN << 24;
/// The attributes, and the sharing in the upper word.
const SHARED: u64 = ((FILE_SHARE_READ | FILE_SHARE_WRITE) as u64) << 16 | FILE_ATTRIBUTE_NORMAL as u64;

/// Opens a device. Its driver receives `IRP_MJ_CREATE` and may refuse.
pub fn open(device: Object, name: &str, mode: Mode) -> Outcome<GuestPtr<FILE_OBJECT>> {
    let Kernel { pool, .. } = kernel();
    if !device::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    let opened = device.ReferenceCount().read()?;
    if device.Flags().read()? & DO_EXCLUSIVE != 0 && opened > 0 {
        return fail(NtStatus::AccessDenied);
    }
    let file = new_file(device, name)?;
    device.ReferenceCount().write(opened.wrapping_add(1))?;
    let (context, state) = {
        let mut pool = lock(pool);
        (pool.try_new_object::<IO_SECURITY_CONTEXT>()?, pool.try_new_object::<ACCESS_STATE>()?)
    };
    state.OriginalDesiredAccess().write(ACCESS)?;
    state.PreviouslyGrantedAccess().write(ACCESS)?;
    state.SubjectSecurityContext().PrimaryToken().write(security::token())?;
    context.AccessState().write(state)?;
    context.DesiredAccess().write(ACCESS)?;
    context.FullCreateOptions().write(OPTIONS)?;
    let parameters = [context.address(), (OPEN | OPTIONS).into(), SHARED, 0];
    let submission = Submission { major: IRP_MJ_CREATE, mode, parameters, file, ..Submission::default() };
    let status = send(stack::top(device)?, &submission)?.status;
    for address in [context.address(), state.address()] {
        lock(pool).free_object(address);
    }
    if status.is_success() {
        return Ok(file);
    }
    forget(pool, device, file)?;
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
    if device.Flags().read()? & DO_EXCLUSIVE != 0 && device.ReferenceCount().read()? > 0 {
        return Ok(Some(IN_USE));
    }
    let routine = dispatch_routine(stack::top(device)?, IRP_MJ_CREATE)?;
    Ok(routine.is_null().then_some("the driver has no dispatch routine for IRP_MJ_CREATE"))
}

/// The functions that run after the last handle and the last reference of a file are released.
pub(super) const FILE: Lifetime = Lifetime {
    last_handle: |file| send_for_file(GuestPtr::new(file), IRP_MJ_CLEANUP).or_stop(),
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
    let Kernel { pool, .. } = kernel();
    send_for_file(file, IRP_MJ_CLOSE)?;
    forget(pool, file.DeviceObject().read()?, file)
}

fn send_for_file(file: GuestPtr<FILE_OBJECT>, major: u8) -> Result<(), Fault> {
    let device = file.DeviceObject().read()?;
    if device::is_in_memory(device) {
        send(stack::top(device)?, &Submission { major, file, ..Submission::default() })?;
    }
    Ok(())
}

fn forget(pool: &Mutex<Pool>, device: Object, file: GuestPtr<FILE_OBJECT>) -> Result<(), Fault> {
    lock(pool).free_object(file.address());
    if device::is_in_memory(device) {
        device.ReferenceCount().change(|count| count.wrapping_sub(1))?;
        device::free_if_unused(device)?;
    }
    Ok(())
}
