//! Threads that run the driver, and the passing of time.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::Machine;
use crate::config::Time;
use crate::cpu::thread;
use crate::exception::signals;
use crate::kernel;
use crate::memory::GuestPtr;
use crate::verify::{self, News};

/// Processor time after which a thread did more than wait: 100 ms.
const BUSY: u64 = 100_000_000;

impl Machine {
    /// Makes the calling thread one that serves requests: `body` gets a function that serves one. The machine counts the
    /// thread as running while it serves; in virtual time, what a request sets off has settled when it is over.
    ///
    /// # Errors
    ///
    /// If there is no memory for the driver's stack.
    pub fn serve<R>(self, body: impl FnOnce(&dyn Fn(&mut dyn FnMut())) -> R) -> io::Result<R> {
        let _attached = thread::attach_as(self.numbers().0, GuestPtr::NULL)?;
        let scheduler = &self.parts.kernel.scheduler;
        Ok(body(&|request| {
            scheduler.begin_request();
            request();
            if self.config().time != Time::Real {
                scheduler.settle();
            }
            scheduler.end_request();
            verify::tell(News::Done);
        }))
    }

    /// Runs `body` as one more thread that calls the driver.
    ///
    /// # Errors
    ///
    /// If there is no memory for the driver's stack.
    pub fn with_thread(self, body: impl FnOnce()) -> io::Result<()> {
        let _attached = thread::attach()?;
        self.parts.kernel.scheduler.begin();
        body();
        self.parts.kernel.scheduler.end();
        Ok(())
    }

    /// Waits for other threads in a way that the scheduler does not see: this thread does not count as running meanwhile.
    pub fn wait_outside(self, wait: impl FnOnce()) {
        self.parts.kernel.scheduler.end();
        wait();
        self.parts.kernel.scheduler.begin();
    }

    /// Runs deferred procedure calls, for ever. One thread of the process must.
    pub fn run_deferred(self) {
        kernel::serve_deferred(self.numbers().1);
    }

    fn numbers(self) -> (u32, u32) {
        *self.parts.numbers.get_or_init(|| (thread::reserve_number(), thread::reserve_number()))
    }

    /// Lets time pass, in 100 ns units: timers fire and waits end.
    pub fn advance(self, time: u64) {
        let scheduler = &self.parts.kernel.scheduler;
        scheduler.wait(Some(scheduler.now().saturating_add(time)), |_| None::<()>);
    }

    /// Whether every thread waits and nothing will ever wake one.
    #[must_use]
    pub fn is_stuck(self) -> bool {
        self.parts.kernel.scheduler.is_stuck()
    }

    /// The processor time that the driver's threads have used so far, by what the system calls them.
    #[must_use]
    pub fn processor_times(self) -> BTreeMap<i32, u64> {
        thread::processor_times()
    }

    /// Has the thread that used most of the processor since `before` say where it is, as a finding that ends the run. If all
    /// of them wait, that is `waiting`: the thread that serves the request.
    pub fn interrogate_busiest(self, before: &BTreeMap<i32, u64>, waiting: i32) {
        let used =
            |(thread, time): (i32, u64)| (time - before.get(&thread).copied().unwrap_or_default().min(time), thread);
        let busiest = thread::processor_times().into_iter().map(used).max();
        self.interrogate(busiest.filter(|(time, _)| *time > BUSY).map_or(waiting, |(_, thread)| thread));
    }

    /// Has a thread of the system with this number say where it is, as a finding that ends the run.
    pub fn interrogate(self, thread: i32) {
        let process = std::process::id();
        // SAFETY: a signal to a thread of this process; a number that is no thread's is refused.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signals::ASK) };
    }

    /// Waits for news from the threads that run the driver.
    #[must_use]
    pub fn listen(self, time: Duration) -> News {
        self.parts.verifier.listen(time)
    }

    /// Tells the thread that listens that nothing more will be served.
    pub fn give_up(self) {
        verify::tell(News::Done);
    }
}
