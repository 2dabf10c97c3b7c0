//! Executive resources and rundown protection.

use nt_processor::cpu::thread;
use nt_processor::layout::ERESOURCE;
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, APC, DISPATCH, Ignored, Outcome, done, routines};
use nt_verifier::verify::{self, Rule, Wdm};

use super::irql;
use super::scheduler::State;
use crate::pool;
use crate::sync::scheduler::Scheduler;
use crate::{Kernel, kernel, lock, request_rules};

routines! { pub(super) ROUTINES;
    /// Always returns `STATUS_SUCCESS`, as its page says.
    #[irql(DISPATCH), keeps]
    fn ExInitializeResourceLite(&call, resource: GuestPtr<ERESOURCE>) -> Outcome {
        let Kernel { io, scheduler, .. } = kernel();
        initialize(scheduler, resource)?;
        lock(io).register("resource", resource.address(), call.from);
        done(())
    }

    #[irql(DISPATCH)]
    fn ExReinitializeResourceLite(resource: GuestPtr<ERESOURCE>) -> Outcome {
        let Kernel { scheduler, .. } = kernel();
        done(initialize(scheduler, resource)?)
    }

    #[irql(DISPATCH)]
    fn ExDeleteResourceLite(resource: GuestPtr<ERESOURCE>) -> Outcome {
        if !lock(&kernel().io).forget("resource", resource.address()) {
            verify::find(Rule::LockMisuse, format_args!("deletes a resource that was not initialised"));
        }
        if resource.Readers().read()? != 0 || resource.WriterDepth().read()? != 0 {
            verify::find(Rule::LockLeak, format_args!("deletes a resource that a thread holds"));
        }
        done(())
    }

    #[irql(APC), keeps]
    fn ExAcquireResourceExclusiveLite(resource: GuestPtr<ERESOURCE>, wait: bool) -> Result<bool, Fault> {
        acquire(resource, Access::Exclusive, wait)
    }

    #[irql(APC), keeps]
    fn ExAcquireResourceSharedLite(resource: GuestPtr<ERESOURCE>, wait: bool) -> Result<bool, Fault> {
        acquire(resource, Access::Shared, wait)
    }

    #[irql(APC), keeps]
    fn ExAcquireSharedStarveExclusive(resource: GuestPtr<ERESOURCE>, wait: bool) -> Result<bool, Fault> {
        acquire(resource, Access::Starving, wait)
    }

    #[irql(APC), keeps]
    fn ExAcquireSharedWaitForExclusive(resource: GuestPtr<ERESOURCE>, wait: bool) -> Result<bool, Fault> {
        acquire(resource, Access::Yielding, wait)
    }

    #[irql(DISPATCH)]
    fn ExGetExclusiveWaiterCount(resource: GuestPtr<ERESOURCE>) -> u32 {
        kernel().scheduler.look(|state| state.writers.get(&resource.address()).copied().unwrap_or_default())
    }

    #[irql(DISPATCH)]
    fn ExGetSharedWaiterCount(resource: GuestPtr<ERESOURCE>) -> u32 {
        kernel().scheduler.look(|state| state.shared_waiters.get(&resource.address()).copied().unwrap_or_default())
    }

    #[irql(APC), keeps]
    fn ExEnterCriticalRegionAndAcquireResourceExclusive(
        resource: GuestPtr<ERESOURCE>,
    ) -> Result<GuestPtr<Opaque>, Fault> {
        irql::enter_critical();
        acquire(resource, Access::Exclusive, true)?;
        Ok(thread::object())
    }

    #[irql(APC), keeps]
    fn ExEnterCriticalRegionAndAcquireResourceShared(resource: GuestPtr<ERESOURCE>) -> Result<GuestPtr<Opaque>, Fault> {
        irql::enter_critical();
        acquire(resource, Access::Shared, true)?;
        Ok(thread::object())
    }

    #[irql(DISPATCH)]
    fn ExReleaseResourceLite(resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
        release(resource, thread::object().address())
    }

    /// `thread` is the thread that acquired the resource.
    #[irql(DISPATCH)]
    fn ExReleaseResourceForThreadLite(resource: GuestPtr<ERESOURCE>, thread: u64) -> Result<(), Fault> {
        release(resource, thread)
    }

    #[irql(DISPATCH)]
    fn ExReleaseResourceAndLeaveCriticalRegion(resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
        release(resource, thread::object().address())?;
        irql::leave_critical();
        Ok(())
    }

    #[irql(APC)]
    fn ExConvertExclusiveToSharedLite(resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
        convert(resource)
    }

    /// The protection is opaque: a word in the driver's pool.
    #[irql(APC), fails_with_zero]
    fn ExAllocateCacheAwareRundownProtection(&call, _pool: Ignored<i32>, tag: u32) -> Result<GuestPtr<u64>, Fault> {
        let memory = lock(&kernel().pool).allocate(8, tag.to_le_bytes(), false, call.from);
        let Some(word) = memory.map(GuestPtr::<u64>::new) else { return Ok(GuestPtr::NULL) };
        word.write(0)?;
        Ok(word)
    }

    #[irql(APC)]
    fn ExFreeCacheAwareRundownProtection(protection: GuestPtr<u64>) {
        pool::free(protection.address(), None);
    }

    #[irql(DISPATCH)]
    fn ExIsResourceAcquiredExclusiveLite(resource: GuestPtr<ERESOURCE>) -> Result<bool, Fault> {
        Ok(resource.Writer().read()? == thread::object())
    }

    /// Exclusive access is also shared access.
    #[irql(DISPATCH)]
    fn ExIsResourceAcquiredSharedLite(resource: GuestPtr<ERESOURCE>) -> Result<u32, Fault> {
        if resource.Writer().read()? == thread::object() {
            return resource.WriterDepth().read();
        }
        let key = reader(resource, thread::object().address());
        Ok(kernel().scheduler.look(|state| state.readers.get(&key).copied().unwrap_or_default()))
    }

    #[irql(ANY)]
    fn ExInitializeRundownProtection(protection: GuestPtr<u64>) -> Result<(), Fault> {
        protection.write(0)
    }

    #[irql(ANY), keeps]
    fn ExAcquireRundownProtection(protection: GuestPtr<u64>) -> Result<bool, Fault> {
        protect(protection, 1)
    }

    #[irql(ANY), keeps]
    fn ExAcquireRundownProtectionCacheAware(protection: GuestPtr<u64>) -> Result<bool, Fault> {
        protect(protection, 1)
    }

    #[irql(ANY), keeps]
    fn ExAcquireRundownProtectionEx(protection: GuestPtr<u64>, count: u32) -> Result<bool, Fault> {
        protect(protection, count)
    }

    #[irql(ANY), keeps]
    fn ExAcquireRundownProtectionCacheAwareEx(protection: GuestPtr<u64>, count: u32) -> Result<bool, Fault> {
        protect(protection, count)
    }

    #[irql(ANY)]
    fn ExReleaseRundownProtection(protection: GuestPtr<u64>) -> Result<(), Fault> {
        unprotect(protection, 1)
    }

    #[irql(ANY)]
    fn ExReleaseRundownProtectionCacheAware(protection: GuestPtr<u64>) -> Result<(), Fault> {
        unprotect(protection, 1)
    }

    #[irql(ANY)]
    fn ExReleaseRundownProtectionEx(protection: GuestPtr<u64>, count: u32) -> Result<(), Fault> {
        unprotect(protection, count)
    }

    #[irql(ANY)]
    fn ExReleaseRundownProtectionCacheAwareEx(protection: GuestPtr<u64>, count: u32) -> Result<(), Fault> {
        unprotect(protection, count)
    }

    #[irql(APC)]
    fn ExWaitForRundownProtectionRelease(protection: GuestPtr<u64>) -> Result<(), Fault> {
        run_down(protection)
    }

    #[irql(APC)]
    fn ExWaitForRundownProtectionReleaseCacheAware(protection: GuestPtr<u64>) -> Result<(), Fault> {
        run_down(protection)
    }

    #[irql(APC)]
    fn ExReInitializeRundownProtection(protection: GuestPtr<u64>) -> Result<(), Fault> {
        protection.write(0)
    }

    #[irql(APC)]
    fn ExReInitializeRundownProtectionCacheAware(protection: GuestPtr<u64>) -> Result<(), Fault> {
        protection.write(0)
    }

    #[irql(APC)]
    fn ExRundownCompleted(protection: GuestPtr<u64>) -> Result<(), Fault> {
        protection.write(1)
    }

    #[irql(APC)]
    fn ExRundownCompletedCacheAware(protection: GuestPtr<u64>) -> Result<(), Fault> {
        protection.write(1)
    }
}

