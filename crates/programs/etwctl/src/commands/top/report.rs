//! What a summary reports of all that an analyser has seen.

use etw_etl::{Decoded, Decoder, EventRef, FileTime};

use super::tally::Tally;
use crate::select::Selection;

/// The rows of the selected events, in the selected range of time. Analysers see every event; what they add is selected here.
///
/// An event counts if it is in the range. A time counts with its part in the range, so that the times of adjoining ranges add up.
pub(super) struct Report<'a> {
    pub(super) tally: &'a mut Tally,
    pub(super) selection: &'a mut Selection,
    /// Whether the trace has anything that the summary is about.
    pub(super) has_any: bool,
    /// Whether the conditions were checked for anything.
    pub(super) has_checked: bool,
}

/// The part of an operation that is in the range.
#[derive(Clone, Copy, Debug)]
pub(super) struct InRange {
    /// Whether the event that reports the operation is in the range.
    is_counted: bool,
    /// The time in the range, if the trace tells when the operation began.
    pub(super) time: Option<u64>,
}

impl InRange {
    /// A number of the operation, which counts with its event.
    pub(super) fn count(self, number: impl Into<Option<u64>>) -> Option<u64> {
        number.into().map(|number| if self.is_counted { number } else { 0 })
    }
}

impl<'a> Report<'a> {
    pub(super) const fn new(tally: &'a mut Tally, selection: &'a mut Selection) -> Self {
        Self { tally, selection, has_any: false, has_checked: false }
    }

    pub(super) fn has_time(&mut self, time: i64) -> bool {
        self.has_any = true;
        self.selection.has_time(FileTime(time))
    }

    /// Whether an event is selected, apart from its time.
    pub(super) fn takes(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> bool {
        self.has_checked = true;
        self.selection.takes(event, decoded)
    }

    /// The same for an event that is decoded if that is needed.
    pub(super) fn takes_event(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) -> bool {
        self.has_checked = true;
        self.selection.takes_lazily(event, decoder)
    }

    /// The length of the part of an interval that is in the range, in units of 100 ns.
    pub(super) fn clip(&mut self, from: i64, to: i64) -> Option<u64> {
        self.has_any = true;
        self.selection.clip(FileTime(from), FileTime(to))
    }

    /// The part of an operation that an event reports at its end, or `None` if no part of it is in the range.
    pub(super) fn part(&mut self, start: Option<i64>, end: i64) -> Option<InRange> {
        let is_counted = self.has_time(end);
        let inside = start.and_then(|start| self.clip(start, end));
        let time = start.map(|_| inside.unwrap_or_default());
        (is_counted || inside.is_some()).then_some(InRange { is_counted, time })
    }
}
