//! Spin locks, queued spin locks and fast mutexes.

use super::irql;
use crate::Os;
use crate::cpu::thread;
use crate::image;
use crate::kernel::{kernel, lock};
use crate::layout::{FAST_MUTEX, KLOCK_QUEUE_HANDLE};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, APC, Call, DISPATCH, Outcome, Routine, done, routine};
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeInitializeSpinLock", ANY, |call| call.ptr::<u64>(0).write(0)),
    routine!("KeAcquireSpinLockRaiseToDpc", DISPATCH, |call| {
        let old = irql::raise(DISPATCH);
        acquire(call.ptr(0), call.from)?;
        done(old)
    })
    .keeps(),
    routine!("KeReleaseSpinLock", DISPATCH, |call| {
        release(call.ptr(0))?;
        irql::lower(call.u8(1));
        done(())
    }),
    routine!("KeAcquireSpinLockAtDpcLevel", DISPATCH, |call| at_dpc_level(call.ptr(0), call.from)).keeps(),
    routine!("KeReleaseSpinLockFromDpcLevel", DISPATCH, |call| release(call.ptr(0))),
    routine!("KeTryToAcquireSpinLockAtDpcLevel", DISPATCH, |call| try_acquire(call.ptr(0), call.from)),
    routine!("KeTestSpinLock", DISPATCH, |call| done(call.ptr::<u64>(0).read()? == 0)),
    routine!("KeAcquireInStackQueuedSpinLock", DISPATCH, |call| {
        let (old, handle) = (irql::raise(DISPATCH), call.ptr::<KLOCK_QUEUE_HANDLE>(1));
        handle.Lock().write(call.ptr(0))?;
        handle.OldIrql().write(old)?;
        acquire(call.ptr(0), call.from)
    })
    .keeps(),
    routine!("KeReleaseInStackQueuedSpinLock", DISPATCH, |call| {
        let handle = call.ptr::<KLOCK_QUEUE_HANDLE>(0);
        release(handle.Lock().read()?)?;
        irql::lower(handle.OldIrql().read()?);
        done(())
    }),
    routine!("KeAcquireInStackQueuedSpinLockAtDpcLevel", DISPATCH, |call| {
        call.ptr::<KLOCK_QUEUE_HANDLE>(1).Lock().write(call.ptr(0))?;
        at_dpc_level(call.ptr(0), call.from)
    })
    .keeps(),
    routine!("KeReleaseInStackQueuedSpinLockFromDpcLevel", DISPATCH, |call| {
        release(call.ptr::<KLOCK_QUEUE_HANDLE>(0).Lock().read()?)
    }),
    routine!("ExInitializeFastMutex", ANY, initialize_fast_mutex),
    routine!("KeInitializeGuardedMutex", ANY, initialize_fast_mutex),
    routine!("ExAcquireFastMutex", APC, |call| acquire_fast_mutex(call, Apcs::Raised)).keeps(),
    routine!("KeAcquireGuardedMutex", APC, |call| acquire_fast_mutex(call, Apcs::guarded())).keeps(),
    routine!("ExAcquireFastMutexUnsafe", APC, |call| acquire_fast_mutex(call, Apcs::Unchanged)).keeps(),
    routine!("ExReleaseFastMutex", APC, |call| release_fast_mutex(call, Apcs::Raised)),
    routine!("KeReleaseGuardedMutex", APC, |call| release_fast_mutex(call, Apcs::guarded())),
    routine!("ExReleaseFastMutexUnsafe", APC, |call| release_fast_mutex(call, Apcs::Unchanged)),
    // The caller is in a guarded region, or at APC_LEVEL.
    routine!("KeAcquireGuardedMutexUnsafe", APC, |call| acquire_fast_mutex(call, Apcs::Unchanged)).keeps(),
    routine!("KeReleaseGuardedMutexUnsafe", APC, |call| release_fast_mutex(call, Apcs::Unchanged)),
    routine!("ExEnterCriticalRegionAndAcquireFastMutexUnsafe", APC, |call| {
        irql::enter_critical();
        acquire_fast_mutex(call, Apcs::Unchanged)
    })
    .keeps(),
    routine!("ExReleaseFastMutexUnsafeAndLeaveCriticalRegion", APC, |call| {
        release_fast_mutex(call, Apcs::Unchanged)?;
        irql::leave_critical();
        done(())
    }),
    routine!("KeAcquireSpinLockForDpc", DISPATCH, |call| {
        let old = irql::raise(DISPATCH);
        acquire(call.ptr(0), call.from)?;
        done(old)
    })
    .keeps(),
    routine!("KeReleaseSpinLockForDpc", DISPATCH, |call| {
        release(call.ptr(0))?;
        irql::lower(call.u8(1));
        done(())
    }),
    // Arguments: number, addend, lock. Both return the old value.
    routine!("ExInterlockedAddUlong", ANY, |call| call.ptr::<u32>(0).fetch_add(call.u32(1))),
    routine!("ExInterlockedAddLargeInteger", ANY, |call| call.ptr::<u64>(0).fetch_add(call.arg(1))),
    routine!("ExTryToAcquireFastMutex", APC, |call| try_fast_mutex(call, Apcs::Raised)),
    routine!("KeTryToAcquireGuardedMutex", APC, |call| try_fast_mutex(call, Apcs::guarded())),
];

