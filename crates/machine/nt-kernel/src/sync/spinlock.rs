//! Spin locks, queued spin locks and fast mutexes.

use nt_processor::cpu::thread;
use nt_processor::image;
use nt_processor::layout::{FAST_MUTEX, KLOCK_QUEUE_HANDLE};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, APC, Call, DISPATCH, Ignored, Irql, Out, routines};
use nt_verifier::verify::locks::LockKind;
use nt_verifier::verify::{self, Rule, Wdm};
use windows_releases::Release as Os;

use super::irql;
use crate::{Kernel, kernel, lock, request_rules};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn KeInitializeSpinLock(spin_lock: Out<u64>) -> Result<(), Fault> {
        spin_lock.set(0)
    }

    #[irql(DISPATCH), keeps]
    fn KeAcquireSpinLockRaiseToDpc(&call, spin_lock: GuestPtr<u64>) -> Result<Irql, Fault> {
        raise_and_acquire(spin_lock, call.from)
    }

    #[irql(DISPATCH)]
    fn KeReleaseSpinLock(spin_lock: GuestPtr<u64>, old: Irql) -> Result<(), Fault> {
        release_and_lower(spin_lock, old)
    }

    #[irql(DISPATCH), keeps]
    fn KeAcquireSpinLockAtDpcLevel(&call, spin_lock: GuestPtr<u64>) -> Result<(), Fault> {
        at_dpc_level(LockKind::Spin, spin_lock, call.from)
    }

    #[irql(DISPATCH)]
    fn KeReleaseSpinLockFromDpcLevel(spin_lock: GuestPtr<u64>) -> Result<(), Fault> {
        irql::needs_dispatch();
        release_as(LockKind::Spin, spin_lock)
    }

    #[irql(DISPATCH)]
    fn KeTryToAcquireSpinLockAtDpcLevel(&call, spin_lock: GuestPtr<u64>) -> Result<bool, Fault> {
        try_acquire(spin_lock, call.from)
    }

    #[irql(DISPATCH)]
    fn KeTestSpinLock(spin_lock: GuestPtr<u64>) -> Result<bool, Fault> {
        Ok(spin_lock.read()? == 0)
    }

    #[irql(DISPATCH), keeps]
    fn KeAcquireInStackQueuedSpinLock(
        &call,
        spin_lock: GuestPtr<u64>,
        handle: GuestPtr<KLOCK_QUEUE_HANDLE>,
    ) -> Result<(), Fault> {
        let old = irql::raise(DISPATCH);
        handle.Lock().write(spin_lock)?;
        handle.OldIrql().write(old)?;
        acquire_as(LockKind::Queued, spin_lock, call.from)
    }

    #[irql(DISPATCH)]
    fn KeReleaseInStackQueuedSpinLock(handle: GuestPtr<KLOCK_QUEUE_HANDLE>) -> Result<(), Fault> {
        release_as(LockKind::Queued, handle.Lock().read()?)?;
        irql::lower(handle.OldIrql().read()?);
        Ok(())
    }

    #[irql(ANY), keeps]
    fn KeAcquireInStackQueuedSpinLockAtDpcLevel(
        &call,
        spin_lock: GuestPtr<u64>,
        handle: GuestPtr<KLOCK_QUEUE_HANDLE>,
    ) -> Result<(), Fault> {
        handle.Lock().write(spin_lock)?;
        at_dpc_level(LockKind::Queued, spin_lock, call.from)
    }

    #[irql(DISPATCH)]
    fn KeReleaseInStackQueuedSpinLockFromDpcLevel(handle: GuestPtr<KLOCK_QUEUE_HANDLE>) -> Result<(), Fault> {
        irql::needs_dispatch();
        release_as(LockKind::Queued, handle.Lock().read()?)
    }

    #[irql(ANY)]
    fn ExInitializeFastMutex(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        initialize_fast_mutex(mutex)
    }

    #[irql(ANY)]
    fn KeInitializeGuardedMutex(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        initialize_fast_mutex(mutex)
    }

    #[irql(APC), keeps]
    fn ExAcquireFastMutex(&call, mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        acquire_fast_mutex(call, mutex, Apcs::Raised)
    }

    #[irql(APC), keeps]
    fn KeAcquireGuardedMutex(&call, mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        acquire_fast_mutex(call, mutex, Apcs::guarded())
    }

    #[irql(APC), keeps]
    fn ExAcquireFastMutexUnsafe(&call, mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        acquire_fast_mutex(call, mutex, Apcs::Unchanged)
    }

    #[irql(APC)]
    fn ExReleaseFastMutex(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        release_fast_mutex(mutex, Apcs::Raised)
    }

    #[irql(APC)]
    fn KeReleaseGuardedMutex(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        release_fast_mutex(mutex, Apcs::guarded())
    }

    #[irql(APC)]
    fn ExReleaseFastMutexUnsafe(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        release_fast_mutex(mutex, Apcs::Unchanged)
    }

    /// The caller is in a guarded region, or at `APC_LEVEL`.
    #[irql(APC), keeps]
    fn KeAcquireGuardedMutexUnsafe(&call, mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        acquire_fast_mutex(call, mutex, Apcs::Unchanged)
    }

    #[irql(APC)]
    fn KeReleaseGuardedMutexUnsafe(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        release_fast_mutex(mutex, Apcs::Unchanged)
    }

    #[irql(APC), keeps]
    fn ExEnterCriticalRegionAndAcquireFastMutexUnsafe(&call, mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        irql::enter_critical();
        acquire_fast_mutex(call, mutex, Apcs::Unchanged)
    }

    #[irql(APC)]
    fn ExReleaseFastMutexUnsafeAndLeaveCriticalRegion(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
        release_fast_mutex(mutex, Apcs::Unchanged)?;
        irql::leave_critical();
        Ok(())
    }

    #[irql(DISPATCH), keeps]
    fn KeAcquireSpinLockForDpc(&call, spin_lock: GuestPtr<u64>) -> Result<Irql, Fault> {
        raise_and_acquire(spin_lock, call.from)
    }

    #[irql(DISPATCH)]
    fn KeReleaseSpinLockForDpc(spin_lock: GuestPtr<u64>, old: Irql) -> Result<(), Fault> {
        release_and_lower(spin_lock, old)
    }

    /// Returns the old value.
    #[irql(ANY)]
    fn ExInterlockedAddUlong(
        addend: GuestPtr<u32>,
        increment: u32,
        _lock: Ignored<GuestPtr<u64>>,
    ) -> Result<u32, Fault> {
        addend.fetch_add(increment)
    }

    /// Returns the old value.
    #[irql(ANY)]
    fn ExInterlockedAddLargeInteger(
        addend: GuestPtr<u64>,
        increment: i64,
        _lock: Ignored<GuestPtr<u64>>,
    ) -> Result<i64, Fault> {
        Ok(addend.fetch_add(increment.cast_unsigned())?.cast_signed())
    }

    #[irql(APC)]
    fn ExTryToAcquireFastMutex(&call, mutex: GuestPtr<FAST_MUTEX>) -> Result<bool, Fault> {
        try_fast_mutex(mutex, Apcs::Raised, call.from)
    }

    #[irql(APC)]
    fn KeTryToAcquireGuardedMutex(&call, mutex: GuestPtr<FAST_MUTEX>) -> Result<bool, Fault> {
        try_fast_mutex(mutex, Apcs::guarded(), call.from)
    }
}

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

