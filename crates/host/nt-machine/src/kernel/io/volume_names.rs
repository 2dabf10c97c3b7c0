//! Names of the volume and of its files, and the state of a thread in a file system.

use std::cell::Cell;

use etw_types::NtStatus;

use super::volume;
use crate::kernel::{kernel, lock};
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT, IRP, UNICODE_STRING};
use crate::memory::{GuestPtr, Opaque};
use crate::routine::{ANY, DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, routines};

thread_local! {
    /// The IRP of the file system that this thread is in.
    static TOP_LEVEL: Cell<u64> = const { Cell::new(0) };
}

routines! { pub(super) ROUTINES;
    /// The caller frees the buffer of the string.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoVolumeDeviceToDosName(&call, device: GuestPtr<DEVICE_OBJECT>, name: GuestPtr<UNICODE_STRING>) -> Outcome {
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
