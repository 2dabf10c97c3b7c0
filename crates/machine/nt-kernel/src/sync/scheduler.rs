//! Time, waiting, and everything that runs later: timers, DPCs, work items.
//!
//! One lock guards all of it, like the dispatcher lock of old kernels. Threads are real. Time is real or virtual.
//! Virtual time stands still while any thread can run, and jumps to the next deadline when all threads wait. So a
//! driver that waits for a second takes no real time, and each run of a test is the same. Measured time is in between:
//! it jumps, but also passes while a thread runs, so that durations are meaningful.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use nt_processor::coverage::callbacks;
use nt_processor::cpu::thread;
use nt_verifier::routine::DISPATCH;
use nt_verifier::verify;

use super::dpc;
use super::sleepers::{Channel, Sleeper};
pub use super::state::{Action, Jobs, State, Timer};
use super::waiters::Waitable;
use crate::config::{EPOCH, Time};
use crate::lock;

/// The scheduler.
pub struct Scheduler {
    pub(super) state: Mutex<State>,
    /// Wake the threads that run DPCs and those that run work items. Each other thread has its own [`BELL`].
    deferred: Condvar,
    work: Condvar,
    /// Wakes the threads that wait for their turn.
    pub(super) turn: Condvar,
    /// Whether threads take turns. Every call of a routine needs this.
    pub(super) are_taking_turns: AtomicBool,
    /// The 100 ns units by which virtual time has jumped. It is only changed under the lock. The fault handler reads it
    /// and must not wait for the lock.
    jumped: AtomicU64,
    settling: AtomicBool,
    time: Time,
    began: Instant,
}

thread_local! {
    /// Wakes this thread.
    static BELL: Arc<Condvar> = Arc::default();
}

