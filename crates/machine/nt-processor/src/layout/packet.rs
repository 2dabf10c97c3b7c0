//! I/O request packets and memory descriptor lists.

use etw_types::NtStatus;

use super::device::{DEVICE_OBJECT, FILE_OBJECT};
use super::layout;
use super::support::LIST_ENTRY;
use super::sync::KEVENT;
use crate::memory::{Code, Fault, GuestPtr, Opaque};

layout! {
    IO_STATUS_BLOCK: 0x10 {
        Status: NtStatus,
        Padding: u32,
        Information: u64,
    }

    /// `AssociatedIrp`, `Overlay` and `Tail` are unions. The members here are those that drivers use.
    IRP: 0xD0 {
        Type: u16,
        Size: u16,
        AllocationProcessorNumber: u16,
        Reserved1: u16,
        MdlAddress: GuestPtr<MDL>,
        Flags: u32,
        Padding: u32,
        SystemBuffer: GuestPtr<u8>,
        ThreadListEntry: LIST_ENTRY,
        IoStatus: IO_STATUS_BLOCK,
        RequestorMode: u8,
        PendingReturned: u8,
        StackCount: u8,
        CurrentLocation: u8,
        Cancel: u8,
        CancelIrql: u8,
        ApcEnvironment: u8,
        AllocationFlags: u8,
        UserIosb: GuestPtr<IO_STATUS_BLOCK>,
        UserEvent: GuestPtr<KEVENT>,
        Overlay: [u64; 2],
        CancelRoutine: GuestPtr<Code>,
        UserBuffer: GuestPtr<u8>,
        DriverContext: [u64; 4],
        Thread: GuestPtr<Opaque>,
        AuxiliaryBuffer: GuestPtr<u8>,
        ListEntry: LIST_ENTRY,
        CurrentStackLocation: GuestPtr<IO_STACK_LOCATION>,
        OriginalFileObject: GuestPtr<FILE_OBJECT>,
        IrpExtension: GuestPtr<Opaque>,
    }

    IO_STACK_LOCATION: 0x48 {
        MajorFunction: u8,
        MinorFunction: u8,
        Flags: u8,
        Control: u8,
        Padding: u32,
        Parameters: [u64; 4],
        DeviceObject: GuestPtr<DEVICE_OBJECT>,
        FileObject: GuestPtr<FILE_OBJECT>,
        CompletionRoutine: GuestPtr<Code>,
        Context: u64,
    }

    /// Followed by page frame numbers.
    MDL: 0x30 {
        Next: GuestPtr<MDL>,
        Size: u16,
        MdlFlags: u16,
        AllocationProcessorNumber: u16,
        Reserved: u16,
        Process: GuestPtr<Opaque>,
        MappedSystemVa: GuestPtr<u8>,
        StartVa: GuestPtr<u8>,
        ByteCount: u32,
        ByteOffset: u32,
    }
}

impl GuestPtr<IRP> {
    /// `IoGetNextIrpStackLocation`.
    pub fn next_location(self) -> Result<GuestPtr<IO_STACK_LOCATION>, Fault> {
        Ok(self.CurrentStackLocation().read()?.before(1))
    }
}
