//! Files that minifilters open themselves. Only the instances below the caller's see these operations.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_kernel::io::file::volume;
use nt_processor::layout::{IO_STATUS_BLOCK, OBJECT_ATTRIBUTES};
use nt_processor::memory::{GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{Call, FILTER_MANAGER, Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::file::{FILE_DIRECTORY_FILE, FILE_OPEN, FILE_OPEN_IF};

use super::files::{self, Opened, Opening};
use super::state::{File, FilterId, InstanceId};

/// The root of the volume.
const ROOT: &str = r"\";
/// The folder for what the system and its drivers keep on a volume.
const SYSTEM_DIR: &str = r"\System Volume Information";

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

    /// The volume is opened by its root.
    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::AccessDenied)]
    fn FltOpenVolume(
        &call,
        instance: InstanceId,
        handle: Out<KernelHandle>,
        file: Option<GuestPtr<File>>,
    ) -> Outcome {
        let opening = opening_dir(ROOT, FILE_OPEN, instance);
        give(call, &files::open(&opening)?, handle, file)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::AccessDenied), keeps_nothing]
    fn FltCreateSystemVolumeInformationFolder(instance: InstanceId) -> Outcome {
        let opening = opening_dir(SYSTEM_DIR, FILE_OPEN_IF, instance);
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
}

/// Describes how a minifilter opens a folder of the volume.
fn opening_dir(path: &str, disposition: u32, instance: InstanceId) -> Opening {
    Opening {
        path: path.to_owned(),
        related: GuestPtr::NULL,
        access: 0,
        disposition,
        options: FILE_DIRECTORY_FILE,
        attributes: 0,
        share: 0,
        is_user: false,
        above: Some(instance),
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
    give(call, &opened, place, file)
}

/// Gives the handle of a file that was opened, and its object with a reference if it is wanted.
fn give(call: &Call, opened: &Opened, place: Out<KernelHandle>, file: Option<GuestPtr<File>>) -> Outcome {
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
