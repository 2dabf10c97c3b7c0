//! Lets threads that call the driver take turns, in an order that a number decides. See [`Turns`].

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use nt_processor::cpu::thread;
use nt_verifier::routine::DISPATCH;
use nt_verifier::verify;

use super::scheduler::{Scheduler, State};
use super::turns::Turns;
use crate::lock;

/// How often a thread that waits for its turn checks that the others go on.
const TICK: Duration = Duration::from_millis(20);
/// How long a turn without a call may take: in processor time, because a driver may wait in a loop for what another thread
/// does, and in ticks at which no thread can run, because the host may wait for it outside of the scheduler.
const LONGEST_TURN: Duration = Duration::from_millis(50);
const MAX_TICKS: u32 = 10;

thread_local! {
    /// The number of this thread among those that take turns.
    static MEMBER: Cell<Option<usize>> = const { Cell::new(None) };
}

impl Scheduler {
    /// Makes this many threads take turns from when all of them have called [`Self::begin_turns`].
    pub fn take_turns(&self, count: usize, schedule: u64) {
        lock(&self.state).turns = Some(Turns::new(count, schedule));
        self.are_taking_turns.store(true, Ordering::Release);
    }

    /// Called when the threads that take turns have ended.
    pub fn end_turns(&self) {
        self.are_taking_turns.store(false, Ordering::Release);
        lock(&self.state).turns = None;
    }

    /// Makes the calling thread the one with this number, and waits for its first turn.
    pub fn begin_turns(&self, member: usize) {
        MEMBER.set(Some(member));
        drop(self.wait_for_turn(lock(&self.state)));
    }

    /// Called when the thread with this number has ended, or cannot begin.
    pub fn leave_turns(&self, member: usize) {
        MEMBER.set(None);
        lock(&self.state).change_turns(|turns, is_woken| turns.end(member, is_woken));
        self.turn.notify_all();
    }

    /// Called when the driver calls a routine: another thread may be next. A thread at `DISPATCH_LEVEL` is not interrupted,
    /// as on a machine with one processor, so no other one finds its spin locks held.
    pub(crate) fn pause(&self) {
        if !self.are_taking_turns.load(Ordering::Acquire) || thread::irql() >= DISPATCH {
            return;
        }
        let Some(member) = MEMBER.get() else { return };
        let mut state = lock(&self.state);
        if state.turns.as_mut().is_some_and(|turns| turns.ends(member)) {
            drop(self.wait_for_turn(state));
        }
    }

    /// Ends this thread's turn, because it waits.
    pub(super) fn give_up_turn(&self, state: &mut State) {
        if let Some(member) = MEMBER.get() {
            state.change_turns(|turns, is_woken| turns.wait(member, thread::number(), is_woken));
            self.turn.notify_all();
        }
    }

    /// Waits for this thread's next turn, if it takes turns.
    pub(super) fn wait_for_turn<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let Some(member) = MEMBER.get() else { return state };
        state.change_turns(|turns, is_woken| turns.ready(member, is_woken));
        self.turn.notify_all();
        // The last turn that was seen, the processor time at its first tick, and the ticks without a thread that can run.
        let mut seen = (0, Duration::ZERO, 0);
        while let Some(turns) = state.turns.as_ref().filter(|turns| !turns.is_current(member)) {
            if verify::is_stopped() {
                drop(state);
                verify::park();
            }
            let turn = turns.count();
            let (guard, waited) = self.turn.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if !waited.timed_out() {
                continue;
            }
            let used = Duration::from_nanos(thread::processor_times().values().sum());
            if turn != seen.0 {
                seen = (turn, used, 0);
            }
            // On a busy machine, a thread that can run may not get the processor for a long time.
            seen.2 = if thread::can_one_run() { 0 } else { seen.2 + 1 };
            if used.saturating_sub(seen.1) > LONGEST_TURN || seen.2 > MAX_TICKS {
                // From now on, all of them run at the same time.
                state.turns = None;
                self.turn.notify_all();
            }
        }
        state
    }
}
