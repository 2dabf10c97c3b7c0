//! Dispatcher objects, DPCs and locks.

use super::layout;
use super::support::{LIST_ENTRY, SINGLE_LIST_ENTRY};
use crate::memory::{Code, Fault, GuestPtr, Opaque};

layout! {
    DISPATCHER_HEADER: 0x18 {
        Type: u8,
        Signalling: u8,
        Size: u8,
        Reserved1: u8,
        SignalState: i32,
        WaitListHead: LIST_ENTRY,
    }

    KEVENT: 0x18 {
        Header: DISPATCHER_HEADER,
    }

    KMUTANT: 0x38 {
        Header: DISPATCHER_HEADER,
        MutantListEntry: LIST_ENTRY,
        OwnerThread: GuestPtr<Opaque>,
        Abandoned: u8,
        ApcDisable: u8,
        Padding: [u8; 6],
    }

    KSEMAPHORE: 0x20 {
        Header: DISPATCHER_HEADER,
        Limit: i32,
        Padding: u32,
    }

    KQUEUE: 0x40 {
        Header: DISPATCHER_HEADER,
        EntryListHead: LIST_ENTRY,
        CurrentCount: u32,
        MaximumCount: u32,
        ThreadListHead: LIST_ENTRY,
    }

    KTIMER: 0x40 {
        Header: DISPATCHER_HEADER,
        DueTime: u64,
        TimerListEntry: LIST_ENTRY,
        Dpc: GuestPtr<KDPC>,
        Processor: u16,
        TimerType: u16,
        Period: u32,
    }

    KDPC: 0x40 {
        Type: u8,
        Importance: u8,
        Number: u16,
        Padding: u32,
        DpcListEntry: SINGLE_LIST_ENTRY,
        ProcessorHistory: u64,
        DeferredRoutine: GuestPtr<Code>,
        DeferredContext: u64,
        SystemArgument1: u64,
        SystemArgument2: u64,
        DpcData: GuestPtr<Opaque>,
    }

    KDEVICE_QUEUE: 0x28 {
        Type: u16,
        Size: u16,
        Padding1: u32,
        DeviceListHead: LIST_ENTRY,
        Lock: u64,
        Busy: u8,
        Padding2: [u8; 7],
    }

    KDEVICE_QUEUE_ENTRY: 0x18 {
        DeviceListEntry: LIST_ENTRY,
        SortKey: u32,
        Inserted: u8,
        Padding: [u8; 3],
    }

    /// Also `KGUARDED_MUTEX`.
    FAST_MUTEX: 0x38 {
        Count: i32,
        Padding1: u32,
        Owner: GuestPtr<Opaque>,
        Contention: u32,
        Padding2: u32,
        Event: KEVENT,
        OldIrql: u32,
        Padding3: u32,
    }

    KLOCK_QUEUE_HANDLE: 0x18 {
        Next: GuestPtr<Opaque>,
        Lock: GuestPtr<u64>,
        OldIrql: u8,
        Padding: [u8; 7],
    }

    /// Opaque on Windows. The size is that of the 64-bit headers; Microsoft's metadata lacks a member that only these
    /// have.
    ERESOURCE: 0x68 {
        Readers: u32,
        WriterDepth: u32,
        Writer: GuestPtr<Opaque>,
        Unused: [u64; 11],
    }

    /// `IO_REMOVE_LOCK` without the members that checked builds add.
    IO_REMOVE_LOCK: 0x20 {
        Removed: u8,
        Reserved: [u8; 3],
        IoCount: u32,
        RemoveEvent: KEVENT,
    }
}

impl GuestPtr<DISPATCHER_HEADER> {
    /// Initialises an object of this type and state for which no thread waits.
    pub fn initialize(self, kind: u8, state: i32) -> Result<(), Fault> {
        self.cast::<u32>().write(kind.into())?;
        self.SignalState().write(state)?;
        self.WaitListHead().initialize()
    }
}
