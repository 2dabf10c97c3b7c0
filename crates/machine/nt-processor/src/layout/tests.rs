//! Compares sizes and offsets with Microsoft's metadata.

use std::mem::{offset_of, size_of};

use windows_sys::Wdk::Foundation as wdk;
use windows_sys::Wdk::Storage::FileSystem::Minifilters as filters;
use windows_sys::Wdk::System::SystemServices as services;
use windows_sys::Win32::Foundation as win32;
use windows_sys::Win32::Security::Cryptography as cryptography;
use windows_sys::Win32::System::Diagnostics::Debug as debug;
use windows_sys::Win32::System::Diagnostics::Etw as etw;
use windows_sys::Win32::System::IO as io;
use windows_sys::Win32::System::Kernel as kernel;
use windows_sys::Win32::System::SystemInformation as information;
use windows_sys::Win32::System::WindowsProgramming as programming;

use super::*;

/// Compares a structure: its size, members with the same names, and members that have a different name or place there.
macro_rules! same {
    ($name:ident, $theirs:path { $($member:ident)* $(; $($ours:ident = $($part:ident).+),*)? }) => {{
        type Theirs = $theirs;
        assert_eq!(size_of::<$name>(), size_of::<Theirs>(), stringify!($name));
        $(assert_eq!(offset_of!($name, $member), offset_of!(Theirs, $member), "{}.{}", stringify!($name), stringify!($member));)*
        $($(
            assert_eq!(offset_of!($name, $ours), offset_of!(Theirs, $($part).+), "{}.{}", stringify!($name), stringify!($ours));
        )*)?
    }};
}

#[test]
fn objects_have_the_layouts_of_microsofts_metadata() {
    same!(DRIVER_OBJECT, wdk::DRIVER_OBJECT {
        Type Size DeviceObject Flags DriverStart DriverSize DriverSection DriverExtension DriverName HardwareDatabase
        FastIoDispatch DriverInit DriverStartIo DriverUnload MajorFunction
    });
    same!(IO_RESOURCE_DESCRIPTOR, services::IO_RESOURCE_DESCRIPTOR { Option Type ShareDisposition Flags u });
    let list = offset_of!(services::IO_RESOURCE_REQUIREMENTS_LIST, List);
    let descriptors = list + offset_of!(services::IO_RESOURCE_LIST, Descriptors);
    assert_eq!(size_of::<IO_RESOURCE_REQUIREMENTS_LIST>(), 40);
    assert_eq!(descriptors, 40);
    assert_eq!(offset_of!(IO_RESOURCE_REQUIREMENTS_LIST, Version), 32);
    assert_eq!(list, 32);
    same!(DEVICE_RELATIONS, services::DEVICE_RELATIONS { Count Objects });
    same!(BUS_INTERFACE_STANDARD, services::BUS_INTERFACE_STANDARD {
        Size Version Context InterfaceReference InterfaceDereference TranslateBusAddress GetDmaAdapter SetBusData GetBusData
    });
    same!(DRIVER_EXTENSION, wdk::DRIVER_EXTENSION { DriverObject AddDevice Count ServiceKeyName });
    same!(FILE_OBJECT, wdk::FILE_OBJECT {
        Type Size DeviceObject Vpb FsContext FsContext2 SectionObjectPointer PrivateCacheMap FinalStatus RelatedFileObject
        LockOperation SharedDelete Flags FileName CurrentByteOffset Waiters Busy LastLock Lock Event CompletionContext
        IrpListLock IrpList FileObjectExtension
    });
}

/// The metadata names few members of the entries, and not those after `TimeDateStamp`, whose place has another meaning here.
#[test]
fn modules_have_the_offsets_of_microsofts_metadata() {
    macro_rules! offsets {
        ($($member:ident = $theirs:ident),*) => {
            $(assert_eq!(
                offset_of!(KLDR_DATA_TABLE_ENTRY, $member),
                offset_of!(programming::LDR_DATA_TABLE_ENTRY, $theirs),
                stringify!($member)
            );)*
        };
    }
    offsets!(InLoadOrderLinks = Reserved1, DllBase = DllBase, EntryPoint = Reserved3, FullDllName = FullDllName);
    offsets!(BaseDllName = Reserved4, CheckSum = Anonymous);
}

