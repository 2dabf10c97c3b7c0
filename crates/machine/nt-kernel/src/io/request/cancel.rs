//! Cancellation of IRPs, and the cancel spin lock.

use std::sync::atomic::{AtomicU32, Ordering};

use nt_processor::cpu::thread;
use nt_processor::layout::IRP;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, Irql, Out, routines};
use nt_verifier::verify::locks::LockKind;
use nt_verifier::verify::{self, At, Rule};

use crate::sync::{dpc, irql};
use crate::{Kernel, kernel, lock};

/// What stands for the address of the cancel spin lock, which drivers do not know.
const ADDRESS: u64 = 1;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH)]
    fn IoCancelIrp(irp: GuestPtr<IRP>) -> Result<bool, Fault> {
        cancel(irp)
    }

    #[irql(DISPATCH), keeps]
    fn IoAcquireCancelSpinLock(&call, old: Out<u8>) -> Result<(), Fault> {
        old.set(acquire(call.from))
    }

    #[irql(DISPATCH)]
    fn IoReleaseCancelSpinLock(old: Irql) {
        release(old.0);
    }
}

/// The cancel spin lock: the number of the thread that holds it, or 0.
#[derive(Debug, Default)]
pub(crate) struct CancelLock(AtomicU32);

/// Acquires the cancel spin lock, and returns the old IRQL.
fn acquire(from: u64) -> u8 {
    let Kernel { cancel_lock, locks, .. } = kernel();
    let owner = &cancel_lock.0;
    let mine = thread::number();
    if owner.load(Ordering::SeqCst) == mine {
        let routine = thread::site().map(|site| site.routine);
        let what = format_args!("deadlock: the thread already holds the cancel spin lock");
        verify::stop(LockKind::Cancel.breach(Rule::LockMisuse), routine, from, what);
    }
    let old = irql::raise(DISPATCH);
    while owner.compare_exchange(0, mine, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        if verify::is_stopped() {
            verify::park();
        }
        std::thread::yield_now();
    }
    lock(locks).acquired(LockKind::Cancel, mine, ADDRESS, from);
    old
}

/// Releases the cancel spin lock, and lowers the IRQL.
pub(super) fn release(old: u8) {
    let Kernel { cancel_lock, locks, .. } = kernel();
    let mine = thread::number();
    if cancel_lock.0.compare_exchange(mine, 0, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        let breach = LockKind::Cancel.breach(Rule::LockMisuse);
        verify::find(breach, format_args!("releases the cancel spin lock, which this thread does not hold"));
    }
    lock(locks).released(mine, ADDRESS);
    irql::lower(old);
}

/// Cancels a request. Returns whether there was a cancel routine.
pub fn cancel(request: GuestPtr<IRP>) -> Result<bool, Fault> {
    let Kernel { cancel_lock, io, .. } = kernel();
    request.Cancel().write(1)?;
    let routine = request.CancelRoutine().cast::<u64>().swap(0)?;
    if routine == 0 {
        let run = lock(io).cancels.remove(&request);
        return Ok(run.map(|run| run()).is_some());
    }
    let old = acquire(thread::site().map_or(0, |site| site.from));
    request.CancelIrql().write(old)?;
    // An IRP that was not sent has no current stack location, and hence no device.
    let is_sent = request.CurrentLocation().read()? <= request.StackCount().read()?;
    let device = if is_sent { request.CurrentStackLocation().read()?.DeviceObject().read()? } else { GuestPtr::NULL };
    // The routine must release the cancel spin lock, which lowers the IRQL again.
    thread::call(routine, &[device.address(), request.address()]);
    if cancel_lock.0.load(Ordering::SeqCst) == thread::number() {
        let breach = LockKind::Cancel.breach(Rule::LockLeak);
        let what = format_args!("returned without releasing the cancel spin lock");
        verify::find_at(breach, Some("cancel routine"), At::Code(routine), what);
        release(old);
    }
    thread::set_irql(old);
    dpc::release(old);
    Ok(true)
}