fn raise_and_acquire(spin_lock: GuestPtr<u64>, from: u64) -> Result<Irql, Fault> {
    let old = irql::raise(DISPATCH);
    acquire_as(LockKind::Spin, spin_lock, from)?;
    irql::saved(spin_lock.address(), old);
    Ok(Irql(old))
}

fn release_and_lower(spin_lock: GuestPtr<u64>, old: Irql) -> Result<(), Fault> {
    irql::needs_dispatch();
    if let Some(saved) = irql::restores(spin_lock.address(), old.0) {
        let breach = Rule::LockMisuse.named(Wdm::IrqlKeReleaseSpinLock);
        verify::find(breach, format_args!("restores IRQL {}, but the spin lock was acquired at {saved}", old.0));
    }
    release_as(LockKind::Spin, spin_lock)?;
    irql::lower(old.0);
    Ok(())
}

fn at_dpc_level(kind: LockKind, spin_lock: GuestPtr<u64>, from: u64) -> Result<(), Fault> {
    irql::needs_dispatch();
    acquire_as(kind, spin_lock, from)
}

/// Returns the value of a lock that this thread holds.
fn mine() -> u64 {
    u64::from(thread::number()) << 1 | 1
}

/// Acquires a spin lock of the framework.
pub fn acquire(spin_lock: GuestPtr<u64>, from: u64) -> Result<(), Fault> {
    acquire_as(LockKind::Framework, spin_lock, from)
}

