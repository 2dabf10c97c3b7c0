//! Compares layouts and values with Microsoft's metadata (the windows-sys crate).

use core::mem::{align_of, offset_of, size_of};

use etw_types::{
    AnsiString, ControlCode, EventDataDescriptor, EventDescriptor, EventFilterDescriptor, EventInfoClass, Guid,
    NtStatus, UnicodeString, Win32Error,
};
use windows_sys::Win32::Foundation as foundation;
use windows_sys::Win32::System::Diagnostics::Etw as etw;
use windows_sys::Win32::System::Kernel::STRING;
use windows_sys::core::GUID;

macro_rules! same_layout {
    ($ours:ty, $theirs:ty) => {
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($theirs));
        assert_eq!(align_of::<$ours>(), align_of::<$theirs>(), stringify!($theirs));
    };
}

#[test]
fn structures_have_the_size_and_alignment_of_the_metadata() {
    same_layout!(Guid, GUID);
    same_layout!(EventDescriptor, etw::EVENT_DESCRIPTOR);
    same_layout!(EventDataDescriptor<'static>, etw::EVENT_DATA_DESCRIPTOR);
    same_layout!(EventFilterDescriptor, etw::EVENT_FILTER_DESCRIPTOR);
    same_layout!(UnicodeString, foundation::UNICODE_STRING);
    same_layout!(AnsiString, STRING);
}

#[test]
fn members_have_the_offsets_of_the_metadata() {
    assert_eq!(offset_of!(EventDescriptor, keyword), offset_of!(etw::EVENT_DESCRIPTOR, Keyword));
    assert_eq!(offset_of!(EventDescriptor, level), offset_of!(etw::EVENT_DESCRIPTOR, Level));
    assert_eq!(offset_of!(EventDescriptor, opcode), offset_of!(etw::EVENT_DESCRIPTOR, Opcode));
    assert_eq!(offset_of!(EventDescriptor, task), offset_of!(etw::EVENT_DESCRIPTOR, Task));
    assert_eq!(offset_of!(EventDescriptor, channel), offset_of!(etw::EVENT_DESCRIPTOR, Channel));
    assert_eq!(offset_of!(EventFilterDescriptor, size), offset_of!(etw::EVENT_FILTER_DESCRIPTOR, Size));
    assert_eq!(offset_of!(EventFilterDescriptor, kind), offset_of!(etw::EVENT_FILTER_DESCRIPTOR, Type));
    assert_eq!(offset_of!(UnicodeString, buffer), offset_of!(foundation::UNICODE_STRING, Buffer));
    assert_eq!(offset_of!(Guid, data4), offset_of!(GUID, data4));
}

#[test]
fn enumerations_have_the_values_of_the_metadata() {
    for (ours, theirs) in [
        (EventInfoClass::BinaryTrackInfo.as_int(), etw::EventProviderBinaryTrackInfo),
        (EventInfoClass::SetReserved1.as_int(), etw::EventProviderSetReserved1),
        (EventInfoClass::SetTraits.as_int(), etw::EventProviderSetTraits),
        (EventInfoClass::UseDescriptorType.as_int(), etw::EventProviderUseDescriptorType),
        (EventInfoClass::MaxEventInfo.as_int(), etw::MaxEventInfo),
    ] {
        assert_eq!(i64::from(ours), i64::from(theirs));
    }
    assert_eq!(ControlCode::EnableProvider.as_int(), etw::EVENT_CONTROL_CODE_ENABLE_PROVIDER);
    assert_eq!(ControlCode::CaptureState.as_int(), etw::EVENT_CONTROL_CODE_CAPTURE_STATE);
}

#[test]
fn statuses_have_the_values_of_the_metadata() {
    for (ours, theirs) in [
        (NtStatus::NotSupported, foundation::STATUS_NOT_SUPPORTED),
        (NtStatus::EntryPointNotFound, foundation::STATUS_ENTRYPOINT_NOT_FOUND),
        (NtStatus::InvalidHandle, foundation::STATUS_INVALID_HANDLE),
        (NtStatus::InvalidParameter, foundation::STATUS_INVALID_PARAMETER),
        (NtStatus::FileCorruptError, foundation::STATUS_FILE_CORRUPT_ERROR),
        (NtStatus::Unsuccessful, foundation::STATUS_UNSUCCESSFUL),
        (NtStatus::InvalidDeviceRequest, foundation::STATUS_INVALID_DEVICE_REQUEST),
        (NtStatus::InsufficientResources, foundation::STATUS_INSUFFICIENT_RESOURCES),
        (NtStatus::NoMemory, foundation::STATUS_NO_MEMORY),
        (NtStatus::IntegerOverflow, foundation::STATUS_INTEGER_OVERFLOW),
        (NtStatus::BufferOverflow, foundation::STATUS_BUFFER_OVERFLOW),
        (NtStatus::BufferTooSmall, foundation::STATUS_BUFFER_TOO_SMALL),
        (NtStatus::AlreadyRegistered, foundation::STATUS_ALREADY_REGISTERED),
        (NtStatus::DeviceBusy, foundation::STATUS_DEVICE_BUSY),
        (NtStatus::InvalidSid, foundation::STATUS_INVALID_SID),
        (NtStatus::PossibleDeadlock, foundation::STATUS_POSSIBLE_DEADLOCK),
        (NtStatus::AccessDenied, foundation::STATUS_ACCESS_DENIED),
        (NtStatus::NotFound, foundation::STATUS_NOT_FOUND),
        (NtStatus::DeviceNotReady, foundation::STATUS_DEVICE_NOT_READY),
        (NtStatus::Cancelled, foundation::STATUS_CANCELLED),
        (NtStatus::NoSuchDevice, foundation::STATUS_NO_SUCH_DEVICE),
        (NtStatus::Timeout, foundation::STATUS_TIMEOUT),
        (NtStatus::Pending, foundation::STATUS_PENDING),
        (NtStatus::ObjectNameExists, foundation::STATUS_OBJECT_NAME_EXISTS),
        (NtStatus::DatatypeMisalignment, foundation::STATUS_DATATYPE_MISALIGNMENT),
        (NtStatus::NoMoreEntries, foundation::STATUS_NO_MORE_ENTRIES),
        (NtStatus::MoreProcessingRequired, foundation::STATUS_MORE_PROCESSING_REQUIRED),
        (NtStatus::IllegalInstruction, foundation::STATUS_ILLEGAL_INSTRUCTION),
        (NtStatus::ObjectTypeMismatch, foundation::STATUS_OBJECT_TYPE_MISMATCH),
        (NtStatus::Unwind, foundation::STATUS_UNWIND),
        (NtStatus::MutantNotOwned, foundation::STATUS_MUTANT_NOT_OWNED),
        (NtStatus::SemaphoreLimitExceeded, foundation::STATUS_SEMAPHORE_LIMIT_EXCEEDED),
        (NtStatus::DeletePending, foundation::STATUS_DELETE_PENDING),
        (NtStatus::RevisionMismatch, foundation::STATUS_REVISION_MISMATCH),
        (NtStatus::ProcedureNotFound, foundation::STATUS_PROCEDURE_NOT_FOUND),
        (NtStatus::InvalidImageFormat, foundation::STATUS_INVALID_IMAGE_FORMAT),
        (NtStatus::IntegerDivideByZero, foundation::STATUS_INTEGER_DIVIDE_BY_ZERO),
        (NtStatus::CannotDelete, foundation::STATUS_CANNOT_DELETE),
        (NtStatus::InvalidDeviceState, foundation::STATUS_INVALID_DEVICE_STATE),
        (NtStatus::DriverEntryPointNotFound, foundation::STATUS_DRIVER_ENTRYPOINT_NOT_FOUND),
        (NtStatus::WmiInstanceNotFound, foundation::STATUS_WMI_INSTANCE_NOT_FOUND),
    ] {
        assert_eq!(ours.as_signed(), theirs, "{ours}");
    }
    for (ours, theirs) in [
        (Win32Error::NotSupported, foundation::ERROR_NOT_SUPPORTED),
        (Win32Error::InvalidHandle, foundation::ERROR_INVALID_HANDLE),
        (Win32Error::InvalidParameter, foundation::ERROR_INVALID_PARAMETER),
        (Win32Error::AlreadyRegistered, foundation::ERROR_ALREADY_REGISTERED),
        (Win32Error::Busy, foundation::ERROR_BUSY),
        (Win32Error::MoreData, foundation::ERROR_MORE_DATA),
        (Win32Error::ArithmeticOverflow, foundation::ERROR_ARITHMETIC_OVERFLOW),
        (Win32Error::NotEnoughMemory, foundation::ERROR_NOT_ENOUGH_MEMORY),
        (Win32Error::InvalidSid, foundation::ERROR_INVALID_SID),
        (Win32Error::FileCorrupt, foundation::ERROR_FILE_CORRUPT),
        (Win32Error::GenFailure, foundation::ERROR_GEN_FAILURE),
        (Win32Error::BadLength, foundation::ERROR_BAD_LENGTH),
        (Win32Error::NoSystemResources, foundation::ERROR_NO_SYSTEM_RESOURCES),
        (Win32Error::PossibleDeadlock, foundation::ERROR_POSSIBLE_DEADLOCK),
        (Win32Error::InsufficientBuffer, foundation::ERROR_INSUFFICIENT_BUFFER),
    ] {
        assert_eq!(ours.as_int(), theirs, "{ours}");
    }
}
