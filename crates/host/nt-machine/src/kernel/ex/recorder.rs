//! The WPP recorder (wpprecorder.sys), which newer kits use for tracing: messages go to a log that a debugger reads.
//! There is no debugger here, so nothing is recorded.

use etw_types::NtStatus;

use crate::routine::{ANY, Routine, fixed};

/// The status of routines for logs, which do not exist here.
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
