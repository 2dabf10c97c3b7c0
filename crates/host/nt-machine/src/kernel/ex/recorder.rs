//! WPP's recorder (wpprecorder.sys), with which newer kits trace: messages go to a log that a debugger reads. Nobody reads it here,
//! so that nothing is recorded.

use etw_types::NtStatus;

use crate::routine::{ANY, Routine, fixed};

/// There are no logs.
const NO_LOG: u64 = NtStatus::Unsuccessful.as_int() as u64;

pub(super) const ROUTINES: &[Routine] = &[
    fixed("WppAutoLogStart", ANY, 0),
    fixed("WppAutoLogStop", ANY, 0),
    fixed("WppAutoLogTrace", ANY, 0),
    fixed("imp_WppRecorderConfigure", ANY, 0),
    fixed("imp_WppRecorderDumpLiveDriverData", ANY, 0),
    fixed("imp_WppRecorderIsDefaultLogAvailable", ANY, 0),
    fixed("imp_WppRecorderLinkCounters", ANY, 0),
    fixed("imp_WppRecorderLogCreate", ANY, NO_LOG),
    fixed("imp_WppRecorderLogDelete", ANY, 0),
    fixed("imp_WppRecorderLogDumpLiveData", ANY, NO_LOG),
    fixed("imp_WppRecorderLogGetDefault", ANY, 0),
    fixed("imp_WppRecorderLogSetIdentifier", ANY, 0),
    fixed("imp_WppRecorderReplay", ANY, 0),
];
