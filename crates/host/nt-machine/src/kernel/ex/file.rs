//! Files and sections: there are none.

use etw_types::NtStatus;

use crate::routine::{PASSIVE, Routine, fixed};

const fn missing(name: &'static str, status: NtStatus) -> Routine {
    fixed(name, PASSIVE, status.as_int() as u64).fails(status)
}

pub(super) const ROUTINES: &[Routine] = &[
    missing("ZwCreateFile", NtStatus::ObjectNameNotFound),
    missing("ZwOpenFile", NtStatus::ObjectNameNotFound),
    missing("ZwReadFile", NtStatus::InvalidHandle),
    missing("ZwWriteFile", NtStatus::InvalidHandle),
    missing("ZwQueryInformationFile", NtStatus::InvalidHandle),
    missing("ZwSetInformationFile", NtStatus::InvalidHandle),
    missing("ZwOpenSection", NtStatus::ObjectNameNotFound),
];