/// The headers align a device object to 16 bytes, but the metadata does not, so the size differs.
#[test]
fn device_objects_have_the_offsets_of_microsofts_metadata() {
    macro_rules! offsets {
        ($($member:ident)*) => {
            $(assert_eq!(offset_of!(DEVICE_OBJECT, $member), offset_of!(wdk::DEVICE_OBJECT, $member), stringify!($member));)*
        };
    }
    offsets!(
        Type Size ReferenceCount DriverObject NextDevice AttachedDevice CurrentIrp Timer Flags Characteristics Vpb
        DeviceExtension DeviceType StackSize Queue AlignmentRequirement DeviceQueue Dpc ActiveThreadCount
        SecurityDescriptor DeviceLock SectorSize Spare1 DeviceObjectExtension Reserved
    );
    assert_eq!(size_of::<DEVICE_OBJECT>(), size_of::<wdk::DEVICE_OBJECT>().next_multiple_of(16));
}

#[test]
fn structures_of_minifilters_have_the_layouts_of_microsofts_metadata() {
    same!(FLT_REGISTRATION, filters::FLT_REGISTRATION {
        Size Version Flags ContextRegistration OperationRegistration FilterUnloadCallback InstanceSetupCallback
        InstanceQueryTeardownCallback InstanceTeardownStartCallback InstanceTeardownCompleteCallback
        GenerateFileNameCallback SectionNotificationCallback
    });
    same!(FLT_OPERATION_REGISTRATION, filters::FLT_OPERATION_REGISTRATION {
        MajorFunction Flags PreOperation PostOperation
    });
    same!(FLT_CONTEXT_REGISTRATION, filters::FLT_CONTEXT_REGISTRATION {
        ContextType Flags ContextCleanupCallback Size PoolTag ContextAllocateCallback ContextFreeCallback
    });
    same!(FLT_RELATED_OBJECTS, filters::FLT_RELATED_OBJECTS {
        Size TransactionContext Filter Volume Instance FileObject Transaction
    });
    same!(FLT_CALLBACK_DATA, filters::FLT_CALLBACK_DATA {
        Flags Thread Iopb IoStatus TagData RequestorMode; FilterContext = Anonymous
    });
    same!(FLT_FILE_NAME_INFORMATION, filters::FLT_FILE_NAME_INFORMATION {
        Size NamesParsed Format Name Volume Share Extension Stream FinalComponent ParentDir
    });
    same!(FLT_VOLUME_PROPERTIES, filters::FLT_VOLUME_PROPERTIES {
        DeviceType DeviceCharacteristics SectorSize FileSystemDriverName FileSystemDeviceName RealDeviceName
    });
    same!(FLT_CALLBACK_DATA_QUEUE, filters::FLT_CALLBACK_DATA_QUEUE {
        Csq Flags Instance InsertIo RemoveIo PeekNextIo Acquire Release CompleteCanceledIo
    });
    same!(FLT_RELATED_CONTEXTS, filters::FLT_RELATED_CONTEXTS {
        VolumeContext InstanceContext FileContext StreamContext StreamHandleContext TransactionContext
    });
    // The metadata lacks the alignment of the parameters. A test of the kit compares them with the documentation.
    let theirs = offset_of!(filters::FLT_IO_PARAMETER_BLOCK, Parameters);
    assert_eq!(offset_of!(FLT_IO_PARAMETER_BLOCK, Parameters), theirs);
}

