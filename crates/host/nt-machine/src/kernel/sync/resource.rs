//! Executive resources, rundown protection and remove locks.

use etw_types::NtStatus;

use super::irql;
use super::scheduler::State;
use crate::cpu::thread;
use crate::kernel::pool;
use crate::kernel::{kernel, lock};
use crate::layout::{ERESOURCE, IO_REMOVE_LOCK};
use crate::memory::{Fault, GuestPtr, Opaque};
use crate::routine::{ANY, APC, Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routine};
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ExInitializeResourceLite", DISPATCH, |call| {
        initialize(call)?;
        lock(&kernel().io).register("resource", call.arg(0), call.from);
        done(())
    })
    .fails(NO_RESOURCES),
    routine!("ExReinitializeResourceLite", DISPATCH, initialize),
    routine!("ExDeleteResourceLite", DISPATCH, |call| {
        if !lock(&kernel().io).forget("resource", call.arg(0)) {
            verify::find(Rule::LockMisuse, format_args!("deletes a resource that was not initialised"));
        }
        let resource = call.ptr::<ERESOURCE>(0);
        if resource.Readers().read()? != 0 || resource.WriterDepth().read()? != 0 {
            verify::find(Rule::LockLeak, format_args!("deletes a resource that a thread holds"));
        }
        done(())
    }),
    routine!("ExAcquireResourceExclusiveLite", APC, |call| acquire(call.ptr(0), Access::Exclusive, call.is(1))).keeps(),
    routine!("ExAcquireResourceSharedLite", APC, |call| acquire(call.ptr(0), Access::Shared, call.is(1))).keeps(),
    routine!("ExAcquireSharedStarveExclusive", APC, |call| acquire(call.ptr(0), Access::Starving, call.is(1))).keeps(),
    routine!("ExAcquireSharedWaitForExclusive", APC, |call| acquire(call.ptr(0), Access::Yielding, call.is(1))).keeps(),
    routine!("ExGetExclusiveWaiterCount", DISPATCH, |call| {
        kernel().scheduler.look(|state| state.writers.get(&call.arg(0)).copied().unwrap_or_default())
    }),
    routine!("ExGetSharedWaiterCount", DISPATCH, |call| {
        kernel().scheduler.look(|state| state.shared_waiters.get(&call.arg(0)).copied().unwrap_or_default())
    }),
    routine!("ExEnterCriticalRegionAndAcquireResourceExclusive", APC, |call| {
        irql::enter_critical();
        acquire(call.ptr(0), Access::Exclusive, true)?;
        done(thread::object())
    })
    .keeps(),
    routine!("ExEnterCriticalRegionAndAcquireResourceShared", APC, |call| {
        irql::enter_critical();
        acquire(call.ptr(0), Access::Shared, true)?;
        done(thread::object())
    })
    .keeps(),
    routine!("ExReleaseResourceLite", DISPATCH, |call| release(call.ptr(0), thread::object())),
    // The second argument is the thread that acquired it.
    routine!("ExReleaseResourceForThreadLite", DISPATCH, |call| release(call.ptr(0), call.ptr(1))),
    routine!("ExReleaseResourceAndLeaveCriticalRegion", DISPATCH, |call| {
        release(call.ptr(0), thread::object())?;
        irql::leave_critical();
        done(())
    }),
    routine!("ExConvertExclusiveToSharedLite", APC, |call| convert(call.ptr(0))),
    // Arguments: pool type, tag. The protection is opaque: a word in the driver's pool.
    routine!("ExAllocateCacheAwareRundownProtection", APC, |call| {
        let memory = lock(&kernel().pool).allocate(8, call.u32(1).to_le_bytes(), false, call.from);
        let Some(word) = memory.map(GuestPtr::<u64>::new) else { return done(GuestPtr::NULL) };
        word.write(0)?;
        done(word)
    })
    .fails_with_zero(),
    routine!("ExFreeCacheAwareRundownProtection", APC, |call| pool::free(call.arg(0), None)),
    routine!("ExIsResourceAcquiredExclusiveLite", DISPATCH, |call| {
        done(call.ptr::<ERESOURCE>(0).Writer().read()? == thread::object())
    }),
    // Exclusive access is also shared access.
    routine!("ExIsResourceAcquiredSharedLite", DISPATCH, |call| {
        let resource = call.ptr::<ERESOURCE>(0);
        if resource.Writer().read()? == thread::object() {
            return done(resource.WriterDepth().read()?);
        }
        let key = reader(resource, thread::object());
        done(kernel().scheduler.look(|state| state.readers.get(&key).copied().unwrap_or_default()))
    }),
    routine!("ExInitializeRundownProtection", ANY, |call| call.ptr::<u64>(0).write(0)),
    routine!("ExAcquireRundownProtection", ANY, |call| protect(call, 1)).keeps(),
    routine!("ExAcquireRundownProtectionCacheAware", ANY, |call| protect(call, 1)).keeps(),
    // The second argument is the number of references to acquire or release.
    routine!("ExAcquireRundownProtectionEx", ANY, |call| protect(call, call.u32(1))).keeps(),
    routine!("ExAcquireRundownProtectionCacheAwareEx", ANY, |call| protect(call, call.u32(1))).keeps(),
    routine!("ExReleaseRundownProtection", ANY, |call| unprotect(call, 1)),
    routine!("ExReleaseRundownProtectionCacheAware", ANY, |call| unprotect(call, 1)),
    routine!("ExReleaseRundownProtectionEx", ANY, |call| unprotect(call, call.u32(1))),
    routine!("ExReleaseRundownProtectionCacheAwareEx", ANY, |call| unprotect(call, call.u32(1))),
    routine!("ExWaitForRundownProtectionRelease", APC, run_down),
    routine!("ExWaitForRundownProtectionReleaseCacheAware", APC, run_down),
    routine!("ExReInitializeRundownProtection", APC, |call| call.ptr::<u64>(0).write(0)),
    routine!("ExReInitializeRundownProtectionCacheAware", APC, |call| call.ptr::<u64>(0).write(0)),
    routine!("ExRundownCompleted", APC, |call| call.ptr::<u64>(0).write(1)),
    routine!("ExRundownCompletedCacheAware", APC, |call| call.ptr::<u64>(0).write(1)),
    // The last argument of the remove lock routines is the size of the structure.
    routine!("IoInitializeRemoveLockEx", PASSIVE, |call| {
        call.ptr::<IO_REMOVE_LOCK>(0).zero()?;
        call.ptr::<IO_REMOVE_LOCK>(0).IoCount().write(1)
    }),
    // It fails only after the driver itself has begun to remove the device, so no failures are injected.
    routine!("IoAcquireRemoveLockEx", DISPATCH, |call| {
        let remove_lock = call.ptr::<IO_REMOVE_LOCK>(0);
        if remove_lock.Removed().read()? != 0 {
            return fail(NtStatus::DeletePending);
        }
        remove_lock.IoCount().fetch_add(1)?;
        done(())
    }),
    routine!("IoReleaseRemoveLockEx", DISPATCH, |call| {
        call.ptr::<IO_REMOVE_LOCK>(0).IoCount().fetch_sub(1)?;
        kernel().scheduler.change(|_| ());
        done(())
    }),
    routine!("IoReleaseRemoveLockAndWaitEx", PASSIVE, |call| {
        let remove_lock = call.ptr::<IO_REMOVE_LOCK>(0);
        remove_lock.Removed().write(1)?;
        // One reference for the lock itself, one for the caller.
        remove_lock.IoCount().fetch_sub(2)?;
        until(|| Ok(remove_lock.IoCount().read()? == 0))
    }),
];

