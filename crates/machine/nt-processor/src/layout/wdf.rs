//! The structures that drivers pass to the Kernel-Mode Driver Framework. Microsoft's metadata has none of them. Their
//! sizes are those that drivers store in them and that the framework checks.

use super::device::{DEVICE_OBJECT, DRIVER_OBJECT, FILE_OBJECT};
use super::layout;
use super::string::UNICODE_STRING;
use super::support::{GUID, INTERFACE};
use crate::memory::{Code, GuestPtr, Opaque};

layout! {
    WDF_BIND_INFO: 0x30 {
        Size: u32,
        Padding1: u32,
        Component: GuestPtr<u16>,
        Major: u32,
        Minor: u32,
        Build: u32,
        FuncCount: u32,
        FuncTable: GuestPtr<GuestPtr<GuestPtr<Code>>>,
        Module: GuestPtr<Opaque>,
    }

    /// Passed by newer drivers: contains the addresses of some of the driver's variables as well.
    WDF_BIND_INFO2: 0x58 {
        Info: WDF_BIND_INFO,
        MinimumVersionRequired: GuestPtr<u32>,
        ClientVersionHigher: GuestPtr<u8>,
        FuncCountPtr: GuestPtr<u32>,
        StructCount: GuestPtr<u32>,
        StructTable: GuestPtr<GuestPtr<u64>>,
    }

    WDF_LIBRARY_INFO: 0x38 {
        Size: u32,
        Padding1: u32,
        LibraryCommission: GuestPtr<Code>,
        LibraryDecommission: GuestPtr<Code>,
        LibraryRegisterClient: GuestPtr<Code>,
        LibraryUnregisterClient: GuestPtr<Code>,
        Major: u32,
        Minor: u32,
        Build: u32,
        Padding2: u32,
    }

    /// Passed by the loader to the framework with each driver.
    CLIENT_INFO: 0x18 {
        Size: u32,
        Padding: u32,
        RegistryPath: GuestPtr<UNICODE_STRING>,
        DriverObject: GuestPtr<DRIVER_OBJECT>,
    }

    WDF_CLASS_LIBRARY_INFO: 0x30 {
        Size: u32,
        Version: [u32; 3],
        ClassLibraryInitialize: GuestPtr<Code>,
        ClassLibraryDeinitialize: GuestPtr<Code>,
        ClassLibraryBindClient: GuestPtr<Code>,
        ClassLibraryUnbindClient: GuestPtr<Code>,
    }

    WDF_CLASS_BIND_INFO: 0x50 {
        Size: u32,
        Padding1: u32,
        ClassName: GuestPtr<u16>,
        Version: [u32; 3],
        Padding2: u32,
        FunctionTable: GuestPtr<GuestPtr<Code>>,
        FunctionTableCount: u32,
        Padding3: u32,
        ClassBindInfo: GuestPtr<Opaque>,
        ClientBindClass: GuestPtr<Code>,
        ClientUnbindClass: GuestPtr<Code>,
        ClassModule: GuestPtr<Opaque>,
    }

    /// The members that the framework's stub in a driver accesses.
    WDF_DRIVER_GLOBALS: 0x38 {
        Driver: u64,
        Unused: [u64; 5],
        DisplaceDriverUnload: u8,
        Padding: [u8; 7],
    }

    WDF_OBJECT_ATTRIBUTES: 56 {
        Size: u32,
        Padding: u32,
        EvtCleanupCallback: GuestPtr<Code>,
        EvtDestroyCallback: GuestPtr<Code>,
        ExecutionLevel: u32,
        SynchronizationScope: u32,
        ParentObject: u64,
        ContextSizeOverride: u64,
        ContextTypeInfo: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>,
    }

    WDF_OBJECT_CONTEXT_TYPE_INFO: 40 {
        Size: u32,
        Padding: u32,
        ContextName: GuestPtr<u8>,
        ContextSize: u64,
        UniqueType: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>,
        EvtDriverGetUniqueContextType: GuestPtr<Code>,
    }

    WDF_DRIVER_CONFIG: 32 {
        Size: u32,
        Padding: u32,
        EvtDriverDeviceAdd: GuestPtr<Code>,
        EvtDriverUnload: GuestPtr<Code>,
        DriverInitFlags: u32,
        DriverPoolTag: u32,
    }

    WDF_DRIVER_VERSION_AVAILABLE_PARAMS: 12 {
        Size: u32,
        MajorVersion: u32,
        MinorVersion: u32,
    }

    /// `WDF_PNPPOWER_EVENT_CALLBACKS` as of 1.9; later versions have one more callback.
    WDF_DEVICE_PNP_CALLBACKS: 136 {
        Size: u32,
        Padding: u32,
        Callbacks: [GuestPtr<Code>; 16],
    }

    WDF_FDO_EVENT_CALLBACKS: 32 {
        Size: u32,
        Padding: u32,
        Callbacks: [GuestPtr<Code>; 3],
    }

    /// `WDF_POWER_POLICY_EVENT_CALLBACKS` before 1.7; later versions have one more callback.
    WDF_POLICY_CALLBACKS: 56 {
        Size: u32,
        Padding: u32,
        Callbacks: [GuestPtr<Code>; 6],
    }

    /// As of 1.11; before 1.9, the last three fields do not exist, and before 1.11 the last two.
    WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS: 36 {
        Size: u32,
        IdleCaps: u32,
        DxState: u32,
        IdleTimeout: u32,
        UserControlOfIdleSettings: u32,
        Enabled: u32,
        PowerUpIdleDeviceOnSystemWake: u32,
        IdleTimeoutType: u32,
        ExcludeD3Cold: u32,
    }

    /// As of 1.7; before, the last three fields do not exist.
    WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS: 20 {
        Size: u32,
        DxState: u32,
        UserControlOfWakeSettings: u32,
        Enabled: u32,
        ArmForWakeIfChildrenAreArmedForWake: u8,
        IndicateChildWakeOnParentWake: u8,
        Padding: u16,
    }

    WDF_FILEOBJECT_CONFIG: 40 {
        Size: u32,
        Padding1: u32,
        EvtDeviceFileCreate: GuestPtr<Code>,
        EvtFileClose: GuestPtr<Code>,
        EvtFileCleanup: GuestPtr<Code>,
        AutoForwardCleanupClose: u32,
        FileObjectClass: u32,
    }

    WDF_CHILD_LIST_CONFIG: 96 {
        Size: u32,
        IdentificationDescriptionSize: u32,
        AddressDescriptionSize: u32,
        Padding: u32,
        EvtChildListCreateDevice: GuestPtr<Code>,
        EvtChildListScanForChildren: GuestPtr<Code>,
        EvtChildListIdentificationDescriptionCopy: GuestPtr<Code>,
        EvtChildListIdentificationDescriptionDuplicate: GuestPtr<Code>,
        EvtChildListIdentificationDescriptionCleanup: GuestPtr<Code>,
        EvtChildListIdentificationDescriptionCompare: GuestPtr<Code>,
        EvtChildListAddressDescriptionCopy: GuestPtr<Code>,
        EvtChildListAddressDescriptionDuplicate: GuestPtr<Code>,
        EvtChildListAddressDescriptionCleanup: GuestPtr<Code>,
        EvtChildListDeviceReenumerated: GuestPtr<Code>,
    }

    WDF_CHILD_LIST_ITERATOR: 40 {
        Size: u32,
        Flags: u32,
        Reserved: [u64; 4],
    }

    WDF_CHILD_RETRIEVE_INFO: 40 {
        Size: u32,
        Padding1: u32,
        IdentificationDescription: GuestPtr<u8>,
        AddressDescription: GuestPtr<u8>,
        Status: u32,
        Padding2: u32,
        EvtChildListIdentificationDescriptionCompare: GuestPtr<Code>,
    }

    /// The first members of `WDF_IO_TYPE_CONFIG`.
    WDF_IO_TYPE_CONFIG: 12 {
        Size: u32,
        ReadWriteIoType: u32,
        DeviceControlIoType: u32,
    }

    /// As of 1.9; later versions have a member for the driver at the end. `EvtIo`: default, read, write, device
    /// control, internal device control.
    WDF_IO_QUEUE_CONFIG: 88 {
        Size: u32,
        DispatchType: u32,
        PowerManaged: u32,
        AllowZeroLengthRequests: u8,
        DefaultQueue: u8,
        Padding1: u16,
        EvtIo: [GuestPtr<Code>; 5],
        EvtIoStop: GuestPtr<Code>,
        EvtIoResume: GuestPtr<Code>,
        EvtIoCanceledOnQueue: GuestPtr<Code>,
        NumberOfPresentedRequests: u32,
        Padding2: u32,
    }

    /// The members of the union are pairs of words: buffer and length, MDL and length, memory and offsets.
    WDF_MEMORY_DESCRIPTOR: 24 {
        Type: u32,
        Padding: u32,
        First: u64,
        Second: u64,
    }

    WDF_IO_TARGET_OPEN_PARAMS: 120 {
        Size: u32,
        Type: u32,
        EvtIoTargetQueryRemove: GuestPtr<Code>,
        EvtIoTargetRemoveCanceled: GuestPtr<Code>,
        EvtIoTargetRemoveComplete: GuestPtr<Code>,
        TargetDeviceObject: GuestPtr<DEVICE_OBJECT>,
        TargetFileObject: GuestPtr<FILE_OBJECT>,
        TargetDeviceName: UNICODE_STRING,
        DesiredAccess: u32,
        ShareAccess: u32,
        FileAttributes: u32,
        CreateDisposition: u32,
        CreateOptions: u32,
        Padding1: u32,
        EaBuffer: GuestPtr<Opaque>,
        EaBufferLength: u32,
        Padding2: u32,
        AllocationSize: GuestPtr<u64>,
        FileInformation: u32,
        Padding3: u32,
    }

    WDF_QUERY_INTERFACE_CONFIG: 48 {
        Size: u32,
        Padding1: u32,
        Interface: GuestPtr<INTERFACE>,
        InterfaceType: GuestPtr<GUID>,
        SendQueryToParentStack: u8,
        Padding2: [u8; 7],
        EvtDeviceProcessQueryInterfaceRequest: GuestPtr<Code>,
        ImportInterface: u8,
        Padding3: [u8; 7],
    }

    WDF_REQUEST_SEND_OPTIONS: 16 {
        Size: u32,
        Flags: u32,
        Timeout: i64,
    }

    WDF_REQUEST_COMPLETION_PARAMS: 72 {
        Size: u32,
        Type: u32,
        Status: u32,
        Padding: u32,
        Information: u64,
        Parameters: [u64; 6],
    }

    WDF_REQUEST_PARAMETERS: 40 {
        Size: u16,
        MinorFunction: u8,
        Padding: u8,
        Type: u32,
        Parameters: [u64; 4],
    }

    /// `TolerableDelay` exists in newer versions only.
    WDF_TIMER_CONFIG: 32 {
        Size: u32,
        Padding1: u32,
        EvtTimerFunc: GuestPtr<Code>,
        Period: u32,
        AutomaticSerialization: u8,
        Padding2: [u8; 3],
        TolerableDelay: u32,
        Padding3: u32,
    }

    /// `WDF_WORKITEM_CONFIG` and `WDF_DPC_CONFIG`.
    WDF_WORK_CONFIG: 24 {
        Size: u32,
        Padding1: u32,
        EvtFunc: GuestPtr<Code>,
        AutomaticSerialization: u8,
        Padding2: [u8; 7],
    }

    WDFMEMORY_OFFSET: 16 {
        BufferOffset: u64,
        BufferLength: u64,
    }
}
