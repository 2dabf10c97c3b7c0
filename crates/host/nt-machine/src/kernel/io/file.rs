//! Files that drivers open by name: devices, and files of the [volume].

use etw_types::NtStatus;

use super::client::{Completion, Mode, Submission, send};
use super::{below, names, open, pnp, stack, volume};
use crate::kernel::ex::object::{self, KernelHandle};
use crate::kernel::sync::event;
use crate::kernel::{IoRequest, RequestKind, kernel, lock};
use crate::layout::{FILE_OBJECT, IO_STATUS_BLOCK, KEVENT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr, OrStop as _};
use crate::routine::{APC, Call, Failure, Outcome, PASSIVE, Routine, done, fail, routine};

/// The classes of information about files of the volume.
const BASIC: u32 = 4;
const NAME: u32 = 9;
const DISPOSITION: u32 = 13;
const POSITION: u32 = 14;
const ALLOCATION: u32 = 19;
const END: u32 = 20;
/// `FILE_ATTRIBUTE_DIRECTORY`, `FILE_ATTRIBUTE_NORMAL`.
const FOLDER: u32 = 0x10;
const NORMAL: u32 = 0x80;

/// The disposition `FILE_OPEN`.
const OPEN: u32 = 1;
/// `FILE_OPENED`: the value of `IO_STATUS_BLOCK.Information` for a file that was opened.
const OPENED: u64 = 1;

