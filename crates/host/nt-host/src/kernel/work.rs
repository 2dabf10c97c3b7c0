//! Work items, and the threads that run them at `PASSIVE_LEVEL`.

use std::thread as std_thread;

use super::dpc::remove_one;
use super::routine::{APC, Call, DISPATCH, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{call_back, kernel, lock};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

/// Bytes of an `IO_WORKITEM`, which is opaque.
const SIZE: u64 = 0x60;

pub(super) const ROUTINES: &[Routine] = &[
    routine("IoAllocateWorkItem", DISPATCH, |call| {
        let item = lock(&kernel().pool).allocate(SIZE, *b"IoWk", false, call.from).unwrap_or_default();
        guest::write(item, call.arg(0));
        item
    })
    .fails_with_zero(),
    routine("IoSizeofWorkItem", DISPATCH, |_| SIZE),
    routine("IoInitializeWorkItem", DISPATCH, |call| {
        guest::fill(call.arg(1), 0, SIZE);
        guest::write(call.arg(1), call.arg(0));
        0
    }),
    routine("IoUninitializeWorkItem", DISPATCH, |_| 0),
    routine("IoFreeWorkItem", DISPATCH, |call| {
        let item = call.arg(0);
        let busy = kernel().scheduler.look(|state| state.work.iter().any(|(key, _)| *key == item));
        if busy {
            verify::find(Rule::TimerLeak, format_args!("a work item is freed while it is queued"));
        }
        super::pool::free(item, None);
        0
    }),
    routine("IoQueueWorkItem", DISPATCH, |call| queue_io(call, false)),
    routine("IoQueueWorkItemEx", DISPATCH, |call| queue_io(call, true)),
    routine("ExQueueWorkItem", DISPATCH, |call| {
        let item = call.arg(0);
        let (target, context) = (guest::read(item + 0x10), guest::read(item + 0x18));
        submit(item, move || {
            call_back("work item", PASSIVE, target, &[context]);
        });
        0
    }),
    routine("ExInitializeWorkItem", APC, |call| {
        guest::fill(call.arg(0), 0, 0x10);
        guest::write(call.arg(0) + 0x10, call.arg(1));
        guest::write(call.arg(0) + 0x18, call.arg(2));
        0
    })
    .fails(NO_RESOURCES),
];

fn queue_io(call: &Call, extended: bool) -> u64 {
    let (item, target, context) = (call.arg(0), call.arg(1), call.arg(3));
    let object: u64 = guest::read(item);
    submit(item, move || {
        let arguments = [object, context, if extended { item } else { 0 }];
        call_back("work item", PASSIVE, target, &arguments);
    });
    0
}

/// Has something run on a worker thread.
pub(crate) fn submit(key: u64, job: impl FnOnce() + Send + 'static) {
    let more = kernel().scheduler.change(|state| {
        state.work.push_back((key, Box::new(job)));
        state.idle_workers < state.work.len()
    });
    if more {
        // Without the thread the item waits for another one.
        let _ = std_thread::Builder::new().name("worker".into()).spawn(serve);
    }
}

fn serve() {
    let Ok(_attached) = thread::attach() else { return };
    let scheduler = &kernel().scheduler;
    loop {
        scheduler.change(|state| state.idle_workers += 1);
        let (key, job) = scheduler.serve(|state| {
            let job = state.work.pop_front()?;
            state.idle_workers -= 1;
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
