//! Spin locks, queued spin locks, fast mutexes and push locks.

use std::sync::atomic::Ordering;

use super::routine::{ANY, APC, Call, DISPATCH, Routine, routine};
use super::{events, irql, kernel, lock};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `FAST_MUTEX`: 1 at 0 while it is free, owner at 8, event at 0x18, old IRQL at 0x30.
const OWNER: u64 = 8;
const EVENT: u64 = 0x18;
const OLD_IRQL: u64 = 0x30;

pub(super) const ROUTINES: &[Routine] = &[
    routine("KeInitializeSpinLock", ANY, |call| {
        guest::write(call.arg(0), 0_u64);
        0
    }),
    routine("KeAcquireSpinLockRaiseToDpc", DISPATCH, |call| {
        let old = irql::raise(DISPATCH);
        acquire(call.arg(0), call.from);
        old.into()
    }),
    routine("KeReleaseSpinLock", DISPATCH, |call| {
        release(call.arg(0));
        irql::lower(call.u8(1));
        0
    }),
    routine("KeAcquireSpinLockAtDpcLevel", DISPATCH, |call| at_dpc_level(call.arg(0), call.from)),
    routine("KeReleaseSpinLockFromDpcLevel", DISPATCH, |call| {
        release(call.arg(0));
        0
    }),
    routine("KeTryToAcquireSpinLockAtDpcLevel", DISPATCH, |call| try_acquire(call.arg(0), call.from).into()),
    routine("KeTestSpinLock", DISPATCH, |call| u64::from(guest::read::<u64>(call.arg(0)) == 0)),
    routine("KeAcquireInStackQueuedSpinLock", DISPATCH, |call| {
        let old = irql::raise(DISPATCH);
        guest::write(call.arg(1) + 8, call.arg(0));
        guest::write(call.arg(1) + 16, old);
        acquire(call.arg(0), call.from);
        0
    }),
    routine("KeReleaseInStackQueuedSpinLock", DISPATCH, |call| {
        release(guest::read(call.arg(0) + 8));
        irql::lower(guest::read(call.arg(0) + 16));
        0
    }),
    routine("KeAcquireInStackQueuedSpinLockAtDpcLevel", DISPATCH, |call| {
        guest::write(call.arg(1) + 8, call.arg(0));
        at_dpc_level(call.arg(0), call.from)
    }),
    routine("KeReleaseInStackQueuedSpinLockFromDpcLevel", DISPATCH, |call| {
        release(guest::read(call.arg(0) + 8));
        0
    }),
    routine("ExInitializeFastMutex", ANY, initialize_fast_mutex),
    routine("KeInitializeGuardedMutex", ANY, initialize_fast_mutex),
    routine("ExAcquireFastMutex", APC, |call| acquire_fast_mutex(call, true)),
    routine("KeAcquireGuardedMutex", APC, |call| acquire_fast_mutex(call, false)),
    routine("ExAcquireFastMutexUnsafe", APC, |call| acquire_fast_mutex(call, false)),
    routine("ExReleaseFastMutex", APC, |call| release_fast_mutex(call, true)),
    routine("KeReleaseGuardedMutex", APC, |call| release_fast_mutex(call, false)),
    routine("ExReleaseFastMutexUnsafe", APC, |call| release_fast_mutex(call, false)),
    routine("ExTryToAcquireFastMutex", APC, try_fast_mutex),
    routine("KeTryToAcquireGuardedMutex", APC, try_fast_mutex),
];

fn at_dpc_level(spin_lock: u64, from: u64) -> u64 {
    let irql = thread::irql();
    if irql < DISPATCH {
        verify::find(Rule::IrqlTooLow, format_args!("called at IRQL {irql}, needs 2"));
    }
    acquire(spin_lock, from);
    0
}

/// What a held lock contains: the thread that holds it.
fn mine() -> u64 {
    u64::from(thread::number()) << 1 | 1
}

