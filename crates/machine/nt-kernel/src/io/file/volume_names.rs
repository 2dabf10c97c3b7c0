//! Names of the volume and of its files, its disk, and the state of a thread in a file system.

use std::cell::Cell;

use etw_types::NtStatus;
use nt_processor::layout::{
    BOOTDISK_INFORMATION, BOOTDISK_INFORMATION_EX, DEVICE_OBJECT, FILE_OBJECT, GUID, IRP, UNICODE_STRING,
};
use nt_processor::memory::{GuestPtr, Opaque};
use nt_verifier::routine::{ANY, APC, Call, DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, routines};
use windows_constants::plug_play::SERVICE_SYSTEM_START;

use super::volume;
use crate::{Kernel, kernel, lock};

/// Where the only partition of the disk begins, in bytes.
const PARTITION: u64 = 0x10_0000;

thread_local! {
    /// The IRP of the file system that this thread is in.
    static TOP_LEVEL: Cell<u64> = const { Cell::new(0) };
}

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoVolumeDeviceToDosName(&call, device: GuestPtr<DEVICE_OBJECT>, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        dos_name(call, device, name)
    }

    /// The name of `IoVolumeDeviceToDosName` before Windows XP.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlVolumeDeviceToDosName(&call, device: GuestPtr<DEVICE_OBJECT>, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        dos_name(call, device, name)
    }

    /// Only drivers that start with the system may call it (`Start` of the service's key is 0 or 1).
    #[irql(APC), fails(NtStatus::TooLate), keeps_nothing]
    fn IoGetBootDiskInformation(information: GuestPtr<BOOTDISK_INFORMATION_EX>, size: u32) -> Outcome {
        let Kernel { config, registry, .. } = kernel();
        if (size as usize) < size_of::<BOOTDISK_INFORMATION>() {
            return fail(NtStatus::InvalidParameter);
        }
        if lock(registry).start(&config.name).is_none_or(|start| start > SERVICE_SYSTEM_START) {
            return fail(NtStatus::TooLate);
        }
        let disk = BOOTDISK_INFORMATION {
            BootPartitionOffset: PARTITION,
            SystemPartitionOffset: PARTITION,
            BootDeviceSignature: 0,
            SystemDeviceSignature: 0,
        };
        if (size as usize) < size_of::<BOOTDISK_INFORMATION_EX>() {
            information.cast().write(disk)?;
        } else {
            let guid = GUID { Data: *b"nt-host disk 001" };
            let is_gpt = 1;
            information.write(BOOTDISK_INFORMATION_EX {
                Disk: disk,
                BootDeviceGuid: guid,
                SystemDeviceGuid: guid,
                BootDeviceIsGpt: is_gpt,
                SystemDeviceIsGpt: is_gpt,
                Padding: [0; 6],
            })?;
        }
        done(())
    }

    /// The old buffer belongs to the file object, and is freed with it.
    #[irql(PASSIVE), fails(NO_RESOURCES), keeps_nothing]
    fn IoReplaceFileObjectName(file: GuestPtr<FILE_OBJECT>, name: GuestPtr<u16>, length: u16) -> Outcome {
        let units = name.array(u64::from(length) / 2).read()?;
        let buffer: GuestPtr<u16> = lock(&kernel().pool).try_new_objects(units.len() as u64 + 1)?;
        buffer.write_all(&units)?;
        file.FileName().set(length, length, buffer)?;
        done(())
    }

    #[irql(DISPATCH)]
    fn IoGetTopLevelIrp() -> GuestPtr<IRP> {
        GuestPtr::new(TOP_LEVEL.get())
    }

    #[irql(DISPATCH)]
    fn IoSetTopLevelIrp(irp: GuestPtr<IRP>) {
        TOP_LEVEL.set(irp.address());
    }

    /// No file of this host is opened in a transaction.
    #[irql(ANY), fixed]
    fn IoGetTransactionParameterBlock(_file: Ignored<GuestPtr<FILE_OBJECT>>) -> GuestPtr<Opaque> {
        GuestPtr::NULL
    }
}

/// Stores the drive letter of the volume. The caller frees the buffer of the string.
fn dos_name(call: &Call, device: GuestPtr<DEVICE_OBJECT>, name: GuestPtr<UNICODE_STRING>) -> Outcome {
    if device != volume::device()? {
        return fail(NtStatus::InvalidDeviceRequest);
    }
    let units: Vec<u16> = volume::LETTER.encode_utf16().chain([0]).collect();
    let size = units.len() as u16 * 2;
    let memory = lock(&kernel().pool).allocate(size.into(), *b"IoDn", true, call.from);
    let Some(buffer) = memory.map(GuestPtr::<u16>::new) else { return fail(NO_RESOURCES) };
    buffer.write_all(&units)?;
    name.set(size - 2, size, buffer)?;
    done(())
}
