//! What minifilters can ask the filter manager: about volumes, files, requestors and routines.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::io::file::volume;
use nt_kernel::pool::{self, Kind};
use nt_kernel::sync::process;
use nt_kernel::{kernel, lock};
use nt_processor::layout::{
    ACE, ACL, DEVICE_OBJECT, FLT_VOLUME_PROPERTIES, SECURITY_DESCRIPTOR, THREAD, UNICODE_STRING,
};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque, PAGE};
use nt_verifier::routine::{
    ANY, APC, DISPATCH, FILTER_MANAGER, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines,
};
use windows_constants::device::{FILE_DEVICE_DISK_FILE_SYSTEM, FILE_DEVICE_IS_MOUNTED, IoPriorityNormal};
use windows_constants::filter_manager::FLT_FSTYPE_NTFS;
use windows_constants::security::{ACL_REVISION, SE_DACL_PRESENT, SECURITY_DESCRIPTOR_REVISION};

use super::file_system::SECTOR;
use super::major;
use super::state::{Data, File, FilterId, InstanceId, VolumeId, state};

/// The name of the volume that does not depend on its device.
const GUID_NAME: &str = r"\??\Volume{00000000-0000-0000-0000-100000000000}";
/// The tag of security descriptors.
const TAG: [u8; 4] = *b"FMsd";
/// S-1-5-32-544 and S-1-5-18.
const ADMINISTRATORS: &[u8] = &[1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0];
const SYSTEM: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];

