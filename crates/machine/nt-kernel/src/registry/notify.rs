//! `ZwNotifyChangeKey`.

use std::sync::Arc;

use etw_types::NtStatus;
use nt_processor::layout::{IO_STATUS_BLOCK, WORK_QUEUE_ITEM};
use nt_processor::memory::{GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{Ignored, Out, Outcome, PASSIVE, done, fail, routines};

use super::watch::Watcher;
use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::{kernel, lock};

/// The handle of the key was closed.
const CLEANUP: NtStatus = NtStatus::NotifyCleanup;

routines! { pub(super) ROUTINES;
    /// In kernel mode, the APC routine is a work item, and its context the queue.
    #[irql(PASSIVE), fails(NtStatus::InvalidHandle), keeps_nothing]
    fn ZwNotifyChangeKey(
        handle: KernelHandle,
        event: KernelHandle,
        item: Option<GuestPtr<WORK_QUEUE_ITEM>>,
        _queue: Ignored<GuestPtr<Opaque>>,
        block: Out<IO_STATUS_BLOCK>,
        filter: u32,
        is_tree: bool,
        _buffer: Ignored<GuestSlice<u8>>,
        is_asynchronous: bool,
    ) -> Outcome<NtStatus> {
        let Some(key) = object::of_kind(handle, "key") else { return fail(NtStatus::InvalidHandle) };
        let event = if event == KernelHandle::default() {
            None
        } else {
            let Some(event) = object::of_kind(event, "event") else { return fail(NtStatus::InvalidHandle) };
            Some(GuestPtr::new(event))
        };
        let result = Arc::default();
        let watcher = Watcher { handle, key, filter, is_tree, block, event, item, result: Arc::clone(&result) };
        lock(&kernel().registry).watchers.push(watcher);
        done(if is_asynchronous { NtStatus::Pending } else { Watcher::wait(&result) })
    }
}

/// Ends the waits that were begun with a handle that is closed now.
pub fn closed(handle: KernelHandle) {
    let ended: Vec<Watcher> =
        lock(&kernel().registry).watchers.extract_if(.., |watcher| watcher.handle == handle).collect();
    for watcher in ended {
        watcher.complete(CLEANUP);
    }
}
