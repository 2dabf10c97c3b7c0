//! Files: a driver may ask for them and is told that there are none.

use super::routine::{PASSIVE, Routine, routine};

const NOT_FOUND: u64 = 0xC000_0034;
const INVALID_HANDLE: u64 = 0xC000_0008;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ZwCreateFile", PASSIVE, |_| NOT_FOUND).fails(0xC000_0034).fixed(),
    routine("ZwOpenFile", PASSIVE, |_| NOT_FOUND).fails(0xC000_0034).fixed(),
    routine("ZwReadFile", PASSIVE, |_| INVALID_HANDLE).fails(0xC000_0008).fixed(),
    routine("ZwWriteFile", PASSIVE, |_| INVALID_HANDLE).fails(0xC000_0008).fixed(),
    routine("ZwQueryInformationFile", PASSIVE, |_| INVALID_HANDLE).fails(0xC000_0008).fixed(),
    routine("ZwSetInformationFile", PASSIVE, |_| INVALID_HANDLE).fails(0xC000_0008).fixed(),
    routine("ZwOpenSection", PASSIVE, |_| NOT_FOUND).fails(0xC000_0034).fixed(),
];
