//! Spin locks and wait locks.

use etw_types::NtStatus;
use nt_kernel::sync::{irql, spinlock};
use nt_kernel::{Kernel, kernel, lock};
use nt_processor::cpu::thread;
use nt_processor::image;
use nt_processor::layout::WDF_OBJECT_ATTRIBUTES;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, functions};
use nt_verifier::verify::locks::LockKind;
use nt_verifier::verify::{self, Kmdf, Rule};

use crate::Handle;
use crate::object::attributes::Attributes;
use crate::object::kind::Kind;
use crate::object::{self, create, created};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfSpinLockCreate(&call, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, place: GuestPtr<Handle>) -> Outcome {
        let word = lock(&kernel().pool).new_object();
        created(create(call, attributes, None, SpinLock { word, old_irql: 0 }), place)
    }

    #[irql(DISPATCH), keeps]
    fn WdfSpinLockAcquire(&call, handle: Handle) -> Result<(), Fault> {
        let old = irql::raise(DISPATCH);
        spinlock::acquire(word(handle), call.from)?;
        object::part(handle, |lock: &mut SpinLock| lock.old_irql = old);
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfSpinLockRelease(handle: Handle) -> Result<(), Fault> {
        let lock = spin_lock(handle);
        spinlock::release(lock.word)?;
        irql::lower(lock.old_irql);
        Ok(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfWaitLockCreate(&call, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, place: GuestPtr<Handle>) -> Outcome {
        created(create(call, attributes, None, WaitLock { owner: 0 }), place)
    }

    #[irql(DISPATCH), keeps]
    fn WdfWaitLockAcquire(&call, handle: Handle, timeout: Option<GuestPtr<i64>>) -> Result<NtStatus, Fault> {
        acquire(call, handle, timeout)
    }

    #[irql(DISPATCH)]
    fn WdfWaitLockRelease(handle: Handle) {
        let Kernel { locks, scheduler, .. } = kernel();
        let before = owner(handle, std::mem::take);
        lock(locks).released(thread::number(), handle.as_int());
        if before != thread::number() {
            let what = format_args!("releases a wait lock that this thread does not hold");
            verify::find(LockKind::Wait.breach(Rule::LockMisuse), what);
        }
        scheduler.change(|_| ());
    }
}

/// A spin lock, and the IRQL before it was acquired.
#[derive(Clone, Copy, Debug)]
struct SpinLock {
    word: GuestPtr<u64>,
    old_irql: u8,
}

impl Kind for SpinLock {
    fn name(&self) -> &'static str {
        "spin lock"
    }

    fn parent_rule(&self) -> Option<Kmdf> {
        Some(Kmdf::ParentObjectCheckLock)
    }

    fn free(&self) {
        lock(&kernel().pool).free_object(self.word.address());
    }
}

/// A wait lock, and the thread that holds it, or 0.
#[derive(Clone, Copy, Debug)]
struct WaitLock {
    owner: u32,
}

impl Kind for WaitLock {
    fn name(&self) -> &'static str {
        "wait lock"
    }

    fn parent_rule(&self) -> Option<Kmdf> {
        Some(Kmdf::ParentObjectCheckLock)
    }
}

fn spin_lock(handle: Handle) -> SpinLock {
    object::part(handle, |lock: &mut SpinLock| *lock)
}

/// Reads or changes the owner of a wait lock; 0 means that no thread holds it.
fn owner<R>(handle: Handle, body: impl FnOnce(&mut u32) -> R) -> R {
    object::part(handle, |lock: &mut WaitLock| body(&mut lock.owner))
}

/// Returns the memory of a spin lock.
pub(super) fn word(handle: Handle) -> GuestPtr<u64> {
    spin_lock(handle).word
}

/// Creates a wait lock that the framework uses itself.
pub(super) fn new_wait_lock(from: u64, parent: Handle) -> Outcome<Handle> {
    object::create_with(from, &Attributes::default(), Some(parent), WaitLock { owner: 0 })
}

/// Acquires a wait lock, and waits until it is free.
pub(super) fn take_wait_lock(handle: Handle) {
    let me = thread::number();
    kernel().scheduler.wait(None, |_| owner(handle, |owner| (*owner == 0).then(|| *owner = me)));
}

/// Acquires a wait lock if it is free. Returns whether it was.
pub(super) fn try_wait_lock(handle: Handle) -> bool {
    let me = thread::number();
    owner(handle, |owner| (*owner == 0).then(|| *owner = me)).is_some()
}

pub(super) fn give_wait_lock(handle: Handle) {
    owner(handle, |owner| *owner = 0);
    kernel().scheduler.change(|_| ());
}

fn acquire(call: &Call, handle: Handle, timeout: Option<GuestPtr<i64>>) -> Result<NtStatus, Fault> {
    let limit = timeout.map(GuestPtr::read).transpose()?;
    let irql = thread::irql();
    if irql > PASSIVE && limit != Some(0) {
        verify::find(nt_kernel::framework_irql(), format_args!("waits at IRQL {irql}, allowed only at 0"));
    }
    let me = thread::number();
    if owner(handle, |owner| *owner) == me {
        verify::stop(
            LockKind::Wait.breach(Rule::LockMisuse),
            Some(call.name()),
            call.from,
            format_args!("deadlock: the thread already holds this wait lock"),
        );
    }
    let scheduler = &kernel().scheduler;
    let deadline = limit.map(|limit| scheduler.deadline(limit));
    let taken = scheduler.wait(deadline, |_| owner(handle, |owner| (*owner == 0).then(|| *owner = me)));
    if taken.is_none() {
        return Ok(NtStatus::Timeout);
    }
    let opposite = lock(&kernel().locks).acquired(LockKind::Wait, me, handle.as_int(), call.from);
    if let Some(other) = opposite.filter(|_| limit.is_none()) {
        let where_else = image::describe(other);
        let what = format_args!("acquires a lock while it holds another; {where_else} does it in reverse order");
        verify::find(Rule::LockOrder, what);
    }
    Ok(NtStatus::Success)
}
