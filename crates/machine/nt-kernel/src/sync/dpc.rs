//! Deferred procedure calls, and the thread that runs them at `DISPATCH_LEVEL`.

use std::cell::Cell;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::KDPC;
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque, OrStop as _};
use nt_verifier::routine::{ANY, DISPATCH, Outcome, PASSIVE, done, fail, routines};
use windows_constants::object::{DpcObject, MediumImportance, ThreadedDpcObject};

use super::scheduler::Jobs;
use super::state::Deferred;
use crate::{call_back, kernel};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn KeInitializeDpc(dpc: GuestPtr<KDPC>, routine: GuestPtr<Code>, context: GuestPtr<Opaque>) -> Result<(), Fault> {
        initialize(dpc, routine, context, DpcObject)
    }

    #[irql(ANY)]
    fn KeInitializeThreadedDpc(
        dpc: GuestPtr<KDPC>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        initialize(dpc, routine, context, ThreadedDpcObject)
    }

    #[irql(ANY)]
    fn KeInsertQueueDpc(
        dpc: GuestPtr<KDPC>,
        argument1: GuestPtr<Opaque>,
        argument2: GuestPtr<Opaque>,
    ) -> Result<bool, Fault> {
        dpc.SystemArgument1().write(argument1.address())?;
        dpc.SystemArgument2().write(argument2.address())?;
        Ok(queue(dpc))
    }

    #[irql(ANY)]
    fn KeRemoveQueueDpc(dpc: GuestPtr<KDPC>) -> bool {
        kernel().scheduler.change(|state| state.undefer(dpc.address()))
    }

    #[irql(ANY)]
    fn KeSetImportanceDpc(dpc: GuestPtr<KDPC>, importance: i32) -> Result<(), Fault> {
        dpc.Importance().write(importance.cast_unsigned() as u8)
    }

    #[irql(ANY)]
    fn KeSetTargetProcessorDpc(dpc: GuestPtr<KDPC>, number: i8) -> Result<(), Fault> {
        set_target(dpc, number.cast_unsigned())
    }

    /// `processor` is a `PROCESSOR_NUMBER`: group, number, reserved.
    #[irql(ANY)]
    fn KeSetTargetProcessorDpcEx(dpc: GuestPtr<KDPC>, processor: GuestPtr<u32>) -> Outcome {
        let [group, _, number, _] = processor.read()?.to_le_bytes();
        if group != 0 || u32::from(number) >= PROCESSORS {
            return fail(NtStatus::InvalidParameter);
        }
        set_target(dpc, number)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn KeFlushQueuedDpcs() {
        kernel().scheduler.wait(None, |state| (state.deferred.is_empty() && !state.in_dpc).then_some(()));
    }
}

/// A DPC with a target has its number plus this one in `Number`, which is opaque.
const TARGETED: u16 = 0x500;
const PROCESSORS: u32 = 2;

fn set_target(dpc: GuestPtr<KDPC>, processor: u8) -> Result<(), Fault> {
    dpc.Number().write(TARGETED + u16::from(processor))
}

/// Initialises a DPC of this type.
pub fn initialize(
    dpc: GuestPtr<KDPC>,
    routine: GuestPtr<Code>,
    context: GuestPtr<Opaque>,
    kind: u8,
) -> Result<(), Fault> {
    dpc.zero()?;
    dpc.Type().write(kind)?;
    dpc.Importance().write(MediumImportance)?;
    dpc.DeferredRoutine().write(routine)?;
    dpc.DeferredContext().write(context.address())
}

/// Queues a DPC unless it is already queued. Returns whether it was queued now.
fn queue(dpc: GuestPtr<KDPC>) -> bool {
    let target = dpc.Number().read().or_stop();
    let other = target >= TARGETED && u32::from(target - TARGETED) != thread::processor();
    if other {
        return kernel().scheduler.change(|state| state.defer(dpc.address(), move || run(dpc)));
    }
    kernel().scheduler.defer(dpc.address(), move || run(dpc))
}

/// Calls a DPC's routine.
pub(super) fn run(dpc: GuestPtr<KDPC>) {
    let KDPC { Number, DeferredRoutine, DeferredContext, SystemArgument1, SystemArgument2, .. } = dpc.read().or_stop();
    thread::set_processor(Number.saturating_sub(TARGETED).into());
    let arguments = [dpc.address(), DeferredContext, SystemArgument1, SystemArgument2];
    call_back("DPC", DISPATCH, DeferredRoutine, &arguments);
}

thread_local! {
    /// Whether this thread runs the DPCs of all processors.
    static SERVES: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread has queued DPCs that wait until its IRQL falls below `DISPATCH_LEVEL`.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread runs the DPCs of all processors.
pub(super) fn serves() -> bool {
    SERVES.get()
}

/// Notes that a DPC waits for this thread to leave `DISPATCH_LEVEL`.
pub(super) fn hold() {
    HOLDS.set(true);
}

/// Called when this thread may have left `DISPATCH_LEVEL`. Lets the DPCs run that waited for that. Returns whether there were any.
pub(crate) fn release(irql: u8) -> bool {
    if irql >= DISPATCH || !HOLDS.replace(false) {
        return false;
    }
    kernel().scheduler.change(|state| state.release_deferred(thread::number()));
    true
}

/// Like [`release`], and waits until they have run: they interrupt the thread.
pub(super) fn interrupt(irql: u8) {
    if release(irql) {
        kernel().scheduler.wait_for_deferred();
    }
}

/// Makes the calling thread, with this number, run deferred jobs forever.
pub fn serve(number: u32) {
    let Ok(_attached) = thread::attach_as(number, GuestPtr::NULL) else { return };
    SERVES.set(true);
    let scheduler = &kernel().scheduler;
    loop {
        let Deferred { key, job, .. } = scheduler.serve(Jobs::Deferred, |state| {
            let next = state.take_deferred()?;
            state.begin_job(next.key);
            state.in_dpc = true;
            state.interrupts = next.owner;
            Some(next)
        });
        job();
        scheduler.end_job(key, |state| {
            state.in_dpc = false;
            state.interrupts = None;
        });
    }
}
