//! Files that minifilters open, read and write themselves. Only the instances below the caller's see these operations.

use etw_types::NtStatus;

use super::data;
use super::file_system::{QUERY_DIRECTORY, RESTART_SCAN};
use super::files::{self, Opening};
use super::major;
use super::operation;
use super::request::{self, Request};
use super::state::{File, FilterId, InstanceId, with};
use crate::kernel::ex::handle::KernelHandle;
use crate::kernel::ex::object;
use crate::kernel::io::volume;
use crate::layout::{IO_STATUS_BLOCK, OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::{Code, GuestPtr, GuestSlice, Opaque};
use crate::routine::{Call, FILTER_MANAGER, Ignored, Out, Outcome, PASSIVE, done, fail, routines};

/// `FLTFL_IO_OPERATION_DO_NOT_UPDATE_BYTE_OFFSET`.
const KEEP_POSITION: u32 = 4;
/// `FILE_OPEN_IF`, `FILE_DIRECTORY_FILE`.
const OPEN_IF: u32 = 3;
const DIRECTORY: u32 = 1;
/// The folder for what the system and its drivers keep on a volume.
const SYSTEM_DIR: &str = r"\System Volume Information";
/// `SL_RETURN_SINGLE_ENTRY`.
const SINGLE_ENTRY: u8 = 2;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::ObjectNameNotFound)]
    fn FltCreateFile(
        &call,
        _filter: Ignored<FilterId>,
        instance: Option<InstanceId>,
        handle: Out<KernelHandle>,
        access: u32,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _size: Ignored<GuestPtr<i64>>,
        file_attributes: u32,
        share: u32,
        disposition: u32,
        options: u32,
        _extended: Ignored<GuestSlice<u8>>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        let shared = [file_attributes, share];
        create(call, instance, handle, None, (access, attributes, status), shared, disposition, options)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::ObjectNameNotFound)]
    fn FltCreateFileEx(
        &call,
        _filter: Ignored<FilterId>,
        instance: Option<InstanceId>,
        handle: Out<KernelHandle>,
        file: Option<GuestPtr<File>>,
        access: u32,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _size: Ignored<GuestPtr<i64>>,
        file_attributes: u32,
        share: u32,
        disposition: u32,
        options: u32,
        _extended: Ignored<GuestSlice<u8>>,
        _flags: Ignored<u32>,
    ) -> Outcome {
        let shared = [file_attributes, share];
        create(call, instance, handle, file, (access, attributes, status), shared, disposition, options)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::ObjectNameNotFound)]
    fn FltCreateFileEx2(
        &call,
        _filter: Ignored<FilterId>,
        instance: Option<InstanceId>,
        handle: Out<KernelHandle>,
        file: Option<GuestPtr<File>>,
        access: u32,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        status: Out<IO_STATUS_BLOCK>,
        _size: Ignored<GuestPtr<i64>>,
        file_attributes: u32,
        share: u32,
        disposition: u32,
        options: u32,
        _extended: Ignored<GuestSlice<u8>>,
        _flags: Ignored<u32>,
        _context: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        let shared = [file_attributes, share];
        create(call, instance, handle, file, (access, attributes, status), shared, disposition, options)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::AccessDenied), keeps_nothing]
    fn FltCreateSystemVolumeInformationFolder(instance: InstanceId) -> Outcome {
        let opening = Opening {
            path: SYSTEM_DIR.to_owned(),
            related: GuestPtr::NULL,
            access: 0,
            disposition: OPEN_IF,
            options: DIRECTORY,
            attributes: 0,
            share: 0,
            is_user: false,
            above: Some(instance),
        };
        let opened = files::open(&opening)?;
        if opened.file.is_null() {
            return fail(opened.status);
        }
        files::close(opened.file);
        done(())
    }

    #[irql(PASSIVE), module(FILTER_MANAGER)]
    fn FltClose(handle: KernelHandle) -> NtStatus {
        object::close(handle)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltReadFile(
        instance: InstanceId,
        file: File,
        offset: Option<GuestPtr<u64>>,
        length: u32,
        buffer: GuestPtr<u8>,
        flags: u32,
        count: Out<u32>,
        callback: Option<GuestPtr<Code>>,
        context: GuestPtr<Opaque>,
    ) -> Outcome<NtStatus> {
        let transfer = Transfer { major: major::READ, instance, file, offset, length, buffer, flags };
        transfer.run(count, callback, context)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltWriteFile(
        instance: InstanceId,
        file: File,
        offset: Option<GuestPtr<u64>>,
        length: u32,
        buffer: GuestPtr<u8>,
        flags: u32,
        count: Out<u32>,
        callback: Option<GuestPtr<Code>>,
        context: GuestPtr<Opaque>,
    ) -> Outcome<NtStatus> {
        let transfer = Transfer { major: major::WRITE, instance, file, offset, length, buffer, flags };
        transfer.run(count, callback, context)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQueryInformationFile(
        instance: InstanceId,
        file: File,
        buffer: GuestSlice<u8>,
        class: i32,
        returned: Out<u32>,
    ) -> Outcome<NtStatus> {
        let parameters = [buffer.len(), class.cast_unsigned().into(), buffer.start().address(), 0, 0, 0];
        let block = send(major::QUERY_INFORMATION, 0, instance, file, parameters)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltSetInformationFile(
        instance: InstanceId,
        file: File,
        buffer: GuestSlice<u8>,
        class: i32,
    ) -> Outcome<NtStatus> {
        let parameters = [buffer.len(), class.cast_unsigned().into(), 0, 0, buffer.start().address(), 0];
        done(send(major::SET_INFORMATION, 0, instance, file, parameters)?.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQueryVolumeInformation(
        instance: InstanceId,
        status: Out<IO_STATUS_BLOCK>,
        buffer: GuestSlice<u8>,
        class: i32,
    ) -> Outcome<NtStatus> {
        let parameters = [buffer.len(), class.cast_unsigned().into(), buffer.start().address(), 0, 0, 0];
        let block = send(major::QUERY_VOLUME_INFORMATION, 0, instance, GuestPtr::NULL, parameters)?;
        status.set(block)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQueryVolumeInformationFile(
        instance: InstanceId,
        file: File,
        buffer: GuestSlice<u8>,
        class: i32,
        returned: Out<u32>,
    ) -> Outcome<NtStatus> {
        let parameters = [buffer.len(), class.cast_unsigned().into(), buffer.start().address(), 0, 0, 0];
        let block = send(major::QUERY_VOLUME_INFORMATION, 0, instance, file, parameters)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQueryDirectoryFile(
        instance: InstanceId,
        file: File,
        buffer: GuestSlice<u8>,
        class: i32,
        single: bool,
        name: GuestPtr<UNICODE_STRING>,
        restart: bool,
        returned: Out<u32>,
    ) -> Outcome<NtStatus> {
        let flags = if single { SINGLE_ENTRY } else { 0 } | if restart { RESTART_SCAN } else { 0 };
        let class = class.cast_unsigned().into();
        let parameters = [buffer.len(), name.address(), class, 0, buffer.start().address(), 0];
        let block = send(major::DIRECTORY_CONTROL, flags, instance, file, parameters)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltFlushBuffers(instance: InstanceId, file: File) -> Outcome<NtStatus> {
        done(send(major::FLUSH_BUFFERS, 0, instance, file, [0; 6])?.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltFsControlFile(
        instance: InstanceId,
        file: File,
        code: u32,
        input: GuestSlice<u8>,
        output: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome<NtStatus> {
        let block = control(major::FILE_SYSTEM_CONTROL, instance, file, code, input, output)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltDeviceIoControlFile(
        instance: InstanceId,
        file: File,
        code: u32,
        input: GuestSlice<u8>,
        output: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome<NtStatus> {
        let block = control(major::DEVICE_CONTROL, instance, file, code, input, output)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

}

#[expect(clippy::too_many_arguments, reason = "the parameters of the routines in C")]
fn create(
    call: &Call,
    instance: Option<InstanceId>,
    place: Out<KernelHandle>,
    file: Option<GuestPtr<File>>,
    (access, attributes, status): (u32, GuestPtr<OBJECT_ATTRIBUTES>, Out<IO_STATUS_BLOCK>),
    [file_attributes, share]: [u32; 2],
    disposition: u32,
    options: u32,
) -> Outcome {
    let name = attributes.ObjectName().read()?.text()?;
    let root = KernelHandle::new(attributes.RootDirectory().read()?);
    let related = object::of_kind(root, "file").map_or(GuestPtr::NULL, GuestPtr::new);
    let path = if related.is_null() { volume::path(&name) } else { Some(name) };
    let Some(path) = path else { return fail(NtStatus::ObjectPathNotFound) };
    let opening = Opening {
        path,
        related,
        access,
        disposition,
        options,
        attributes: file_attributes as u16,
        share: share as u16,
        is_user: false,
        above: instance,
    };
    let opened = files::open(&opening)?;
    status.set_if_wanted(IO_STATUS_BLOCK { Status: opened.status, Padding: 0, Information: opened.information })?;
    if opened.file.is_null() {
        return fail(opened.status);
    }
    place.set(object::open("file", opened.file.address(), call.from)?)?;
    if let Some(file) = file {
        object::reference(opened.file.address(), call.from);
        file.write(opened.file)?;
    }
    done(())
}

/// Sends an operation to the instances below one, and waits for the result.
fn send(major: u8, flags: u8, instance: InstanceId, file: File, parameters: [u64; 6]) -> Outcome<IO_STATUS_BLOCK> {
    let minor = if major == major::DIRECTORY_CONTROL { QUERY_DIRECTORY } else { 0 };
    let request = Request { major, minor, flags, file, parameters, is_user: false, above: Some(instance) };
    Ok(request::run(&request)?.block)
}

fn control(
    major: u8,
    instance: InstanceId,
    file: File,
    code: u32,
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
) -> Outcome<IO_STATUS_BLOCK> {
    let buffers = [input.start().address(), output.start().address()];
    let parameters = [output.len(), input.len(), code.into(), buffers[0], buffers[1], 0];
    send(major, 0, instance, file, parameters)
}

/// A read or a write of a minifilter.
struct Transfer {
    major: u8,
    instance: InstanceId,
    file: File,
    offset: Option<GuestPtr<u64>>,
    length: u32,
    buffer: GuestPtr<u8>,
    flags: u32,
}

impl Transfer {
    fn run(self, count: Out<u32>, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) -> Outcome<NtStatus> {
        let position = self.file.CurrentByteOffset();
        let before = position.read()?;
        let offset = volume::offset(self.file, self.offset.unwrap_or_default())?;
        let request = Request {
            major: self.major,
            file: self.file,
            parameters: [self.length.into(), 0, offset, self.buffer.address(), 0, 0],
            above: Some(self.instance),
            ..Request::default()
        };
        if let Some(callback) = callback {
            let data = request::create(&request)?;
            let then = move |_: IO_STATUS_BLOCK| {
                data::notify(data, callback, context);
                request::free(data);
            };
            with(data, |operation| operation.then = Some(Box::new(then)));
            operation::start(data)?;
            return Ok(NtStatus::Pending);
        }
        let block = request::run(&request)?.block;
        if self.flags & KEEP_POSITION != 0 {
            position.write(before)?;
        }
        count.set_if_wanted(block.Information as u32)?;
        Ok(block.Status)
    }
}