/// Acquires a spin lock. If this thread already holds it, it would wait forever, so the run ends.
pub(crate) fn acquire_as(kind: LockKind, spin_lock: GuestPtr<u64>, from: u64) -> Result<(), Fault> {
    if spin_lock.read()? == mine() {
        let routine = thread::site().map_or("KeAcquireSpinLock", |site| site.routine);
        let what = format_args!("deadlock: the thread already holds this spin lock");
        verify::stop(kind.breach(Rule::LockMisuse), Some(routine), from, what);
    }
    while !spin_lock.compare_exchange(0, mine())? {
        if verify::is_stopped() {
            verify::park();
        }
        std::thread::yield_now();
    }
    note_acquired(kind, spin_lock.address(), from);
    Ok(())
}

fn try_acquire(spin_lock: GuestPtr<u64>, from: u64) -> Result<bool, Fault> {
    let taken = spin_lock.compare_exchange(0, mine())?;
    if taken {
        note_acquired(LockKind::Spin, spin_lock.address(), from);
    }
    Ok(taken)
}

fn note_acquired(kind: LockKind, address: u64, from: u64) {
    let cycle = lock(&kernel().locks).acquired(kind, thread::number(), address, from);
    if let Some(other) = cycle {
        let where_else = image::describe(other);
        let what = format_args!("acquires a lock while it holds another; {where_else} does it in reverse order");
        verify::find(Rule::LockOrder, what);
    }
}

/// Releases a spin lock of the framework.
pub fn release(spin_lock: GuestPtr<u64>) -> Result<(), Fault> {
    release_as(LockKind::Framework, spin_lock)
}

/// Releases a spin lock.
pub(crate) fn release_as(kind: LockKind, spin_lock: GuestPtr<u64>) -> Result<(), Fault> {
    let held = spin_lock.read()?;
    lock(&kernel().locks).released(thread::number(), spin_lock.address());
    if held != mine() {
        let what = if held == 0 { "that is free" } else { "of another thread" };
        let breach = kind.breach(Rule::LockMisuse);
        verify::find(breach, format_args!("releases a spin lock {what}"));
        return Ok(());
    }
    request_rules::lock_released()?;
    spin_lock.write(0)
}

fn initialize_fast_mutex(mutex: GuestPtr<FAST_MUTEX>) -> Result<(), Fault> {
    mutex.zero()?;
    mutex.Count().write(1)?;
    mutex.Event().Header().initialize(1, 0)
}

fn acquire_fast_mutex(call: &Call, mutex: GuestPtr<FAST_MUTEX>, apcs: Apcs) -> Result<(), Fault> {
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

fn own_fast_mutex(mutex: GuestPtr<FAST_MUTEX>, apcs: Apcs, from: u64) -> Result<(), Fault> {
    mutex.Owner().write(thread::object())?;
    let old = thread::irql();
    mutex.OldIrql().write(old.into())?;
    match apcs {
        Apcs::Raised => _ = thread::set_irql(APC.max(old)),
        Apcs::Guarded => irql::enter_guarded(),
        Apcs::Unchanged => {}
    }
    note_acquired(LockKind::Mutex, mutex.address(), from);
    Ok(())
}

fn try_fast_mutex(mutex: GuestPtr<FAST_MUTEX>, apcs: Apcs, from: u64) -> Result<bool, Fault> {
    let free = kernel().scheduler.change(|_| mutex.Count().change(|_| 0))? > 0;
    if free {
        own_fast_mutex(mutex, apcs, from)?;
    }
    Ok(free)
}

fn release_fast_mutex(mutex: GuestPtr<FAST_MUTEX>, apcs: Apcs) -> Result<(), Fault> {
    let Kernel { locks, scheduler, .. } = kernel();
    if mutex.Owner().read()? != thread::object() {
        verify::find(Rule::LockMisuse, format_args!("releases a fast mutex that this thread does not own"));
        return Ok(());
    }
    let old = mutex.OldIrql().read()?;
    mutex.Owner().write(GuestPtr::NULL)?;
    lock(locks).released(thread::number(), mutex.address());
    match apcs {
        Apcs::Raised => _ = thread::set_irql(old as u8),
        Apcs::Guarded => irql::leave_guarded(),
        Apcs::Unchanged => {}
    }
    scheduler.change(|_| mutex.Count().write(1))
}
