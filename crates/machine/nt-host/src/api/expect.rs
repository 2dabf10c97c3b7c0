//! Expectations about a trace.

use etw_etl::expect::{Expected, check};

use super::Trace;

/// Expected events. [`Expectation::in_order`] or [`Expectation::anywhere`] checks them.
#[must_use = "nothing is checked yet"]
#[derive(Debug)]
pub struct Expectation {
    trace: Trace,
    expected: Vec<Expected>,
}

impl Expectation {
    pub(super) const fn new(trace: Trace) -> Self {
        Self { trace, expected: Vec::new() }
    }

    /// Expects an event, after the previous ones.
    pub fn expect(mut self, event: Expected) -> Self {
        self.expected.push(event);
        self
    }

    /// Checks that the trace contains the events in this order; other events may be in between.
    ///
    /// # Panics
    ///
    /// Panics if one is missing; the message contains the trace.
    pub fn in_order(self) {
        self.check(true);
    }

    /// Checks that the trace contains the events, in any order.
    ///
    /// # Panics
    ///
    /// Panics if one is missing; the message contains the trace.
    pub fn anywhere(self) {
        self.check(false);
    }

    #[expect(clippy::panic, reason = "an expectation of a test that is not met fails the test")]
    fn check(&self, in_order: bool) {
        let events = match self.trace.events() {
            Ok(events) => events,
            Err(error) => panic!("the trace cannot be read: {error}"),
        };
        if let Err(missing) = check(&events, &self.expected, in_order) {
            panic!("{missing}");
        }
    }
}
