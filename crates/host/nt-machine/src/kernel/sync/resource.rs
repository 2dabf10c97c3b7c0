//! Executive resources, rundown protection and remove locks.

use etw_types::NtStatus;

use crate::cpu::thread;
use crate::kernel::{kernel, lock};
use crate::layout::{ERESOURCE, IO_REMOVE_LOCK};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, APC, Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routine};
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ExInitializeResourceLite", DISPATCH, |call| {
        call.ptr::<ERESOURCE>(0).zero()?;
        lock(&kernel().io).register("resource", call.arg(0), call.from);
        done(())
    })
    .fails(NO_RESOURCES),
    routine!("ExReinitializeResourceLite", DISPATCH, |call| call.ptr::<ERESOURCE>(0).zero()),
    routine!("ExDeleteResourceLite", DISPATCH, |call| {
        if !lock(&kernel().io).forget("resource", call.arg(0)) {
            verify::find(Rule::LockMisuse, format_args!("a resource is deleted that was not initialised"));
        }
        let resource = call.ptr::<ERESOURCE>(0);
        if resource.Readers().read()? != 0 || resource.WriterDepth().read()? != 0 {
            verify::find(Rule::LockLeak, format_args!("a resource is deleted while it is held"));
        }
        done(())
    }),
    routine!("ExAcquireResourceExclusiveLite", APC, |call| acquire(call.ptr(0), true, call.is(1))).keeps(),
    routine!("ExAcquireResourceSharedLite", APC, |call| acquire(call.ptr(0), false, call.is(1))).keeps(),
    routine!("ExAcquireSharedStarveExclusive", APC, |call| acquire(call.ptr(0), false, call.is(1))).keeps(),
    routine!("ExEnterCriticalRegionAndAcquireResourceExclusive", APC, |call| {
        acquire(call.ptr(0), true, true)?;
        done(thread::object())
    }),
    routine!("ExReleaseResourceLite", DISPATCH, release),
    routine!("ExReleaseResourceAndLeaveCriticalRegion", DISPATCH, release),
    routine!("ExIsResourceAcquiredExclusiveLite", DISPATCH, |call| {
        done(call.ptr::<ERESOURCE>(0).Writer().read()? == thread::object())
    }),
    routine!("ExIsResourceAcquiredSharedLite", DISPATCH, |call| call.ptr::<ERESOURCE>(0).Readers().read()),
    routine!("ExInitializeRundownProtection", ANY, |call| call.ptr::<u64>(0).write(0)),
    // Two for each holder; the lowest bit says that rundown has begun.
    routine!("ExAcquireRundownProtection", ANY, |call| {
        let word = call.ptr::<u64>(0);
        loop {
            let old = word.read()?;
            if old & 1 != 0 {
                return done(false);
            }
            if word.compare_exchange(old, old + 2)? {
                return done(true);
            }
        }
    })
    .keeps(),
    routine!("ExReleaseRundownProtection", ANY, |call| {
        let old = call.ptr::<u64>(0).fetch_sub(2)?;
        if old < 2 {
            verify::find(Rule::LockMisuse, format_args!("rundown protection is released that nobody holds"));
        }
        kernel().scheduler.change(|_| ());
        done(())
    }),
    routine!("ExWaitForRundownProtectionRelease", APC, |call| {
        let word = call.ptr::<u64>(0);
        loop {
            let old = word.read()?;
            if word.compare_exchange(old, old | 1)? {
                break;
            }
        }
        until(|| Ok(word.read()? == 1))
    }),
    routine!("ExReInitializeRundownProtection", APC, |call| call.ptr::<u64>(0).write(0)),
    routine!("ExRundownCompleted", APC, |call| call.ptr::<u64>(0).write(1)),
    // The routines for remove locks take the size of the structure last.
    routine!("IoInitializeRemoveLockEx", PASSIVE, |call| {
        call.ptr::<IO_REMOVE_LOCK>(0).zero()?;
        call.ptr::<IO_REMOVE_LOCK>(0).IoCount().write(1)
    }),
    // It fails only once its own driver has begun to remove the device, so that no script makes it fail.
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
        // One for the lock itself, one for the caller.
        remove_lock.IoCount().fetch_sub(2)?;
        until(|| Ok(remove_lock.IoCount().read()? == 0))
    }),
];

/// Waits for a condition.
fn until(condition: impl Fn() -> Result<bool, Fault>) -> Result<(), Fault> {
    let met = kernel().scheduler.wait(None, |_| condition().map(|met| met.then_some(())).transpose());
    met.unwrap_or(Ok(()))
}

/// Takes a resource; whether it was free, or became free if the caller waits.
fn acquire(resource: GuestPtr<ERESOURCE>, exclusive: bool, wait: bool) -> Result<bool, Fault> {
    let attempt = || {
        let (readers, writer) = (resource.Readers().read()?, resource.Writer().read()?);
        let is_mine = writer == thread::object();
        if !is_mine && !(writer.is_null() && !(exclusive && readers != 0)) {
            return Ok(None);
        }
        if exclusive || is_mine {
            resource.WriterDepth().change(|depth| depth.wrapping_add(1))?;
            resource.Writer().write(thread::object())?;
        } else {
            resource.Readers().write(readers.wrapping_add(1))?;
        }
        Ok(Some(()))
    };
    let deadline = if wait { None } else { Some(0) };
    Ok(kernel().scheduler.wait(deadline, |_| attempt().transpose()).transpose()?.is_some())
}

fn release(call: &Call) -> Outcome {
    let resource = call.ptr::<ERESOURCE>(0);
    let owned = kernel().scheduler.change(|_| {
        let (readers, depth) = (resource.Readers().read()?, resource.WriterDepth().read()?);
        if resource.Writer().read()? == thread::object() && depth != 0 {
            resource.WriterDepth().write(depth - 1)?;
            if depth == 1 {
                resource.Writer().write(GuestPtr::NULL)?;
            }
            Ok(true)
        } else if readers != 0 {
            resource.Readers().write(readers - 1)?;
            Ok(true)
        } else {
            Ok::<_, Fault>(false)
        }
    })?;
    if !owned {
        verify::find(Rule::LockMisuse, format_args!("a resource is released that the thread does not hold"));
    }
    Ok(())
}
