//! `RtlNtStatusToDosError`.

mod table;

use etw_types::{NtStatus, Win32Error};

use table::{RUNS, UNCHANGED};

/// `ERROR_MR_MID_NOT_FOUND`: the routine's page names it as the result for a status without a Win32 code.
const NOT_FOUND: Win32Error = Win32Error::from_int(317);

/// Returns the Win32 code of a status: `ERROR_MR_MID_NOT_FOUND` (317) if it has none.
#[must_use]
pub fn win32_from_nt(status: NtStatus) -> Win32Error {
    let code = status.as_int();
    if code == 0 || UNCHANGED.contains(&code) {
        return Win32Error::from_int(code);
    }
    let runs = RUNS.partition_point(|(first, _)| *first <= code);
    let run = runs.checked_sub(1).and_then(|index| RUNS.get(index));
    let error = run.and_then(|(first, errors)| errors.get((code - first) as usize));
    error.map_or(NOT_FOUND, |error| Win32Error::from_int(*error))
}

#[cfg(test)]
mod tests {
    use etw_types::NtStatus;

    use super::table::RUNS;
    use super::win32_from_nt;

    /// The codes are those that programs see, on Microsoft's pages of the functions that return them.
    #[test]
    fn statuses_become_the_codes_that_user_mode_knows() {
        let codes = [
            (NtStatus::Success, 0),
            (NtStatus::Pending, 997),
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
            (NtStatus::ObjectNameNotFound, 2),
            (NtStatus::ObjectPathNotFound, 3),
            (NtStatus::Cancelled, 995),
            (NtStatus::IoTimeout, 121),
            (NtStatus::NoSuchDevice, 433),
            (NtStatus::SharingViolation, 32),
            (NtStatus::EndOfFile, 38),
            (NtStatus::from_int(0x8000_0003), 0x8000_0003),
            (NtStatus::from_int(0xC0FF_EE00), 317),
        ];
        for (status, code) in codes {
            assert_eq!(win32_from_nt(status).as_int(), code, "{status:?}");
        }
    }

    #[test]
    fn the_runs_are_sorted_and_apart() {
        for pair in RUNS.windows(2) {
            let [(first, errors), (next, _)] = pair else { panic!("two runs: {pair:?}") };
            let length = u32::try_from(errors.len()).unwrap();
            assert!(first + length < *next, "the run at {first:#X} reaches {next:#X}");
        }
    }

    /// A named status must be a row: the table has all statuses of facility 0 that Windows gives a text.
    #[test]
    fn every_status_of_the_kernel_itself_has_a_code() {
        let known = NtStatus::all().iter().copied().filter(|status| status.as_int() >> 16 == 0xC000);
        let missing: Vec<NtStatus> = known.filter(|status| win32_from_nt(*status).as_int() == 317).collect();
        assert!(missing.is_empty(), "statuses without a row: {missing:?}");
    }
}
