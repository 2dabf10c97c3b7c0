//! Queues of entries that threads wait for, `KQUEUE`. The number of entries is the signal state.

use etw_types::NtStatus;
use nt_processor::layout::{KQUEUE, LIST_ENTRY};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, DISPATCH, Ignored, routines};
use windows_constants::object::QueueObject;

use super::event;
use crate::kernel;

/// The number of threads that a queue lets run at the same time, if the driver does not say it.
const PROCESSORS: u32 = 2;
/// The signal state of a queue that was run down: all waits end at once.
const RUN_DOWN: i32 = 1 << 30;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH)]
    fn KeInitializeQueue(queue: GuestPtr<KQUEUE>, count: u32) -> Result<(), Fault> {
        queue.Header().initialize(QueueObject, 0)?;
        queue.CurrentCount().write(0)?;
        queue.MaximumCount().write(if count == 0 { PROCESSORS } else { count })?;
        queue.EntryListHead().initialize()?;
        queue.ThreadListHead().initialize()
    }

    #[irql(DISPATCH)]
    fn KeInsertQueue(queue: GuestPtr<KQUEUE>, entry: GuestPtr<LIST_ENTRY>) -> Result<i32, Fault> {
        insert(queue, entry, false)
    }

    #[irql(DISPATCH)]
    fn KeInsertHeadQueue(queue: GuestPtr<KQUEUE>, entry: GuestPtr<LIST_ENTRY>) -> Result<i32, Fault> {
        insert(queue, entry, true)
    }

    #[irql(ANY)]
    fn KeReadStateQueue(queue: GuestPtr<KQUEUE>) -> Result<i32, Fault> {
        Ok(queue.Header().SignalState().read()? % RUN_DOWN)
    }

    /// Returns a status in place of an entry if there is none. `MaximumCount` has no effect: as many threads run as have an entry.
    #[irql(DISPATCH)]
    fn KeRemoveQueue(
        queue: GuestPtr<KQUEUE>,
        _mode: Ignored<i8>,
        timeout: GuestPtr<i64>,
    ) -> Result<GuestPtr<LIST_ENTRY>, Fault> {
        let in_place = |status: NtStatus| GuestPtr::new(status.as_int().into());
        let status = event::wait(&[queue.Header()], true, timeout)?;
        if status != NtStatus::Success {
            return Ok(in_place(status));
        }
        let first = kernel().scheduler.change_object(queue.Header(), |_| queue.EntryListHead().remove_first())?;
        Ok(first.unwrap_or_else(|| in_place(NtStatus::Abandoned)))
    }

    /// Returns the first of the entries that were left, which stay linked with each other, or NULL.
    #[irql(DISPATCH)]
    fn KeRundownQueue(queue: GuestPtr<KQUEUE>) -> Result<Option<GuestPtr<LIST_ENTRY>>, Fault> {
        kernel().scheduler.change_object(queue.Header(), |_| {
            let head = queue.EntryListHead();
            let first = head.Flink().read()?;
            head.unlink()?;
            head.initialize()?;
            queue.Header().SignalState().write(RUN_DOWN)?;
            Ok(Some(first).filter(|first| *first != head))
        })
    }
}

/// Returns the number of entries before.
fn insert(queue: GuestPtr<KQUEUE>, entry: GuestPtr<LIST_ENTRY>, at_head: bool) -> Result<i32, Fault> {
    kernel().scheduler.change_object(queue.Header(), |_| {
        let head = queue.EntryListHead();
        let before = if at_head { head } else { head.Blink().read()? };
        before.insert(entry)?;
        Ok(queue.Header().SignalState().change(|state| state.wrapping_add(1))? % RUN_DOWN)
    })
}