/// How the owner of a mutex is kept from running APCs.
#[derive(Clone, Copy)]
enum Apcs {
    /// At `APC_LEVEL`.
    Raised,
    /// In a guarded region.
    Guarded,
    /// By the driver.
    Unchanged,
}

impl Apcs {
    /// Returns what guarded mutexes do: since Windows 8 the same as fast mutexes.
    fn guarded() -> Self {
        if kernel().config.os < Os::Win8 { Self::Guarded } else { Self::Raised }
    }
}

fn at_dpc_level(spin_lock: GuestPtr<u64>, from: u64) -> Result<(), Fault> {
    let irql = thread::irql();
    if irql < DISPATCH {
        verify::find(Rule::IrqlTooLow, format_args!("called at IRQL {irql}, needs 2"));
    }
    acquire(spin_lock, from)
}

/// Returns the value of a lock that this thread holds.
fn mine() -> u64 {
    u64::from(thread::number()) << 1 | 1
}

/// Acquires a spin lock. If this thread already holds it, it would wait forever, so the run ends.
pub(crate) fn acquire(spin_lock: GuestPtr<u64>, from: u64) -> Result<(), Fault> {
    if spin_lock.read()? == mine() {
        let routine = thread::site().map_or("KeAcquireSpinLock", |site| site.routine);
        let what = format_args!("deadlock: the thread already holds this spin lock");
        verify::stop(Rule::LockMisuse, Some(routine), from, what);
    }
    while !spin_lock.compare_exchange(0, mine())? {
        if verify::is_stopped() {
            verify::park();
        }
        std::thread::yield_now();
    }
    note_acquired(spin_lock.address(), from);
    Ok(())
}

fn try_acquire(spin_lock: GuestPtr<u64>, from: u64) -> Result<bool, Fault> {
    let taken = spin_lock.compare_exchange(0, mine())?;
    if taken {
        note_acquired(spin_lock.address(), from);
    }
    Ok(taken)
}

fn note_acquired(address: u64, from: u64) {
    let cycle = lock(&kernel().locks).acquired(thread::number(), address, from);
    if let Some(other) = cycle {
        let where_else = image::rva(other).unwrap_or_default();
        let what = format_args!("acquired while another lock is held; image+{where_else:#x} does it in reverse order");
        verify::find(Rule::LockOrder, what);
    }
}

/// Releases a spin lock.
pub(crate) fn release(spin_lock: GuestPtr<u64>) -> Result<(), Fault> {
    let held = spin_lock.read()?;
    lock(&kernel().locks).released(thread::number(), spin_lock.address());
    if held != mine() {
        let what = if held == 0 { "that is free" } else { "of another thread" };
        verify::find(Rule::LockMisuse, format_args!("releases a spin lock {what}"));
        return Ok(());
    }
    spin_lock.write(0)
}

fn initialize_fast_mutex(call: &Call) -> Outcome {
    let mutex = call.ptr::<FAST_MUTEX>(0);
    mutex.zero()?;
    mutex.Count().write(1)?;
    mutex.Event().Header().initialize(1, 0)?;
    Ok(())
}

fn acquire_fast_mutex(call: &Call, apcs: Apcs) -> Outcome {
    let mutex = call.ptr::<FAST_MUTEX>(0);
    if mutex.Owner().read()? == thread::object() {
        let what = format_args!("deadlock: the thread already owns this fast mutex");
        verify::stop(Rule::LockMisuse, Some(call.name()), call.from, what);
    }
    let attempt = || match mutex.Count().read()? {
        ..=0 => Ok::<_, Fault>(None),
        _ => mutex.Count().write(0).map(Some),
    };
    kernel().scheduler.wait(None, |_| attempt().transpose()).transpose()?;
    own_fast_mutex(mutex, apcs, call.from)
}

fn own_fast_mutex(mutex: GuestPtr<FAST_MUTEX>, apcs: Apcs, from: u64) -> Outcome {
    mutex.Owner().write(thread::object())?;
    let old = thread::irql();
    mutex.OldIrql().write(old.into())?;
    match apcs {
        Apcs::Raised => _ = thread::set_irql(APC.max(old)),
        Apcs::Guarded => irql::enter_guarded(),
        Apcs::Unchanged => {}
    }
    note_acquired(mutex.address(), from);
    Ok(())
}

fn try_fast_mutex(call: &Call, apcs: Apcs) -> Outcome<bool> {
    let mutex = call.ptr::<FAST_MUTEX>(0);
    let free = kernel().scheduler.change(|_| mutex.Count().change(|_| 0))? > 0;
    if free {
        own_fast_mutex(mutex, apcs, call.from)?;
    }
    Ok(free)
}

fn release_fast_mutex(call: &Call, apcs: Apcs) -> Outcome {
    let mutex = call.ptr::<FAST_MUTEX>(0);
    if mutex.Owner().read()? != thread::object() {
        verify::find(Rule::LockMisuse, format_args!("releases a fast mutex that this thread does not own"));
        return Ok(());
    }
    let old = mutex.OldIrql().read()?;
    mutex.Owner().write(GuestPtr::NULL)?;
    lock(&kernel().locks).released(thread::number(), mutex.address());
    match apcs {
        Apcs::Raised => _ = thread::set_irql(old as u8),
        Apcs::Guarded => irql::leave_guarded(),
        Apcs::Unchanged => {}
    }
    kernel().scheduler.change(|_| mutex.Count().write(1))?;
    Ok(())
}
