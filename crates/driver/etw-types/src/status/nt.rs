//! `NTSTATUS`.

use core::fmt;

use super::status_newtype;

status_newtype! {
    /// An `NTSTATUS`: the kernel's answer.
    ///
    /// ```
    /// use etw_types::NtStatus;
    ///
    /// assert_eq!(NtStatus::NotSupported.to_string(), "0xC00000BB STATUS_NOT_SUPPORTED");
    /// assert!(NtStatus::NotSupported.ok().is_err());
    /// ```
    NtStatus {
        Success = 0x0000_0000 "STATUS_SUCCESS",
        BufferOverflow = 0x8000_0005 "STATUS_BUFFER_OVERFLOW",
        DeviceBusy = 0x8000_0011 "STATUS_DEVICE_BUSY",
        Unsuccessful = 0xC000_0001 "STATUS_UNSUCCESSFUL",
        NotImplemented = 0xC000_0002 "STATUS_NOT_IMPLEMENTED",
        InvalidInfoClass = 0xC000_0003 "STATUS_INVALID_INFO_CLASS",
        InfoLengthMismatch = 0xC000_0004 "STATUS_INFO_LENGTH_MISMATCH",
        AccessViolation = 0xC000_0005 "STATUS_ACCESS_VIOLATION",
        InvalidHandle = 0xC000_0008 "STATUS_INVALID_HANDLE",
        InvalidParameter = 0xC000_000D "STATUS_INVALID_PARAMETER",
        NoSuchDevice = 0xC000_000E "STATUS_NO_SUCH_DEVICE",
        InvalidDeviceRequest = 0xC000_0010 "STATUS_INVALID_DEVICE_REQUEST",
        NoMemory = 0xC000_0017 "STATUS_NO_MEMORY",
        AccessDenied = 0xC000_0022 "STATUS_ACCESS_DENIED",
        BufferTooSmall = 0xC000_0023 "STATUS_BUFFER_TOO_SMALL",
        ObjectNameNotFound = 0xC000_0034 "STATUS_OBJECT_NAME_NOT_FOUND",
        ObjectNameCollision = 0xC000_0035 "STATUS_OBJECT_NAME_COLLISION",
        InvalidSid = 0xC000_0078 "STATUS_INVALID_SID",
        IntegerOverflow = 0xC000_0095 "STATUS_INTEGER_OVERFLOW",
        InsufficientResources = 0xC000_009A "STATUS_INSUFFICIENT_RESOURCES",
        NotSupported = 0xC000_00BB "STATUS_NOT_SUPPORTED",
        FileCorruptError = 0xC000_0102 "STATUS_FILE_CORRUPT_ERROR",
        Cancelled = 0xC000_0120 "STATUS_CANCELLED",
        EntryPointNotFound = 0xC000_0139 "STATUS_ENTRYPOINT_NOT_FOUND",
        DeviceNotReady = 0xC000_00A3 "STATUS_DEVICE_NOT_READY",
        PossibleDeadlock = 0xC000_0194 "STATUS_POSSIBLE_DEADLOCK",
        NotFound = 0xC000_0225 "STATUS_NOT_FOUND",
        AlreadyRegistered = 0xC000_0718 "STATUS_ALREADY_REGISTERED",
    }
}

impl NtStatus {
    /// `NT_SUCCESS`: success and informational codes, that is the upper bit clear.
    #[must_use]
    #[inline(always)]
    pub const fn is_success(self) -> bool {
        self.as_int() & 0x8000_0000 == 0
    }

    /// From the signed `NTSTATUS` of C headers and bindings.
    #[must_use]
    #[inline(always)]
    pub const fn from_signed(code: i32) -> Self {
        Self::from_int(code.cast_unsigned())
    }

    /// As the signed `NTSTATUS` of C headers and bindings.
    #[must_use]
    #[inline(always)]
    pub const fn as_signed(self) -> i32 {
        self.as_int().cast_signed()
    }
}

impl fmt::Display for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}", Hex(self.as_int()))?;
        self.name().map_or(Ok(()), |name| write!(f, " {name}"))
    }
}

/// Hexadecimal with a lower-case prefix and upper-case digits, as status codes are usually written.
pub(crate) struct Hex(pub(crate) u32);

impl fmt::UpperHex for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08X}", self.0)
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