/// Waits until a condition is met.
fn until(condition: impl Fn() -> Result<bool, Fault>) -> Result<(), Fault> {
    let met = kernel().scheduler.wait(None, |_| condition().map(|met| met.then_some(())).transpose());
    met.unwrap_or(Ok(()))
}

fn initialize(scheduler: &Scheduler, resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
    scheduler.change(|state| {
        state.readers.retain(|(known, _), _| *known != resource.address());
        state.owners.remove(&resource.address());
    });
    resource.zero()
}

/// Returns the calls with which this thread acquired the resources that it has for exclusive access.
pub fn owned() -> Vec<u64> {
    let thread = thread::object().address();
    kernel()
        .scheduler
        .look(|state| state.owners.values().filter(|(owner, _)| *owner == thread).map(|(_, from)| *from).collect())
}

/// Returns the key for a thread's shared access to a resource.
const fn reader(resource: GuestPtr<ERESOURCE>, thread: u64) -> (u64, u64) {
    (resource.address(), thread)
}

/// The kinds of access to a resource. The shared ones differ if another thread waits for exclusive access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Exclusive,
    /// `ExAcquireResourceSharedLite`: waits for that thread, unless the caller already has shared access.
    Shared,
    /// `ExAcquireSharedStarveExclusive`: does not wait for that thread.
    Starving,
    /// `ExAcquireSharedWaitForExclusive`: always waits for that thread.
    Yielding,
}

