//! Drivers that wait for changes of registry keys (`ZwNotifyChangeKey`).

use std::sync::{Arc, OnceLock};

use etw_types::NtStatus;
use nt_processor::layout::{IO_STATUS_BLOCK, KEVENT, WORK_QUEUE_ITEM};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::{Out, PASSIVE};

use crate::ex::handle::KernelHandle;
use crate::sync::event;
use crate::sync::worker::submit;
use crate::{call_back, kernel};

/// A call that waits for a change.
#[derive(Clone)]
pub(super) struct Watcher {
    pub(super) handle: KernelHandle,
    pub(super) key: u64,
    /// The changes that it waits for.
    pub(super) filter: u32,
    /// Whether changes of the keys below count too.
    pub(super) is_tree: bool,
    pub(super) block: Out<IO_STATUS_BLOCK>,
    pub(super) event: Option<GuestPtr<KEVENT>>,
    /// For callers in kernel mode, the APC routine is a work item.
    pub(super) item: Option<GuestPtr<WORK_QUEUE_ITEM>>,
    pub(super) result: Arc<OnceLock<NtStatus>>,
}

impl Watcher {
    /// Returns whether a change of a key concerns this watcher. Both paths are in lower case.
    pub(super) fn wants(&self, watched: &str, changed: &str, what: u32) -> bool {
        let below = || changed.strip_prefix(watched).is_some_and(|rest| rest.starts_with('\\'));
        self.filter & what != 0 && (changed == watched || self.is_tree && below())
    }

    /// Ends the wait. No lock is held meanwhile.
    pub(super) fn complete(self, status: NtStatus) {
        self.report(status).or_stop();
        let _ = self.result.set(status);
        kernel().scheduler.change(|_| ());
    }

    fn report(&self, status: NtStatus) -> Result<(), Fault> {
        self.block.set(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: 0 })?;
        if let Some(event) = self.event {
            event::signal(event.Header(), 1)?;
        }
        if let Some(item) = self.item {
            let WORK_QUEUE_ITEM { WorkerRoutine: target, Parameter: context, .. } = item.read()?;
            submit(item.address(), move || {
                call_back("work item", PASSIVE, target, &[context]);
            });
        }
        Ok(())
    }

    /// Waits for the end.
    pub(super) fn wait(result: &OnceLock<NtStatus>) -> NtStatus {
        kernel().scheduler.wait(None, |_| result.get().copied()).unwrap_or(NtStatus::Cancelled)
    }
}