/// Takes a spin lock. A thread that has it already would wait for ever: it is told, and goes on.
pub(crate) fn acquire(spin_lock: u64, from: u64) {
    let word = guest::atomic64(spin_lock);
    if word.load(Ordering::Acquire) == mine() {
        verify::stop(Rule::LockMisuse, Some(routine_name()), from, format_args!("a spin lock is taken by its owner"));
    }
    while word.compare_exchange_weak(0, mine(), Ordering::Acquire, Ordering::Relaxed).is_err() {
        if verify::is_stopped() {
            verify::park();
        }
        std::thread::yield_now();
    }
    note_acquired(spin_lock, from);
}

fn try_acquire(spin_lock: u64, from: u64) -> bool {
    let word = guest::atomic64(spin_lock);
    let taken = word.compare_exchange(0, mine(), Ordering::Acquire, Ordering::Relaxed).is_ok();
    if taken {
        note_acquired(spin_lock, from);
    }
    taken
}

fn routine_name() -> &'static str {
    thread::site().map_or("KeAcquireSpinLock", |site| site.routine)
}

fn note_acquired(address: u64, from: u64) {
    let cycle = lock(&kernel().locks).acquired(thread::number(), address, from);
    if let Some(other) = cycle {
        let where_else = super::images::rva(other).unwrap_or_default();
        verify::find(
            Rule::LockOrder,
            format_args!("taken while another is held; at image+{where_else:#x} it is the other way round"),
        );
    }
}

/// Releases a spin lock.
pub(crate) fn release(spin_lock: u64) {
    let word = guest::atomic64(spin_lock);
    let held = word.load(Ordering::Acquire);
    lock(&kernel().locks).released(thread::number(), spin_lock);
    if held != mine() {
        let what = if held == 0 { "that is free" } else { "of another thread" };
        verify::find(Rule::LockMisuse, format_args!("a spin lock {what} is released"));
        return;
    }
    word.store(0, Ordering::Release);
}

fn initialize_fast_mutex(call: &Call) -> u64 {
    let mutex = call.arg(0);
    guest::fill(mutex, 0, 0x38);
    guest::write(mutex, 1_u32);
    events::initialize(mutex + EVENT, 1, 0)
}

fn acquire_fast_mutex(call: &Call, raise: bool) -> u64 {
    let mutex = call.arg(0);
    if guest::read::<u64>(mutex + OWNER) == thread::object() {
        verify::stop(
            Rule::LockMisuse,
            Some(call.name()),
            call.from,
            format_args!("a fast mutex is taken by its owner"),
        );
    }
    guest::probe(mutex);
    kernel().scheduler.wait(None, |_| (guest::read::<i32>(mutex) > 0).then(|| guest::write(mutex, 0_i32)));
    own_fast_mutex(mutex, raise, call.from);
    0
}

fn own_fast_mutex(mutex: u64, raise: bool, from: u64) {
    guest::write(mutex + OWNER, thread::object());
    let old = thread::irql();
    guest::write(mutex + OLD_IRQL, u32::from(old));
    if raise {
        thread::set_irql(APC.max(old));
    }
    note_acquired(mutex, from);
}

fn try_fast_mutex(call: &Call) -> u64 {
    let mutex = call.arg(0);
    let free = kernel().scheduler.change(|_| {
        let free = guest::read::<i32>(mutex) > 0;
        guest::write(mutex, 0_i32);
        free
    });
    if free {
        own_fast_mutex(mutex, true, call.from);
    }
    free.into()
}

fn release_fast_mutex(call: &Call, lower: bool) -> u64 {
    let mutex = call.arg(0);
    if guest::read::<u64>(mutex + OWNER) != thread::object() {
        verify::find(Rule::LockMisuse, format_args!("a fast mutex is released by a thread that does not own it"));
        return 0;
    }
    let old: u32 = guest::read(mutex + OLD_IRQL);
    guest::write(mutex + OWNER, 0_u64);
    lock(&kernel().locks).released(thread::number(), mutex);
    if lower {
        thread::set_irql(old as u8);
    }
    kernel().scheduler.change(|_| guest::write(mutex, 1_i32));
    0
}
