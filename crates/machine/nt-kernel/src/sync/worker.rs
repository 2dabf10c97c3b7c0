//! The threads that run work items and other jobs at `PASSIVE_LEVEL`.

use std::thread as std_thread;

use nt_processor::cpu::thread;
use nt_processor::memory::GuestPtr;
use nt_verifier::verify;

use super::scheduler::Jobs;
use crate::kernel;

/// Queues a job for a worker thread. `key` identifies the job.
pub fn submit(key: u64, job: impl FnOnce() + Send + 'static) {
    submit_boxed(key, Box::new(job));
}

/// Queues a boxed job for a worker thread.
pub(crate) fn submit_boxed(key: u64, job: Box<dyn FnOnce() + Send>) {
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
