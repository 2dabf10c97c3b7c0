//! Deferred procedure calls, and the thread that runs them at `DISPATCH_LEVEL`.

use super::routine::{ANY, Call, DISPATCH, PASSIVE, Routine, routine};
use super::{call_back, kernel};
use crate::cpu::thread;
use crate::memory::guest;

/// Offsets in `KDPC`.
const ROUTINE: u64 = 0x18;
const CONTEXT: u64 = 0x20;
const ARGUMENT_1: u64 = 0x28;
const ARGUMENT_2: u64 = 0x30;
/// `DpcObject`.
const TYPE: u8 = 0x13;

pub(super) const ROUTINES: &[Routine] = &[
    routine("KeInitializeDpc", ANY, initialize),
    routine("KeInitializeThreadedDpc", ANY, initialize),
    routine("KeInsertQueueDpc", ANY, |call| {
        guest::write(call.arg(0) + ARGUMENT_1, call.arg(1));
        guest::write(call.arg(0) + ARGUMENT_2, call.arg(2));
        queue(call.arg(0)).into()
    }),
    routine("KeRemoveQueueDpc", ANY, |call| remove(call.arg(0)).into()),
    routine("KeSetImportanceDpc", ANY, |_| 0).fixed(),
    routine("KeSetTargetProcessorDpc", ANY, |_| 0).fixed(),
    routine("KeSetTargetProcessorDpcEx", ANY, |_| 0).fixed(),
    routine("KeFlushQueuedDpcs", PASSIVE, |_| {
        kernel().scheduler.wait(None, |state| (state.deferred.is_empty() && state.active.is_empty()).then_some(()));
        0
    }),
];

fn initialize(call: &Call) -> u64 {
    let dpc = call.arg(0);
    guest::fill(dpc, 0, 0x40);
    guest::write(dpc, TYPE);
    guest::write(dpc + ROUTINE, call.arg(1));
    guest::write(dpc + CONTEXT, call.arg(2));
    0
}

/// Queues a DPC unless it is queued.
pub(super) fn queue(dpc: u64) -> bool {
    kernel().scheduler.change(|state| {
        if state.deferred.iter().any(|(key, _)| *key == dpc) {
            return false;
        }
        state.deferred.push_back((dpc, Box::new(move || run(dpc))));
        true
    })
}

fn remove(dpc: u64) -> bool {
    kernel().scheduler.change(|state| {
        let before = state.deferred.len();
        state.deferred.retain(|(key, _)| *key != dpc);
        state.deferred.len() != before
    })
}

/// Runs a DPC's routine.
pub(super) fn run(dpc: u64) {
    let target = guest::read(dpc + ROUTINE);
    let arguments = [dpc, guest::read(dpc + CONTEXT), guest::read(dpc + ARGUMENT_1), guest::read(dpc + ARGUMENT_2)];
    call_back("DPC", DISPATCH, target, &arguments);
}

/// The thread that runs what is deferred, for ever.
pub(crate) fn serve() {
    let Ok(_attached) = thread::attach() else { return };
    let scheduler = &kernel().scheduler;
    loop {
        let (key, job) = scheduler.serve(|state| {
            let job = state.deferred.pop_front()?;
            state.active.push(job.0);
            state.running += 1;
            Some(job)
        });
        job();
        scheduler.change(|state| {
            remove_one(&mut state.active, key);
            state.running -= 1;
        });
    }
}

/// Takes one entry out of the list of jobs that are running.
pub(super) fn remove_one(active: &mut Vec<u64>, key: u64) {
    if let Some(index) = active.iter().position(|active| *active == key) {
        active.swap_remove(index);
    }
}
