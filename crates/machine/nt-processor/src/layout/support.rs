//! Lists, bitmaps, work items and other structures that the executive and the runtime library share with drivers.

use etw_types::NtStatus;

use super::device::DEVICE_OBJECT;
use super::layout;
use super::string::UNICODE_STRING;
use super::sync::DISPATCHER_HEADER;
use crate::memory::{Code, Fault, GuestPtr, Opaque};

layout! {
    LIST_ENTRY: 0x10 {
        Flink: GuestPtr<LIST_ENTRY>,
        Blink: GuestPtr<LIST_ENTRY>,
    }

    SINGLE_LIST_ENTRY: 8 {
        Next: GuestPtr<SINGLE_LIST_ENTRY>,
    }

    /// The members are internal to Windows: only the size matches Microsoft's.
    SLIST_HEADER: 0x10 {
        Depth: u16,
        Unused: [u16; 3],
        Next: GuestPtr<SINGLE_LIST_ENTRY>,
    }

    GUID: 0x10 {
        Data: [u8; 16],
    }

    /// The first members of every driver-defined interface.
    INTERFACE: 0x20 {
        Size: u16,
        Version: u16,
        Padding: u32,
        Context: u64,
        InterfaceReference: GuestPtr<Code>,
        InterfaceDereference: GuestPtr<Code>,
    }

    BUS_INTERFACE_STANDARD: 0x40 {
        Size: u16,
        Version: u16,
        Padding: u32,
        Context: u64,
        InterfaceReference: GuestPtr<Code>,
        InterfaceDereference: GuestPtr<Code>,
        TranslateBusAddress: GuestPtr<Code>,
        GetDmaAdapter: GuestPtr<Code>,
        SetBusData: GuestPtr<Code>,
        GetBusData: GuestPtr<Code>,
    }

    BOOTDISK_INFORMATION: 0x18 {
        BootPartitionOffset: u64,
        SystemPartitionOffset: u64,
        BootDeviceSignature: u32,
        SystemDeviceSignature: u32,
    }

    /// `Disk` stands for the members of [`BOOTDISK_INFORMATION`].
    BOOTDISK_INFORMATION_EX: 0x40 {
        Disk: BOOTDISK_INFORMATION,
        BootDeviceGuid: GUID,
        SystemDeviceGuid: GUID,
        BootDeviceIsGpt: u8,
        SystemDeviceIsGpt: u8,
        Padding: [u8; 6],
    }

    CONFIGURATION_INFORMATION: 0x28 {
        DiskCount: u32,
        FloppyCount: u32,
        CdRomCount: u32,
        TapeCount: u32,
        ScsiPortCount: u32,
        SerialCount: u32,
        ParallelCount: u32,
        AtDiskPrimaryAddressClaimed: u8,
        AtDiskSecondaryAddressClaimed: u8,
        Padding: u16,
        Version: u32,
        MediumChangerCount: u32,
    }

    KBUGCHECK_CALLBACK_RECORD: 0x40 {
        Entry: LIST_ENTRY,
        CallbackRoutine: GuestPtr<Code>,
        Buffer: GuestPtr<u8>,
        Length: u32,
        Padding1: u32,
        Component: GuestPtr<u8>,
        Checksum: u64,
        State: u8,
        Padding2: [u8; 7],
    }

    KBUGCHECK_REASON_CALLBACK_RECORD: 0x30 {
        Entry: LIST_ENTRY,
        CallbackRoutine: GuestPtr<Code>,
        Component: GuestPtr<u8>,
        Checksum: u64,
        Reason: u32,
        State: u8,
        Padding: [u8; 3],
    }

    CLIENT_ID: 0x10 {
        UniqueProcess: u64,
        UniqueThread: u64,
    }

    RTL_BITMAP: 0x10 {
        SizeOfBitMap: u32,
        Padding: u32,
        Buffer: GuestPtr<u32>,
    }

    RTL_AVL_TABLE: 0x68 {
        BalancedRoot: [u64; 4],
        OrderedPointer: u64,
        WhichOrderedElement: u32,
        NumberGenericTableElements: u32,
        DepthOfTree: u32,
        Padding1: u32,
        RestartKey: u64,
        DeleteCount: u32,
        Padding2: u32,
        CompareRoutine: GuestPtr<Code>,
        AllocateRoutine: GuestPtr<Code>,
        FreeRoutine: GuestPtr<Code>,
        TableContext: u64,
    }

    RTL_GENERIC_TABLE: 0x48 {
        TableRoot: u64,
        InsertOrderList: LIST_ENTRY,
        OrderedPointer: u64,
        WhichOrderedElement: u32,
        NumberGenericTableElements: u32,
        CompareRoutine: GuestPtr<Code>,
        AllocateRoutine: GuestPtr<Code>,
        FreeRoutine: GuestPtr<Code>,
        TableContext: u64,
    }

    /// A cancel-safe queue, which drivers fill through routines of their own.
    IO_CSQ: 0x40 {
        Type: u32,
        Padding: u32,
        CsqInsertIrp: GuestPtr<Code>,
        CsqRemoveIrp: GuestPtr<Code>,
        CsqPeekNextIrp: GuestPtr<Code>,
        CsqAcquireLock: GuestPtr<Code>,
        CsqReleaseLock: GuestPtr<Code>,
        CsqCompleteCanceledIrp: GuestPtr<Code>,
        ReservePointer: u64,
    }

    IO_CSQ_IRP_CONTEXT: 0x18 {
        Type: u32,
        Padding: u32,
        Irp: u64,
        Csq: GuestPtr<IO_CSQ>,
    }

    WORK_QUEUE_ITEM: 0x20 {
        List: LIST_ENTRY,
        WorkerRoutine: GuestPtr<Code>,
        Parameter: u64,
    }

    OBJECT_ATTRIBUTES: 0x30 {
        Length: u32,
        Padding1: u32,
        RootDirectory: u64,
        ObjectName: GuestPtr<UNICODE_STRING>,
        Attributes: u32,
        Padding2: u32,
        SecurityDescriptor: GuestPtr<Opaque>,
        SecurityQualityOfService: GuestPtr<Opaque>,
    }

    OSVERSIONINFOW: 0x114 {
        dwOSVersionInfoSize: u32,
        dwMajorVersion: u32,
        dwMinorVersion: u32,
        dwBuildNumber: u32,
        dwPlatformId: u32,
        szCSDVersion: [u16; 128],
    }

    TIME_FIELDS: 0x10 {
        Year: u16,
        Month: u16,
        Day: u16,
        Hour: u16,
        Minute: u16,
        Second: u16,
        Milliseconds: u16,
        Weekday: u16,
    }

    RTL_QUERY_REGISTRY_TABLE: 0x38 {
        QueryRoutine: GuestPtr<Code>,
        Flags: u32,
        Padding1: u32,
        Name: GuestPtr<u16>,
        EntryContext: GuestPtr<u8>,
        DefaultType: u32,
        Padding2: u32,
        DefaultData: GuestPtr<u8>,
        DefaultLength: u32,
        Padding3: u32,
    }

    /// Followed by the rest of `DumpData` and by strings.
    IO_ERROR_LOG_PACKET: 0x30 {
        MajorFunctionCode: u8,
        RetryCount: u8,
        DumpDataSize: u16,
        NumberOfStrings: u16,
        StringOffset: u16,
        EventCategory: u16,
        Padding1: u16,
        ErrorCode: NtStatus,
        UniqueErrorValue: u32,
        FinalStatus: NtStatus,
        SequenceNumber: u32,
        IoControlCode: u32,
        DeviceOffset: u64,
        DumpData: u32,
        Padding2: u32,
    }

    /// The members that inline functions of the headers access: list head, limits, counts, routines. Not in Microsoft's
    /// metadata.
    GENERAL_LOOKASIDE: 0x80 {
        ListHead: SLIST_HEADER,
        Depth: u16,
        MaximumDepth: u16,
        TotalAllocates: u32,
        AllocateMisses: u32,
        TotalFrees: u32,
        FreeMisses: u32,
        Type: u32,
        Tag: u32,
        Size: u32,
        Allocate: GuestPtr<Code>,
        Free: GuestPtr<Code>,
        ListEntry: LIST_ENTRY,
        Unused: [u64; 6],
    }

    EVENT_DESCRIPTOR: 0x10 {
        Id: u16,
        Version: u8,
        Channel: u8,
        Level: u8,
        Opcode: u8,
        Task: u16,
        Keyword: u64,
    }

    EVENT_DATA_DESCRIPTOR: 0x10 {
        Ptr: GuestPtr<u8>,
        Size: u32,
        Type: u8,
        Reserved1: u8,
        Reserved2: u16,
    }

    EVENT_FILTER_DESCRIPTOR: 0x10 {
        Ptr: u64,
        Size: u32,
        Type: u32,
    }

    /// Opaque on Windows. `IoInitializeTimer` creates one, too.
    EX_TIMER: 0x20 {
        Callback: GuestPtr<Code>,
        Context: u64,
        Unused: [u64; 2],
    }

    /// Opaque on Windows.
    IO_WORKITEM: 0x60 {
        Object: GuestPtr<DEVICE_OBJECT>,
        Unused: [u64; 11],
    }

    /// A thread or process that can be waited for. Opaque on Windows, where more memory follows it: drivers that search it for
    /// a value read as much as a page.
    THREAD: 0x1000 {
        Header: DISPATCHER_HEADER,
        Unused: [u64; 509],
    }
}

