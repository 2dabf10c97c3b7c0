//! `RtlNtStatusToDosError` for the statuses that the engine returns.

use etw_types::{NtStatus, Win32Error};

/// Returns the Win32 code of a status in user mode. For a status that no routine here returns, it is
/// `ERROR_MR_MID_NOT_FOUND` (317).
#[must_use]
pub const fn win32_from_nt(status: NtStatus) -> Win32Error {
    match status {
        status if status.as_int() == 0 => Win32Error::Success,
        NtStatus::AccessDenied => Win32Error::AccessDenied,
        NtStatus::AlreadyRegistered => Win32Error::AlreadyRegistered,
        NtStatus::BufferOverflow => Win32Error::MoreData,
        NtStatus::BufferTooSmall => Win32Error::InsufficientBuffer,
        NtStatus::DeviceBusy => Win32Error::Busy,
        NtStatus::EntryPointNotFound => Win32Error::ProcNotFound,
        NtStatus::FileCorruptError => Win32Error::FileCorrupt,
        NtStatus::InsufficientResources => Win32Error::NoSystemResources,
        NtStatus::IntegerOverflow => Win32Error::ArithmeticOverflow,
        NtStatus::InvalidDeviceRequest => Win32Error::from_int(1),
        NtStatus::InvalidHandle => Win32Error::InvalidHandle,
        NtStatus::InvalidParameter => Win32Error::InvalidParameter,
        NtStatus::InvalidSid => Win32Error::InvalidSid,
        NtStatus::NoMemory => Win32Error::NotEnoughMemory,
        NtStatus::NotSupported => Win32Error::NotSupported,
        NtStatus::PossibleDeadlock => Win32Error::PossibleDeadlock,
        NtStatus::Unsuccessful => Win32Error::GenFailure,
        _ => Win32Error::from_int(317),
    }
}

#[cfg(test)]
mod tests {
    use etw_types::NtStatus;

    use super::win32_from_nt;

    #[test]
    fn statuses_become_the_codes_that_user_mode_knows() {
        let codes = [
            (NtStatus::Success, 0),
            (NtStatus::InvalidHandle, 6),
            (NtStatus::InvalidParameter, 87),
            (NtStatus::Unsuccessful, 31),
            (NtStatus::FileCorruptError, 1392),
            (NtStatus::InvalidDeviceRequest, 1),
            (NtStatus::InsufficientResources, 1450),
            (NtStatus::NoMemory, 8),
            (NtStatus::IntegerOverflow, 534),
            (NtStatus::BufferOverflow, 234),
            (NtStatus::AccessDenied, 5),
            (NtStatus::NotSupported, 50),
            (NtStatus::from_int(0xC0FF_EE00), 317),
        ];
        for (status, code) in codes {
            assert_eq!(win32_from_nt(status).as_int(), code, "{status:?}");
        }
    }
}
