//! The state of the scheduler: which threads wait, what runs later, and when something is due.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread as std_thread;

use nt_processor::cpu::thread;
use nt_processor::memory::{GuestPtr, OrStop as _};
use nt_processor::sorted::SortedMap;

use super::sleepers::Sleepers;
use super::turns::Turns;
use super::waiters::{Waitable, Waiters};

/// A function to run once.
pub(super) type Job = Box<dyn FnOnce() + Send>;
/// A function that a timer runs, possibly several times.
pub type Action = Arc<dyn Fn() + Send + Sync>;

/// The jobs that a thread serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// DPCs.
    Deferred,
    /// Work items.
    Work,
}

/// A DPC that is queued.
pub struct Deferred {
    /// Identifies the DPC: the address of a KDPC or of a framework object.
    pub(super) key: u64,
    pub(super) job: Job,
    /// The thread on whose processor it runs. Each thread acts as a processor of its own; a timer's DPC has none.
    pub(super) owner: Option<u32>,
    /// The owner is at `DISPATCH_LEVEL` or above, so the DPC cannot interrupt it yet.
    is_held: bool,
}

/// A timer that is set.
#[derive(Clone)]
pub struct Timer {
    /// Identifies the timer: the address of a KTIMER or of a framework object.
    pub key: u64,
    /// The time at which it expires next.
    pub due: u64,
    /// The period in 100 ns units; 0 if the timer expires once.
    pub period: u64,
    /// The dispatcher object to signal.
    pub signals: Option<Waitable>,
    /// What runs then.
    pub action: Option<Action>,
    /// The driver's code that set it.
    pub from: u64,
}

/// The data that the lock guards.
#[derive(Default)]
pub struct State {
    /// Whether a request from outside is being served. If not, virtual time stands still.
    pub(super) asked: bool,
    /// The number of requests from outside so far.
    pub(super) requests: u64,
    /// The number of threads that run driver code or are about to.
    pub(super) running: usize,
    pub(super) sleepers: Sleepers,
    /// The threads that take turns.
    pub(super) turns: Option<Turns>,
    /// The timers that are set.
    pub timers: Vec<Timer>,
    /// The DPCs that are queued.
    pub deferred: VecDeque<Deferred>,
    /// The work items that are queued, with their keys.
    pub work: VecDeque<(u64, Job)>,
    /// The keys of the jobs that are running, DPCs and work items, and their threads.
    active: Vec<(u64, std_thread::ThreadId)>,
    /// Whether a DPC is running. One thread runs them all.
    pub(super) in_dpc: bool,
    /// The owner of the DPC that is running.
    pub(super) interrupts: Option<u32>,
    pub(super) waiters: Waiters,
    /// How often a thread has a resource for shared access, by the addresses of the resource and the thread.
    pub(super) readers: SortedMap<(u64, u64), u32>,
    /// The thread that has a resource for exclusive access, and the call that acquired it, by the address of the
    /// resource.
    pub(super) owners: SortedMap<u64, (u64, u64)>,
    /// The number of threads that wait for exclusive access to a resource, by the address of the resource.
    pub(super) writers: SortedMap<u64, u32>,
    /// The same for shared access.
    pub(super) shared_waiters: SortedMap<u64, u32>,
    /// The numbers of threads that wait for DPCs and for work items.
    pub(super) servers: [usize; 2],
    /// The number of worker threads without a job.
    pub(crate) idle_workers: usize,
}

impl State {
    /// Counts a thread that begins (1) or ends (-1) to wait for jobs.
    pub(super) fn count_server(&mut self, jobs: Jobs, change: isize) {
        let [deferred, work] = &mut self.servers;
        let count = if jobs == Jobs::Deferred { deferred } else { work };
        *count = count.saturating_add_signed(change);
    }

    /// Changes the threads that take turns. The second argument of `change` returns whether a thread was woken that has not
    /// checked the state yet. Returns `None` if no threads take turns.
    pub(super) fn change_turns<R>(&mut self, change: impl FnOnce(&mut Turns, &dyn Fn(u32) -> bool) -> R) -> Option<R> {
        let Self { turns, sleepers, .. } = self;
        turns.as_mut().map(|turns| change(turns, &|thread| sleepers.is_woken(thread)))
    }