#[test]
fn structures_of_wmi_have_the_layouts_of_microsofts_metadata() {
    macro_rules! offsets {
        ($name:ident, $theirs:path { $($member:ident = $other:ident),* }) => {{
            type Theirs = $theirs;
            $(assert_eq!(offset_of!($name, $member), offset_of!(Theirs, $other), "{}.{}", stringify!($name), stringify!($member));)*
        }};
    }
    offsets!(WNODE_HEADER, etw::WNODE_HEADER {
        BufferSize = BufferSize, Version = Anonymous1, TimeStamp = Anonymous2, Guid = Guid, Flags = Flags
    });
    offsets!(WNODE_SINGLE_INSTANCE, etw::WNODE_SINGLE_INSTANCE {
        InstanceIndex = InstanceIndex, DataBlockOffset = DataBlockOffset, SizeDataBlock = SizeDataBlock
    });
    offsets!(WNODE_ITEM, etw::WNODE_METHOD_ITEM {
        InstanceIndex = InstanceIndex, ItemId = MethodId, DataBlockOffset = DataBlockOffset, SizeDataBlock = SizeDataBlock
    });
    offsets!(WNODE_ITEM, etw::WNODE_SINGLE_ITEM {
        InstanceIndex = InstanceIndex, ItemId = ItemId, DataBlockOffset = DataBlockOffset, SizeDataBlock = SizeDataItem
    });
    offsets!(WNODE_TOO_SMALL, etw::WNODE_TOO_SMALL { SizeNeeded = SizeNeeded });
    assert_eq!(size_of::<WNODE_TOO_SMALL>(), size_of::<etw::WNODE_TOO_SMALL>());
    assert_eq!(size_of::<WMIREGGUID>(), size_of::<etw::WMIREGGUIDW>());
    assert_eq!(size_of::<WMIREGINFO>(), offset_of!(etw::WMIREGINFOW, WmiRegGuid));
    offsets!(WMIREGGUID, etw::WMIREGGUIDW { Flags = Flags, InstanceCount = InstanceCount, Pdo = Anonymous });
}

/// The metadata comes from headers that lack `IrpExtension`, the last member of the packet's tail.
#[test]
fn records_of_bug_check_callbacks_have_the_layouts_of_microsofts_metadata() {
    same!(KBUGCHECK_CALLBACK_RECORD, services::KBUGCHECK_CALLBACK_RECORD {
        Entry CallbackRoutine Buffer Length Component Checksum State
    });
    same!(KBUGCHECK_REASON_CALLBACK_RECORD, services::KBUGCHECK_REASON_CALLBACK_RECORD {
        Entry CallbackRoutine Component Checksum Reason State
    });
}

#[test]
fn packets_have_the_layouts_of_microsofts_metadata() {
    same!(IO_STATUS_BLOCK, io::IO_STATUS_BLOCK { Information; Status = Anonymous });
    same!(IO_STACK_LOCATION, wdk::IO_STACK_LOCATION {
        MajorFunction MinorFunction Flags Control Parameters DeviceObject FileObject CompletionRoutine Context
    });
    same!(MDL, wdk::MDL { Next Size MdlFlags Process MappedSystemVa StartVa ByteCount ByteOffset });
    same!(IRP, wdk::IRP {
        Type Size MdlAddress Flags ThreadListEntry IoStatus RequestorMode PendingReturned StackCount CurrentLocation
        Cancel CancelIrql ApcEnvironment AllocationFlags UserEvent Overlay CancelRoutine UserBuffer;
        SystemBuffer = AssociatedIrp, UserIosb = Anonymous, DriverContext = Tail, Thread = Tail.Overlay.Thread,
        AuxiliaryBuffer = Tail.Overlay.AuxiliaryBuffer, ListEntry = Tail.Overlay.Anonymous2,
        OriginalFileObject = Tail.Overlay.OriginalFileObject
    });
    assert_eq!(
        offset_of!(IRP, CurrentStackLocation),
        offset_of!(wdk::IRP, Tail.Overlay.Anonymous2) + size_of::<kernel::LIST_ENTRY>()
    );
}

