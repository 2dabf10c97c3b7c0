//! Work items, and the threads that run them at `PASSIVE_LEVEL`.

use std::thread as std_thread;

use super::device::Held;
use crate::cpu::thread;
use crate::kernel::pool;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{IO_WORKITEM, WORK_QUEUE_ITEM};
use crate::memory::GuestPtr;
use crate::routine::{APC, Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, Routine, done, routine};
use crate::verify::{self, Rule};

const SIZE: u64 = size_of::<IO_WORKITEM>() as u64;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("IoAllocateWorkItem", DISPATCH, |call| {
        let memory = lock(&kernel().pool).allocate(SIZE, *b"IoWk", false, call.from);
        let Some(item) = memory.map(GuestPtr::<IO_WORKITEM>::new) else { return done(None) };
        item.Object().write(call.ptr(0))?;
        done(Some(item))
    })
    .fails_with_zero(),
    routine!("IoSizeofWorkItem", DISPATCH, |_| SIZE),
    routine!("IoInitializeWorkItem", DISPATCH, |call| {
        call.ptr::<IO_WORKITEM>(1).zero()?;
        call.ptr::<IO_WORKITEM>(1).Object().write(call.ptr(0))
    }),
    routine!("IoUninitializeWorkItem", DISPATCH, |_| ()),
    routine!("IoFreeWorkItem", DISPATCH, |call| {
        let item = call.arg(0);
        if kernel().scheduler.look(|state| state.has_work(item)) {
            verify::find(Rule::UseAfterFree, format_args!("a work item is freed while it is queued"));
        }
        pool::free(item, None);
    }),
    routine!("IoQueueWorkItem", DISPATCH, |call| queue_io(call, false)),
    routine!("IoQueueWorkItemEx", DISPATCH, |call| queue_io(call, true)),
    routine!("ExQueueWorkItem", DISPATCH, |call| {
        let WORK_QUEUE_ITEM { WorkerRoutine: target, Parameter: context, .. } = call.ptr(0).read()?;
        submit(call.arg(0), move || {
            call_back("work item", PASSIVE, target, &[context]);
        });
        done(())
    }),
    routine!("ExInitializeWorkItem", APC, |call| {
        let item = call.ptr::<WORK_QUEUE_ITEM>(0);
        item.zero()?;
        item.WorkerRoutine().write(call.ptr(1))?;
        item.Parameter().write(call.arg(2))
    })
    .fails(NO_RESOURCES),
];

/// Arguments: item, routine, queue, context.
fn queue_io(call: &Call, extended: bool) -> Outcome {
    let (item, target, context) = (call.arg(0), call.ptr(1), call.arg(3));
    let object = call.ptr::<IO_WORKITEM>(0).Object().read()?;
    // As in Windows, a queued work item has a reference to its device. It is released after the routine has returned.
    let held = Held::new(object);
    submit(item, move || {
        let arguments = [object.address(), context, if extended { item } else { 0 }];
        call_back("work item", PASSIVE, target, &arguments);
        drop(held);
    });
    Ok(())
}

/// Queues a job for a worker thread. `key` identifies the job.
pub(crate) fn submit(key: u64, job: impl FnOnce() + Send + 'static) {
    thread::job_queued();
    let more = kernel().scheduler.change(|state| {
        state.work.push_back((key, Box::new(job)));
        // A worker that is being started counts as idle: otherwise a busy machine would get more and more of them.
        let more = state.idle_workers < state.work.len();
        state.idle_workers += usize::from(more);
        more
    });
    if more {
        let number = thread::reserve_number();
        let spawned = std_thread::Builder::new().name("worker".into()).spawn(move || serve(number));
        if spawned.is_err() {
            // The job waits for another worker.
            kernel().scheduler.change(|state| state.idle_workers -= 1);
        }
    }
}

fn serve(number: u32) {
    let scheduler = &kernel().scheduler;
    let Ok(_attached) = thread::attach_as(number, GuestPtr::NULL) else {
        return scheduler.change(|state| state.idle_workers -= 1);
    };
    loop {
        let (key, job) = scheduler.serve(|state| {
            let job = state.work.pop_front()?;
            state.idle_workers -= 1;
            state.begin_job(job.0);
            Some(job)
        });
        job();
        scheduler.end_job(key, |state| state.idle_workers += 1);
    }
}
