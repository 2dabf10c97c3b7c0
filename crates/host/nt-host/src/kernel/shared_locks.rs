//! Locks with readers and a writer: executive spin locks and push locks.

use std::sync::atomic::Ordering;

use super::irql;
use super::kernel;
use super::routine::{ANY, APC, Call, DISPATCH, Routine, routine};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

/// The writer's bit of an `EX_SPIN_LOCK`; the others count readers.
const WRITER: u32 = 0x8000_0000;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ExAcquireSpinLockExclusive", DISPATCH, |call| {
        let old = irql::raise(DISPATCH);
        spin(call, true);
        old.into()
    }),
    routine("ExAcquireSpinLockShared", DISPATCH, |call| {
        let old = irql::raise(DISPATCH);
        spin(call, false);
        old.into()
    }),
    routine("ExAcquireSpinLockExclusiveAtDpcLevel", DISPATCH, |call| at_dispatch(call, true)),
    routine("ExAcquireSpinLockSharedAtDpcLevel", DISPATCH, |call| at_dispatch(call, false)),
    routine("ExTryConvertSharedSpinLockExclusive", DISPATCH, |call| {
        let word = guest::atomic32(call.arg(0));
        u64::from(word.compare_exchange(1, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok())
    }),
    routine("ExReleaseSpinLockExclusive", DISPATCH, |call| {
        release(call, true);
        irql::lower(call.u8(1));
        0
    }),
    routine("ExReleaseSpinLockShared", DISPATCH, |call| {
        release(call, false);
        irql::lower(call.u8(1));
        0
    }),
    routine("ExReleaseSpinLockExclusiveFromDpcLevel", DISPATCH, |call| {
        release(call, true);
        0
    }),
    routine("ExReleaseSpinLockSharedFromDpcLevel", DISPATCH, |call| {
        release(call, false);
        0
    }),
    routine("ExInitializePushLock", ANY, |call| {
        guest::write(call.arg(0), 0_u64);
        0
    }),
    routine("ExAcquirePushLockExclusiveEx", APC, |call| push(call, true)),
    routine("ExAcquirePushLockSharedEx", APC, |call| push(call, false)),
    routine("ExReleasePushLockExclusiveEx", APC, |call| pop(call, true)),
    routine("ExReleasePushLockSharedEx", APC, |call| pop(call, false)),
];

fn try_spin(word: &std::sync::atomic::AtomicU32, exclusive: bool) -> bool {
    let next = |old: u32| match (exclusive, old) {
        (true, 0) => Some(WRITER),
        (false, readers) if readers & WRITER == 0 => Some(readers + 1),
        _ => None,
    };
    word.fetch_update(Ordering::Acquire, Ordering::Relaxed, next).is_ok()
}

fn spin(call: &Call, exclusive: bool) {
    let word = guest::atomic32(call.arg(0));
    while !try_spin(word, exclusive) {
        if verify::is_stopped() {
            verify::park();
        }
        std::thread::yield_now();
    }
}

fn at_dispatch(call: &Call, exclusive: bool) -> u64 {
    let irql = thread::irql();
    if irql < DISPATCH {
        verify::find(Rule::IrqlTooLow, format_args!("called at IRQL {irql}, needs 2"));
    }
    spin(call, exclusive);
    0
}

fn release(call: &Call, exclusive: bool) {
    let word = guest::atomic32(call.arg(0));
    let next = |old: u32| match (exclusive, old) {
        (true, WRITER) => Some(0),
        (false, readers @ 1..WRITER) => Some(readers - 1),
        _ => None,
    };
    if word.fetch_update(Ordering::Release, Ordering::Relaxed, next).is_err() {
        verify::find(Rule::LockMisuse, format_args!("a spin lock is released that is not held like this"));
    }
}

/// A push lock: 1 for a writer, 2 for each reader. A thread that waits gives the processor away.
fn push(call: &Call, exclusive: bool) -> u64 {
    let place = call.arg(0);
    guest::probe(place);
    kernel().scheduler.wait(None, |_| {
        let state: u64 = guest::read(place);
        let next = match (exclusive, state) {
            (true, 0) => Some(1),
            (false, readers) if readers & 1 == 0 => Some(readers + 2),
            _ => None,
        };
        next.map(|next| guest::write(place, next))
    });
    0
}

fn pop(call: &Call, exclusive: bool) -> u64 {
    let place = call.arg(0);
    let held = kernel().scheduler.change(|_| {
        let state: u64 = guest::read(place);
        let next = match (exclusive, state) {
            (true, 1) => Some(0),
            (false, readers @ 2..) if readers & 1 == 0 => Some(readers - 2),
            _ => None,
        };
        next.map(|next| guest::write(place, next)).is_some()
    });
    if !held {
        verify::find(Rule::LockMisuse, format_args!("a push lock is released that is not held like this"));
    }
    0
}