    /// Returns the number of threads that wait for exclusive or shared access, by the address of the resource.
    pub(super) const fn waiters_of(&mut self, exclusive: bool) -> &mut SortedMap<u64, u32> {
        if exclusive { &mut self.writers } else { &mut self.shared_waiters }
    }

    /// Returns whether a thread, a DPC or a work item can continue now, or whether virtual time stands still anyway.
    pub(super) fn can_continue(&self) -> bool {
        !self.asked || !self.is_idle()
    }

    /// Returns whether no thread, DPC or work item can continue now.
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && !self.can_run_deferred() && self.work.is_empty() && !self.sleepers.is_one_woken()
    }

    /// Returns the next time at which a timer is due or a wait times out.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        let timers = self.timers.iter().map(|timer| timer.due);
        timers.chain(self.sleepers.first_deadline()).min()
    }

    /// Returns whether all threads wait forever.
    pub(super) fn is_stuck(&self) -> bool {
        self.running == 0
            && !self.sleepers.is_empty()
            && !self.can_run_deferred()
            && self.work.is_empty()
            && self.timers.is_empty()
            && self.sleepers.first_deadline().is_none()
            && !self.sleepers.is_one_woken()
    }

    /// Fires the timers that are due, earliest first. If two are due at the same time, the one that was set first fires
    /// first. Returns whether any timer fired.
    pub(super) fn fire(&mut self, now: u64) -> bool {
        let mut fired = false;
        while let Some(index) = self.next_due(now) {
            let Some(timer) = self.timers.get_mut(index) else { break };
            let key = timer.key;
            let signals = timer.signals;
            let action = timer.action.clone();
            if timer.period == 0 {
                self.timers.remove(index);
            } else {
                timer.due += timer.period;
            }
            if let Some(object) = signals {
                object.SignalState().write(1).or_stop();
                self.waiters.satisfy(object);
            }
            if let Some(action) = action {
                let job = Box::new(move || action());
                self.deferred.push_back(Deferred { key, job, owner: None, is_held: false });
            }
            self.sleepers.wake_object(signals.map_or(0, GuestPtr::address));
            fired = true;
        }
        fired
    }

    fn next_due(&self, now: u64) -> Option<usize> {
        let due = self.timers.iter().enumerate().filter(|(_, timer)| timer.due <= now);
        due.min_by_key(|(index, timer)| (timer.due, *index)).map(|(index, _)| index)
    }

    /// Cancels a timer. Returns whether it was set.
    pub fn unset(&mut self, key: u64) -> bool {
        let before = self.timers.len();
        self.timers.retain(|timer| timer.key != key);
        self.timers.len() != before
    }

    /// Queues a DPC unless it is already queued. Returns whether it was queued now.
    pub fn defer(&mut self, key: u64, job: impl FnOnce() + Send + 'static) -> bool {
        self.defer_for(None, false, key, Box::new(job))
    }

    /// Queues a DPC for the processor of a thread.
    pub(super) fn defer_for(&mut self, owner: Option<u32>, is_held: bool, key: u64, job: Job) -> bool {
        let is_new = self.deferred.iter().all(|known| known.key != key);
        if is_new {
            thread::job_queued();
            self.deferred.push_back(Deferred { key, job, owner, is_held });
        }
        is_new
    }

    /// Returns whether a DPC is queued that can run now.
    fn can_run_deferred(&self) -> bool {
        self.deferred.iter().any(|known| !known.is_held)
    }

    /// Takes the first DPC that can run now from the queue.
    pub(super) fn take_deferred(&mut self) -> Option<Deferred> {
        let next = self.deferred.iter().position(|known| !known.is_held)?;
        self.deferred.remove(next)
    }

    /// Lets the DPCs run that waited for a thread to leave `DISPATCH_LEVEL`.
    pub(super) fn release_deferred(&mut self, owner: u32) {
        for known in self.deferred.iter_mut().filter(|known| known.owner == Some(owner)) {
            known.is_held = false;
        }
    }

    /// Returns whether a DPC of a thread's processor has not ended.
    pub(super) fn defers_for(&self, owner: u32) -> bool {
        self.interrupts == Some(owner) || self.deferred.iter().any(|known| known.owner == Some(owner))
    }

    /// Removes a DPC from the queue. Returns whether it was queued.
    pub fn undefer(&mut self, key: u64) -> bool {
        let before = self.deferred.len();
        self.deferred.retain(|known| known.key != key);
        self.deferred.len() != before
    }

    /// Returns whether a work item is queued.
    pub fn has_work(&self, key: u64) -> bool {
        self.work.iter().any(|(known, _)| *known == key)
    }

    /// Called when a job begins to run.
    pub(crate) fn begin_job(&mut self, key: u64) {
        self.active.push((key, std_thread::current().id()));
        self.running += 1;
    }

    /// Returns whether a job is running.
    pub fn runs(&self, key: u64) -> bool {
        self.active.iter().any(|(active, _)| *active == key)
    }

    /// Returns whether a DPC or a work item is queued or running.
    pub fn is_pending(&self, key: u64) -> bool {
        self.deferred.iter().any(|known| known.key == key) || self.has_work(key) || self.runs(key)
    }

    /// Returns whether this thread runs a job.
    pub fn runs_here(&self, key: u64) -> bool {
        self.active.contains(&(key, std_thread::current().id()))
    }

    /// Returns whether no DPC and no work item is left.
    pub(super) fn is_quiet(&self) -> bool {
        self.deferred.is_empty() && self.work.is_empty() && self.active.is_empty()
    }

    /// Called when a job has finished.
    pub(crate) fn end_job(&mut self, key: u64) {
        if let Some(index) = self.active.iter().position(|(active, _)| *active == key) {
            self.active.swap_remove(index);
        }
        self.running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::sleepers::{Channel, Sleeper};
    use super::{State, Timer};

    fn sleeper(deadline: Option<u64>, channel: Channel) -> Sleeper {
        Sleeper { deadline, channel, bell: std::sync::Arc::default(), woken: false }
    }

    fn timer(key: u64, due: u64, period: u64) -> Timer {
        Timer { key, due, period, signals: None, action: Some(std::sync::Arc::new(|| {})), from: 0 }
    }

    #[test]
    fn timers_fire_by_their_moments_and_then_as_they_were_set() {
        let mut state = State { timers: vec![timer(1, 30, 0), timer(2, 10, 10), timer(3, 30, 0)], ..State::default() };
        assert!(!state.fire(9));
        assert!(state.fire(30));
        let order: Vec<u64> = state.deferred.iter().map(|known| known.key).collect();
        assert_eq!(order, [2, 2, 1, 2, 3]);
        assert_eq!(state.timers.len(), 1);
    }

    #[test]
    fn a_dpc_waits_until_its_processor_is_below_dispatch_level() {
        let mut state = State::default();
        assert!(state.defer_for(Some(7), true, 1, Box::new(|| {})));
        assert!(!state.defer_for(Some(7), true, 1, Box::new(|| {})), "it is queued already");
        assert!(state.defer(2, || {}));
        let next = |state: &mut State| state.take_deferred().map(|known| known.key);
        assert_eq!(next(&mut state), Some(2), "another processor does not wait for this one");
        assert_eq!(next(&mut state), None);
        assert!(state.defers_for(7));
        state.release_deferred(7);
        assert_eq!(next(&mut state), Some(1));
        assert!(!state.defers_for(7));
    }

    #[test]
    fn the_next_deadline_is_that_of_a_timer_or_of_a_wait() {
        let mut state = State { timers: vec![timer(1, 30, 0), timer(2, 40, 0)], ..State::default() };
        assert_eq!(state.next_deadline(), Some(30));
        state.sleepers.insert(1, sleeper(Some(20), Channel::Time));
        assert_eq!(state.next_deadline(), Some(20));
        state.timers.clear();
        state.sleepers.remove(1);
        state.sleepers.insert(1, sleeper(None, Channel::Any));
        assert_eq!(state.next_deadline(), None);
    }
}