#[test]
fn dispatcher_objects_and_locks_have_the_layouts_of_microsofts_metadata() {
    same!(DISPATCHER_HEADER, wdk::DISPATCHER_HEADER { SignalState WaitListHead; Type = Anonymous });
    same!(KEVENT, wdk::KEVENT { Header });
    same!(KMUTANT, wdk::KMUTANT { Header MutantListEntry OwnerThread ApcDisable; Abandoned = Anonymous });
    same!(KSEMAPHORE, services::KSEMAPHORE { Header Limit });
    same!(KQUEUE, wdk::KQUEUE { Header EntryListHead CurrentCount MaximumCount ThreadListHead });
    assert_eq!(offset_of!(KTIMER, Dpc), offset_of!(services::KTIMER, Dpc));
    assert_eq!(offset_of!(KTIMER, DueTime), offset_of!(services::KTIMER, DueTime));
    assert_eq!(size_of::<KTIMER>(), size_of::<services::KTIMER>());
    same!(KDPC, wdk::KDPC {
        DpcListEntry ProcessorHistory DeferredRoutine DeferredContext SystemArgument1 SystemArgument2 DpcData;
        Type = Anonymous
    });
    same!(KDEVICE_QUEUE, wdk::KDEVICE_QUEUE { Type Size DeviceListHead Lock Busy });
    same!(INTERFACE, services::INTERFACE { Size Version Context InterfaceReference InterfaceDereference });
    same!(KDEVICE_QUEUE_ENTRY, services::KDEVICE_QUEUE_ENTRY { DeviceListEntry SortKey Inserted });
    same!(FAST_MUTEX, wdk::FAST_MUTEX { Count Owner Contention Event OldIrql });
    same!(KLOCK_QUEUE_HANDLE, services::KLOCK_QUEUE_HANDLE {
        OldIrql; Next = LockQueue.Next, Lock = LockQueue.Lock
    });
    same!(IO_REMOVE_LOCK, services::IO_REMOVE_LOCK {
        ; Removed = Common.Removed, IoCount = Common.IoCount, RemoveEvent = Common.RemoveEvent
    });
}

#[test]
fn support_structures_have_the_layouts_of_microsofts_metadata() {
    same!(KSYSTEM_TIME, services::KSYSTEM_TIME { LowPart High1Time High2Time });
    same!(UNICODE_STRING, win32::UNICODE_STRING { Length MaximumLength Buffer });
    same!(STRING, kernel::STRING { Length MaximumLength Buffer });
    same!(LIST_ENTRY, kernel::LIST_ENTRY { Flink Blink });
    same!(SINGLE_LIST_ENTRY, kernel::SINGLE_LIST_ENTRY { Next });
    assert_eq!(size_of::<SLIST_HEADER>(), size_of::<kernel::SLIST_HEADER>());
    same!(CLIENT_ID, programming::CLIENT_ID { UniqueProcess UniqueThread });
    same!(RTL_BITMAP, services::RTL_BITMAP { SizeOfBitMap Buffer });
    same!(WORK_QUEUE_ITEM, wdk::WORK_QUEUE_ITEM { List WorkerRoutine Parameter });
    same!(OBJECT_ATTRIBUTES, wdk::OBJECT_ATTRIBUTES {
        Length RootDirectory ObjectName Attributes SecurityDescriptor SecurityQualityOfService
    });
    same!(OSVERSIONINFOW, information::OSVERSIONINFOW {
        dwOSVersionInfoSize dwMajorVersion dwMinorVersion dwBuildNumber dwPlatformId szCSDVersion
    });
    same!(IO_SECURITY_CONTEXT, wdk::IO_SECURITY_CONTEXT {
        SecurityQos AccessState DesiredAccess FullCreateOptions
    });
    same!(ACCESS_STATE, wdk::ACCESS_STATE {
        OperationID SecurityEvaluated GenerateAudit GenerateOnClose PrivilegesAllocated Flags RemainingDesiredAccess
        PreviouslyGrantedAccess OriginalDesiredAccess SubjectSecurityContext SecurityDescriptor AuxData Privileges
        AuditPrivileges ObjectName ObjectTypeName
    });
    same!(BOOTDISK_INFORMATION, services::BOOTDISK_INFORMATION {
        BootPartitionOffset SystemPartitionOffset BootDeviceSignature SystemDeviceSignature
    });
    same!(BOOTDISK_INFORMATION_EX, services::BOOTDISK_INFORMATION_EX {
        BootDeviceGuid SystemDeviceGuid BootDeviceIsGpt SystemDeviceIsGpt; Disk = BootPartitionOffset
    });
    same!(CONFIGURATION_INFORMATION, services::CONFIGURATION_INFORMATION {
        DiskCount FloppyCount CdRomCount TapeCount ScsiPortCount SerialCount ParallelCount AtDiskPrimaryAddressClaimed
        AtDiskSecondaryAddressClaimed Version MediumChangerCount
    });
    same!(TIME_FIELDS, services::TIME_FIELDS { Year Month Day Hour Minute Second Milliseconds Weekday });
    same!(RTL_QUERY_REGISTRY_TABLE, services::RTL_QUERY_REGISTRY_TABLE {
        QueryRoutine Flags Name EntryContext DefaultType DefaultData DefaultLength
    });
    same!(IO_ERROR_LOG_PACKET, services::IO_ERROR_LOG_PACKET {
        MajorFunctionCode RetryCount DumpDataSize NumberOfStrings StringOffset EventCategory ErrorCode UniqueErrorValue
        FinalStatus SequenceNumber IoControlCode DeviceOffset DumpData
    });
    same!(EVENT_DESCRIPTOR, etw::EVENT_DESCRIPTOR { Id Version Channel Level Opcode Task Keyword });
    same!(EVENT_DATA_DESCRIPTOR, etw::EVENT_DATA_DESCRIPTOR { Ptr Size; Type = Anonymous });
    same!(EVENT_FILTER_DESCRIPTOR, etw::EVENT_FILTER_DESCRIPTOR { Ptr Size Type });
}

