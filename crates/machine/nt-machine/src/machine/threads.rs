//! The threads that run the driver, and the passing of time.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use nt_kernel::config::Time;
use nt_processor::cpu::thread;
use nt_processor::memory::GuestPtr;
use nt_verifier::exception::signals;
use nt_verifier::verify::{self, Rule, RunEvent};

use super::Machine;

/// The processor time in nanoseconds above which a thread was busy, not just waiting: 100 ms.
const BUSY: u64 = 100_000_000;

impl Machine {
    /// Makes the calling thread one that serves requests: `body` gets a function that serves one request. The thread
    /// counts as running while it serves. Unless time is real, everything that a request triggers has settled when the
    /// function returns.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory for the driver's stack.
    pub fn serve<R>(self, body: impl FnOnce(&dyn Fn(&mut dyn FnMut())) -> R) -> io::Result<R> {
        let _attached = thread::attach_as(self.numbers().0, GuestPtr::NULL)?;
        let scheduler = &self.layers.kernel.scheduler;
        Ok(body(&|request| {
            scheduler.begin_request();
            request();
            if self.config().time != Time::Real {
                scheduler.settle();
            }
            scheduler.end_request();
            verify::signal(RunEvent::Done);
        }))
    }

    /// Runs `body` as an additional thread that calls the driver.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory for the driver's stack.
    pub fn with_thread(self, body: impl FnOnce()) -> io::Result<()> {
        let _attached = thread::attach()?;
        self.layers.kernel.scheduler.begin();
        body();
        self.layers.kernel.scheduler.end();
        Ok(())
    }

    /// Runs `body` on this many additional threads that call the driver, with their numbers from 0 on, and waits for all of them. `body`
    /// also learns whether its thread can call the driver: there may not be enough memory for its stack.
    ///
    /// All threads count as running before the first one starts, and this one as soon as the last one has ended. Otherwise
    /// time would jump from timer to timer until Linux lets the next thread run.
    pub fn with_threads(self, count: usize, body: impl Fn(usize, bool) + Send + Sync + 'static) {
        let Some(others) = count.checked_sub(1) else { return };
        let scheduler = &self.layers.kernel.scheduler;
        scheduler.begin_others(others);
        let shared = Arc::new((body, AtomicUsize::new(count)));
        let (done, all_done) = mpsc::channel();
        for number in 0..count {
            let shared = Arc::clone(&shared);
            let run = move || {
                let (body, left) = &*shared;
                let attached = thread::attach();
                body(number, attached.is_ok());
                if left.fetch_sub(1, Ordering::AcqRel) != 1 {
                    scheduler.end();
                }
            };
            self.layers.spare.run(run, done.clone());
        }
        drop(done);
        // Nobody sends: this returns when all threads have dropped their ends.
        let _ = all_done.recv();
    }

    /// Makes this many threads take turns when all of them have called [`Self::in_turn`]: only one runs at a time, and at some
    /// calls of the driver, which the schedule decides, another one continues. DPCs, work items and the driver's own threads
    /// run beside them.
    pub fn take_turns(self, count: usize, schedule: u64) {
        self.layers.kernel.scheduler.take_turns(count, schedule);
    }

    /// Runs `body` as the thread with this number, counted from 0, of those that take turns.
    pub fn in_turn(self, number: usize, body: impl FnOnce()) {
        self.layers.kernel.scheduler.begin_turns(number);
        body();
        self.layers.kernel.scheduler.leave_turns(number);
    }

    /// Called for a thread that should have taken turns and could not begin.
    pub fn skip_turn(self, number: usize) {
        self.layers.kernel.scheduler.leave_turns(number);
    }

    /// Called when all threads that took turns have ended.
    pub fn end_turns(self) {
        self.layers.kernel.scheduler.end_turns();
    }

    /// Waits for other threads in a way that the scheduler does not see. Meanwhile, this thread does not count as
    /// running.
    pub fn wait_outside(self, wait: impl FnOnce()) {
        self.layers.kernel.scheduler.end();
        wait();
        self.layers.kernel.scheduler.begin();
    }