/// The major functions for information about a file.
const QUERY_INFORMATION: u8 = 5;
const SET_INFORMATION: u8 = 6;
/// `FileStandardInformation` and the size of its structure, whose second member is `EndOfFile`.
const STANDARD_INFORMATION: u32 = 5;
const STANDARD_SIZE: u32 = 24;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: place for the handle, access, attributes, status block, place of a size, attributes of the file,
    // sharing, disposition, options.
    routine!("ZwCreateFile", PASSIVE, |call| create(call, call.u32(7), call.u32(8)))
        .fails(NtStatus::ObjectNameNotFound),
    // Arguments: place for the handle, access, attributes, status block, sharing, options.
    routine!("ZwOpenFile", PASSIVE, |call| create(call, OPEN, call.u32(5))).fails(NtStatus::ObjectNameNotFound),
    routine!("NtCreateFile", PASSIVE, |call| create(call, call.u32(7), call.u32(8)))
        .fails(NtStatus::ObjectNameNotFound),
    routine!("NtOpenFile", PASSIVE, |call| create(call, OPEN, call.u32(5))).fails(NtStatus::ObjectNameNotFound),
    routine!("IoCreateFile", PASSIVE, |call| create(call, call.u32(7), call.u32(8)))
        .fails(NtStatus::ObjectNameNotFound),
    routine!("IoCreateFileEx", PASSIVE, |call| create(call, call.u32(7), call.u32(8)))
        .fails(NtStatus::ObjectNameNotFound),
    // Argument: attributes.
    routine!("ZwDeleteFile", PASSIVE, |call| {
        let name = call.ptr::<OBJECT_ATTRIBUTES>(0).ObjectName().read()?.text()?;
        let Some(path) = volume::path(&name) else { return fail(NtStatus::ObjectNameNotFound) };
        done(lock(&kernel().io).volume.delete(&path))
    }),
    // Arguments: handle, status block.
    routine!("ZwFlushBuffersFile", PASSIVE, |call| {
        if object::of_kind(call.kernel_handle(0), "file").is_none() {
            return fail(NtStatus::InvalidHandle);
        }
        call.ptr(1).write(IO_STATUS_BLOCK { Status: NtStatus::Success, Padding: 0, Information: 0 })?;
        done(())
    })
    .fails(NtStatus::InvalidHandle),
    // Arguments: handle, event, APC, context of the APC, status block, buffer, length, offset, key.
    routine!("ZwReadFile", PASSIVE, |call| {
        if let Some(file) = on_volume(call) {
            let bytes = match volume::read(file, call.ptr(7), call.u32(6)) {
                Err(Failure::Status(status)) => return refused(call, status),
                bytes => bytes?,
            };
            call.ptr(5).write_all(&bytes)?;
            finished(call, NtStatus::Success, bytes.len() as u64)?;
            return done(NtStatus::Success);
        }
        let request = IoRequest { kind: RequestKind::READ, output: call.u32(6), ..IoRequest::default() };
        transfer(call, &request, call.ptr(5))
    })
    .fails(NtStatus::InvalidHandle),
    routine!("ZwWriteFile", PASSIVE, |call| {
        let input = call.ptr::<u8>(5).array(call.u32(6).into()).read()?;
        if let Some(file) = on_volume(call) {
            if let Err(Failure::Status(status)) = volume::write(file, call.ptr(7), &input) {
                return refused(call, status);
            }
            finished(call, NtStatus::Success, input.len() as u64)?;
            return done(NtStatus::Success);
        }
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
        let Some((device, rest)) = names::resolve(&name) else {
            below::note_missing(&name);
            return fail(NtStatus::ObjectNameNotFound);
        };
        let file = open::open(device, &rest, Mode::Kernel)?;
        // As in Windows, the I/O manager closes its handle again, and the driver owns the reference to the file object.
        object::reference(file.address(), call.from);
        open::close(file);
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
        if lock(&kernel().io).volume.has(file) {
            let status = set(GuestPtr::new(file), call.u32(4), &information)?;
            call.ptr(1).write(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: 0 })?;
            return done(status);
        }
        let completion = inform(file, SET_INFORMATION, call.u32(4), information.len() as u32, &information)?.0;
        let (status, count) = (completion.status, completion.information);
        call.ptr(1).write(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: count })?;
        done(status)
    })
    .fails(NtStatus::InvalidHandle),
    // Arguments: file, place for the size.
    routine!("FsRtlGetFileSize", PASSIVE, |call| {
        if lock(&kernel().io).volume.size(call.arg(0)).is_some_and(|size| size.is_folder) {
            return fail(NtStatus::FileIsADirectory);
        }
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

type Device = GuestPtr<crate::layout::DEVICE_OBJECT>;

fn device_of(file: u64) -> (Device, GuestPtr<FILE_OBJECT>) {
    let file = GuestPtr::<FILE_OBJECT>::new(file);
    (file.DeviceObject().read().or_stop(), file)
}

/// Opens a device. Returns its file object and a handle to it.
pub(crate) fn open(device: Device, rest: &str, from: u64) -> Outcome<(GuestPtr<FILE_OBJECT>, KernelHandle)> {
    let file = open::open(device, rest, Mode::Kernel)?;
    object::manage(file.address(), open::FILE);
    Ok((file, object::open("file", file.address(), from)?))
}

fn create(call: &Call, disposition: u32, options: u32) -> Outcome {
    let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
    if let Some(path) = volume::path(&name) {
        let (handle, information) = volume::create(&path, disposition, options, call.from)?;
        call.ptr(0).write(handle)?;
        call.ptr(3).write_if(IO_STATUS_BLOCK { Status: NtStatus::Success, Padding: 0, Information: information })?;
        return Ok(());
    }
    let Some((device, rest)) = names::resolve(&name) else {
        below::note_missing(&name);
        return fail(NtStatus::ObjectNameNotFound);
    };
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
    let size = lock(&kernel().io).volume.size(file);
    if let Some(size) = size {
        let information = describe(GuestPtr::new(file), class, size)?;
        if (room as usize) < information.len() {
            return fail(NtStatus::InfoLengthMismatch);
        }
        let status = NtStatus::Success;
        return Ok((Completion { status, information: information.len() as u64, reached: true }, information));
    }
    inform(file, QUERY_INFORMATION, class, room, &[])
}

/// Returns the file whose handle is the first argument, if it is on the volume.
fn on_volume(call: &Call) -> Option<GuestPtr<FILE_OBJECT>> {
    let file = object::of_kind(call.kernel_handle(0), "file")?;
    lock(&kernel().io).volume.has(file).then(|| GuestPtr::new(file))
}

/// Ends a transfer that failed.
fn refused(call: &Call, status: NtStatus) -> Outcome<NtStatus> {
    finished(call, status, 0)?;
    Ok(status)
}

/// Returns information about a file of the volume.
fn describe(file: GuestPtr<FILE_OBJECT>, class: u32, size: volume::Size) -> Outcome<Vec<u8>> {
    let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Ok(match class {
        // Four times, attributes.
        BASIC => bytes(&[0, 0, 0, 0, if size.is_folder { FOLDER } else { NORMAL }.into()]),
        // The allocated size, the end, the number of links, whether it is being deleted, whether it is a folder.
        STANDARD_INFORMATION => {
            let rest = 1 | u64::from(size.goes) << 32 | u64::from(size.is_folder) << 40;
            bytes(&[size.allocated(), size.end, rest])
        }
        NAME => {
            let name: Vec<u8> = file.FileName().text()?.encode_utf16().flat_map(u16::to_le_bytes).collect();
            [(name.len() as u32).to_le_bytes().to_vec(), name].concat()
        }
        POSITION => bytes(&[file.CurrentByteOffset().read()?]),
        _ => return fail(NtStatus::InvalidInfoClass),
    })
}

/// Changes a file of the volume. Returns the status.
fn set(file: GuestPtr<FILE_OBJECT>, class: u32, information: &[u8]) -> Outcome<NtStatus> {
    let word = information.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let short = NtStatus::InfoLengthMismatch;
    Ok(match (class, word) {
        (BASIC, _) => NtStatus::Success,
        (DISPOSITION, _) => match information.first() {
            Some(goes) => {
                lock(&kernel().io).volume.set_goes(file.address(), *goes != 0);
                NtStatus::Success
            }
            None => short,
        },
        (POSITION, Some(position)) => {
            file.CurrentByteOffset().write(position)?;
            NtStatus::Success
        }
        (END, Some(end)) => lock(&kernel().io).volume.set_end(file.address(), end),
        (ALLOCATION, Some(size)) => lock(&kernel().io).volume.reserve(file.address(), size),
        (POSITION | END | ALLOCATION, None) => short,
        _ => NtStatus::InvalidInfoClass,
    })
}
