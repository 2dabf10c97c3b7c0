//! Work items, and the threads that run them at `PASSIVE_LEVEL`.

use std::thread as std_thread;

use super::device::Held;
use crate::cpu::thread;
use crate::kernel::pool;
use crate::kernel::sync::scheduler::Jobs;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{DEVICE_OBJECT, IO_WORKITEM, WORK_QUEUE_ITEM};
use crate::memory::{Code, Fault, GuestPtr, Opaque};
use crate::routine::{ANY, DISPATCH, Ignored, PASSIVE, routines};
use crate::verify::{self, Rule};

const SIZE: u64 = size_of::<IO_WORKITEM>() as u64;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), fails_with_zero]
    fn IoAllocateWorkItem(&call, device: GuestPtr<DEVICE_OBJECT>) -> Result<Option<GuestPtr<IO_WORKITEM>>, Fault> {
        let memory = lock(&kernel().pool).allocate(SIZE, *b"IoWk", false, call.from);
        let Some(item) = memory.map(GuestPtr::<IO_WORKITEM>::new) else { return Ok(None) };
        item.Object().write(device.cast())?;
        Ok(Some(item))
    }

    #[irql(ANY)]
    fn IoSizeofWorkItem() -> u32 {
        SIZE as u32
    }

    #[irql(ANY)]
    fn IoInitializeWorkItem(device: GuestPtr<DEVICE_OBJECT>, item: GuestPtr<IO_WORKITEM>) -> Result<(), Fault> {
        item.zero()?;
        item.Object().write(device.cast())
    }

    #[irql(ANY)]
    fn IoUninitializeWorkItem(_item: Ignored<GuestPtr<IO_WORKITEM>>) {}

    #[irql(DISPATCH)]
    fn IoFreeWorkItem(item: GuestPtr<IO_WORKITEM>) {
        if kernel().scheduler.look(|state| state.has_work(item.address())) {
            verify::find(Rule::UseAfterFree, format_args!("frees a work item while it is queued"));
        }
        pool::free(item.address(), None);
    }

    #[irql(DISPATCH)]
    fn IoQueueWorkItem(
        item: GuestPtr<IO_WORKITEM>,
        routine: GuestPtr<Code>,
        _queue: Ignored<i32>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        queue_io(item, routine, context, false)
    }

    #[irql(DISPATCH)]
    fn IoQueueWorkItemEx(
        item: GuestPtr<IO_WORKITEM>,
        routine: GuestPtr<Code>,
        _queue: Ignored<i32>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        queue_io(item, routine, context, true)
    }

    #[irql(DISPATCH)]
    fn ExQueueWorkItem(item: GuestPtr<WORK_QUEUE_ITEM>, _queue: Ignored<i32>) -> Result<(), Fault> {
        let WORK_QUEUE_ITEM { WorkerRoutine: target, Parameter: context, .. } = item.read()?;
        submit(item.address(), move || {
            call_back("work item", PASSIVE, target, &[context]);
        });
        Ok(())
    }

    #[irql(ANY)]
    fn ExInitializeWorkItem(
        item: GuestPtr<WORK_QUEUE_ITEM>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        item.zero()?;
        item.WorkerRoutine().write(routine)?;
        item.Parameter().write(context.address())
    }
}

fn queue_io(
    item: GuestPtr<IO_WORKITEM>,
    target: GuestPtr<Code>,
    context: GuestPtr<Opaque>,
    extended: bool,
) -> Result<(), Fault> {
    let object = item.Object().read()?;
    // As in Windows, a queued work item has a reference to its device. It is released after the routine has returned.
    let held = Held::new(object);
    submit(item.address(), move || {
        let arguments = [object.address(), context.address(), if extended { item.address() } else { 0 }];
        call_back("work item", PASSIVE, target, &arguments);
        drop(held);
    });
    Ok(())
}

/// Queues a job for a worker thread. `key` identifies the job.
pub(crate) fn submit(key: u64, job: impl FnOnce() + Send + 'static) {
    submit_boxed(key, Box::new(job));
}

fn submit_boxed(key: u64, job: Box<dyn FnOnce() + Send>) {
    thread::job_queued();
    let more = kernel().scheduler.change(|state| {
        state.work.push_back((key, job));
        // A worker that is being started counts as idle: otherwise a busy machine would get more and more of them.
        let more = state.idle_workers < state.work.len();
        state.idle_workers += usize::from(more);
        more
    });
    if more {
        let number = thread::reserve_number();
        let spawned = std_thread::Builder::new().name("worker".into()).spawn(move || serve(number));
        if let Err(error) = spawned {
            verify::refused_with("a thread", &error);
        }
    }
}

fn serve(number: u32) {
    let scheduler = &kernel().scheduler;
    let attached = thread::attach_as(number, GuestPtr::NULL);
    let _attached = attached.unwrap_or_else(|error| verify::refused_with("a stack", &error));
    loop {
        let (key, job) = scheduler.serve(Jobs::Work, |state| {
            let job = state.work.pop_front()?;
            state.idle_workers -= 1;
            state.begin_job(job.0);
            Some(job)
        });
        job();
        scheduler.end_job(key, |state| state.idle_workers += 1);
    }
}