/// Acquires a resource. Returns whether it was acquired; if `wait` is set, waits until it is free.
pub(super) fn acquire(resource: GuestPtr<ERESOURCE>, access: Access, wait: bool) -> Result<bool, Fault> {
    // A system thread has no normal APCs.
    if request_rules::is_for_client() && irql::are_apcs_enabled() {
        let breach = Rule::LockMisuse.named(Wdm::WithinCriticalRegion);
        verify::find(breach, format_args!("acquires a resource outside of a critical region"));
    }
    let from = thread::site().map_or(0, |site| site.from);
    let exclusive = access == Access::Exclusive;
    let key = reader(resource, thread::object().address());
    let attempt = |state: &mut State| {
        let readers = resource.Readers().read()?;
        let writer = resource.Writer().read()?;
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
            state.owners.get_or_insert_with(resource.address(), || (thread::object().address(), from));
        } else {
            resource.Readers().write(readers.wrapping_add(1))?;
            *state.readers.get_or_default(key) += 1;
        }
        Ok(Some(()))
    };
    let scheduler = &kernel().scheduler;
    let at_once = scheduler.wait(Some(0), |state| attempt(state).transpose()).transpose()?;
    if at_once.is_some() || !wait {
        return Ok(at_once.is_some());
    }
    scheduler.change(|state| *state.waiters_of(exclusive).get_or_default(resource.address()) += 1);
    let acquired = scheduler.wait(None, |state| attempt(state).transpose());
    scheduler.change(|state| {
        let waiters = state.waiters_of(exclusive);
        let waiting = waiters.get_or_default(resource.address());
        *waiting = waiting.saturating_sub(1);
        if *waiting == 0 {
            waiters.remove(&resource.address());
        }
    });
    Ok(acquired.transpose()?.is_some())
}

/// Releases a resource that a thread acquired.
pub(super) fn release(resource: GuestPtr<ERESOURCE>, thread: u64) -> Result<(), Fault> {
    let owned = kernel().scheduler.change(|state| {
        let depth = resource.WriterDepth().read()?;
        if resource.Writer().read()?.address() == thread && depth != 0 {
            resource.WriterDepth().write(depth - 1)?;
            if depth == 1 {
                resource.Writer().write(GuestPtr::NULL)?;
                state.owners.remove(&resource.address());
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
        let breach = Rule::LockMisuse.named(Wdm::ExclusiveResourceAccess);
        verify::find(breach, format_args!("releases a resource that this thread does not hold"));
    }
    Ok(())
}

/// Makes the exclusive access of the current thread shared access. No other thread can acquire the resource in between.
fn convert(resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
    let owned = kernel().scheduler.change(|state| {
        if resource.Writer().read()? != thread::object() {
            return Ok::<_, Fault>(false);
        }
        let depth = resource.WriterDepth().change(|_| 0)?;
        state.owners.remove(&resource.address());
        resource.Writer().write(GuestPtr::NULL)?;
        resource.Readers().write(depth)?;
        state.readers.insert(reader(resource, thread::object().address()), depth);
        Ok(true)
    })?;
    if !owned {
        let what = format_args!("converts a resource that this thread does not hold exclusively");
        verify::find(Rule::LockMisuse, what);
    }
    Ok(())
}

/// Acquires rundown protection. The word contains 2 for each reference; the lowest bit is set when rundown has begun.
fn protect(word: GuestPtr<u64>, count: u32) -> Result<bool, Fault> {
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

fn unprotect(word: GuestPtr<u64>, count: u32) -> Result<(), Fault> {
    let old = word.fetch_sub(2 * u64::from(count))?;
    if old < 2 * u64::from(count) {
        verify::find(Rule::LockMisuse, format_args!("releases rundown protection more often than it acquired it"));
    }
    kernel().scheduler.change(|_| ());
    Ok(())
}

/// Prevents new references and waits until the existing ones are released.
fn run_down(word: GuestPtr<u64>) -> Result<(), Fault> {
    loop {
        let old = word.read()?;
        if word.compare_exchange(old, old | 1)? {
            break;
        }
    }
    until(|| Ok(word.read()? == 1))
}