    /// Runs deferred procedure calls forever. One thread of the process must do so.
    pub fn run_deferred(self) {
        nt_kernel::serve_deferred(self.numbers().1);
    }

    fn numbers(self) -> (u32, u32) {
        *self.layers.numbers.get_or_init(|| (thread::reserve_number(), thread::reserve_number()))
    }

    /// Lets time pass, in 100 ns units: timers expire and waits end.
    pub fn advance(self, time: u64) {
        let scheduler = &self.layers.kernel.scheduler;
        scheduler.wait_until(scheduler.now().saturating_add(time));
    }

    /// Returns whether all threads wait and nothing will ever wake one.
    #[must_use]
    pub fn is_stuck(self) -> bool {
        self.layers.kernel.scheduler.is_stuck()
    }

    /// Returns the processor time that the driver's threads have used so far in nanoseconds, by Linux thread ID.
    #[must_use]
    pub fn processor_times(self) -> BTreeMap<i32, u64> {
        thread::processor_times()
    }

    /// Returns the driver's threads that run code of the host now, by Linux thread ID, with a number that changes each time they
    /// enter or leave the driver.
    #[must_use]
    pub fn host_phases(self) -> BTreeMap<i32, u64> {
        thread::host_phases()
    }

    /// Makes the thread that used the most processor time since `before` report where it is, as a finding that ends the
    /// run. If all threads were waiting, this is `waiting`, the thread that serves the request. Returns the thread.
    #[must_use]
    pub fn interrogate_busiest(self, before: &BTreeMap<i32, u64>, waiting: i32) -> i32 {
        let thread = self.busiest(before, waiting);
        self.interrogate(thread);
        thread
    }

    /// Makes the thread that [`interrogate_busiest`](Self::interrogate_busiest) would choose report where it is if it jumps to
    /// itself, which it will do forever. Otherwise it goes on.
    pub fn peek_busiest(self, before: &BTreeMap<i32, u64>, waiting: i32) {
        signal(self.busiest(before, waiting), signals::peek());
    }

    fn busiest(self, before: &BTreeMap<i32, u64>, waiting: i32) -> i32 {
        let used =
            |(thread, time): (i32, u64)| (time - before.get(&thread).copied().unwrap_or_default().min(time), thread);
        // While that thread waits for others, each change wakes it, which takes processor time, too.
        let is_settling = self.layers.kernel.scheduler.is_settling();
        let times = thread::processor_times().into_iter().filter(|(thread, _)| !is_settling || *thread != waiting);
        let busiest = times.map(used).max();
        let least = if is_settling { 0 } else { BUSY };
        busiest.filter(|(time, _)| *time > least).map_or(waiting, |(_, thread)| thread)
    }

    /// Makes the thread with this Linux thread ID report where it is, as a finding that ends the run.
    pub fn interrogate(self, thread: i32) {
        signal(thread, signals::REPORT_STACK);
    }

    /// Ends the run with a finding, because a thread does not even report where it is. Called by a thread that does not
    /// run the driver.
    pub fn report_hang(self, thread: i32) {
        let number = thread::number_by_id(thread);
        let which = number.map_or_else(|| "a thread".to_owned(), |number| format!("thread {number}"));
        verify::end(Rule::Hang, 0, format_args!("{which} does not return, and does not handle a signal"));
    }

    /// Waits for news from the threads that run the driver, for at most `time`.
    #[must_use]
    pub fn listen(self, time: Duration) -> RunEvent {
        self.layers.verifier.listen(time)
    }

    /// Notifies the thread that listens that no more requests will be served.
    pub fn give_up(self) {
        verify::signal(RunEvent::Done);
    }
}

/// Sends a signal to the thread of this process with this Linux thread ID.
fn signal(thread: i32, signal: i32) {
    let process = std::process::id();
    // SAFETY: the call only sends a signal, for which there is a handler; it fails if the ID is not that of a thread.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}