/// Waits until a condition is met.
fn until(condition: impl Fn() -> Result<bool, Fault>) -> Result<(), Fault> {
    let met = kernel().scheduler.wait(None, |_| condition().map(|met| met.then_some(())).transpose());
    met.unwrap_or(Ok(()))
}

fn initialize(call: &Call) -> Result<(), Fault> {
    kernel().scheduler.change(|state| state.readers.retain(|(resource, _), _| *resource != call.arg(0)));
    call.ptr::<ERESOURCE>(0).zero()
}

/// Returns the key for a thread's shared access to a resource.
const fn reader(resource: GuestPtr<ERESOURCE>, thread: GuestPtr<Opaque>) -> (u64, u64) {
    (resource.address(), thread.address())
}

/// The kinds of access to a resource. The shared ones differ if another thread waits for exclusive access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Exclusive,
    /// `ExAcquireResourceSharedLite`: waits for that thread, unless the caller already has shared access.
    Shared,
    /// `ExAcquireSharedStarveExclusive`: does not wait for that thread.
    Starving,
    /// `ExAcquireSharedWaitForExclusive`: always waits for that thread.
    Yielding,
}

/// Acquires a resource. Returns whether it was acquired; if `wait` is set, waits until it is free.
fn acquire(resource: GuestPtr<ERESOURCE>, access: Access, wait: bool) -> Result<bool, Fault> {
    let (exclusive, key) = (access == Access::Exclusive, reader(resource, thread::object()));
    let attempt = |state: &mut State| {
        let (readers, writer) = (resource.Readers().read()?, resource.Writer().read()?);
        let is_mine = writer == thread::object();
        let is_wanted = state.writers.contains_key(&resource.address());
        let yields = match access {
            Access::Exclusive | Access::Starving => false,
            Access::Shared => is_wanted && !state.readers.contains_key(&key),
            Access::Yielding => is_wanted,
        };
        if !is_mine && (!writer.is_null() || exclusive && readers != 0 || yields) {
            return Ok(None);
        }
        if exclusive || is_mine {
            resource.WriterDepth().change(|depth| depth.wrapping_add(1))?;
            resource.Writer().write(thread::object())?;
        } else {
            resource.Readers().write(readers.wrapping_add(1))?;
            *state.readers.entry(key).or_default() += 1;
        }
        Ok(Some(()))
    };
    let scheduler = &kernel().scheduler;
    let at_once = scheduler.wait(Some(0), |state| attempt(state).transpose()).transpose()?;
    if at_once.is_some() || !wait {
        return Ok(at_once.is_some());
    }
    scheduler.change(|state| *state.waiters_of(exclusive).entry(resource.address()).or_default() += 1);
    let acquired = scheduler.wait(None, |state| attempt(state).transpose());
    scheduler.change(|state| {
        let waiters = state.waiters_of(exclusive);
        let waiting = waiters.entry(resource.address()).or_default();
        *waiting = waiting.saturating_sub(1);
        if *waiting == 0 {
            waiters.remove(&resource.address());
        }
    });
    Ok(acquired.transpose()?.is_some())
}