#[test]
fn structures_of_the_filtering_platform_have_the_layouts_of_microsofts_metadata() {
    use windows_sys::Win32::NetworkManagement::WindowsFilteringPlatform as wfp;
    same!(FWP_VALUE0, wfp::FWP_VALUE0 { ; Type = r#type, Data = Anonymous });
    same!(FWP_BYTE_BLOB, wfp::FWP_BYTE_BLOB { size data });
    same!(FWP_RANGE0, wfp::FWP_RANGE0 { valueLow valueHigh });
    same!(FWP_V4_ADDR_AND_MASK, wfp::FWP_V4_ADDR_AND_MASK { addr mask });
    same!(FWPM_SESSION0, wfp::FWPM_SESSION0 {
        sessionKey displayData flags txnWaitTimeoutInMSec processId sid username kernelMode
    });
    same!(FWPM_PROVIDER0, wfp::FWPM_PROVIDER0 { providerKey displayData flags providerData serviceName });
    same!(FWPM_SUBLAYER0, wfp::FWPM_SUBLAYER0 { subLayerKey displayData flags providerKey providerData weight });
    same!(FWPM_CALLOUT0, wfp::FWPM_CALLOUT0 {
        calloutKey displayData flags providerKey providerData applicableLayer calloutId
    });
    same!(FWPM_FILTER_CONDITION0, wfp::FWPM_FILTER_CONDITION0 { fieldKey matchType conditionValue });
    same!(FWPM_FILTER0, wfp::FWPM_FILTER0 {
        filterKey displayData flags providerKey providerData layerKey subLayerKey weight numFilterConditions
        filterCondition reserved filterId effectiveWeight; actionType = action, context = Anonymous
    });
}

#[test]
fn arguments_of_exception_handlers_have_the_layouts_of_microsofts_metadata() {
    same!(EXCEPTION_RECORD, debug::EXCEPTION_RECORD {
        ExceptionCode ExceptionFlags ExceptionRecord ExceptionAddress NumberParameters ExceptionInformation
    });
    same!(EXCEPTION_POINTERS, debug::EXCEPTION_POINTERS { ExceptionRecord ContextRecord });
    same!(DISPATCHER_CONTEXT, debug::DISPATCHER_CONTEXT {
        ControlPc ImageBase FunctionEntry EstablisherFrame TargetIp ContextRecord LanguageHandler HandlerData HistoryTable
        ScopeIndex
    });
    same!(CONTEXT, debug::CONTEXT {
        ContextFlags MxCsr SegCs SegDs SegEs SegFs SegGs SegSs EFlags Rip VectorRegister VectorControl DebugControl;
        Home = P1Home, Debug = Dr0, General = Rax, FltSave = Anonymous, LastBranch = LastBranchToRip
    });
    let saved = offset_of!(debug::CONTEXT, Anonymous);
    assert_eq!(offset_of!(CONTEXT, General) + 15 * 8, offset_of!(debug::CONTEXT, R15));
    assert_eq!(offset_of!(CONTEXT, FltSaveMxCsr), saved + offset_of!(debug::XSAVE_FORMAT, MxCsr));
    assert_eq!(offset_of!(CONTEXT, XmmRegisters), saved + offset_of!(debug::XSAVE_FORMAT, XmmRegisters));
}

/// Our structure is shorter: it lacks the last members, which no driver reads.
#[test]
fn the_shared_page_has_the_offsets_of_microsofts_metadata() {
    macro_rules! offsets {
        ($($member:ident)*) => {
            $(assert_eq!(offset_of!(KUSER_SHARED_DATA, $member), offset_of!(services::KUSER_SHARED_DATA, $member), stringify!($member));)*
        };
    }
    offsets!(
        TickCountLowDeprecated TickCountMultiplier InterruptTime SystemTime TimeZoneBias ImageNumberLow ImageNumberHigh
        NtSystemRoot MaxStackTraceDepth CryptoExponent TimeZoneId LargePageMinimum AitSamplingValue AppCompatFlag
        RNGSeedVersion GlobalValidationRunlevel TimeZoneBiasStamp NtBuildNumber NtProductType ProductTypeIsValid
        NativeProcessorArchitecture NtMajorVersion NtMinorVersion ProcessorFeatures TimeSlip AlternativeArchitecture
        BootId SystemExpirationDate SuiteMask KdDebuggerEnabled CyclesPerYield ActiveConsoleId DismountCount
        ComPlusPackage LastSystemRITEventTickCount NumberOfPhysicalPages SafeBootMode DataFlagsPad TestRetInstruction
        QpcFrequency SystemCall SystemCallPad Cookie ConsoleSessionForegroundProcessId TimeUpdateLock
        BaselineSystemTimeQpc QpcSystemTimeIncrementShift UnparkedProcessorCount EnclaveFeatureMask
        TelemetryCoverageRound UserModeGlobalLogger ImageFileExecutionOptions LangGenerationCount InterruptTimeBias
        QpcBias ActiveProcessorCount ActiveGroupCount
    );
    assert_eq!(offset_of!(KUSER_SHARED_DATA, TickCount), offset_of!(services::KUSER_SHARED_DATA, Anonymous4));
}

#[test]
fn arguments_of_notification_routines_have_the_layouts_of_microsofts_metadata() {
    use super::notify::OB_OPERATION_REGISTRATION;
    same!(PS_CREATE_NOTIFY_INFO, services::PS_CREATE_NOTIFY_INFO {
        Size ParentProcessId CreatingThreadId FileObject ImageFileName CommandLine CreationStatus
    });
    same!(IMAGE_INFO, services::IMAGE_INFO { ImageBase ImageSelector ImageSize ImageSectionNumber });
    same!(REG_SET_VALUE_KEY_INFORMATION, services::REG_SET_VALUE_KEY_INFORMATION {
        Object ValueName TitleIndex Type Data DataSize CallContext ObjectContext Reserved
    });
    same!(OB_CALLBACK_REGISTRATION, services::OB_CALLBACK_REGISTRATION {
        Version OperationRegistrationCount Altitude RegistrationContext OperationRegistration
    });
    same!(OB_OPERATION_REGISTRATION, services::OB_OPERATION_REGISTRATION {
        ObjectType Operations PreOperation PostOperation
    });
    same!(OB_PRE_OPERATION_INFORMATION, services::OB_PRE_OPERATION_INFORMATION {
        Operation Object ObjectType CallContext Parameters
    });
    same!(OB_PRE_CREATE_HANDLE_INFORMATION, services::OB_PRE_DUPLICATE_HANDLE_INFORMATION {
        DesiredAccess OriginalDesiredAccess SourceProcess TargetProcess
    });
    same!(OB_POST_OPERATION_INFORMATION, services::OB_POST_OPERATION_INFORMATION {
        Operation Object ObjectType CallContext ReturnStatus Parameters
    });
    same!(TARGET_DEVICE_REMOVAL_NOTIFICATION, services::TARGET_DEVICE_REMOVAL_NOTIFICATION {
        Version Size Event FileObject
    });
}

#[test]
fn structures_of_cng_have_the_layouts_of_microsofts_metadata() {
    same!(BCRYPT_KEY_DATA_BLOB_HEADER, cryptography::BCRYPT_KEY_DATA_BLOB_HEADER { dwMagic dwVersion cbKeyData });
    same!(BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO, cryptography::BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO {
        cbSize dwInfoVersion pbNonce cbNonce pbAuthData cbAuthData pbTag cbTag pbMacContext cbMacContext cbAAD cbData dwFlags
    });
}