impl Scheduler {
    /// Creates a scheduler whose clock is at its start.
    pub fn new(time: Time) -> Self {
        Self {
            state: Mutex::default(),
            deferred: Condvar::new(),
            work: Condvar::new(),
            turn: Condvar::new(),
            are_taking_turns: AtomicBool::new(false),
            jumped: AtomicU64::new(0),
            settling: AtomicBool::new(false),
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
    pub fn now(&self) -> u64 {
        // In real time, `jumped` stays 0.
        self.jumped.load(Ordering::Acquire).saturating_add(self.passed())
    }

    /// Returns the time since 1601 in 100 ns units.
    pub fn system_time(&self) -> u64 {
        EPOCH + self.now()
    }

    /// Converts a `LARGE_INTEGER` to a deadline: relative to now if negative, otherwise since 1601.
    pub fn deadline(&self, time: i64) -> u64 {
        match u64::try_from(time) {
            Ok(absolute) => absolute.saturating_sub(EPOCH),
            Err(_) => self.now().saturating_add(time.unsigned_abs()),
        }
    }

    /// Changes the state, except for dispatcher objects, and wakes the threads that may wait for the change.
    pub fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        self.changed(state);
        result
    }

    /// `change` has more than a hundred instances, which share this.
    #[inline(never)]
    fn changed(&self, mut state: MutexGuard<'_, State>) {
        state.sleepers.wake_any();
        self.wake_late(&mut state);
        self.wake_servers(state);
    }

    /// Wakes the threads that run DPCs and work items, unless none waits or there is nothing for it: that would cost more than
    /// most requests. Unless time is virtual, a timer may have become due, or is now the next one.
    fn wake_servers(&self, state: MutexGuard<'_, State>) {
        let (timed, [deferred, work]) = (self.time != Time::Virtual, state.servers);
        let wakes_deferred = deferred != 0 && (timed || !state.deferred.is_empty());
        let wakes_work = work != 0 && (timed || !state.work.is_empty());
        drop(state);
        if wakes_deferred {
            self.deferred.notify_all();
        }
        if wakes_work {
            self.work.notify_all();
        }
    }

    /// Wakes the threads whose deadline has come while others ran.
    fn wake_late(&self, state: &mut State) {
        if self.time == Time::Measured {
            state.sleepers.wake_due(self.now());
        }
    }

    /// Changes the state of a dispatcher object, satisfies waits for it, and wakes their threads.
    pub(crate) fn change_object<R>(&self, object: Waitable, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        state.waiters.satisfy(object);
        state.sleepers.wake_object(object.address());
        self.wake_late(&mut state);
        result
    }

    /// Wakes the thread that waits for the end of a request of the framework.
    pub fn request_ended(&self, handle: u64) {
        lock(&self.state).sleepers.wake_object(handle);
    }

    /// Waits for the end of a request of the framework: `attempt` can only succeed after [`Self::request_ended`].
    pub fn wait_for_request<R>(
        &self,
        deadline: u64,
        handle: u64,
        attempt: impl FnMut(&mut State) -> Option<R>,
    ) -> Option<R> {
        self.wait_for(Some(deadline), || Channel::Objects(vec![handle]), attempt)
    }

    /// Changes the state in a way that lets no other thread continue.
    pub(super) fn change_quietly<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut lock(&self.state))
    }

    /// Reads the state.
    pub fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&lock(&self.state))
    }

    /// Called when the thread that serves requests begins one.
    pub fn begin_request(&self) {
        self.change_quietly(|state| {
            if state.is_idle() {
                callbacks::begin_moment();
            }
            (state.running, state.asked) = (state.running + 1, true);
            state.requests += 1;
        });
    }

    /// Called when that thread has served the request.
    pub fn end_request(&self) {
        self.change_quietly(|state| (state.running, state.asked) = (state.running - 1, false));
    }

    /// Called when a thread begins to run driver code.
    pub fn begin(&self) {
        self.change_quietly(|state| state.running += 1);
    }

    /// Called when a thread that runs driver code starts others in its place, this many more than one.
    pub fn begin_others(&self, others: usize) {
        self.change_quietly(|state| state.running += others);
    }

    /// Called when a thread has finished running driver code.
    pub fn end(&self) {
        let mut state = lock(&self.state);
        state.running -= 1;
        self.jump_on(&mut state);
    }

    /// Called when a job has finished. `change` may change more of the state.
    pub(crate) fn end_job(&self, key: u64, change: impl FnOnce(&mut State)) {
        self.change(|state| {
            state.end_job(key);
            change(state);
        });
        self.jump_on(&mut lock(&self.state));
    }

    /// Waits until `attempt` succeeds. Returns `None` if the deadline passes first. The calling thread must be one that
    /// runs driver code. If there is no deadline and `attempt` never succeeds, this does not return: see
    /// [`Self::is_stuck`].
    pub fn wait<R>(&self, deadline: Option<u64>, attempt: impl FnMut(&mut State) -> Option<R>) -> Option<R> {
        self.wait_for(deadline, || Channel::Any, attempt)
    }

    /// Like [`Self::wait`], where `attempt` can only succeed after one of these objects has changed.
    pub(super) fn wait_on<R>(
        &self,
        deadline: Option<u64>,
        objects: &[Waitable],
        attempt: impl FnMut(&mut State) -> Option<R>,
    ) -> Option<R> {
        let channel = || Channel::Objects(objects.iter().map(|object| object.address()).collect());
        self.wait_for(deadline, channel, attempt)
    }

    /// Waits until a deadline.
    pub fn wait_until(&self, deadline: u64) {
        self.wait_for(Some(deadline), || Channel::Time, |_| None::<()>);
    }

    fn wait_for<R>(
        &self,
        deadline: Option<u64>,
        channel: impl Fn() -> Channel,
        mut attempt: impl FnMut(&mut State) -> Option<R>,
    ) -> Option<R> {
        let mut result = None;
        self.wait_until_true(deadline, &channel, &mut |state| {
            result = attempt(state);
            result.is_some()
        });
        result
    }

    /// Waits until `attempt` returns true, or until the deadline.
    fn wait_until_true(
        &self,
        deadline: Option<u64>,
        channel: &dyn Fn() -> Channel,
        attempt: &mut dyn FnMut(&mut State) -> bool,
    ) {
        let (mut state, bell) = (lock(&self.state), BELL.with(Arc::clone));
        loop {
            if verify::is_stopped() {
                drop(state);
                verify::park();
            }
            self.fire(&mut state);
            if attempt(&mut state) {
                // A thread that acquires dispatcher objects lets no other thread continue.
                if matches!(channel(), Channel::Any) {
                    state.sleepers.wake_any();
                    self.wake_servers(state);
                }
                return;
            }
            if deadline.is_some_and(|deadline| self.now() >= deadline) {
                return thread::wait_timed_out();
            }
            let sleeper = Sleeper { deadline, channel: channel(), bell: Arc::clone(&bell), woken: false };
            state.sleepers.insert(thread::number(), sleeper);
            state.running -= 1;
            self.give_up_turn(&mut state);
            if !self.jump(&mut state) {
                state = self.sleep(state, deadline, &bell);
            }
            state.running += 1;
            state.sleepers.remove(thread::number());
            state = self.wait_for_turn(state);
        }
    }

    /// Waits until `attempt` succeeds, as a thread that serves jobs and does not count as running.
    pub fn serve<R>(&self, jobs: Jobs, mut attempt: impl FnMut(&mut State) -> Option<R>) -> R {
        let bell = if jobs == Jobs::Deferred { &self.deferred } else { &self.work };
        let mut state = lock(&self.state);
        loop {
            if verify::is_stopped() {
                drop(state);
                verify::park();
            }
            self.fire(&mut state);
            if let Some(result) = attempt(&mut state) {
                thread::take_job(state.requests);
                callbacks::begin_job();
                return result;
            }
            state.count_server(jobs, 1);
            state = self.sleep(state, None, bell);
            state.count_server(jobs, -1);
        }
    }

    /// Sleeps until the bell rings or, in real time, until a timer or the deadline is due.
    fn sleep<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        deadline: Option<u64>,
        bell: &Condvar,
    ) -> MutexGuard<'a, State> {
        let due = state.timers.iter().map(|timer| timer.due).chain(deadline).min();
        match (self.time, due) {
            (Time::Real, Some(due)) => {
                let left = Duration::from_nanos(due.saturating_sub(self.now()).saturating_mul(100));
                let woken = bell.wait_timeout(state, left.min(Duration::from_hours(1)));
                woken.unwrap_or_else(std::sync::PoisonError::into_inner).0
            }
            _ => bell.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner),
        }
    }

    /// Lets virtual time jump to the next deadline if no thread can continue otherwise. Returns whether it did.
    fn jump(&self, state: &mut State) -> bool {
        if self.time == Time::Real || state.can_continue() {
            return false;
        }
        let Some(next) = state.next_deadline() else { return false };
        callbacks::begin_moment();
        self.jumped.fetch_max(next.saturating_sub(self.passed()), Ordering::Release);
        self.fire(state);
        state.sleepers.wake_due(self.now());
        true
    }

    /// Lets virtual time jump until a thread can continue. Called by a thread that does not wait itself.
    fn jump_on(&self, state: &mut State) {
        while !verify::is_stopped() && self.jump(state) {}
    }

    /// Returns whether all threads wait and nothing will ever wake one. Does not wait: a thread that the driver has
    /// stopped may hold the lock.
    pub fn is_stuck(&self) -> bool {
        self.time != Time::Real && self.state.try_lock().is_ok_and(|state| state.is_stuck())
    }

    /// Fires the timers that are due.
    fn fire(&self, state: &mut State) {
        let now = self.now();
        let [waiting, _] = state.servers;
        if state.fire(now) && waiting != 0 {
            self.deferred.notify_all();
        }
    }

    /// Waits until no DPC and no work item is left. The calling thread must be the one that serves requests.
    pub fn settle(&self) {
        let now = self.now();
        if self.look(|state| state.is_quiet() && state.timers.iter().all(|timer| timer.due > now)) {
            return;
        }
        self.settling.store(true, Ordering::Relaxed);
        self.wait(None, |state| state.is_quiet().then_some(()));
        self.settling.store(false, Ordering::Relaxed);
    }

    /// Returns whether the thread that serves requests only waits for DPCs and work items of other threads.
    pub fn is_settling(&self) -> bool {
        self.settling.load(Ordering::Relaxed)
    }

    /// Queues a DPC on the processor of this thread. Below `DISPATCH_LEVEL`, the DPC interrupts this thread at once, so it has run on
    /// return; otherwise it runs when the IRQL falls below that. Returns whether it was queued now.
    pub fn defer(&self, key: u64, job: impl FnOnce() + Send + 'static) -> bool {
        let owner = (thread::is_attached() && !dpc::serves()).then(thread::number);
        let is_held = owner.is_some() && thread::irql() >= DISPATCH;
        let is_new = self.change(|state| state.defer_for(owner, is_held, key, Box::new(job)));
        if is_new && is_held {
            dpc::hold();
        } else if is_new && owner.is_some() {
            self.wait_for_deferred();
        }
        is_new
    }

    /// Waits until the DPCs that were queued on the processor of this thread have run.
    pub(super) fn wait_for_deferred(&self) {
        self.wait(None, |state| (!state.defers_for(thread::number())).then_some(()));
    }

    /// Waits until a job is no longer running.
    pub fn wait_for_job(&self, key: u64) {
        self.wait(None, |state| (!state.runs(key)).then_some(()));
    }
}
