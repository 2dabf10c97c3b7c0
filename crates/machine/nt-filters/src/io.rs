//! Files that minifilters read, write and ask about themselves. Only the instances below the caller's see these operations.

use etw_types::NtStatus;
use nt_kernel::io::file::volume;
use nt_processor::layout::{IO_STATUS_BLOCK, MDL, UNICODE_STRING};
use nt_processor::memory::{Code, GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{FILTER_MANAGER, Ignored, Out, Outcome, PASSIVE, done, routines};
use windows_constants::filter_manager::FLTFL_IO_OPERATION_DO_NOT_UPDATE_BYTE_OFFSET;
use windows_constants::request::{
    IRP_MJ_DEVICE_CONTROL, IRP_MJ_DIRECTORY_CONTROL, IRP_MJ_FILE_SYSTEM_CONTROL, IRP_MJ_FLUSH_BUFFERS, IRP_MJ_QUERY_EA,
    IRP_MJ_QUERY_INFORMATION, IRP_MJ_QUERY_SECURITY, IRP_MJ_QUERY_VOLUME_INFORMATION, IRP_MJ_READ, IRP_MJ_SET_EA,
    IRP_MJ_SET_INFORMATION, IRP_MJ_SET_SECURITY, IRP_MJ_WRITE, IRP_MN_QUERY_DIRECTORY, SL_RESTART_SCAN,
    SL_RETURN_SINGLE_ENTRY,
};

use super::data;
use super::operation;
use super::request::{self, Request};
use super::state::{Data, File, InstanceId, with};

routines! { pub(super) ROUTINES;
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
        let transfer = Transfer { major: IRP_MJ_READ, instance, file, offset, length, buffer, list: GuestPtr::NULL, flags };
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
        let transfer = Transfer { major: IRP_MJ_WRITE, instance, file, offset, length, buffer, list: GuestPtr::NULL, flags };
        transfer.run(count, callback, context)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltReadFileEx(
        instance: InstanceId,
        file: File,
        offset: Option<GuestPtr<u64>>,
        length: u32,
        buffer: GuestPtr<u8>,
        flags: u32,
        count: Out<u32>,
        callback: Option<GuestPtr<Code>>,
        context: GuestPtr<Opaque>,
        _key: Ignored<GuestPtr<u32>>,
        list: GuestPtr<MDL>,
    ) -> Outcome<NtStatus> {
        let transfer = Transfer { major: IRP_MJ_READ, instance, file, offset, length, buffer, list, flags };
        transfer.run(count, callback, context)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltWriteFileEx(
        instance: InstanceId,
        file: File,
        offset: Option<GuestPtr<u64>>,
        length: u32,
        buffer: GuestPtr<u8>,
        flags: u32,
        count: Out<u32>,
        callback: Option<GuestPtr<Code>>,
        context: GuestPtr<Opaque>,
        _key: Ignored<GuestPtr<u32>>,
        list: GuestPtr<MDL>,
    ) -> Outcome<NtStatus> {
        let transfer = Transfer { major: IRP_MJ_WRITE, instance, file, offset, length, buffer, list, flags };
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
        let block = send(IRP_MJ_QUERY_INFORMATION, 0, instance, file, parameters)?;
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
        done(send(IRP_MJ_SET_INFORMATION, 0, instance, file, parameters)?.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQueryVolumeInformation(
        instance: InstanceId,
        status: Out<IO_STATUS_BLOCK>,
        buffer: GuestSlice<u8>,
        class: i32,
    ) -> Outcome<NtStatus> {
        let parameters = [buffer.len(), class.cast_unsigned().into(), buffer.start().address(), 0, 0, 0];
        let block = send(IRP_MJ_QUERY_VOLUME_INFORMATION, 0, instance, GuestPtr::NULL, parameters)?;
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
        let block = send(IRP_MJ_QUERY_VOLUME_INFORMATION, 0, instance, file, parameters)?;
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
        let flags = if single { SL_RETURN_SINGLE_ENTRY } else { 0 } | if restart { SL_RESTART_SCAN } else { 0 };
        let class = class.cast_unsigned().into();
        let parameters = [buffer.len(), name.address(), class, 0, buffer.start().address(), 0];
        let block = send(IRP_MJ_DIRECTORY_CONTROL, flags, instance, file, parameters)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    /// The other flags are about the disk.
    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQueryDirectoryFileEx(
        instance: InstanceId,
        file: File,
        buffer: GuestSlice<u8>,
        class: i32,
        flags: u32,
        name: GuestPtr<UNICODE_STRING>,
        returned: Out<u32>,
    ) -> Outcome<NtStatus> {
        let class = class.cast_unsigned().into();
        let parameters = [buffer.len(), name.address(), class, 0, buffer.start().address(), 0];
        let flags = flags as u8 & (SL_RESTART_SCAN | SL_RETURN_SINGLE_ENTRY);
        let block = send(IRP_MJ_DIRECTORY_CONTROL, flags, instance, file, parameters)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltFlushBuffers2(
        instance: InstanceId,
        file: File,
        _kind: Ignored<u32>,
        _data: Ignored<Data>,
    ) -> Outcome<NtStatus> {
        done(send(IRP_MJ_FLUSH_BUFFERS, 0, instance, file, [0; 6])?.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltFlushBuffers(instance: InstanceId, file: File) -> Outcome<NtStatus> {
        done(send(IRP_MJ_FLUSH_BUFFERS, 0, instance, file, [0; 6])?.Status)
    }

    /// No file of the volume has extended attributes or a security descriptor, as on FAT.
    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQueryEaFile(
        instance: InstanceId,
        file: File,
        buffer: GuestSlice<u8>,
        single: bool,
        names: GuestSlice<u8>,
        index: Option<GuestPtr<u32>>,
        restart: bool,
        returned: Out<u32>,
    ) -> Outcome<NtStatus> {
        let flags = if single { SL_RETURN_SINGLE_ENTRY } else { 0 } | if restart { SL_RESTART_SCAN } else { 0 };
        let index = index.map_or(Ok(0), GuestPtr::read)?;
        let names = [names.start().address(), names.len()];
        let parameters = [buffer.len(), names[0], names[1], index.into(), buffer.start().address(), 0];
        let block = send(IRP_MJ_QUERY_EA, flags, instance, file, parameters)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltSetEaFile(instance: InstanceId, file: File, buffer: GuestSlice<u8>) -> Outcome<NtStatus> {
        let parameters = [buffer.len(), buffer.start().address(), 0, 0, 0, 0];
        done(send(IRP_MJ_SET_EA, 0, instance, file, parameters)?.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltQuerySecurityObject(
        instance: InstanceId,
        file: File,
        wanted: u32,
        buffer: GuestSlice<u8>,
        needed: Out<u32>,
    ) -> Outcome<NtStatus> {
        let parameters = [wanted.into(), buffer.len(), buffer.start().address(), 0, 0, 0];
        let block = send(IRP_MJ_QUERY_SECURITY, 0, instance, file, parameters)?;
        needed.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn FltSetSecurityObject(
        instance: InstanceId,
        file: File,
        changed: u32,
        descriptor: GuestPtr<Opaque>,
    ) -> Outcome<NtStatus> {
        let parameters = [changed.into(), descriptor.address(), 0, 0, 0, 0];
        done(send(IRP_MJ_SET_SECURITY, 0, instance, file, parameters)?.Status)
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
        let block = control(IRP_MJ_FILE_SYSTEM_CONTROL, instance, file, code, input, output)?;
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
        let block = control(IRP_MJ_DEVICE_CONTROL, instance, file, code, input, output)?;
        returned.set_if_wanted(block.Information as u32)?;
        done(block.Status)
    }
}

/// Sends an operation to the instances below one, and waits for the result.
fn send(major: u8, flags: u8, instance: InstanceId, file: File, parameters: [u64; 6]) -> Outcome<IO_STATUS_BLOCK> {
    let minor = if major == IRP_MJ_DIRECTORY_CONTROL { IRP_MN_QUERY_DIRECTORY } else { 0 };
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
    list: GuestPtr<MDL>,
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
            parameters: [self.length.into(), 0, offset, self.buffer.address(), self.list.address(), 0],
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
        if self.flags & FLTFL_IO_OPERATION_DO_NOT_UPDATE_BYTE_OFFSET != 0 {
            position.write(before)?;
        }
        count.set_if_wanted(block.Information as u32)?;
        Ok(block.Status)
    }
}
