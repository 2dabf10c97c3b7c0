//! Which starts and stops of a page belong together.
//!
//! They are matched here and not in the page, because the page may not have both: a stop may be left out or not be selected.

use std::collections::HashMap;

use crate::decode::Decoded;
use crate::event::EventRef;
use crate::pair::{Pairs, Role};

/// Maximum memory for starts that wait for their stops, in bytes, and the cost of one.
const MAX_OPEN: usize = 16 * 1024 * 1024;
const COST: usize = 128;

/// A span whose start is in the page or may still get there.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// The row of the start.
    row: Option<u64>,
    /// The number of the stop, if it is selected, and its time.
    stop: Option<u64>,
    end: Option<i64>,
}

/// The spans of a page. Events have numbers in the order in which the page receives them.
#[derive(Debug)]
pub(super) struct Spans {
    /// Numbers of starts; `None` for those that are not selected.
    open: Pairs<Option<u64>>,
    /// How many of them are selected.
    awaited: usize,
    by_start: HashMap<u64, Span>,
    /// The rows of the stops in the page, by number.
    stops: HashMap<u64, u64>,
}

impl Default for Spans {
    fn default() -> Self {
        Self { open: Pairs::new(MAX_OPEN), awaited: 0, by_start: HashMap::new(), stops: HashMap::new() }
    }
}

/// A span of the page: rows, and the time of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) start: u64,
    /// The row of the stop, if the page has it.
    pub(super) stop: Option<u64>,
    /// `None` if the trace has no stop.
    pub(super) end: Option<i64>,
}

impl Spans {
    /// Sees an event with its time, and with its number if it is selected.
    pub(super) fn see(&mut self, event: &EventRef<'_>, decoded: &Decoded, time: i64, number: Option<u64>) {
        match Role::from_event(event) {
            Some(Role::Start) if self.open.repeats(event) => {}
            Some(Role::Start) => {
                let is_kept = self.open.start(event, decoded, number, COST).is_none();
                if let Some(number) = number {
                    self.awaited += usize::from(is_kept);
                    self.by_start.insert(number, Span::default());
                }
            }
            Some(Role::Stop) => {
                let stopped = self.open.stop(event, decoded);
                let ended = stopped.start.flatten();
                self.awaited -= stopped.open.into_iter().flatten().count() + usize::from(ended.is_some());
                if let Some(span) = ended.and_then(|start| self.by_start.get_mut(&start)) {
                    span.stop = number;
                    span.end = Some(time);
                }
            }
            None => {}
        }
    }

    /// A selected event is in this row of the page.
    pub(super) fn place(&mut self, event: &EventRef<'_>, number: u64, row: u64) {
        match Role::from_event(event) {
            Some(Role::Start) => {
                if let Some(span) = self.by_start.get_mut(&number) {
                    span.row = Some(row);
                }
            }
            Some(Role::Stop) => {
                self.stops.insert(number, row);
            }
            None => {}
        }
    }

    /// A selected event is not in the page.
    pub(super) fn leave_out(&mut self, number: u64) {
        self.by_start.remove(&number);
    }

    pub(super) const fn awaits_stops(&self) -> bool {
        self.awaited > 0
    }

    /// The spans of the page, in the order of their starts.
    pub(super) fn shown(&self) -> Vec<Shown> {
        let shown = self.by_start.values().filter_map(|span| {
            let stop = span.stop.and_then(|number| self.stops.get(&number)).copied();
            Some(Shown { start: span.row?, stop, end: span.end })
        });
        let mut shown: Vec<Shown> = shown.collect();
        shown.sort_by_key(|span| span.start);
        shown
    }
}
