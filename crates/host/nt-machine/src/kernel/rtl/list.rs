//! Interlocked lists.
//!
//! A driver manages its own lists with inline code. The kernel has the variants that acquire a spin lock, and the
//! lock-free `SLIST`, whose operations are serialised by a lock here.

use crate::kernel::sync::spinlock;
use crate::kernel::{kernel, lock};
use crate::layout::{LIST_ENTRY, SINGLE_LIST_ENTRY, SLIST_HEADER};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, DISPATCH, Outcome, Routine, done, routine};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ExInterlockedInsertHeadList", ANY, |call| locked(call, 2, || insert(call.ptr(0), call.ptr(1), true))),
    routine!("ExInterlockedInsertTailList", ANY, |call| locked(call, 2, || insert(call.ptr(0), call.ptr(1), false))),
    routine!("ExInterlockedRemoveHeadList", ANY, |call| locked(call, 1, || remove_head(call.ptr(0)))),
    routine!("ExInterlockedPushEntryList", ANY, |call| locked(call, 2, || push_single(call.ptr(0), call.ptr(1)))),
    routine!("ExInterlockedPopEntryList", ANY, |call| locked(call, 1, || pop_single(call.ptr(0)))),
    routine!("InitializeSListHead", ANY, |call| call.ptr::<SLIST_HEADER>(0).zero()),
    routine!("ExpInterlockedPushEntrySList", DISPATCH, push),
    routine!("ExInterlockedPushEntrySList", DISPATCH, push),
    routine!("ExpInterlockedPopEntrySList", DISPATCH, pop),
    routine!("ExInterlockedPopEntrySList", DISPATCH, pop),
    routine!("ExpInterlockedFlushSList", DISPATCH, |call| {
        let _one = lock(&kernel().slists);
        let head = call.ptr::<SLIST_HEADER>(0);
        let first = head.Next().read()?;
        head.zero()?;
        done(first)
    }),
    routine!("ExQueryDepthSList", ANY, |call| call.ptr::<SLIST_HEADER>(0).Depth().read()),
];

fn locked<T>(call: &Call, spin_lock: u64, operation: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    spinlock::acquire(call.ptr(spin_lock), call.from)?;
    let result = operation()?;
    spinlock::release(call.ptr(spin_lock))?;
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

fn remove_head(head: GuestPtr<LIST_ENTRY>) -> Result<Option<GuestPtr<LIST_ENTRY>>, Fault> {
    let first = head.Flink().read()?;
    if first == head {
        return Ok(None);
    }
    first.unlink()?;
    Ok(Some(first))
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

fn push(call: &Call) -> Outcome<Single> {
    let _one = lock(&kernel().slists);
    let head = call.ptr::<SLIST_HEADER>(0);
    let first = push_single(head.Next().cast(), call.ptr(1))?;
    head.Depth().change(|depth| depth.wrapping_add(1))?;
    Ok(first)
}

fn pop(call: &Call) -> Outcome<Single> {
    let _one = lock(&kernel().slists);
    let head = call.ptr::<SLIST_HEADER>(0);
    let first = pop_single(head.Next().cast())?;
    if !first.is_null() {
        head.Depth().change(|depth| depth.wrapping_sub(1))?;
    }
    Ok(first)
}