routines! { pub(super) ROUTINES;
    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltGetVolumeName(
        _volume: Ignored<VolumeId>,
        name: GuestPtr<UNICODE_STRING>,
        needed: GuestPtr<u32>,
    ) -> Outcome {
        give_name(volume::DEVICE, name, needed)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltGetVolumeGuidName(
        _volume: Ignored<VolumeId>,
        name: GuestPtr<UNICODE_STRING>,
        needed: GuestPtr<u32>,
    ) -> Outcome {
        give_name(GUID_NAME, name, needed)
    }

    /// The strings follow the structure.
    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltGetVolumeProperties(
        _volume: Ignored<VolumeId>,
        properties: GuestPtr<FLT_VOLUME_PROPERTIES>,
        room: u32,
        returned: Out<u32>,
    ) -> Outcome {
        let names = [r"\FileSystem\NTFS", r"\Ntfs", volume::DEVICE];
        let strings: usize = names.iter().map(|name| name.len() * 2).sum();
        let header = size_of::<FLT_VOLUME_PROPERTIES>();
        returned.set((header + strings) as u32)?;
        if (room as usize) < header {
            return fail(NtStatus::BufferTooSmall);
        }
        properties.zero()?;
        properties.DeviceType().write(FILE_DEVICE_DISK_FILE_SYSTEM)?;
        properties.DeviceCharacteristics().write(FILE_DEVICE_IS_MOUNTED)?;
        properties.SectorSize().write(SECTOR)?;
        if (room as usize) < header + strings {
            return fail(NtStatus::BufferOverflow);
        }
        let places =
            [properties.FileSystemDriverName(), properties.FileSystemDeviceName(), properties.RealDeviceName()];
        let mut text = properties.after::<u16>();
        for (place, name) in places.into_iter().zip(names) {
            let units: Vec<u16> = name.encode_utf16().collect();
            text.write_all(&units)?;
            place.set(units.len() as u16 * 2, units.len() as u16 * 2, text)?;
            text = text.at(units.len() as u64);
        }
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltVolumeNotFound), keeps_nothing]
    fn FltGetVolumeFromFileObject(_filter: Ignored<FilterId>, _file: Ignored<File>, place: Out<VolumeId>) -> Outcome {
        give_volume(place)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltVolumeNotFound), keeps_nothing]
    fn FltGetVolumeFromDeviceObject(
        _filter: Ignored<FilterId>,
        device: GuestPtr<DEVICE_OBJECT>,
        place: Out<VolumeId>,
    ) -> Outcome {
        if device != volume::device()? {
            return fail(NtStatus::FltVolumeNotFound);
        }
        give_volume(place)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NtStatus::FltVolumeNotFound), keeps_nothing]
    fn FltGetVolumeFromName(
        _filter: Ignored<FilterId>,
        name: GuestPtr<UNICODE_STRING>,
        place: Out<VolumeId>,
    ) -> Outcome {
        let name = name.text()?;
        let is_volume = [volume::DEVICE, GUID_NAME, r"\??\C:", "C:"].iter().any(|known| known.eq_ignore_ascii_case(&name));
        if is_volume { give_volume(place) } else { fail(NtStatus::FltVolumeNotFound) }
    }

    /// The volume's device is also that of its disk.
    #[irql(DISPATCH), module(FILTER_MANAGER), fails(NtStatus::NoSuchDevice)]
    fn FltGetDiskDeviceObject(&call, _volume: Ignored<VolumeId>, place: Out<GuestPtr<DEVICE_OBJECT>>) -> Outcome {
        let device = volume::device()?;
        nt_kernel::ex::object::reference(device.address(), call.from);
        place.set(device)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fails(NtStatus::NoSuchDevice)]
    fn FltGetDeviceObject(&call, _volume: Ignored<VolumeId>, place: Out<GuestPtr<DEVICE_OBJECT>>) -> Outcome {
        let device = volume::device()?;
        nt_kernel::ex::object::reference(device.address(), call.from);
        place.set(device)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fixed]
    fn FltGetFileSystemType(_object: Ignored<GuestPtr<Opaque>>, place: Out<i32>) -> Outcome {
        place.set(FLT_FSTYPE_NTFS)?;
        done(())
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fixed]
    fn FltIsVolumeWritable(_object: Ignored<GuestPtr<Opaque>>, place: Out<u8>) -> Outcome {
        place.set(1)?;
        done(())
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fixed]
    fn FltIsVolumeSnapshot(_object: Ignored<GuestPtr<Opaque>>, place: Out<u8>) -> Outcome {
        place.set(0)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::InvalidParameter), keeps_nothing]
    fn FltIsDirectory(file: File, _instance: Ignored<InstanceId>, place: Out<u8>) -> Outcome {
        let size = lock(&kernel().io).volume.size(file.address()).ok_or(NtStatus::InvalidParameter)?;
        place.set(size.is_dir.into())?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltEnumerateInstances(
        _volume: Ignored<Option<GuestPtr<nt_processor::layout::FLT_VOLUME>>>,
        filter: Option<FilterId>,
        list: GuestPtr<InstanceId>,
        room: u32,
        count: Out<u32>,
    ) -> Outcome {
        let found: Vec<InstanceId> = {
            let state = state();
            let is_wanted = |wanted: FilterId| filter.is_none_or(|filter| filter == wanted);
            let wanted = state.instances.iter().filter(|instance| is_wanted(instance.filter));
            wanted.map(|instance| instance.object).collect()
        };
        give_list(&found, list, room, count)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltEnumerateVolumes(
        _filter: Ignored<FilterId>,
        list: GuestPtr<VolumeId>,
        room: u32,
        count: Out<u32>,
    ) -> Outcome {
        let volume = state().volume;
        give_list(&[volume], list, room, count)
    }

    /// Instances and volumes stay as long as the driver is loaded, so references need not be counted.
    #[irql(DISPATCH), module(FILTER_MANAGER), fails(NtStatus::FltDeletingObject), keeps_nothing]
    fn FltObjectReference(object: GuestPtr<Opaque>) -> NtStatus {
        let state = state();
        let instance = state.instance(object.cast()).map(|instance| instance.is_going);
        let filter = state.filters.get(&object.cast()).map(|filter| filter.is_going);
        if instance.or(filter) == Some(true) { NtStatus::FltDeletingObject } else { NtStatus::Success }
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fixed]
    fn FltObjectDereference(_object: Ignored<GuestPtr<Opaque>>) {}

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltGetRequestorProcess(data: Data) -> GuestPtr<THREAD> {
        process::by_id(requestor(data)).unwrap_or_else(process::process)
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltGetRequestorProcessId(data: Data) -> u32 {
        requestor(data) as u32
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltGetRequestorProcessIdEx(data: Data) -> KernelHandle {
        KernelHandle::new(requestor(data))
    }

    /// Services and drivers run in session 0, and the programs of this host, too.
    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NotFound), keeps_nothing]
    fn FltGetRequestorSessionId(_data: Ignored<Data>, place: Out<u32>) -> Outcome {
        place.set(0)?;
        done(())
    }

    /// No thread of this host changes its priority for I/O.
    #[irql(DISPATCH), module(FILTER_MANAGER), fixed]
    fn FltGetIoPriorityHint(_data: Ignored<Data>) -> i32 {
        IoPriorityNormal
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fixed]
    fn FltGetIoPriorityHintFromCallbackData(_data: Ignored<Data>) -> i32 {
        IoPriorityNormal
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fixed]
    fn FltGetIoPriorityHintFromFileObject(_file: Ignored<File>) -> i32 {
        IoPriorityNormal
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fixed]
    fn FltGetIoPriorityHintFromThread(_thread: Ignored<GuestPtr<THREAD>>) -> i32 {
        IoPriorityNormal
    }

    /// The clients of this host wait for their operations.
    #[irql(ANY), module(FILTER_MANAGER), fixed]
    fn FltIsOperationSynchronous(_data: Ignored<Data>) -> bool {
        true
    }

    /// No program of this host is a 32-bit one.
    #[irql(APC), module(FILTER_MANAGER), fixed]
    fn FltIs32bitProcess(_data: Ignored<Data>) -> bool {
        false
    }

    /// The names stay as long as the filter manager.
    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltGetIrpName(major: u8) -> Outcome<GuestPtr<u8>> {
        let known = state().operation_names.get(&major).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let text: Vec<u8> = major::name(major).bytes().chain([0]).collect();
        let place = lock(&kernel().pool).try_new_objects::<u8>(text.len() as u64)?;
        place.write_all(&text)?;
        state().operation_names.insert(major, place);
        Ok(place)
    }

    /// The name is that of a routine of the filter manager.
    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltGetRoutineAddress(name: GuestPtr<u8>) -> Result<GuestPtr<Code>, Fault> {
        let name = String::from_utf8_lossy(&name.terminated()?).into_owned();
        let address = kernel().table.address(&name).filter(|_| name.starts_with("Flt"));
        Ok(GuestPtr::new(address.unwrap_or_default()))
    }

    /// No create of this host has extra create parameters.
    #[irql(APC), module(FILTER_MANAGER), fixed]
    fn FltGetEcpListFromCallbackData(
        _filter: Ignored<FilterId>,
        _data: Ignored<Data>,
        place: Out<GuestPtr<Opaque>>,
    ) -> Outcome {
        place.set(GuestPtr::NULL)?;
        done(())
    }

    /// The descriptor allows the access to administrators and the system. It is not checked: every client can connect.
    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltBuildDefaultSecurityDescriptor(
        &call,
        place: Out<GuestPtr<SECURITY_DESCRIPTOR>>,
        access: u32,
    ) -> Outcome {
        let list = allowing(&[ADMINISTRATORS, SYSTEM], access);
        let size = size_of::<SECURITY_DESCRIPTOR>() + list.len();
        let memory = lock(&kernel().pool).allocate(size as u64, TAG, true, call.from);
        let Some(descriptor) = memory.map(GuestPtr::<SECURITY_DESCRIPTOR>::new) else { return fail(NO_RESOURCES) };
        descriptor.zero()?;
        descriptor.Revision().write(SECURITY_DESCRIPTOR_REVISION)?;
        descriptor.Control().write(SE_DACL_PRESENT)?;
        descriptor.after::<u8>().write_all(&list)?;
        descriptor.Dacl().write(descriptor.after())?;
        place.set(descriptor)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltFreeSecurityDescriptor(descriptor: GuestPtr<SECURITY_DESCRIPTOR>) {
        pool::free(descriptor.address(), Some(u32::from_le_bytes(TAG)));
    }

    /// Memory of at least a page is aligned to pages, which is enough for every disk.
    #[irql(DISPATCH), module(FILTER_MANAGER), fails_with_zero]
    fn FltAllocatePoolAlignedWithTag(
        &call,
        _instance: Ignored<InstanceId>,
        pool_type: i32,
        size: u64,
        tag: u32,
    ) -> GuestPtr<Opaque> {
        let kind = if pool_type & 1 != 0 { Kind::Paged } else { Kind::NonPaged };
        let memory = lock(&kernel().pool).allocate_as(kind, size.max(PAGE), tag.to_le_bytes(), call.from);
        GuestPtr::new(memory.unwrap_or_default())
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltFreePoolAlignedWithTag(_instance: Ignored<InstanceId>, memory: GuestPtr<Opaque>, tag: u32) {
        pool::free(memory.address(), Some(tag));
    }
}

/// Returns the process that an operation comes from.
fn requestor(data: Data) -> u64 {
    state().operations.get(&data).map_or(process::SYSTEM, |operation| operation.process)
}

fn give_volume(place: Out<VolumeId>) -> Outcome {
    let volume = state().volume;
    place.set(volume)?;
    done(())
}

/// Returns an access control list that allows these accounts an access.
fn allowing(accounts: &[&[u8]], access: u32) -> Vec<u8> {
    let entries: Vec<u8> = accounts
        .iter()
        .flat_map(|sid| {
            let size = (size_of::<ACE>() + sid.len()) as u16;
            // `ACCESS_ALLOWED_ACE_TYPE`, and no flags.
            [&[0, 0], size.to_le_bytes().as_slice(), &access.to_le_bytes(), sid].concat()
        })
        .collect();
    let size = (size_of::<ACL>() + entries.len()) as u16;
    let count = accounts.len() as u16;
    let head = [[ACL_REVISION, 0], size.to_le_bytes(), count.to_le_bytes(), [0, 0]].concat();
    [head, entries].concat()
}

fn give_name(name: &str, place: GuestPtr<UNICODE_STRING>, needed: GuestPtr<u32>) -> Outcome {
    let units: Vec<u16> = name.encode_utf16().collect();
    let size = units.len() as u16 * 2;
    needed.write_if(size.into())?;
    let Some(place) = place.non_null() else {
        return fail(if needed.is_null() { NtStatus::InvalidParameter } else { NtStatus::BufferTooSmall });
    };
    if place.MaximumLength().read()? < size {
        return fail(NtStatus::BufferTooSmall);
    }
    place.Buffer().read()?.write_all(&units)?;
    place.Length().write(size)?;
    done(())
}

pub(super) fn give_list<T: 'static>(
    found: &[GuestPtr<T>],
    list: GuestPtr<GuestPtr<T>>,
    room: u32,
    count: Out<u32>,
) -> Outcome {
    count.set(found.len() as u32)?;
    if (room as usize) < found.len() {
        return fail(NtStatus::BufferTooSmall);
    }
    list.write_all(found)?;
    done(())
}
