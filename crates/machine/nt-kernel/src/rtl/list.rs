//! Interlocked lists.
//!
//! A driver manages its own lists with inline code. The kernel has the variants that acquire a spin lock, and the
//! lock-free `SLIST`, whose operations are serialised by a lock here.

use nt_processor::layout::{LIST_ENTRY, SINGLE_LIST_ENTRY, SLIST_HEADER};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, Call, DISPATCH, Ignored, routines};
use nt_verifier::verify::locks::LockKind;

use crate::sync::spinlock;
use crate::{kernel, lock};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn ExInterlockedInsertHeadList(
        &call,
        head: GuestPtr<LIST_ENTRY>,
        entry: GuestPtr<LIST_ENTRY>,
        spin_lock: GuestPtr<u64>,
    ) -> Result<Option<GuestPtr<LIST_ENTRY>>, Fault> {
        locked(call, spin_lock, || insert(head, entry, true))
    }

    #[irql(ANY)]
    fn ExInterlockedInsertTailList(
        &call,
        head: GuestPtr<LIST_ENTRY>,
        entry: GuestPtr<LIST_ENTRY>,
        spin_lock: GuestPtr<u64>,
    ) -> Result<Option<GuestPtr<LIST_ENTRY>>, Fault> {
        locked(call, spin_lock, || insert(head, entry, false))
    }

    #[irql(ANY)]
    fn ExInterlockedRemoveHeadList(
        &call,
        head: GuestPtr<LIST_ENTRY>,
        spin_lock: GuestPtr<u64>,
    ) -> Result<Option<GuestPtr<LIST_ENTRY>>, Fault> {
        locked(call, spin_lock, || head.remove_first())
    }

    #[irql(ANY)]
    fn ExInterlockedPushEntryList(
        &call,
        head: Single,
        entry: Single,
        spin_lock: GuestPtr<u64>,
    ) -> Result<Single, Fault> {
        locked(call, spin_lock, || push_single(head, entry))
    }

    #[irql(ANY)]
    fn ExInterlockedPopEntryList(&call, head: Single, spin_lock: GuestPtr<u64>) -> Result<Single, Fault> {
        locked(call, spin_lock, || pop_single(head))
    }

    #[irql(ANY)]
    fn InitializeSListHead(head: GuestPtr<SLIST_HEADER>) -> Result<(), Fault> {
        head.zero()
    }

    #[irql(DISPATCH)]
    fn ExpInterlockedPushEntrySList(head: GuestPtr<SLIST_HEADER>, entry: Single) -> Result<Single, Fault> {
        push(head, entry)
    }

    #[irql(ANY)]
    fn ExInterlockedPushEntrySList(
        head: GuestPtr<SLIST_HEADER>,
        entry: Single,
        _lock: Ignored<GuestPtr<u64>>,
    ) -> Result<Single, Fault> {
        push(head, entry)
    }

    #[irql(DISPATCH)]
    fn ExpInterlockedPopEntrySList(head: GuestPtr<SLIST_HEADER>) -> Result<Single, Fault> {
        pop(head)
    }

    #[irql(ANY)]
    fn ExInterlockedPopEntrySList(
        head: GuestPtr<SLIST_HEADER>,
        _lock: Ignored<GuestPtr<u64>>,
    ) -> Result<Single, Fault> {
        pop(head)
    }

    #[irql(DISPATCH)]
    fn ExpInterlockedFlushSList(head: GuestPtr<SLIST_HEADER>) -> Result<Single, Fault> {
        let _one = lock(&kernel().slists);
        let first = head.Next().read()?;
        head.zero()?;
        Ok(first.cast())
    }

    #[irql(ANY)]
    fn ExQueryDepthSList(head: GuestPtr<SLIST_HEADER>) -> Result<u16, Fault> {
        head.Depth().read()
    }
}

fn locked<T>(call: &Call, spin_lock: GuestPtr<u64>, operation: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    spinlock::acquire_as(LockKind::Spin, spin_lock, call.from)?;
    let result = operation()?;
    spinlock::release_as(LockKind::Spin, spin_lock)?;
    Ok(result)
}

/// Inserts into a list. Returns the former neighbour, or NULL if the list was empty.
fn insert(
    head: GuestPtr<LIST_ENTRY>,
    entry: GuestPtr<LIST_ENTRY>,
    at_head: bool,
) -> Result<Option<GuestPtr<LIST_ENTRY>>, Fault> {
    let neighbour = if at_head { head.Flink().read()? } else { head.Blink().read()? };
    let before = if at_head { head } else { neighbour };
    before.insert(entry)?;
    Ok(Some(neighbour).filter(|neighbour| *neighbour != head))
}

type Single = GuestPtr<SINGLE_LIST_ENTRY>;

/// Inserts an entry after a head. Returns the former first entry.
fn push_single(head: Single, entry: Single) -> Result<Single, Fault> {
    let first = head.Next().read()?;
    entry.Next().write(first)?;
    head.Next().write(entry)?;
    Ok(first)
}

/// Removes and returns the entry after a head.
fn pop_single(head: Single) -> Result<Single, Fault> {
    let first = head.Next().read()?;
    if !first.is_null() {
        head.Next().write(first.Next().read()?)?;
    }
    Ok(first)
}

fn push(head: GuestPtr<SLIST_HEADER>, entry: Single) -> Result<Single, Fault> {
    let _one = lock(&kernel().slists);
    let first = push_single(head.Next().cast(), entry)?;
    head.Depth().change(|depth| depth.wrapping_add(1))?;
    Ok(first)
}

fn pop(head: GuestPtr<SLIST_HEADER>) -> Result<Single, Fault> {
    let _one = lock(&kernel().slists);
    let first = pop_single(head.Next().cast())?;
    if !first.is_null() {
        head.Depth().change(|depth| depth.wrapping_sub(1))?;
    }
    Ok(first)
}
