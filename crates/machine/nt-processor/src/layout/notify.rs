//! The arguments of notification routines.

use etw_types::NtStatus;

use super::device::FILE_OBJECT;
use super::layout;
use super::string::UNICODE_STRING;
use super::support::CLIENT_ID;
use crate::memory::{Code, GuestPtr, Opaque};

layout! {
    PS_CREATE_NOTIFY_INFO: 0x48 {
        Size: u64,
        Flags: u32,
        Padding1: u32,
        ParentProcessId: u64,
        CreatingThreadId: CLIENT_ID,
        FileObject: GuestPtr<FILE_OBJECT>,
        ImageFileName: GuestPtr<UNICODE_STRING>,
        CommandLine: GuestPtr<UNICODE_STRING>,
        CreationStatus: NtStatus,
        Padding2: u32,
    }

    IMAGE_INFO: 0x28 {
        Properties: u32,
        Padding1: u32,
        ImageBase: GuestPtr<Opaque>,
        ImageSelector: u32,
        Padding2: u32,
        ImageSize: u64,
        ImageSectionNumber: u32,
        Padding3: u32,
    }

    REG_SET_VALUE_KEY_INFORMATION: 0x40 {
        Object: GuestPtr<Opaque>,
        ValueName: GuestPtr<UNICODE_STRING>,
        TitleIndex: u32,
        Type: u32,
        Data: GuestPtr<u8>,
        DataSize: u32,
        Padding: u32,
        CallContext: u64,
        ObjectContext: u64,
        Reserved: u64,
    }

    REG_DELETE_KEY_INFORMATION: 0x20 {
        Object: GuestPtr<Opaque>,
        CallContext: u64,
        ObjectContext: u64,
        Reserved: u64,
    }

    /// `REG_DELETE_VALUE_KEY_INFORMATION` and `REG_RENAME_KEY_INFORMATION`.
    REG_NAME_KEY_INFORMATION: 0x28 {
        Object: GuestPtr<Opaque>,
        Name: GuestPtr<UNICODE_STRING>,
        CallContext: u64,
        ObjectContext: u64,
        Reserved: u64,
    }

    REG_QUERY_VALUE_KEY_INFORMATION: 0x48 {
        Object: GuestPtr<Opaque>,
        ValueName: GuestPtr<UNICODE_STRING>,
        KeyValueInformationClass: u32,
        Padding1: u32,
        KeyValueInformation: GuestPtr<Opaque>,
        Length: u32,
        Padding2: u32,
        ResultLength: GuestPtr<u32>,
        CallContext: u64,
        ObjectContext: u64,
        Reserved: u64,
    }

    /// Also for keys that are opened.
    REG_CREATE_KEY_INFORMATION: 0x70 {
        CompleteName: GuestPtr<UNICODE_STRING>,
        RootObject: GuestPtr<Opaque>,
        ObjectType: GuestPtr<Opaque>,
        CreateOptions: u32,
        Padding: u32,
        Class: GuestPtr<UNICODE_STRING>,
        SecurityDescriptor: GuestPtr<Opaque>,
        SecurityQualityOfService: GuestPtr<Opaque>,
        DesiredAccess: u32,
        GrantedAccess: u32,
        Disposition: GuestPtr<u32>,
        ResultObject: GuestPtr<Opaque>,
        CallContext: u64,
        RootObjectContext: u64,
        Transaction: u64,
        Reserved: u64,
    }

    REG_POST_OPERATION_INFORMATION: 0x38 {
        Object: GuestPtr<Opaque>,
        Status: NtStatus,
        Padding1: u32,
        PreInformation: GuestPtr<Opaque>,
        ReturnStatus: NtStatus,
        Padding2: u32,
        CallContext: u64,
        ObjectContext: u64,
        Reserved: u64,
    }

    OB_CALLBACK_REGISTRATION: 0x28 {
        Version: u16,
        OperationRegistrationCount: u16,
        Padding: u32,
        Altitude: UNICODE_STRING,
        RegistrationContext: u64,
        OperationRegistration: GuestPtr<OB_OPERATION_REGISTRATION>,
    }

    OB_OPERATION_REGISTRATION: 0x20 {
        ObjectType: GuestPtr<GuestPtr<Opaque>>,
        Operations: u32,
        Padding: u32,
        PreOperation: GuestPtr<Code>,
        PostOperation: GuestPtr<Code>,
    }

    OB_PRE_OPERATION_INFORMATION: 0x28 {
        Operation: u32,
        Flags: u32,
        Object: GuestPtr<Opaque>,
        ObjectType: GuestPtr<Opaque>,
        CallContext: u64,
        Parameters: GuestPtr<OB_PRE_CREATE_HANDLE_INFORMATION>,
    }

    /// Also the beginning of `OB_PRE_DUPLICATE_HANDLE_INFORMATION`.
    OB_PRE_CREATE_HANDLE_INFORMATION: 0x18 {
        DesiredAccess: u32,
        OriginalDesiredAccess: u32,
        SourceProcess: GuestPtr<Opaque>,
        TargetProcess: GuestPtr<Opaque>,
    }

    TARGET_DEVICE_REMOVAL_NOTIFICATION: 0x20 {
        Version: u16,
        Size: u16,
        Event: [u8; 16],
        Padding: u32,
        FileObject: GuestPtr<FILE_OBJECT>,
    }

    OB_POST_OPERATION_INFORMATION: 0x30 {
        Operation: u32,
        Flags: u32,
        Object: GuestPtr<Opaque>,
        ObjectType: GuestPtr<Opaque>,
        CallContext: u64,
        ReturnStatus: NtStatus,
        Padding: u32,
        Parameters: GuestPtr<u32>,
    }
}
