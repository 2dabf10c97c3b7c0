//! Files that drivers open by name. Only devices can be opened; there are no other files.

use etw_types::NtStatus;

use super::client::{Completion, Mode, Submission, send};
use super::{names, open, pnp, stack};
use crate::kernel::ex::object::{self, KernelHandle, Lifetime};
use crate::kernel::sync::event;
use crate::kernel::{IoRequest, RequestKind, kernel, lock};
use crate::layout::{FILE_OBJECT, IO_STATUS_BLOCK, KEVENT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr, OrStop as _};
use crate::routine::{APC, Call, Outcome, PASSIVE, Routine, done, fail, routine};

/// `FILE_OPENED`: the value of `IO_STATUS_BLOCK.Information` for a file that was opened.
const OPENED: u64 = 1;

/// The major functions for information about a file.
const QUERY_INFORMATION: u8 = 5;
const SET_INFORMATION: u8 = 6;
/// `FileStandardInformation` and the size of its structure, whose second member is `EndOfFile`.
const STANDARD_INFORMATION: u32 = 5;
const STANDARD_SIZE: u32 = 24;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: place for the handle, access, attributes, status block.
    routine!("ZwCreateFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("ZwOpenFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("NtCreateFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("NtOpenFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("IoCreateFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("IoCreateFileEx", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    // Arguments: handle, event, APC, context of the APC, status block, buffer, length, offset, key.
    routine!("ZwReadFile", PASSIVE, |call| {
        let request = IoRequest { kind: RequestKind::READ, output: call.u32(6), ..IoRequest::default() };
        transfer(call, &request, call.ptr(5))
    })
    .fails(NtStatus::InvalidHandle),
    routine!("ZwWriteFile", PASSIVE, |call| {
        let input = call.ptr::<u8>(5).array(call.u32(6).into()).read()?;
        transfer(call, &IoRequest { kind: RequestKind::WRITE, input, ..IoRequest::default() }, GuestPtr::NULL)
    })
    .fails(NtStatus::InvalidHandle),
    // Arguments: handle, event, APC, context of the APC, status block, code, input, length of the input, output, length
    // of the output.
    routine!("ZwDeviceIoControlFile", PASSIVE, |call| {
        let input = call.ptr::<u8>(6).non_null().map_or(Ok(Vec::new()), |input| input.array(call.arg(7)).read())?;
        let (code, output) = (call.u32(5), call.u32(9));
        transfer(call, &IoRequest { kind: RequestKind::DEVICE_CONTROL, code, input, output }, call.ptr(8))
    })
    .fails(NtStatus::InvalidHandle),
    // Arguments: name, access, place for a file object, place for the device.
    routine!("IoGetDeviceObjectPointer", PASSIVE, |call| {
        let name = call.ptr::<UNICODE_STRING>(0).text()?;
        let Some((device, rest)) = names::resolve(&name) else { return fail(NtStatus::ObjectNameNotFound) };
        let file = open::open(device, &rest, Mode::Kernel)?;
        // As in Windows, the I/O manager closes its handle again, and the driver owns the reference to the file object.
        object::manage(file.address(), FILE);
        object::reference(file.address(), call.from);
        cleanup(file.address());
        call.ptr(2).write(file)?;
        call.ptr(3).write(stack::top(device)?)?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    routine!("IoGetRelatedDeviceObject", APC, |call| stack::top(call.ptr::<FILE_OBJECT>(0).DeviceObject().read()?)),
    // Arguments: handle, status block, buffer, length of the buffer, class.
    routine!("ZwQueryInformationFile", PASSIVE, |call| {
        let Some(file) = object::of_kind(call.kernel_handle(0), "file") else { return fail(NtStatus::InvalidHandle) };
        let (completion, information) = query(file, call.u32(4), call.u32(3))?;
        call.ptr(2).write_all(&information)?;
        let (status, count) = (completion.status, completion.information);
        call.ptr(1).write(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: count })?;
        done(status)
    })
    .fails(NtStatus::InvalidHandle),
    routine!("ZwSetInformationFile", PASSIVE, |call| {
        let Some(file) = object::of_kind(call.kernel_handle(0), "file") else { return fail(NtStatus::InvalidHandle) };
        let information = call.ptr::<u8>(2).array(call.u32(3).into()).read()?;
        let completion = inform(file, SET_INFORMATION, call.u32(4), information.len() as u32, &information)?.0;
        let (status, count) = (completion.status, completion.information);
        call.ptr(1).write(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: count })?;
        done(status)
    })
    .fails(NtStatus::InvalidHandle),
    // Arguments: file, place for the size.
    routine!("FsRtlGetFileSize", PASSIVE, |call| {
        let (completion, information) = query(call.arg(0), STANDARD_INFORMATION, STANDARD_SIZE)?;
        if !completion.status.is_success() {
            return fail(completion.status);
        }
        let end = information.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        call.ptr(1).write(end)?;
        done(())
    })
    .fails(NtStatus::InvalidDeviceRequest),
];

/// The functions that run after the last handle and the last reference of a file are released.
const FILE: Lifetime = Lifetime { last_handle: cleanup, last_reference: close };

type Device = GuestPtr<crate::layout::DEVICE_OBJECT>;

fn device_of(file: u64) -> (Device, GuestPtr<FILE_OBJECT>) {
    let file = GuestPtr::<FILE_OBJECT>::new(file);
    (file.DeviceObject().read().or_stop(), file)
}

fn cleanup(file: u64) {
    let (device, file) = device_of(file);
    open::cleanup(device, file).or_stop();
}

fn close(file: u64) {
    let (device, file) = device_of(file);
    open::end(device, file).or_stop();
}

/// Opens a device. Returns its file object and a handle to it.
pub(crate) fn open(device: Device, rest: &str, from: u64) -> Outcome<(GuestPtr<FILE_OBJECT>, KernelHandle)> {
    let file = open::open(device, rest, Mode::Kernel)?;
    object::manage(file.address(), FILE);
    Ok((file, object::open("file", file.address(), from)?))
}

fn create(call: &Call) -> Outcome {
    let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
    let Some((device, rest)) = names::resolve(&name) else { return fail(NtStatus::ObjectNameNotFound) };
    let (_, handle) = open(device, &rest, call.from)?;
    call.ptr(0).write(handle)?;
    call.ptr(3).write_if(IO_STATUS_BLOCK { Status: NtStatus::Success, Padding: 0, Information: OPENED })?;
    Ok(())
}

/// Sends a request through the file whose handle is the first argument, and waits until it is completed.
fn transfer(call: &Call, request: &IoRequest, output: GuestPtr<u8>) -> Outcome<NtStatus> {
    let Some(file) = object::of_kind(call.kernel_handle(0), "file") else { return fail(NtStatus::InvalidHandle) };
    let (device, file) = device_of(file);
    let result = pnp::finish(pnp::begin(device, file, request, Mode::Kernel)?)?;
    output.write_all(&result.output)?;
    finished(call, result.status, result.information)?;
    Ok(result.status)
}

/// Stores the result in the status block, and signals the event.
fn finished(call: &Call, status: NtStatus, information: u64) -> Result<(), Fault> {
    call.ptr(4).write_if(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: information })?;
    if let Some(waitable) = object::of_kind(call.kernel_handle(1), "event") {
        event::signal(GuestPtr::<KEVENT>::new(waitable).Header(), 1)?;
    }
    Ok(())
}

/// Queries or sets information about a file. The IRP uses a system buffer, which first holds `given`.
fn inform(file: u64, major: u8, class: u32, room: u32, given: &[u8]) -> Outcome<(Completion, Vec<u8>)> {
    let (device, file) = device_of(file);
    let buffer: GuestPtr<u8> = lock(&kernel().pool).try_new_objects(u64::from(room).max(8))?;
    buffer.write_all(given)?;
    let parameters = [room.into(), class.into(), 0, 0];
    let submission = Submission { major, parameters, system_buffer: buffer, file, ..Submission::default() };
    let completion = send(stack::top(device)?, &submission)?;
    let count = if completion.status.is_success() { completion.information.min(room.into()) } else { 0 };
    let information = buffer.array(count).read()?;
    lock(&kernel().pool).free_object(buffer.address());
    Ok((completion, information))
}

fn query(file: u64, class: u32, room: u32) -> Outcome<(Completion, Vec<u8>)> {
    inform(file, QUERY_INFORMATION, class, room, &[])
}
