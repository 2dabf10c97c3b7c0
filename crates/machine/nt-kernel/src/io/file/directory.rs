//! `ZwQueryDirectoryFile`: the files of a folder.

use etw_types::NtStatus;
use nt_processor::layout::{IO_STATUS_BLOCK, UNICODE_STRING};
use nt_processor::memory::{Code, GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{Failure, Ignored, Out, Outcome, PASSIVE, done, fail, routines};

use super::listing::{self, Query};
use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::io::file::Signals;
use crate::{kernel, lock};

routines! { pub(super) ROUTINES;
    /// Drivers for devices do not handle `IRP_MJ_DIRECTORY_CONTROL`, so only folders of the volume have entries.
    #[irql(PASSIVE), fails(NtStatus::InvalidHandle), keeps_nothing]
    fn ZwQueryDirectoryFile(
        handle: KernelHandle,
        event: KernelHandle,
        _routine: Ignored<GuestPtr<Code>>,
        _context: Ignored<GuestPtr<Opaque>>,
        status: Out<IO_STATUS_BLOCK>,
        buffer: GuestSlice<u8>,
        class: i32,
        is_single: bool,
        pattern: GuestPtr<UNICODE_STRING>,
        restarts: bool,
    ) -> Outcome<NtStatus> {
        let Some(file) = object::of_kind(handle, "file") else { return fail(NtStatus::InvalidHandle) };
        if !lock(&kernel().io).volume.has(file) {
            return fail(NtStatus::InvalidDeviceRequest);
        }
        let query = Query { pattern: pattern.text()?, class: class.cast_unsigned(), is_single, restarts };
        let (result, count) = match listing::list(file, &query, buffer.start(), buffer.len() as u32) {
            Err(Failure::Status(status)) => (status, 0),
            listed => listed?,
        };
        Signals { event, status }.finish(result, count)?;
        done(result)
    }
}
