//! Interlocked lists.
//!
//! A driver keeps lists of its own with inlined code; the kernel has the variants that take a spin lock, and the
//! lock-free `SLIST`, whose operations are one at a time here.

use std::sync::Mutex;

use super::routine::{ANY, Call, DISPATCH, Routine, routine};
use super::{lock, spinlock};
use crate::memory::guest;

/// Serialises what the processor does with one instruction.
static SLISTS: Mutex<()> = Mutex::new(());

pub(super) const ROUTINES: &[Routine] = &[
    routine("ExInterlockedInsertHeadList", ANY, |call| locked(call, 2, || insert(call.arg(0), call.arg(1), true))),
    routine("ExInterlockedInsertTailList", ANY, |call| locked(call, 2, || insert(call.arg(0), call.arg(1), false))),
    routine("ExInterlockedRemoveHeadList", ANY, |call| locked(call, 1, || remove_head(call.arg(0)))),
    routine("ExInterlockedPushEntryList", ANY, |call| {
        locked(call, 2, || {
            let first: u64 = guest::read(call.arg(0));
            guest::write(call.arg(1), first);
            guest::write(call.arg(0), call.arg(1));
            first
        })
    }),
    routine("ExInterlockedPopEntryList", ANY, |call| {
        locked(call, 1, || {
            let first: u64 = guest::read(call.arg(0));
            if first != 0 {
                guest::write(call.arg(0), guest::read::<u64>(first));
            }
            first
        })
    }),
    routine("InitializeSListHead", ANY, |call| {
        guest::fill(call.arg(0), 0, 16);
        0
    }),
    routine("ExpInterlockedPushEntrySList", DISPATCH, push),
    routine("ExInterlockedPushEntrySList", DISPATCH, push),
    routine("ExpInterlockedPopEntrySList", DISPATCH, pop),
    routine("ExInterlockedPopEntrySList", DISPATCH, pop),
    routine("ExpInterlockedFlushSList", DISPATCH, |call| {
        let _one = lock(&SLISTS);
        let first: u64 = guest::read(call.arg(0) + 8);
        guest::fill(call.arg(0), 0, 16);
        first
    }),
    routine("ExQueryDepthSList", ANY, |call| u64::from(guest::read::<u16>(call.arg(0)))),
];

fn locked(call: &Call, spin_lock: u64, operation: impl FnOnce() -> u64) -> u64 {
    spinlock::acquire(call.arg(spin_lock), call.from);
    let result = operation();
    spinlock::release(call.arg(spin_lock));
    result
}

/// Inserts into a `LIST_ENTRY` list; answers the neighbour, or NULL where the list was empty.
fn insert(head: u64, entry: u64, at_head: bool) -> u64 {
    let neighbour: u64 = guest::read(if at_head { head } else { head + 8 });
    let (before, after) = if at_head { (head, neighbour) } else { (neighbour, head) };
    guest::write(entry, after);
    guest::write(entry + 8, before);
    guest::write(before, entry);
    guest::write(after + 8, entry);
    if neighbour == head { 0 } else { neighbour }
}

fn remove_head(head: u64) -> u64 {
    let first: u64 = guest::read(head);
    if first == head {
        return 0;
    }
    let next: u64 = guest::read(first);
    guest::write(head, next);
    guest::write(next + 8, head);
    first
}

/// The header of a list here: depth at 0, first entry at 8.
fn push(call: &Call) -> u64 {
    let _one = lock(&SLISTS);
    let (head, entry) = (call.arg(0), call.arg(1));
    let first: u64 = guest::read(head + 8);
    guest::write(entry, first);
    guest::write(head + 8, entry);
    guest::write(head, guest::read::<u16>(head).wrapping_add(1));
    first
}

fn pop(call: &Call) -> u64 {
    let _one = lock(&SLISTS);
    let head = call.arg(0);
    let first: u64 = guest::read(head + 8);
    if first != 0 {
        guest::write(head + 8, guest::read::<u64>(first));
        guest::write(head, guest::read::<u16>(head).wrapping_sub(1));
    }
    first
}
