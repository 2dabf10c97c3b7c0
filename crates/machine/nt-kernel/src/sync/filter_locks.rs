//! The filter manager's names for resources and push locks. They disable APCs while the lock is held.

use nt_processor::cpu::thread;
use nt_processor::layout::ERESOURCE;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{APC, DISPATCH, FILTER_MANAGER, Ignored, Out, routines};

use super::irql::{enter_critical, leave_critical};
use super::resource::{self, Access};
use super::shared_lock::{pop, push};

type Lock = GuestPtr<u64>;

routines! { pub(super) ROUTINES;
    #[irql(APC), module(FILTER_MANAGER), keeps]
    fn FltAcquireResourceExclusive(resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
        enter_critical();
        resource::acquire(resource, Access::Exclusive, true).map(drop)
    }

    #[irql(APC), module(FILTER_MANAGER), keeps]
    fn FltAcquireResourceShared(resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
        enter_critical();
        resource::acquire(resource, Access::Shared, true).map(drop)
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltReleaseResource(resource: GuestPtr<ERESOURCE>) -> Result<(), Fault> {
        resource::release(resource, thread::object().address())?;
        leave_critical();
        Ok(())
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltInitializePushLock(lock: Out<u64>) -> Result<(), Fault> {
        lock.set(0)
    }

    #[irql(APC), module(FILTER_MANAGER), fixed]
    fn FltDeletePushLock(_lock: Ignored<Lock>) {}

    #[irql(APC), module(FILTER_MANAGER), keeps]
    fn FltAcquirePushLockExclusive(lock: Lock) -> Result<(), Fault> {
        acquire(lock, true)
    }

    #[irql(APC), module(FILTER_MANAGER), keeps]
    fn FltAcquirePushLockExclusiveEx(lock: Lock, _flags: Ignored<u32>) -> Result<(), Fault> {
        acquire(lock, true)
    }

    #[irql(APC), module(FILTER_MANAGER), keeps]
    fn FltAcquirePushLockShared(lock: Lock) -> Result<(), Fault> {
        acquire(lock, false)
    }

    #[irql(APC), module(FILTER_MANAGER), keeps]
    fn FltAcquirePushLockSharedEx(lock: Lock, _flags: Ignored<u32>) -> Result<(), Fault> {
        acquire(lock, false)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltReleasePushLock(lock: Lock) -> Result<(), Fault> {
        release(lock)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltReleasePushLockEx(lock: Lock, _flags: Ignored<u32>) -> Result<(), Fault> {
        release(lock)
    }
}

fn acquire(lock: Lock, exclusive: bool) -> Result<(), Fault> {
    enter_critical();
    push(lock, exclusive)
}

/// The lock itself says in which mode it is held: only a writer sets the lowest bit.
fn release(lock: Lock) -> Result<(), Fault> {
    pop(lock, lock.read()? & 1 != 0)?;
    leave_critical();
    Ok(())
}
