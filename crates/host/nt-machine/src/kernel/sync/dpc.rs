//! Deferred procedure calls, and the thread that runs them at `DISPATCH_LEVEL`.

use etw_types::NtStatus;

use crate::cpu::thread;
use crate::kernel::{call_back, kernel};
use crate::layout::KDPC;
use crate::memory::OrStop as _;
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, DISPATCH, PASSIVE, Routine, done, fail, routine};

/// `DpcObject`.
const TYPE: u8 = 0x13;
/// `ThreadedDpcObject`.
const THREADED: u8 = 0x18;
/// `MediumImportance`.
const MEDIUM: u8 = 1;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeInitializeDpc", ANY, |call| initialize(call, TYPE)),
    routine!("KeInitializeThreadedDpc", ANY, |call| initialize(call, THREADED)),
    routine!("KeInsertQueueDpc", ANY, |call| {
        let dpc = call.ptr::<KDPC>(0);
        dpc.SystemArgument1().write(call.arg(1))?;
        dpc.SystemArgument2().write(call.arg(2))?;
        done(queue(dpc))
    }),
    routine!("KeRemoveQueueDpc", ANY, |call| kernel().scheduler.change(|state| state.undefer(call.arg(0)))),
    routine!("KeSetImportanceDpc", ANY, |call| call.ptr::<KDPC>(0).Importance().write(call.u8(1))),
    routine!("KeSetTargetProcessorDpc", ANY, |call| set_target(call.ptr(0), call.u8(1))),
    // Arguments: DPC, pointer to a `PROCESSOR_NUMBER`: group, number, reserved.
    routine!("KeSetTargetProcessorDpcEx", ANY, |call| {
        let [group, _, number, _] = call.ptr::<u32>(1).read()?.to_le_bytes();
        if group != 0 || u32::from(number) >= PROCESSORS {
            return fail(NtStatus::InvalidParameter);
        }
        set_target(call.ptr(0), number)?;
        done(())
    }),
    routine!("KeFlushQueuedDpcs", PASSIVE, |_| {
        kernel().scheduler.wait(None, |state| (state.deferred.is_empty() && !state.in_dpc).then_some(()));
    }),
];

/// A DPC with a target has its number plus this one in `Number`, which is opaque.
const TARGETED: u16 = 0x500;
const PROCESSORS: u32 = 2;

fn set_target(dpc: GuestPtr<KDPC>, processor: u8) -> Result<(), Fault> {
    dpc.Number().write(TARGETED + u16::from(processor))
}

fn initialize(call: &Call, kind: u8) -> Result<(), Fault> {
    let dpc = call.ptr::<KDPC>(0);
    dpc.zero()?;
    dpc.Type().write(kind)?;
    dpc.Importance().write(MEDIUM)?;
    dpc.DeferredRoutine().write(call.ptr(1))?;
    dpc.DeferredContext().write(call.arg(2))
}

/// Queues a DPC unless it is already queued. Returns whether it was queued now.
fn queue(dpc: GuestPtr<KDPC>) -> bool {
    kernel().scheduler.change(|state| state.defer(dpc.address(), move || run(dpc)))
}

/// Calls a DPC's routine.
pub(super) fn run(dpc: GuestPtr<KDPC>) {
    let KDPC { Number, DeferredRoutine, DeferredContext, SystemArgument1, SystemArgument2, .. } = dpc.read().or_stop();
    thread::set_processor(Number.saturating_sub(TARGETED).into());
    let arguments = [dpc.address(), DeferredContext, SystemArgument1, SystemArgument2];
    call_back("DPC", DISPATCH, DeferredRoutine, &arguments);
}

/// Makes the calling thread, with this number, run deferred jobs forever.
pub(crate) fn serve(number: u32) {
    let Ok(_attached) = thread::attach_as(number, GuestPtr::NULL) else { return };
    let scheduler = &kernel().scheduler;
    loop {
        let (key, job) = scheduler.serve(|state| {
            if state.interrupted != 0 {
                return None;
            }
            let job = state.deferred.pop_front()?;
            state.begin_job(job.0);
            state.in_dpc = true;
            Some(job)
        });
        job();
        scheduler.end_job(key, |state| state.in_dpc = false);
    }
}
