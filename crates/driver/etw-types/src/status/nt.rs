//! `NTSTATUS`.

use core::fmt;

use super::{status_newtype, write_code, write_name};

status_newtype! {
    /// An `NTSTATUS`, as kernel functions return it.
    ///
    /// ```
    /// use etw_types::NtStatus;
    ///
    /// assert_eq!(NtStatus::NotSupported.to_string(), "0xC00000BB STATUS_NOT_SUPPORTED");
    /// assert!(NtStatus::NotSupported.ok().is_err());
    /// ```
    NtStatus {
        Success = 0x0000_0000 "STATUS_SUCCESS",
        Abandoned = 0x0000_0080 "STATUS_ABANDONED",
        Timeout = 0x0000_0102 "STATUS_TIMEOUT",
        Pending = 0x0000_0103 "STATUS_PENDING",
        Reparse = 0x0000_0104 "STATUS_REPARSE",
        MoreEntries = 0x0000_0105 "STATUS_MORE_ENTRIES",
        SomeNotMapped = 0x0000_0107 "STATUS_SOME_NOT_MAPPED",
        NotifyCleanup = 0x0000_010B "STATUS_NOTIFY_CLEANUP",
        NotifyEnumDir = 0x0000_010C "STATUS_NOTIFY_ENUM_DIR",
        ObjectNameExists = 0x4000_0000 "STATUS_OBJECT_NAME_EXISTS",
        DatatypeMisalignment = 0x8000_0002 "STATUS_DATATYPE_MISALIGNMENT",
        BufferOverflow = 0x8000_0005 "STATUS_BUFFER_OVERFLOW",
        NoMoreFiles = 0x8000_0006 "STATUS_NO_MORE_FILES",
        DeviceBusy = 0x8000_0011 "STATUS_DEVICE_BUSY",
        NoMoreEntries = 0x8000_001A "STATUS_NO_MORE_ENTRIES",
        Unsuccessful = 0xC000_0001 "STATUS_UNSUCCESSFUL",
        NotImplemented = 0xC000_0002 "STATUS_NOT_IMPLEMENTED",
        InvalidInfoClass = 0xC000_0003 "STATUS_INVALID_INFO_CLASS",
        InfoLengthMismatch = 0xC000_0004 "STATUS_INFO_LENGTH_MISMATCH",
        AccessViolation = 0xC000_0005 "STATUS_ACCESS_VIOLATION",
        InvalidHandle = 0xC000_0008 "STATUS_INVALID_HANDLE",
        InvalidCid = 0xC000_000B "STATUS_INVALID_CID",
        InvalidParameter = 0xC000_000D "STATUS_INVALID_PARAMETER",
        NoSuchDevice = 0xC000_000E "STATUS_NO_SUCH_DEVICE",
        NoSuchFile = 0xC000_000F "STATUS_NO_SUCH_FILE",
        InvalidDeviceRequest = 0xC000_0010 "STATUS_INVALID_DEVICE_REQUEST",
        EndOfFile = 0xC000_0011 "STATUS_END_OF_FILE",
        MoreProcessingRequired = 0xC000_0016 "STATUS_MORE_PROCESSING_REQUIRED",
        NoMemory = 0xC000_0017 "STATUS_NO_MEMORY",
        ConflictingAddresses = 0xC000_0018 "STATUS_CONFLICTING_ADDRESSES",
        NotMappedView = 0xC000_0019 "STATUS_NOT_MAPPED_VIEW",
        IllegalInstruction = 0xC000_001D "STATUS_ILLEGAL_INSTRUCTION",
        AccessDenied = 0xC000_0022 "STATUS_ACCESS_DENIED",
        BufferTooSmall = 0xC000_0023 "STATUS_BUFFER_TOO_SMALL",
        ObjectTypeMismatch = 0xC000_0024 "STATUS_OBJECT_TYPE_MISMATCH",
        Unwind = 0xC000_0027 "STATUS_UNWIND",
        InvalidParameterMix = 0xC000_0030 "STATUS_INVALID_PARAMETER_MIX",
        ObjectNameNotFound = 0xC000_0034 "STATUS_OBJECT_NAME_NOT_FOUND",
        ObjectNameCollision = 0xC000_0035 "STATUS_OBJECT_NAME_COLLISION",
        PortDisconnected = 0xC000_0037 "STATUS_PORT_DISCONNECTED",
        ObjectPathNotFound = 0xC000_003A "STATUS_OBJECT_PATH_NOT_FOUND",
        ObjectPathSyntaxBad = 0xC000_003B "STATUS_OBJECT_PATH_SYNTAX_BAD",
        SharingViolation = 0xC000_0043 "STATUS_SHARING_VIOLATION",
        MutantNotOwned = 0xC000_0046 "STATUS_MUTANT_NOT_OWNED",
        SemaphoreLimitExceeded = 0xC000_0047 "STATUS_SEMAPHORE_LIMIT_EXCEEDED",
        DeletePending = 0xC000_0056 "STATUS_DELETE_PENDING",
        UnknownRevision = 0xC000_0058 "STATUS_UNKNOWN_REVISION",
        RevisionMismatch = 0xC000_0059 "STATUS_REVISION_MISMATCH",
        PrivilegeNotHeld = 0xC000_0061 "STATUS_PRIVILEGE_NOT_HELD",
        InvalidSid = 0xC000_0078 "STATUS_INVALID_SID",
        InvalidSecurityDescr = 0xC000_0079 "STATUS_INVALID_SECURITY_DESCR",
        ProcedureNotFound = 0xC000_007A "STATUS_PROCEDURE_NOT_FOUND",
        InvalidImageFormat = 0xC000_007B "STATUS_INVALID_IMAGE_FORMAT",
        DiskFull = 0xC000_007F "STATUS_DISK_FULL",
        ResourceDataNotFound = 0xC000_0089 "STATUS_RESOURCE_DATA_NOT_FOUND",
        ArrayBoundsExceeded = 0xC000_008C "STATUS_ARRAY_BOUNDS_EXCEEDED",
        IntegerDivideByZero = 0xC000_0094 "STATUS_INTEGER_DIVIDE_BY_ZERO",
        IntegerOverflow = 0xC000_0095 "STATUS_INTEGER_OVERFLOW",
        AllottedSpaceExceeded = 0xC000_0099 "STATUS_ALLOTTED_SPACE_EXCEEDED",
        InsufficientResources = 0xC000_009A "STATUS_INSUFFICIENT_RESOURCES",
        DevicePowerFailure = 0xC000_009E "STATUS_DEVICE_POWER_FAILURE",
        MemoryNotAllocated = 0xC000_00A0 "STATUS_MEMORY_NOT_ALLOCATED",
        DeviceNotReady = 0xC000_00A3 "STATUS_DEVICE_NOT_READY",
        IoTimeout = 0xC000_00B5 "STATUS_IO_TIMEOUT",
        FileIsADirectory = 0xC000_00BA "STATUS_FILE_IS_A_DIRECTORY",
        NotSupported = 0xC000_00BB "STATUS_NOT_SUPPORTED",
        RequestNotAccepted = 0xC000_00D0 "STATUS_REQUEST_NOT_ACCEPTED",
        InternalError = 0xC000_00E5 "STATUS_INTERNAL_ERROR",
        BadDescriptorFormat = 0xC000_00E7 "STATUS_BAD_DESCRIPTOR_FORMAT",
        InvalidUserBuffer = 0xC000_00E8 "STATUS_INVALID_USER_BUFFER",
        InvalidParameter4 = 0xC000_00F2 "STATUS_INVALID_PARAMETER_4",
        InvalidParameter5 = 0xC000_00F3 "STATUS_INVALID_PARAMETER_5",
        DirectoryNotEmpty = 0xC000_0101 "STATUS_DIRECTORY_NOT_EMPTY",
        FileCorruptError = 0xC000_0102 "STATUS_FILE_CORRUPT_ERROR",
        NotADirectory = 0xC000_0103 "STATUS_NOT_A_DIRECTORY",
        NameTooLong = 0xC000_0106 "STATUS_NAME_TOO_LONG",
        ImageAlreadyLoaded = 0xC000_010E "STATUS_IMAGE_ALREADY_LOADED",
        Cancelled = 0xC000_0120 "STATUS_CANCELLED",
        CannotDelete = 0xC000_0121 "STATUS_CANNOT_DELETE",
        EntryPointNotFound = 0xC000_0139 "STATUS_ENTRYPOINT_NOT_FOUND",
        KeyDeleted = 0xC000_017C "STATUS_KEY_DELETED",
        InvalidDeviceState = 0xC000_0184 "STATUS_INVALID_DEVICE_STATE",
        TooLate = 0xC000_0189 "STATUS_TOO_LATE",
        PossibleDeadlock = 0xC000_0194 "STATUS_POSSIBLE_DEADLOCK",
        InvalidBufferSize = 0xC000_0206 "STATUS_INVALID_BUFFER_SIZE",
        NotFound = 0xC000_0225 "STATUS_NOT_FOUND",
        ConnectionCountLimit = 0xC000_0246 "STATUS_CONNECTION_COUNT_LIMIT",
        DriverEntryPointNotFound = 0xC000_0263 "STATUS_DRIVER_ENTRYPOINT_NOT_FOUND",
        WmiGuidNotFound = 0xC000_0295 "STATUS_WMI_GUID_NOT_FOUND",
        WmiInstanceNotFound = 0xC000_0296 "STATUS_WMI_INSTANCE_NOT_FOUND",
        WmiItemIdNotFound = 0xC000_0297 "STATUS_WMI_ITEMID_NOT_FOUND",
        WmiReadOnly = 0xC000_02C6 "STATUS_WMI_READ_ONLY",
        WmiSetFailure = 0xC000_02C7 "STATUS_WMI_SET_FAILURE",
        PowerStateInvalid = 0xC000_02D3 "STATUS_POWER_STATE_INVALID",
        DebuggerInactive = 0xC000_0354 "STATUS_DEBUGGER_INACTIVE",
        CallbackBypass = 0xC000_0503 "STATUS_CALLBACK_BYPASS",
        AlreadyRegistered = 0xC000_0718 "STATUS_ALREADY_REGISTERED",
        AuthTagMismatch = 0xC000_A002 "STATUS_AUTH_TAG_MISMATCH",
        FltContextAlreadyDefined = 0xC01C_0002 "STATUS_FLT_CONTEXT_ALREADY_DEFINED",
        FltInvalidNameRequest = 0xC01C_0005 "STATUS_FLT_INVALID_NAME_REQUEST",
        FltDeletingObject = 0xC01C_000B "STATUS_FLT_DELETING_OBJECT",
        FltCbdqDisabled = 0xC01C_000E "STATUS_FLT_CBDQ_DISABLED",
        FltDoNotAttach = 0xC01C_000F "STATUS_FLT_DO_NOT_ATTACH",
        FltDoNotDetach = 0xC01C_0010 "STATUS_FLT_DO_NOT_DETACH",
        FltInstanceAltitudeCollision = 0xC01C_0011 "STATUS_FLT_INSTANCE_ALTITUDE_COLLISION",
        FltFilterNotFound = 0xC01C_0013 "STATUS_FLT_FILTER_NOT_FOUND",
        FltVolumeNotFound = 0xC01C_0014 "STATUS_FLT_VOLUME_NOT_FOUND",
        FltInstanceNotFound = 0xC01C_0015 "STATUS_FLT_INSTANCE_NOT_FOUND",
        FltContextAllocationNotFound = 0xC01C_0016 "STATUS_FLT_CONTEXT_ALLOCATION_NOT_FOUND",
        FltNameCacheMiss = 0xC01C_0018 "STATUS_FLT_NAME_CACHE_MISS",
        FltContextAlreadyLinked = 0xC01C_001C "STATUS_FLT_CONTEXT_ALREADY_LINKED",
        WdfInternalError = 0xC020_0201 "STATUS_WDF_INTERNAL_ERROR",
        WdfPaused = 0xC020_0203 "STATUS_WDF_PAUSED",
        WdfBusy = 0xC020_0204 "STATUS_WDF_BUSY",
        WdfRequestInvalidState = 0xC020_0208 "STATUS_WDF_REQUEST_INVALID_STATE",
        WdfObjectAttributesInvalid = 0xC020_0209 "STATUS_WDF_OBJECT_ATTRIBUTES_INVALID",
        WdfNoCallback = 0xC020_020B "STATUS_WDF_NO_CALLBACK",
        WdfIncompatibleExecutionLevel = 0xC020_020C "STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL",
        WdfParentAssignmentNotAllowed = 0xC020_020F "STATUS_WDF_PARENT_ASSIGNMENT_NOT_ALLOWED",
        WdfSynchronizationScopeInvalid = 0xC020_0210 "STATUS_WDF_SYNCHRONIZATION_SCOPE_INVALID",
        WdfExecutionLevelInvalid = 0xC020_0211 "STATUS_WDF_EXECUTION_LEVEL_INVALID",
        WdfParentNotSpecified = 0xC020_0212 "STATUS_WDF_PARENT_NOT_SPECIFIED",
        WdfNotEnoughMapRegisters = 0xC020_0214 "STATUS_WDF_NOT_ENOUGH_MAP_REGISTERS",
        FwpCalloutNotFound = 0xC022_0001 "STATUS_FWP_CALLOUT_NOT_FOUND",
        FwpConditionNotFound = 0xC022_0002 "STATUS_FWP_CONDITION_NOT_FOUND",
        FwpFilterNotFound = 0xC022_0003 "STATUS_FWP_FILTER_NOT_FOUND",
        FwpLayerNotFound = 0xC022_0004 "STATUS_FWP_LAYER_NOT_FOUND",
        FwpProviderNotFound = 0xC022_0005 "STATUS_FWP_PROVIDER_NOT_FOUND",
        FwpSublayerNotFound = 0xC022_0007 "STATUS_FWP_SUBLAYER_NOT_FOUND",
        FwpAlreadyExists = 0xC022_0009 "STATUS_FWP_ALREADY_EXISTS",
        FwpInUse = 0xC022_000A "STATUS_FWP_IN_USE",
        FwpNoTxnInProgress = 0xC022_000D "STATUS_FWP_NO_TXN_IN_PROGRESS",
        FwpTxnInProgress = 0xC022_000E "STATUS_FWP_TXN_IN_PROGRESS",
        FwpNullPointer = 0xC022_001C "STATUS_FWP_NULL_POINTER",
        FwpInvalidActionType = 0xC022_0024 "STATUS_FWP_INVALID_ACTION_TYPE",
        FwpInjectHandleClosing = 0xC022_0101 "STATUS_FWP_INJECT_HANDLE_CLOSING",
        FwpInjectHandleStale = 0xC022_0102 "STATUS_FWP_INJECT_HANDLE_STALE",
        FwpCannotPend = 0xC022_0103 "STATUS_FWP_CANNOT_PEND",
    }
}

