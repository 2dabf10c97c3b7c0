//! Spin locks and wait locks.

use super::object::{self, Data, change, create, created};
use super::{Handle, status};
use crate::cpu::thread;
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{self, irql, kernel, spinlock};
use crate::memory::guest;
use crate::verify::{self, Rule};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfSpinLockCreate", DISPATCH, |call| {
        let address = kernel::lock(&kernel().pool).object(8);
        created(create(call, call.arg(1), None, Data::SpinLock { address, old_irql: 0 }), call.arg(2))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfSpinLockAcquire", DISPATCH, |call| {
        let (handle, (address, _)) = (call.arg(1), spin_lock(call.arg(1)));
        let old = irql::raise(DISPATCH);
        spinlock::acquire(address, call.from);
        set_old_irql(handle, old);
        0
    }),
    routine("WdfSpinLockRelease", DISPATCH, |call| {
        let (address, old) = spin_lock(call.arg(1));
        spinlock::release(address);
        irql::lower(old);
        0
    }),
    routine("WdfWaitLockCreate", DISPATCH, |call| {
        created(create(call, call.arg(1), None, Data::WaitLock { owner: 0 }), call.arg(2))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfWaitLockAcquire", DISPATCH, acquire),
    routine("WdfWaitLockRelease", DISPATCH, release),
];

fn spin_lock(handle: Handle) -> (u64, u8) {
    let found = change(handle, |object| match object.data {
        Data::SpinLock { address, old_irql } => Some((address, old_irql)),
        _ => None,
    });
    found.unwrap_or_else(|| object::violation(handle))
}

fn set_old_irql(handle: Handle, irql: u8) {
    change(handle, |object| {
        if let Data::SpinLock { old_irql, .. } = &mut object.data {
            *old_irql = irql;
        }
    });
}

/// Changes the owner of a wait lock; answers the old one.
fn owner<R>(handle: Handle, body: impl FnOnce(&mut u32) -> R) -> R {
    let result = change(handle, |object| match &mut object.data {
        Data::WaitLock { owner } => Some(body(owner)),
        _ => None,
    });
    result.unwrap_or_else(|| object::violation(handle))
}

/// Arguments: lock, address of a timeout or NULL.
fn acquire(call: &Call) -> u64 {
    let (handle, timeout) = (call.arg(1), call.arg(2));
    let limit = if timeout == 0 { None } else { Some(guest::read::<i64>(timeout)) };
    let irql = thread::irql();
    if irql > PASSIVE && limit != Some(0) {
        verify::find(Rule::IrqlTooHigh, format_args!("waits at IRQL {irql}, allowed at 0"));
    }
    let me = thread::number();
    if owner(handle, |owner| *owner) == me {
        verify::stop(Rule::LockMisuse, Some(call.name()), call.from, format_args!("a wait lock is taken by its owner"));
    }
    let scheduler = &kernel().scheduler;
    let deadline = limit.map(|limit| scheduler.deadline(limit));
    let taken = scheduler.wait(deadline, |_| owner(handle, |owner| (*owner == 0).then(|| *owner = me)));
    if taken.is_some() { status::SUCCESS } else { status::TIMEOUT }
}

fn release(call: &Call) -> u64 {
    let before = owner(call.arg(1), std::mem::take);
    if before != thread::number() {
        verify::find(Rule::LockMisuse, format_args!("a wait lock is released by a thread that does not hold it"));
    }
    kernel().scheduler.change(|_| ());
    0
}
