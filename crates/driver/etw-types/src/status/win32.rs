//! Win32 error codes.

use core::fmt;

use super::{status_newtype, write_name};

status_newtype! {
    /// A Win32 error code, as user-mode ETW functions return it.
    Win32Error {
        Success = 0 "ERROR_SUCCESS",
        InvalidFunction = 1 "ERROR_INVALID_FUNCTION",
        FileNotFound = 2 "ERROR_FILE_NOT_FOUND",
        PathNotFound = 3 "ERROR_PATH_NOT_FOUND",
        AccessDenied = 5 "ERROR_ACCESS_DENIED",
        InvalidHandle = 6 "ERROR_INVALID_HANDLE",
        NotEnoughMemory = 8 "ERROR_NOT_ENOUGH_MEMORY",
        OutOfMemory = 14 "ERROR_OUTOFMEMORY",
        BadLength = 24 "ERROR_BAD_LENGTH",
        GenFailure = 31 "ERROR_GEN_FAILURE",
        NotSupported = 50 "ERROR_NOT_SUPPORTED",
        InvalidParameter = 87 "ERROR_INVALID_PARAMETER",
        DiskFull = 112 "ERROR_DISK_FULL",
        CallNotImplemented = 120 "ERROR_CALL_NOT_IMPLEMENTED",
        InsufficientBuffer = 122 "ERROR_INSUFFICIENT_BUFFER",
        ModNotFound = 126 "ERROR_MOD_NOT_FOUND",
        ProcNotFound = 127 "ERROR_PROC_NOT_FOUND",
        BadPathname = 161 "ERROR_BAD_PATHNAME",
        Busy = 170 "ERROR_BUSY",
        AlreadyExists = 183 "ERROR_ALREADY_EXISTS",
        MoreData = 234 "ERROR_MORE_DATA",
        ArithmeticOverflow = 534 "ERROR_ARITHMETIC_OVERFLOW",
        SystemProcessTerminated = 591 "ERROR_SYSTEM_PROCESS_TERMINATED",
        ProcessAborted = 1067 "ERROR_PROCESS_ABORTED",
        PossibleDeadlock = 1131 "ERROR_POSSIBLE_DEADLOCK",
        NotFound = 1168 "ERROR_NOT_FOUND",
        Cancelled = 1223 "ERROR_CANCELLED",
        AlreadyRegistered = 1242 "ERROR_ALREADY_REGISTERED",
        PrivilegeNotHeld = 1314 "ERROR_PRIVILEGE_NOT_HELD",
        InvalidSid = 1337 "ERROR_INVALID_SID",
        FileCorrupt = 1392 "ERROR_FILE_CORRUPT",
        NoSystemResources = 1450 "ERROR_NO_SYSTEM_RESOURCES",
        Timeout = 1460 "ERROR_TIMEOUT",
        ActiveConnections = 2402 "ERROR_ACTIVE_CONNECTIONS",
        WmiInstanceNotFound = 4201 "ERROR_WMI_INSTANCE_NOT_FOUND",
    }
}

impl Win32Error {
    /// Returns whether the code is `ERROR_SUCCESS`.
    #[must_use]
    #[inline(always)]
    pub const fn is_success(self) -> bool {
        self.as_int() == 0
    }
}

impl fmt::Display for Win32Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_int())?;
        write_name(f, self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::Win32Error;

    #[test]
    fn only_zero_is_a_success() {
        assert_eq!(Win32Error::Success.ok(), Ok(()));
        assert_eq!(Win32Error::InvalidFunction.ok(), Err(Win32Error::InvalidFunction));
    }

    #[test]
    fn a_code_is_shown_as_a_decimal_number_with_its_name() {
        assert_eq!(Win32Error::InvalidParameter.to_string(), "87 ERROR_INVALID_PARAMETER");
        assert_eq!(Win32Error::from_int(999).to_string(), "999");
    }
}
