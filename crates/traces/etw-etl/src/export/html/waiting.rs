//! Events that wait until it is known whether they are near a warning or an error.

use std::collections::VecDeque;

use crate::decode::Decoded;
use crate::event::{Event, EventRef};

/// How many events before and after a problem are near it.
const AROUND: u64 = 25;

/// An event that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) event: Event,
    pub(super) decoded: Decoded,
    pub(super) time: i64,
    /// The number of the event in the page's input.
    pub(super) number: u64,
    /// Its place in all that ever waited.
    place: u64,
}

/// A queue of events.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    events: VecDeque<Waiter>,
    /// The places of the warnings and errors in the queue.
    problems: VecDeque<u64>,
    /// The place of the last one that left it.
    last_problem: Option<u64>,
    next: u64,
    /// The size of the records in the queue, in bytes.
    pub(super) bytes: usize,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn push(&mut self, event: &EventRef<'_>, decoded: &Decoded, time: i64, number: u64) {
        self.bytes += event.record().len();
        if matches!(event.header.descriptor.level.as_int(), 1..=3) {
            self.problems.push_back(self.next);
        }
        let place = self.next;
        self.events.push_back(Waiter { event: event.to_event(), decoded: decoded.clone(), time, number, place });
        self.next += 1;
    }

    /// Removes the first event. Returns it and whether it is near a problem, as far as the events behind it say.
    pub(super) fn pop(&mut self) -> Option<(Waiter, bool)> {
        let waiter = self.events.pop_front()?;
        let place = waiter.place;
        self.bytes -= waiter.event.record().len();
        if self.problems.front() == Some(&place) {
            self.last_problem = self.problems.pop_front();
        }
        let is_behind = self.last_problem.is_some_and(|problem| place - problem <= AROUND);
        let is_ahead = self.problems.front().is_some_and(|problem| problem - place <= AROUND);
        Some((waiter, is_behind || is_ahead))
    }
}
