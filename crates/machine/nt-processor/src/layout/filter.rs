//! Structures that minifilters share with the filter manager.

use super::device::FILE_OBJECT;
use super::layout;
use super::packet::IO_STATUS_BLOCK;
use super::string::UNICODE_STRING;
use crate::memory::{Code, GuestPtr, Opaque};

/// A registered minifilter. Only its address means something to drivers, as for the other empty types here.
#[derive(Clone, Copy, Debug)]
pub enum FLT_FILTER {}
/// The attachment of a minifilter to a volume.
#[derive(Clone, Copy, Debug)]
pub enum FLT_INSTANCE {}
/// A volume.
#[derive(Clone, Copy, Debug)]
pub enum FLT_VOLUME {}
/// A server port, or the connection of a client to one.
#[derive(Clone, Copy, Debug)]
pub enum FLT_PORT {}
/// A work item of a minifilter.
#[derive(Clone, Copy, Debug)]
pub enum FLT_WORKITEM {}

layout! {
    FLT_REGISTRATION: 0x70 {
        Size: u16,
        Version: u16,
        Flags: u32,
        ContextRegistration: GuestPtr<FLT_CONTEXT_REGISTRATION>,
        OperationRegistration: GuestPtr<FLT_OPERATION_REGISTRATION>,
        FilterUnloadCallback: GuestPtr<Code>,
        InstanceSetupCallback: GuestPtr<Code>,
        InstanceQueryTeardownCallback: GuestPtr<Code>,
        InstanceTeardownStartCallback: GuestPtr<Code>,
        InstanceTeardownCompleteCallback: GuestPtr<Code>,
        GenerateFileNameCallback: GuestPtr<Code>,
        NormalizeNameComponentCallback: GuestPtr<Code>,
        NormalizeContextCleanupCallback: GuestPtr<Code>,
        TransactionNotificationCallback: GuestPtr<Code>,
        NormalizeNameComponentExCallback: GuestPtr<Code>,
        SectionNotificationCallback: GuestPtr<Code>,
    }

    FLT_OPERATION_REGISTRATION: 0x20 {
        MajorFunction: u8,
        Padding: [u8; 3],
        Flags: u32,
        PreOperation: GuestPtr<Code>,
        PostOperation: GuestPtr<Code>,
        Reserved1: u64,
    }

    FLT_CONTEXT_REGISTRATION: 0x38 {
        ContextType: u16,
        Flags: u16,
        Padding1: u32,
        ContextCleanupCallback: GuestPtr<Code>,
        Size: u64,
        PoolTag: [u8; 4],
        Padding2: u32,
        ContextAllocateCallback: GuestPtr<Code>,
        ContextFreeCallback: GuestPtr<Code>,
        Reserved1: u64,
    }

    FLT_RELATED_OBJECTS: 0x30 {
        Size: u16,
        TransactionContext: u16,
        Padding: u32,
        Filter: GuestPtr<FLT_FILTER>,
        Volume: GuestPtr<FLT_VOLUME>,
        Instance: GuestPtr<FLT_INSTANCE>,
        FileObject: GuestPtr<FILE_OBJECT>,
        Transaction: GuestPtr<Opaque>,
    }

    FLT_CALLBACK_DATA: 0x58 {
        Flags: u32,
        Padding1: u32,
        Thread: GuestPtr<Opaque>,
        Iopb: GuestPtr<FLT_IO_PARAMETER_BLOCK>,
        IoStatus: IO_STATUS_BLOCK,
        TagData: GuestPtr<Opaque>,
        FilterContext: [u64; 4],
        RequestorMode: u8,
        Padding2: [u8; 7],
    }

    /// Each member of the parameters has a word of its own: Microsoft's pages give the shorter ones the alignment of a
    /// pointer. Microsoft's metadata lacks this alignment.
    FLT_IO_PARAMETER_BLOCK: 0x48 {
        IrpFlags: u32,
        MajorFunction: u8,
        MinorFunction: u8,
        OperationFlags: u8,
        Reserved: u8,
        TargetFileObject: GuestPtr<FILE_OBJECT>,
        TargetInstance: GuestPtr<FLT_INSTANCE>,
        Parameters: [u64; 6],
    }

    FLT_FILE_NAME_INFORMATION: 0x78 {
        Size: u16,
        NamesParsed: u16,
        Format: u32,
        Name: UNICODE_STRING,
        Volume: UNICODE_STRING,
        Share: UNICODE_STRING,
        Extension: UNICODE_STRING,
        Stream: UNICODE_STRING,
        FinalComponent: UNICODE_STRING,
        ParentDir: UNICODE_STRING,
    }

    FLT_VOLUME_PROPERTIES: 0x48 {
        DeviceType: u32,
        DeviceCharacteristics: u32,
        DeviceObjectFlags: u32,
        AlignmentRequirement: u32,
        SectorSize: u16,
        Flags: u16,
        Padding: u32,
        FileSystemDriverName: UNICODE_STRING,
        FileSystemDeviceName: UNICODE_STRING,
        RealDeviceName: UNICODE_STRING,
    }

    /// `Csq` is the filter manager's own. Its first word holds the IRQL while the lock is held.
    FLT_CALLBACK_DATA_QUEUE: 0x80 {
        Csq: [u64; 8],
        Flags: u32,
        Padding: u32,
        Instance: GuestPtr<FLT_INSTANCE>,
        InsertIo: GuestPtr<Code>,
        RemoveIo: GuestPtr<Code>,
        PeekNextIo: GuestPtr<Code>,
        Acquire: GuestPtr<Code>,
        Release: GuestPtr<Code>,
        CompleteCanceledIo: GuestPtr<Code>,
    }

    FLT_RELATED_CONTEXTS: 0x30 {
        VolumeContext: GuestPtr<Opaque>,
        InstanceContext: GuestPtr<Opaque>,
        FileContext: GuestPtr<Opaque>,
        StreamContext: GuestPtr<Opaque>,
        StreamHandleContext: GuestPtr<Opaque>,
        TransactionContext: GuestPtr<Opaque>,
    }

    /// What the host keeps in guest memory for an operation.
    FLT_OPERATION: 0xD8 {
        Data: FLT_CALLBACK_DATA,
        Iopb: FLT_IO_PARAMETER_BLOCK,
        Objects: FLT_RELATED_OBJECTS,
        CompletionContext: u64,
    }
}