impl GuestPtr<LIST_ENTRY> {
    /// `InitializeListHead`: makes the list empty, so that it points to itself.
    pub fn initialize(self) -> Result<(), Fault> {
        self.Flink().write(self)?;
        self.Blink().write(self)
    }

    /// Inserts an entry right after this one.
    pub fn insert(self, entry: Self) -> Result<(), Fault> {
        let after = self.Flink().read()?;
        entry.Flink().write(after)?;
        entry.Blink().write(self)?;
        self.Flink().write(entry)?;
        after.Blink().write(entry)
    }

    /// Removes this entry from its list.
    pub fn unlink(self) -> Result<(), Fault> {
        let after = self.Flink().read()?;
        let before = self.Blink().read()?;
        before.Flink().write(after)?;
        after.Blink().write(before)
    }

    /// `RemoveHeadList`: removes the first entry after this head. Returns `None` if the list is empty.
    pub fn remove_first(self) -> Result<Option<Self>, Fault> {
        let first = self.Flink().read()?;
        if first == self {
            return Ok(None);
        }
        first.unlink()?;
        Ok(Some(first))
    }
}

impl GuestPtr<GUID> {
    /// Reads the GUID.
    pub fn id(self) -> Result<etw_types::Guid, Fault> {
        self.Data().read().map(etw_types::Guid::from_bytes_le)
    }

    /// Writes the GUID.
    pub fn set_id(self, id: etw_types::Guid) -> Result<(), Fault> {
        self.Data().write(id.to_bytes_le())
    }
}