/// Releases a resource that a thread acquired.
fn release(resource: GuestPtr<ERESOURCE>, thread: GuestPtr<Opaque>) -> Outcome {
    let owned = kernel().scheduler.change(|state| {
        let depth = resource.WriterDepth().read()?;
        if resource.Writer().read()? == thread && depth != 0 {
            resource.WriterDepth().write(depth - 1)?;
            if depth == 1 {
                resource.Writer().write(GuestPtr::NULL)?;
            }
            return Ok(true);
        }
        let key = reader(resource, thread);
        let Some(count) = state.readers.get_mut(&key) else { return Ok::<_, Fault>(false) };
        resource.Readers().change(|readers| readers.wrapping_sub(1))?;
        *count -= 1;
        if *count == 0 {
            state.readers.remove(&key);
        }
        Ok(true)
    })?;
    if !owned {
        verify::find(Rule::LockMisuse, format_args!("releases a resource that this thread does not hold"));
    }
    Ok(())
}

/// Makes the exclusive access of the current thread shared access. No other thread can acquire the resource in between.
fn convert(resource: GuestPtr<ERESOURCE>) -> Outcome {
    let owned = kernel().scheduler.change(|state| {
        if resource.Writer().read()? != thread::object() {
            return Ok::<_, Fault>(false);
        }
        let depth = resource.WriterDepth().change(|_| 0)?;
        resource.Writer().write(GuestPtr::NULL)?;
        resource.Readers().write(depth)?;
        state.readers.insert(reader(resource, thread::object()), depth);
        Ok(true)
    })?;
    if !owned {
        let what = format_args!("converts a resource that this thread does not hold exclusively");
        verify::find(Rule::LockMisuse, what);
    }
    Ok(())
}

/// Acquires rundown protection. The word contains 2 for each reference; the lowest bit is set when rundown has begun.
fn protect(call: &Call, count: u32) -> Result<bool, Fault> {
    let word = call.ptr::<u64>(0);
    loop {
        let old = word.read()?;
        if old & 1 != 0 {
            return Ok(false);
        }
        if word.compare_exchange(old, old.wrapping_add(2 * u64::from(count)))? {
            return Ok(true);
        }
    }
}

fn unprotect(call: &Call, count: u32) -> Outcome {
    let old = call.ptr::<u64>(0).fetch_sub(2 * u64::from(count))?;
    if old < 2 * u64::from(count) {
        verify::find(Rule::LockMisuse, format_args!("rundown protection is released more often than it was acquired"));
    }
    kernel().scheduler.change(|_| ());
    Ok(())
}

/// Prevents new references and waits until the existing ones are released.
fn run_down(call: &Call) -> Outcome {
    let word = call.ptr::<u64>(0);
    loop {
        let old = word.read()?;
        if word.compare_exchange(old, old | 1)? {
            break;
        }
    }
    Ok(until(|| Ok(word.read()? == 1))?)
}
