//! The WPP recorder (wpprecorder.sys), which newer kits use for tracing: messages go to a log that a debugger reads.
//! There is no debugger here, so nothing is recorded.

use etw_types::NtStatus;
use nt_processor::memory::{GuestPtr, Opaque};
use nt_verifier::routine::{ANY, Ignored, Rest, WPP_RECORDER, routines};

/// The status of routines for logs, which do not exist here.
const NO_LOG: NtStatus = NtStatus::Unsuccessful;

/// A pointer to something that only the recorder uses: its control block, a log, parameters, or a place for a result.
type Unused = Ignored<GuestPtr<Opaque>>;

routines! { pub(super) ROUTINES;
    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn WppAutoLogStart(_control: Unused, _driver: Unused, _registry_path: Unused) {}

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn WppAutoLogStop(_control: Unused, _driver: Unused) {}

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn WppAutoLogTrace(
        _log: Unused,
        _level: Ignored<u8>,
        _flags: Ignored<u32>,
        _guid: Unused,
        _message: Ignored<u16>,
        _arguments: Rest,
    ) -> NtStatus {
        NtStatus::Success
    }

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderConfigure(_control: Unused, _parameters: Unused) {}

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderDumpLiveDriverData(_control: Unused, _buffer: Unused, _length: Unused, _guid: Unused) {}

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderIsDefaultLogAvailable(_control: Unused) -> bool {
        false
    }

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderLinkCounters(_control: Unused, _owner: Unused) -> NtStatus {
        NtStatus::Success
    }

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderLogCreate(_control: Unused, _parameters: Unused, _log: Unused) -> NtStatus {
        NO_LOG
    }

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderLogDelete(_control: Unused, _log: Unused) {}

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderLogDumpLiveData(_control: Unused, _log: Unused, _buffer: Unused, _length: Unused) -> NtStatus {
        NO_LOG
    }

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderLogGetDefault(_control: Unused) -> GuestPtr<Opaque> {
        GuestPtr::NULL
    }

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderLogSetIdentifier(_control: Unused, _log: Unused, _identifier: Unused) -> NtStatus {
        NtStatus::Success
    }

    #[irql(ANY), module(WPP_RECORDER), fixed]
    fn imp_WppRecorderReplay(_control: Unused, _logger: Ignored<u64>, _flags: Ignored<u32>, _level: Ignored<u8>) {}
}
