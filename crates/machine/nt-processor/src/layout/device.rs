//! Objects of drivers, devices and files.

use etw_types::NtStatus;

use super::layout;
use super::packet::IRP;
use super::string::UNICODE_STRING;
use super::support::{EX_TIMER, LIST_ENTRY};
use super::sync::{KDEVICE_QUEUE, KDPC, KEVENT};
use crate::memory::{Code, Fault, GuestPtr, Opaque};

layout! {
    DRIVER_OBJECT: 0x150 {
        Type: u16,
        Size: u16,
        Padding1: u32,
        DeviceObject: GuestPtr<DEVICE_OBJECT>,
        Flags: u32,
        Padding2: u32,
        DriverStart: GuestPtr<u8>,
        DriverSize: u32,
        Padding3: u32,
        DriverSection: GuestPtr<KLDR_DATA_TABLE_ENTRY>,
        DriverExtension: GuestPtr<DRIVER_EXTENSION>,
        DriverName: UNICODE_STRING,
        HardwareDatabase: GuestPtr<UNICODE_STRING>,
        FastIoDispatch: GuestPtr<Opaque>,
        DriverInit: GuestPtr<Code>,
        DriverStartIo: GuestPtr<Code>,
        DriverUnload: GuestPtr<Code>,
        MajorFunction: [GuestPtr<Code>; 28],
    }

    DRIVER_EXTENSION: 0x28 {
        DriverObject: GuestPtr<DRIVER_OBJECT>,
        AddDevice: GuestPtr<Code>,
        Count: u32,
        Padding: u32,
        ServiceKeyName: UNICODE_STRING,
    }

    /// An entry of the list of loaded modules. The metadata has some of its members, as `LDR_DATA_TABLE_ENTRY`.
    KLDR_DATA_TABLE_ENTRY: 0x90 {
        InLoadOrderLinks: LIST_ENTRY,
        ExceptionTable: GuestPtr<Opaque>,
        ExceptionTableSize: u32,
        Padding1: u32,
        GpValue: GuestPtr<Opaque>,
        NonPagedDebugInfo: GuestPtr<Opaque>,
        DllBase: GuestPtr<u8>,
        EntryPoint: GuestPtr<Code>,
        SizeOfImage: u32,
        Padding2: u32,
        FullDllName: UNICODE_STRING,
        BaseDllName: UNICODE_STRING,
        Flags: u32,
        LoadCount: u16,
        SignatureLevel: u16,
        SectionPointer: GuestPtr<Opaque>,
        CheckSum: u32,
        CoverageSectionSize: u32,
        CoverageSection: GuestPtr<Opaque>,
        LoadedImports: GuestPtr<Opaque>,
    }

    /// With one device.
    /// The bit fields are one number. The device power states are indexed by the system power state.
    DEVICE_CAPABILITIES: 0x40 {
        Size: u16,
        Version: u16,
        Flags: u32,
        Address: u32,
        UINumber: u32,
        DeviceState: [u32; 7],
        SystemWake: u32,
        DeviceWake: u32,
        D1Latency: u32,
        D2Latency: u32,
        D3Latency: u32,
    }

    DEVICE_RELATIONS: 0x10 {
        Count: u32,
        Padding: u32,
        Objects: GuestPtr<DEVICE_OBJECT>,
    }

    DEVICE_OBJECT: 0x150 {
        Type: u16,
        Size: u16,
        ReferenceCount: i32,
        DriverObject: GuestPtr<DRIVER_OBJECT>,
        NextDevice: GuestPtr<DEVICE_OBJECT>,
        AttachedDevice: GuestPtr<DEVICE_OBJECT>,
        CurrentIrp: GuestPtr<IRP>,
        Timer: GuestPtr<EX_TIMER>,
        Flags: u32,
        Characteristics: u32,
        Vpb: GuestPtr<Opaque>,
        DeviceExtension: GuestPtr<u8>,
        DeviceType: u32,
        StackSize: u8,
        Padding1: [u8; 3],
        Queue: [u64; 9],
        AlignmentRequirement: u32,
        Padding2: u32,
        DeviceQueue: KDEVICE_QUEUE,
        Dpc: KDPC,
        ActiveThreadCount: u32,
        Padding3: u32,
        SecurityDescriptor: GuestPtr<Opaque>,
        DeviceLock: KEVENT,
        SectorSize: u16,
        Spare1: u16,
        Padding4: u32,
        DeviceObjectExtension: GuestPtr<DEVOBJ_EXTENSION>,
        Reserved: GuestPtr<Opaque>,
        Padding5: u64,
    }

    /// Microsoft's headers declare the first members only. The others are internal to Windows; of these, only the link
    /// to the device below is used here.
    DEVOBJ_EXTENSION: 0x48 {
        Type: u16,
        Size: u16,
        Padding1: u32,
        DeviceObject: GuestPtr<DEVICE_OBJECT>,
        PowerFlags: u32,
        Padding2: u32,
        Dope: GuestPtr<Opaque>,
        ExtensionFlags: u32,
        Padding3: u32,
        DeviceNode: GuestPtr<Opaque>,
        AttachedTo: GuestPtr<DEVICE_OBJECT>,
        Reserved: [u64; 2],
    }

    FILE_OBJECT: 0xD8 {
        Type: u16,
        Size: u16,
        Padding1: u32,
        DeviceObject: GuestPtr<DEVICE_OBJECT>,
        Vpb: GuestPtr<Opaque>,
        FsContext: GuestPtr<Opaque>,
        FsContext2: GuestPtr<Opaque>,
        SectionObjectPointer: GuestPtr<Opaque>,
        PrivateCacheMap: GuestPtr<Opaque>,
        FinalStatus: NtStatus,
        Padding2: u32,
        RelatedFileObject: GuestPtr<FILE_OBJECT>,
        LockOperation: u8,
        DeletePending: u8,
        ReadAccess: u8,
        WriteAccess: u8,
        DeleteAccess: u8,
        SharedRead: u8,
        SharedWrite: u8,
        SharedDelete: u8,
        Flags: u32,
        Padding3: u32,
        FileName: UNICODE_STRING,
        CurrentByteOffset: u64,
        Waiters: u32,
        Busy: u32,
        LastLock: GuestPtr<Opaque>,
        Lock: KEVENT,
        Event: KEVENT,
        CompletionContext: GuestPtr<Opaque>,
        IrpListLock: u64,
        IrpList: LIST_ENTRY,
        FileObjectExtension: GuestPtr<Opaque>,
    }
}

impl GuestPtr<DEVICE_OBJECT> {
    /// Returns the I/O manager's data about a device. Only device objects of the I/O manager have it.
    pub fn extension(self) -> Result<GuestPtr<DEVOBJ_EXTENSION>, Fault> {
        self.DeviceObjectExtension().read()
    }
}