impl NtStatus {
    /// `NT_SUCCESS`: returns whether this is a success or informational code, that is, whether the highest bit is
    /// clear.
    #[must_use]
    #[inline(always)]
    #[doc(alias = "NT_SUCCESS")]
    pub const fn is_success(self) -> bool {
        self.as_int() & 0x8000_0000 == 0
    }

    /// `NT_ERROR`: returns whether both high bits are set.
    #[must_use]
    #[inline(always)]
    pub const fn is_error(self) -> bool {
        self.as_int() >> 30 == 3
    }

    /// Converts from the signed `NTSTATUS` of C headers and bindings.
    #[must_use]
    #[inline(always)]
    pub const fn from_signed(code: i32) -> Self {
        Self::from_int(code.cast_unsigned())
    }

    /// Converts to the signed `NTSTATUS` of C headers and bindings.
    #[must_use]
    #[inline(always)]
    pub const fn as_signed(self) -> i32 {
        self.as_int().cast_signed()
    }
}

impl fmt::Display for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_code(f, self.as_int())?;
        write_name(f, self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::NtStatus;

    #[test]
    fn debug_prints_code_and_name() {
        assert_eq!(format!("{:?}", NtStatus::EntryPointNotFound), "NtStatus(0xC0000139 STATUS_ENTRYPOINT_NOT_FOUND)");
        assert_eq!(format!("{:?}", NtStatus::from_int(0xC0FF_EE00)), "NtStatus(0xC0FFEE00)");
    }

    #[test]
    fn warnings_and_errors_are_not_success_but_informational_codes_are() {
        assert!(NtStatus::Success.is_success());
        assert!(NtStatus::from_int(0x4000_0000).is_success());
        assert!(!NtStatus::BufferOverflow.is_success());
        assert_eq!(NtStatus::InvalidHandle.ok(), Err(NtStatus::InvalidHandle));
    }

    #[test]
    fn signed_codes_round_trip() {
        assert_eq!(NtStatus::from_signed(-1_073_741_637), NtStatus::NotSupported);
        assert_eq!(NtStatus::NotSupported.as_signed(), -1_073_741_637);
    }
}
