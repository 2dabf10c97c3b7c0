//! Time, waiting, and everything that runs later: timers, DPCs, work items.
//!
//! One lock guards all of it, like the dispatcher lock of old kernels. Threads are real. Time is real or virtual.
//! Virtual time stands still while any thread can run, and jumps to the next deadline when all threads wait. So a
//! driver that waits for a second takes no real time, and each run of a test is the same. Measured time is in between:
//! it jumps, but also passes while a thread runs, so that durations are meaningful.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::state::Sleeper;
pub(crate) use super::state::{Action, State, Timer};
use crate::config::{EPOCH, Time};
use crate::cpu::thread;
use crate::kernel::lock;
use crate::verify;

/// The scheduler.
pub(crate) struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
    /// The 100 ns units by which virtual time has jumped. It is only changed under the lock. The fault handler reads it
    /// and must not wait for the lock.
    jumped: AtomicU64,
    time: Time,
    began: Instant,
}

impl Scheduler {
    pub(crate) fn new(time: Time) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            jumped: AtomicU64::new(0),
            time,
            began: Instant::now(),
        }
    }

    /// Returns the real time since the start in 100 ns units; 0 in virtual time, in which it does not count.
    fn passed(&self) -> u64 {
        match self.time {
            Time::Virtual => 0,
            Time::Measured | Time::Real => u64::try_from(self.began.elapsed().as_nanos() / 100).unwrap_or(u64::MAX),
        }
    }

    /// Returns the time since the start in 100 ns units. Never waits.
    pub(crate) fn now(&self) -> u64 {
        // In real time, `jumped` stays 0.
        self.jumped.load(Ordering::Acquire).saturating_add(self.passed())
    }

    /// Returns the time since 1601 in 100 ns units.
    pub(crate) fn system_time(&self) -> u64 {
        EPOCH + self.now()
    }

    /// Converts a `LARGE_INTEGER` to a deadline: relative to now if negative, otherwise since 1601.
    pub(crate) fn deadline(&self, time: i64) -> u64 {
        match u64::try_from(time) {
            Ok(absolute) => absolute.saturating_sub(EPOCH),
            Err(_) => self.now().saturating_add(time.unsigned_abs()),
        }
    }

    /// Changes the state and wakes every waiting thread.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        state.changes += 1;
        drop(state);
        self.changed.notify_all();
        result
    }

    /// Reads the state.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&lock(&self.state))
    }

    /// Called when the thread that serves requests begins one.
    pub(crate) fn begin_request(&self) {
        self.change(|state| (state.running, state.asked) = (state.running + 1, true));
    }

    /// Called when that thread has served the request.
    pub(crate) fn end_request(&self) {
        self.change(|state| (state.running, state.asked) = (state.running - 1, false));
    }

    /// Called when a thread begins to run driver code.
    pub(crate) fn begin(&self) {
        self.change(|state| state.running += 1);
    }

    /// Called when a thread has finished running driver code.
    pub(crate) fn end(&self) {
        self.change(|state| state.running -= 1);
    }

    /// Waits until `attempt` succeeds. Returns `None` if the deadline passes first. The calling thread must be one that
    /// runs driver code. If there is no deadline and `attempt` never succeeds, this does not return: see
    /// [`Self::is_stuck`].
    pub(crate) fn wait<R>(&self, deadline: Option<u64>, mut attempt: impl FnMut(&mut State) -> Option<R>) -> Option<R> {
        let mut state = lock(&self.state);
        loop {
            if verify::is_stopped() {
                drop(state);
                verify::park();
            }
            self.fire(&mut state);
            if let Some(result) = attempt(&mut state) {
                state.changes += 1;
                drop(state);
                self.changed.notify_all();
                return Some(result);
            }
            if deadline.is_some_and(|deadline| self.now() >= deadline) {
                return None;
            }
            let seen = state.changes;
            state.sleepers.push(Sleeper { thread: thread::number(), deadline, seen });
            state.running -= 1;
            let jumped = self.time != Time::Real && self.jump(&mut state);
            if !jumped {
                state = self.sleep(state, deadline);
            }
            state.running += 1;
            state.sleepers.retain(|sleeper| sleeper.thread != thread::number());
        }
    }

    /// Waits until `attempt` succeeds, as a thread that serves jobs and does not count as running.
    pub(crate) fn serve<R>(&self, mut attempt: impl FnMut(&mut State) -> Option<R>) -> R {
        let mut state = lock(&self.state);
        loop {
            if verify::is_stopped() {
                drop(state);
                verify::park();
            }
            self.fire(&mut state);
            if let Some(result) = attempt(&mut state) {
                return result;
            }
            state = self.sleep(state, None);
        }
    }

    /// Sleeps until something changes or, in real time, until a timer or the deadline is due.
    fn sleep<'a>(&'a self, state: MutexGuard<'a, State>, deadline: Option<u64>) -> MutexGuard<'a, State> {
        let due = state.timers.iter().map(|timer| timer.due).chain(deadline).min();
        match (self.time, due) {
            (Time::Real, Some(due)) => {
                let left = Duration::from_nanos(due.saturating_sub(self.now()).saturating_mul(100));
                let woken = self.changed.wait_timeout(state, left.min(Duration::from_hours(1)));
                woken.unwrap_or_else(std::sync::PoisonError::into_inner).0
            }
            _ => self.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner),
        }
    }

    /// Lets virtual time jump to the next deadline if no thread can continue otherwise. Returns whether it did.
    fn jump(&self, state: &mut State) -> bool {
        if state.can_continue() {
            return false;
        }
        let Some(next) = state.next_deadline() else { return false };
        self.jumped.fetch_max(next.saturating_sub(self.passed()), Ordering::Release);
        self.fire(state);
        state.changes += 1;
        self.changed.notify_all();
        true
    }

    /// Returns whether all threads wait and nothing will ever wake one.
    pub(crate) fn is_stuck(&self) -> bool {
        self.time != Time::Real && self.look(State::is_stuck)
    }

    /// Fires the timers that are due.
    fn fire(&self, state: &mut State) {
        let now = self.now();
        if state.fire(now) {
            self.changed.notify_all();
        }
    }

    /// Waits until no DPC and no work item is left. The calling thread must be one that runs driver code.
    pub(crate) fn settle(&self) {
        self.wait(None, |state| {
            let quiet = state.deferred.is_empty() && state.work.is_empty() && state.active.is_empty();
            quiet.then_some(())
        });
    }

    /// Waits until a job is no longer running.
    pub(crate) fn wait_for_job(&self, key: u64) {
        self.wait(None, |state| (!state.active.contains(&key)).then_some(()));
    }
}
