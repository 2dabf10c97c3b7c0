//! Threads that take turns: only one of them runs at a time, as on a machine with one processor, and a number decides where
//! the next one continues. So two requests that are sent at the same time meet in the same way each time.

use crate::random;

/// A thread that takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    /// It has not begun.
    Expected,
    /// It can run.
    Ready,
    /// It waits for something, and has this number.
    Waiting(u32),
    /// It has ended.
    Over,
}

/// The turns of a group of threads, which are counted from 0.
#[derive(Debug)]
pub(super) struct Turns {
    members: Vec<Member>,
    /// The thread whose turn it is.
    current: Option<usize>,
    /// The number of turns so far.
    count: u64,
    /// A turn ends at one of this many calls.
    calls: u64,
    random: u64,
}

impl Turns {
    pub(super) fn new(members: usize, schedule: u64) -> Self {
        let mut turns =
            Self { members: vec![Member::Expected; members], current: None, count: 0, calls: 1, random: schedule };
        // Some races need many switches, others a single one.
        turns.calls = 2 << turns.next(4);
        turns
    }

    /// Returns a number below `limit`.
    const fn next(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(random::STEP);
        random::mix(self.random) % limit
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn is_current(&self, member: usize) -> bool {
        self.current == Some(member)
    }

    /// Returns whether a member's turn ends at this call.
    pub(super) fn ends(&mut self, member: usize) -> bool {
        self.is_current(member) && self.next(self.calls) == 0
    }

    /// Makes a member ready for its next turn, and ends its current one.
    pub(super) fn ready(&mut self, member: usize, is_woken: impl Fn(u32) -> bool) {
        self.set(member, Member::Ready, is_woken);
    }

    /// Ends a member's turn, because it waits as the thread with this number.
    pub(super) fn wait(&mut self, member: usize, thread: u32, is_woken: impl Fn(u32) -> bool) {
        self.set(member, Member::Waiting(thread), is_woken);
    }

    /// Ends a member's last turn.
    pub(super) fn end(&mut self, member: usize, is_woken: impl Fn(u32) -> bool) {
        self.set(member, Member::Over, is_woken);
    }

    /// Changes a member, and chooses whose turn is next. `is_woken` returns whether a thread that waits was woken: it will be
    /// ready soon, and whether that is soon enough must not depend on chance.
    fn set(&mut self, member: usize, to: Member, is_woken: impl Fn(u32) -> bool) {
        if let Some(place) = self.members.get_mut(member) {
            *place = to;
        }
        self.current = self.current.filter(|current| *current != member);
        let is_open = |member: &Member| match member {
            Member::Expected => true,
            Member::Waiting(thread) => is_woken(*thread),
            Member::Ready | Member::Over => false,
        };
        if self.current.is_some() || self.members.iter().any(is_open) {
            return;
        }
        let ready = (0..).zip(&self.members).filter(|(_, member)| **member == Member::Ready).map(|(index, _)| index);
        let ready: Vec<usize> = ready.collect();
        if !ready.is_empty() {
            let chosen = self.next(ready.len() as u64);
            self.current = ready.get(chosen as usize).copied();
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;

    /// Lets three threads make calls until each has made ten, and returns whose calls they were.
    fn order(schedule: u64) -> Vec<usize> {
        let mut turns = Turns::new(3, schedule);
        let mut calls = [0; 3];
        let mut order = Vec::new();
        (0..3).for_each(|member| turns.ready(member, |_| false));
        while let Some(current) = turns.current {
            order.push(current);
            calls[current] += 1;
            if calls[current] == 10 {
                turns.end(current, |_| false);
            } else if turns.ends(current) {
                turns.ready(current, |_| false);
            }
        }
        order
    }

    #[test]
    fn a_schedule_decides_the_order_and_lets_everyone_finish() {
        let orders: Vec<Vec<usize>> = (1..=50).map(order).collect();
        for (schedule, known) in (1..).zip(&orders) {
            assert_eq!(*known, order(schedule));
            assert_eq!(known.len(), 30);
        }
        let mut different = orders.clone();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > 40, "{} of 50", different.len());
    }

    #[test]
    fn nobody_is_chosen_before_all_have_begun_and_the_woken_ones_are_back() {
        let mut turns = Turns::new(2, 1);
        turns.ready(0, |_| false);
        assert_eq!(turns.current, None, "the second one has not begun");
        turns.ready(1, |_| false);
        let first = turns.current.expect("a turn");
        turns.wait(first, 7, |_| false);
        assert!(turns.is_current(1 - first), "the other one is the only one that can run");
        turns.wait(1 - first, 8, |thread| thread == 7);
        assert_eq!(turns.current, None, "the first one is on its way");
        turns.ready(first, |_| false);
        assert!(turns.is_current(first));
        assert!(turns.count() == 3);
        turns.end(first, |_| false);
        turns.ready(1 - first, |_| false);
        assert!(turns.is_current(1 - first));
    }
}
