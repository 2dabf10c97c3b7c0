//! Files that drivers open by name: devices, and the files of the [volume].

mod content;
mod directory;
pub mod file_object;
pub mod info;
pub mod listing;
mod tree;
pub mod volume;
mod volume_names;

use etw_types::NtStatus;
use nt_processor::layout::{FILE_OBJECT, IO_STATUS_BLOCK, KEVENT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice, Opaque, OrStop as _};
use nt_verifier::routine::{Call, DISPATCH, Failure, Ignored, Out, Outcome, PASSIVE, Routine, done, fail, routines};
use windows_constants::file::{FILE_OPEN, FILE_OPENED, FileStandardInformation};
use windows_constants::request::{IRP_MJ_QUERY_INFORMATION, IRP_MJ_SET_INFORMATION};

use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::io::device::{below, names, stack};
use crate::io::request::client::{Completion, Mode, Submission, send};
use crate::io::request::exchange;
use crate::sync::event;
use crate::{IoRequest, Kernel, RequestKind, kernel, lock};

/// The size of `FILE_STANDARD_INFORMATION`, whose second member is `EndOfFile`.
const STANDARD_SIZE: u32 = 24;

pub(super) const ROUTINES: &[&[Routine]] = &[OWN, directory::ROUTINES, volume_names::ROUTINES];

