//! Executive resources, rundown protection and remove locks.

use std::sync::atomic::Ordering;

use super::routine::{ANY, APC, Call, DISPATCH, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{kernel, lock};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

/// An `ERESOURCE` has 0x68 bytes; here: readers at 0, depth of the writer at 4, writer at 8.
const RESOURCE: u64 = 0x68;
const WRITER: u64 = 8;
const DELETE_PENDING: u64 = 0xC000_0056;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ExInitializeResourceLite", DISPATCH, |call| {
        guest::fill(call.arg(0), 0, RESOURCE);
        lock(&kernel().io).register("resource", call.arg(0), call.from);
        0
    })
    .fails(NO_RESOURCES),
    routine("ExReinitializeResourceLite", DISPATCH, |call| {
        guest::fill(call.arg(0), 0, RESOURCE);
        0
    }),
    routine("ExDeleteResourceLite", DISPATCH, |call| {
        if !lock(&kernel().io).forget("resource", call.arg(0)) {
            verify::find(Rule::LockMisuse, format_args!("a resource is deleted that was not initialised"));
        }
        if guest::read::<u64>(call.arg(0)) != 0 {
            verify::find(Rule::LockLeak, format_args!("a resource is deleted while it is held"));
        }
        0
    }),
    routine("ExAcquireResourceExclusiveLite", APC, |call| acquire(call, true)),
    routine("ExAcquireResourceSharedLite", APC, |call| acquire(call, false)),
    routine("ExAcquireSharedStarveExclusive", APC, |call| acquire(call, false)),
    routine("ExEnterCriticalRegionAndAcquireResourceExclusive", APC, |call| {
        acquire_waiting(call.arg(0), true, true);
        thread::object()
    }),
    routine("ExReleaseResourceLite", DISPATCH, release),
    routine("ExReleaseResourceAndLeaveCriticalRegion", DISPATCH, release),
    routine("ExIsResourceAcquiredExclusiveLite", DISPATCH, |call| {
        u64::from(guest::read::<u64>(call.arg(0) + WRITER) == thread::object())
    }),
    routine("ExIsResourceAcquiredSharedLite", DISPATCH, |call| u64::from(guest::read::<u32>(call.arg(0)))),
    routine("ExInitializeRundownProtection", ANY, |call| {
        guest::write(call.arg(0), 0_u64);
        0
    }),
    // Two for each holder; the lowest bit says that rundown has begun.
    routine("ExAcquireRundownProtection", ANY, |call| {
        let word = guest::atomic64(call.arg(0));
        let taken = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| (old & 1 == 0).then_some(old + 2));
        u64::from(taken.is_ok())
    }),
    routine("ExReleaseRundownProtection", ANY, |call| {
        let old = guest::atomic64(call.arg(0)).fetch_sub(2, Ordering::SeqCst);
        if old < 2 {
            verify::find(Rule::LockMisuse, format_args!("rundown protection is released that nobody holds"));
        }
        kernel().scheduler.change(|_| ());
        0
    }),
    routine("ExWaitForRundownProtectionRelease", APC, |call| {
        let word = guest::atomic64(call.arg(0));
        word.fetch_or(1, Ordering::SeqCst);
        kernel().scheduler.wait(None, |_| (word.load(Ordering::SeqCst) == 1).then_some(()));
        0
    }),
    routine("ExReInitializeRundownProtection", APC, |call| {
        guest::write(call.arg(0), 0_u64);
        0
    }),
    routine("ExRundownCompleted", APC, |call| {
        guest::write(call.arg(0), 1_u64);
        0
    }),
    // A remove lock: removed at 0, count at 4. The routines take the size of the structure last.
    routine("IoInitializeRemoveLockEx", PASSIVE, |call| {
        guest::fill(call.arg(0), 0, 0x20);
        guest::write(call.arg(0) + 4, 1_u32);
        0
    }),
    // It fails only once its own driver has begun to remove the device, so that no script makes it fail.
    routine("IoAcquireRemoveLockEx", DISPATCH, |call| {
        if guest::read::<u8>(call.arg(0)) != 0 {
            return DELETE_PENDING;
        }
        guest::atomic32(call.arg(0) + 4).fetch_add(1, Ordering::SeqCst);
        0
    }),
    routine("IoReleaseRemoveLockEx", DISPATCH, |call| {
        guest::atomic32(call.arg(0) + 4).fetch_sub(1, Ordering::SeqCst);
        kernel().scheduler.change(|_| ());
        0
    }),
    routine("IoReleaseRemoveLockAndWaitEx", PASSIVE, |call| {
        guest::write(call.arg(0), 1_u8);
        let count = guest::atomic32(call.arg(0) + 4);
        // One for the lock itself, one for the caller.
        count.fetch_sub(2, Ordering::SeqCst);
        kernel().scheduler.wait(None, |_| (count.load(Ordering::SeqCst) == 0).then_some(()));
        0
    }),
];

fn acquire(call: &Call, exclusive: bool) -> u64 {
    acquire_waiting(call.arg(0), exclusive, call.is(1)).into()
}

fn acquire_waiting(resource: u64, exclusive: bool, wait: bool) -> bool {
    guest::probe(resource);
    let attempt = || {
        let (readers, writer): (u32, u64) = (guest::read(resource), guest::read(resource + WRITER));
        let free = writer == thread::object() || (writer == 0 && !(exclusive && readers != 0));
        free.then(|| {
            if exclusive || writer == thread::object() {
                guest::write(resource + 4, guest::read::<u32>(resource + 4) + 1);
                guest::write(resource + WRITER, thread::object());
            } else {
                guest::write(resource, readers + 1);
            }
        })
    };
    let scheduler = &kernel().scheduler;
    let deadline = if wait { None } else { Some(0) };
    scheduler.wait(deadline, |_| attempt()).is_some()
}

fn release(call: &Call) -> u64 {
    let resource = call.arg(0);
    let owned = kernel().scheduler.change(|_| {
        let (readers, depth, writer): (u32, u32, u64) =
            (guest::read(resource), guest::read(resource + 4), guest::read(resource + WRITER));
        if writer == thread::object() && depth != 0 {
            guest::write(resource + 4, depth - 1);
            if depth == 1 {
                guest::write(resource + WRITER, 0_u64);
            }
            true
        } else if readers != 0 {
            guest::write(resource, readers - 1);
            true
        } else {
            false
        }
    });
    if !owned {
        verify::find(Rule::LockMisuse, format_args!("a resource is released that the thread does not hold"));
    }
    0
}
