//! Time, waiting, and what runs later: timers, deferred calls, work items.
//!
//! One lock guards all of it, like the dispatcher lock of old kernels. Threads are real. Time is real as well, or virtual:
//! then it stands still while anybody can go on, and jumps to the next deadline when everybody waits. A driver that waits
//! for a second then costs no time, and each run of a test is the same. In between is measured time, which also passes while
//! somebody goes on, so that durations mean something.

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
    /// 100 ns units by which virtual time has jumped. It changes under the lock only. The fault handler reads it, which must
    /// not wait for the lock.
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

    /// What the clock on the wall adds to the time, in 100 ns units.
    fn passed(&self) -> u64 {
        match self.time {
            Time::Virtual => 0,
            Time::Measured | Time::Real => u64::try_from(self.began.elapsed().as_nanos() / 100).unwrap_or(u64::MAX),
        }
    }

    /// 100 ns units since the start. It never waits.
    pub(crate) fn now(&self) -> u64 {
        // In real time nothing jumps.
        self.jumped.load(Ordering::Acquire).saturating_add(self.passed())
    }

    /// 100 ns units since 1601.
    pub(crate) fn system_time(&self) -> u64 {
        EPOCH + self.now()
    }

    /// The moment that a `LARGE_INTEGER` stands for: relative where negative, else since 1601.
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

    /// Looks at the state.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&lock(&self.state))
    }

    /// The thread that serves requests begins one.
    pub(crate) fn begin_request(&self) {
        self.change(|state| (state.running, state.asked) = (state.running + 1, true));
    }

    /// It has served the request.
    pub(crate) fn end_request(&self) {
        self.change(|state| (state.running, state.asked) = (state.running - 1, false));
    }

    /// A thread begins to run driver code.
    pub(crate) fn begin(&self) {
        self.change(|state| state.running += 1);
    }

    /// A thread has run driver code.
    pub(crate) fn end(&self) {
        self.change(|state| state.running -= 1);
    }

    /// Waits until `attempt` succeeds, or until the deadline: then `None`. The calling thread is one that runs driver
    /// code. Where nobody can ever go on again, and no deadline is near, the answer is `None` as well.
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

    /// Waits as a thread that serves and does not count as running.
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

    /// Sleeps until something changes, or in real time until something is due.
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

    /// Lets virtual time jump to the next deadline if nobody can go on without it. Returns whether it did.
    fn jump(&self, state: &mut State) -> bool {
        if state.somebody_can_go_on() {
            return false;
        }
        let Some(next) = state.next_deadline() else { return false };
        self.jumped.fetch_max(next.saturating_sub(self.passed()), Ordering::Release);
        self.fire(state);
        state.changes += 1;
        self.changed.notify_all();
        true
    }

    /// Whether every thread waits and nothing will ever wake one.
    pub(crate) fn is_stuck(&self) -> bool {
        self.time != Time::Real && self.look(State::is_stuck)
    }

    /// Makes timers that are due happen.
    fn fire(&self, state: &mut State) {
        let now = self.now();
        if state.fire(now) {
            self.changed.notify_all();
        }
    }

    /// Waits until no deferred call and no work item is left. The calling thread runs driver code.
    pub(crate) fn settle(&self) {
        self.wait(None, |state| {
            let quiet = state.deferred.is_empty() && state.work.is_empty() && state.active.is_empty();
            quiet.then_some(())
        });
    }

    /// Waits until a job is not running.
    pub(crate) fn wait_for_job(&self, key: u64) {
        self.wait(None, |state| (!state.active.contains(&key)).then_some(()));
    }
}