routines! { OWN;
    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwCreateFile(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _size: Ignored<GuestPtr<i64>>,
        _file_attributes: Ignored<u32>,
        _share: Ignored<u32>,
        disposition: u32,
        options: u32,
        _extended: Ignored<GuestSlice<u8>>,
    ) -> Outcome {
        create(call, place, attributes, status, disposition, options)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn NtCreateFile(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _size: Ignored<GuestPtr<i64>>,
        _file_attributes: Ignored<u32>,
        _share: Ignored<u32>,
        disposition: u32,
        options: u32,
        _extended: Ignored<GuestSlice<u8>>,
    ) -> Outcome {
        create(call, place, attributes, status, disposition, options)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwOpenFile(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _share: Ignored<u32>,
        options: u32,
    ) -> Outcome {
        create(call, place, attributes, status, FILE_OPEN, options)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn NtOpenFile(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _share: Ignored<u32>,
        options: u32,
    ) -> Outcome {
        create(call, place, attributes, status, FILE_OPEN, options)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn IoCreateFile(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _size: Ignored<GuestPtr<i64>>,
        _file_attributes: Ignored<u32>,
        _share: Ignored<u32>,
        disposition: u32,
        options: u32,
        _extended: Ignored<GuestSlice<u8>>,
        _kind: Ignored<i32>,
        _parameters: Ignored<GuestPtr<Opaque>>,
        _internal: Ignored<u32>,
    ) -> Outcome {
        create(call, place, attributes, status, disposition, options)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn IoCreateFileEx(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _size: Ignored<GuestPtr<i64>>,
        _file_attributes: Ignored<u32>,
        _share: Ignored<u32>,
        disposition: u32,
        options: u32,
        _extended: Ignored<GuestSlice<u8>>,
        _kind: Ignored<i32>,
        _parameters: Ignored<GuestPtr<Opaque>>,
        _internal: Ignored<u32>,
        _context: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        create(call, place, attributes, status, disposition, options)
    }

    #[irql(PASSIVE)]
    fn ZwDeleteFile(attributes: GuestPtr<OBJECT_ATTRIBUTES>) -> Outcome<NtStatus> {
        let name = attributes.ObjectName().read()?.text()?;
        let Some(path) = volume::path(&name) else { return fail(NtStatus::ObjectNameNotFound) };
        done(lock(&kernel().io).volume.delete(&path))
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwFlushBuffersFile(handle: KernelHandle, status: Out<IO_STATUS_BLOCK>) -> Outcome {
        if object::of_kind(handle, "file").is_none() {
            return fail(NtStatus::InvalidHandle);
        }
        status.set(IO_STATUS_BLOCK { Status: NtStatus::Success, Padding: 0, Information: 0 })?;
        done(())
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwReadFile(
        handle: KernelHandle,
        event: KernelHandle,
        _apc: Ignored<GuestPtr<Code>>,
        _context: Ignored<GuestPtr<Opaque>>,
        status: Out<IO_STATUS_BLOCK>,
        buffer: GuestSlice<u8>,
        offset: GuestPtr<u64>,
        _key: Ignored<GuestPtr<u32>>,
    ) -> Outcome<NtStatus> {
        let signals = Signals { event, status };
        let room = buffer.len() as u32;
        if let Some(file) = on_volume(handle) {
            let bytes = match volume::read(file, offset, room) {
                Err(Failure::Status(status)) => return signals.refuse(status),
                bytes => bytes?,
            };
            buffer.start().write_all(&bytes)?;
            signals.finish(NtStatus::Success, bytes.len() as u64)?;
            return done(NtStatus::Success);
        }
        let request = IoRequest { kind: RequestKind::READ, output: room, ..IoRequest::default() };
        transfer(handle, signals, &request, buffer.start())
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwWriteFile(
        handle: KernelHandle,
        event: KernelHandle,
        _apc: Ignored<GuestPtr<Code>>,
        _context: Ignored<GuestPtr<Opaque>>,
        status: Out<IO_STATUS_BLOCK>,
        buffer: GuestSlice<u8>,
        offset: GuestPtr<u64>,
        _key: Ignored<GuestPtr<u32>>,
    ) -> Outcome<NtStatus> {
        let signals = Signals { event, status };
        let input = buffer.read()?;
        if let Some(file) = on_volume(handle) {
            if let Err(Failure::Status(status)) = volume::write(file, offset, &input) {
                return signals.refuse(status);
            }
            signals.finish(NtStatus::Success, input.len() as u64)?;
            return done(NtStatus::Success);
        }
        let request = IoRequest { kind: RequestKind::WRITE, input, ..IoRequest::default() };
        transfer(handle, signals, &request, GuestPtr::NULL)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwDeviceIoControlFile(
        handle: KernelHandle,
        event: KernelHandle,
        _apc: Ignored<GuestPtr<Code>>,
        _context: Ignored<GuestPtr<Opaque>>,
        status: Out<IO_STATUS_BLOCK>,
        code: u32,
        input: GuestSlice<u8>,
        output: GuestSlice<u8>,
    ) -> Outcome<NtStatus> {
        let input = if input.start().is_null() { Vec::new() } else { input.read()? };
        let mut request =
            IoRequest { kind: RequestKind::DEVICE_CONTROL, code, input, output: output.len() as u32, ..IoRequest::default() };
        if request.sends_output() && !output.start().is_null() {
            request.output_data = output.read()?;
        }
        transfer(handle, Signals { event, status }, &request, output.start())
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn IoGetDeviceObjectPointer(
        &call,
        name: GuestPtr<UNICODE_STRING>,
        _access: Ignored<u32>,
        file: Out<GuestPtr<FILE_OBJECT>>,
        device: Out<Device>,
    ) -> Outcome {
        let name = name.text()?;
        let Some((found, rest)) = names::resolve(&name) else {
            below::note_missing(&name);
            return fail(NtStatus::ObjectNameNotFound);
        };
        let opened = file_object::open(found, &rest, Mode::Kernel)?;
        // As in Windows, the I/O manager closes its handle again, and the driver owns the reference to the file object.
        object::reference(opened.address(), call.from);
        file_object::close(opened);
        file.set(opened)?;
        device.set(stack::top(found)?)?;
        done(())
    }

    #[irql(DISPATCH)]
    fn IoGetRelatedDeviceObject(file: GuestPtr<FILE_OBJECT>) -> Result<Device, Fault> {
        stack::top(file.DeviceObject().read()?)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwQueryInformationFile(
        handle: KernelHandle,
        status: Out<IO_STATUS_BLOCK>,
        buffer: GuestSlice<u8>,
        class: i32,
    ) -> Outcome<NtStatus> {
        let Some(file) = object::of_kind(handle, "file") else { return fail(NtStatus::InvalidHandle) };
        let (completion, information) = query(file, class.cast_unsigned(), buffer.len() as u32)?;
        buffer.start().write_all(&information)?;
        status.set(IO_STATUS_BLOCK { Status: completion.status, Padding: 0, Information: completion.information })?;
        done(completion.status)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwSetInformationFile(
        handle: KernelHandle,
        status: Out<IO_STATUS_BLOCK>,
        buffer: GuestSlice<u8>,
        class: i32,
    ) -> Outcome<NtStatus> {
        let Some(file) = object::of_kind(handle, "file") else { return fail(NtStatus::InvalidHandle) };
        let class = class.cast_unsigned();
        let information = buffer.read()?;
        let (result, count) = if lock(&kernel().io).volume.has(file) {
            (info::set(GuestPtr::new(file), class, &information)?, 0)
        } else {
            let completion = inform(file, IRP_MJ_SET_INFORMATION, class, information.len() as u32, &information)?.0;
            (completion.status, completion.information)
        };
        status.set(IO_STATUS_BLOCK { Status: result, Padding: 0, Information: count })?;
        done(result)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidDeviceRequest)]
    fn FsRtlGetFileSize(file: GuestPtr<FILE_OBJECT>, size: Out<u64>) -> Outcome {
        if lock(&kernel().io).volume.size(file.address()).is_some_and(|size| size.is_dir) {
            return fail(NtStatus::FileIsADirectory);
        }
        let (completion, information) = query(file.address(), FileStandardInformation, STANDARD_SIZE)?;
        if !completion.status.is_success() {
            return fail(completion.status);
        }
        let end = information.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        size.set(end)?;
        done(())
    }
}

type Device = GuestPtr<nt_processor::layout::DEVICE_OBJECT>;

fn device_of(file: u64) -> (Device, GuestPtr<FILE_OBJECT>) {
    let file = GuestPtr::<FILE_OBJECT>::new(file);
    (file.DeviceObject().read().or_stop(), file)
}

/// Opens a device. Returns its file object and a handle to it.
pub fn open(device: Device, rest: &str, from: u64) -> Outcome<(GuestPtr<FILE_OBJECT>, KernelHandle)> {
    let file = file_object::open(device, rest, Mode::Kernel)?;
    object::manage(file.address(), file_object::FILE);
    Ok((file, object::open("file", file.address(), from)?))
}

fn create(
    call: &Call,
    place: Out<KernelHandle>,
    attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    status: Out<IO_STATUS_BLOCK>,
    disposition: u32,
    options: u32,
) -> Outcome {
    let name = attributes.ObjectName().read()?.text()?;
    if let Some(path) = volume::path(&name) {
        let (handle, information) = volume::create(&path, disposition, options, call.from)?;
        place.set(handle)?;
        status.set_if_wanted(IO_STATUS_BLOCK { Status: NtStatus::Success, Padding: 0, Information: information })?;
        return Ok(());
    }
    let Some((device, rest)) = names::resolve(&name) else {
        below::note_missing(&name);
        return fail(NtStatus::ObjectNameNotFound);
    };
    let (_, handle) = open(device, &rest, call.from)?;
    place.set(handle)?;
    status.set_if_wanted(IO_STATUS_BLOCK { Status: NtStatus::Success, Padding: 0, Information: FILE_OPENED })?;
    Ok(())
}

/// How a transfer reports its result: an event, and a status block.
#[derive(Clone, Copy)]
pub(super) struct Signals {
    pub(super) event: KernelHandle,
    pub(super) status: Out<IO_STATUS_BLOCK>,
}

/// Sends a request through a file, and waits until it is completed.
fn transfer(handle: KernelHandle, signals: Signals, request: &IoRequest, output: GuestPtr<u8>) -> Outcome<NtStatus> {
    let Some(file) = object::of_kind(handle, "file") else { return fail(NtStatus::InvalidHandle) };
    let (device, file) = device_of(file);
    let result = exchange::finish(exchange::begin(device, file, request, Mode::Kernel)?)?;
    output.write_all(&result.output)?;
    signals.finish(result.status, result.information)?;
    Ok(result.status)
}

impl Signals {
    /// Stores the result in the status block, and signals the event.
    pub(super) fn finish(self, status: NtStatus, information: u64) -> Result<(), Fault> {
        self.status.set_if_wanted(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: information })?;
        if let Some(waitable) = object::of_kind(self.event, "event") {
            event::signal(GuestPtr::<KEVENT>::new(waitable).Header(), 1)?;
        }
        Ok(())
    }

    /// Ends a transfer that failed.
    fn refuse(self, status: NtStatus) -> Outcome<NtStatus> {
        self.finish(status, 0)?;
        Ok(status)
    }
}

/// Queries or sets information about a file. The IRP uses a system buffer, which first holds `given`.
fn inform(file: u64, major: u8, class: u32, room: u32, given: &[u8]) -> Outcome<(Completion, Vec<u8>)> {
    let Kernel { pool, .. } = kernel();
    let (device, file) = device_of(file);
    let buffer: GuestPtr<u8> = lock(pool).try_new_objects(u64::from(room).max(8))?;
    buffer.write_all(given)?;
    let parameters = [room.into(), class.into(), 0, 0];
    let submission = Submission { major, parameters, system_buffer: buffer, file, ..Submission::default() };
    let completion = send(stack::top(device)?, &submission)?;
    let count = if completion.status.is_success() { completion.information.min(room.into()) } else { 0 };
    let information = buffer.array(count).read()?;
    lock(pool).free_object(buffer.address());
    Ok((completion, information))
}

fn query(file: u64, class: u32, room: u32) -> Outcome<(Completion, Vec<u8>)> {
    let size = lock(&kernel().io).volume.size(file);
    if let Some(size) = size {
        let (status, information) = info::query(GuestPtr::new(file), class, size, room)?;
        return Ok((Completion { status, information: information.len() as u64, reached: true }, information));
    }
    inform(file, IRP_MJ_QUERY_INFORMATION, class, room, &[])
}

/// Returns the file with this handle, if it is on the volume.
fn on_volume(handle: KernelHandle) -> Option<GuestPtr<FILE_OBJECT>> {
    let file = object::of_kind(handle, "file")?;
    lock(&kernel().io).volume.has(file).then(|| GuestPtr::new(file))
}
