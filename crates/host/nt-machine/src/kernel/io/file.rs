//! Files as drivers open them: devices by their names. There are no other files.

use etw_types::NtStatus;

use super::{names, open, pnp, stack};
use crate::kernel::ex::object::{self, Lifetime};
use crate::kernel::sync::event;
use crate::kernel::{IoRequest, RequestKind};
use crate::layout::{FILE_OBJECT, IO_STATUS_BLOCK, KEVENT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr, OrStop as _};
use crate::routine::{APC, Call, Outcome, PASSIVE, Routine, done, fail, fixed, routine};

/// `FILE_OPENED`: what `IO_STATUS_BLOCK.Information` says of a file that was opened.
const OPENED: u64 = 1;

const fn missing(name: &'static str, status: NtStatus) -> Routine {
    fixed(name, PASSIVE, status.as_int() as u64).fails(status)
}

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: place for the handle, access, attributes, status block.
    routine!("ZwCreateFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("ZwOpenFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("NtCreateFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("NtOpenFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("IoCreateFile", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    routine!("IoCreateFileEx", PASSIVE, create).fails(NtStatus::ObjectNameNotFound),
    // Arguments: handle, event, APC, its context, status block, buffer, length, offset, key.
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
    // Arguments: handle, event, APC, its context, status block, code, input, its length, output, its length.
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
        let file = open::open(device, &rest)?;
        // The handle that the I/O manager opened is closed again; the reference to the file is the driver's.
        object::manage(file.address(), FILE);
        object::reference(file.address(), call.from);
        cleanup(file.address());
        call.ptr(2).write(file)?;
        call.ptr(3).write(stack::top(device)?)?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    routine!("IoGetRelatedDeviceObject", APC, |call| stack::top(call.ptr::<FILE_OBJECT>(0).DeviceObject().read()?)),
    missing("ZwQueryInformationFile", NtStatus::InvalidHandle),
    missing("ZwSetInformationFile", NtStatus::InvalidHandle),
    missing("ZwOpenSection", NtStatus::ObjectNameNotFound),
];

/// What becomes of a file that nobody has open, and that nobody refers to.
const FILE: Lifetime = Lifetime { last_handle: cleanup, last_reference: close };

fn device_of(file: u64) -> (GuestPtr<crate::layout::DEVICE_OBJECT>, GuestPtr<FILE_OBJECT>) {
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

fn create(call: &Call) -> Outcome {
    let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
    let Some((device, rest)) = names::resolve(&name) else { return fail(NtStatus::ObjectNameNotFound) };
    let file = open::open(device, &rest)?;
    object::manage(file.address(), FILE);
    call.ptr(0).write(object::open("file", file.address(), call.from))?;
    call.ptr(3).write_if(IO_STATUS_BLOCK { Status: NtStatus::Success, Padding: 0, Information: OPENED })?;
    Ok(())
}

/// Sends a request through the file whose handle is the first argument, and waits for its end.
fn transfer(call: &Call, request: &IoRequest, output: GuestPtr<u8>) -> Outcome<NtStatus> {
    let Some(file) = object::of_kind(call.kernel_handle(0), "file") else { return fail(NtStatus::InvalidHandle) };
    let (device, file) = device_of(file);
    let answer = pnp::finish(pnp::begin(device, file, request)?)?;
    output.write_all(&answer.output)?;
    finished(call, answer.status, answer.information)?;
    Ok(answer.status)
}

/// Tells the driver by its status block and its event.
fn finished(call: &Call, status: NtStatus, information: u64) -> Result<(), Fault> {
    call.ptr(4).write_if(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: information })?;
    if let Some(waitable) = object::of_kind(call.kernel_handle(1), "event") {
        event::signal(GuestPtr::<KEVENT>::new(waitable).Header(), 1)?;
    }
    Ok(())
}
