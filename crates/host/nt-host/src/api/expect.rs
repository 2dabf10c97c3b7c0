//! Expectations of one trace.

use etw_etl::expect::{Expected, check};

use super::Trace;

/// Events that are expected. They are checked by [`Expectation::in_order`] or [`Expectation::anywhere`].
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

    /// Expects an event, after the ones before.
    pub fn expect(mut self, event: Expected) -> Self {
        self.expected.push(event);
        self
    }

    /// Checks that the events are there in this order; others may lie between.
    ///
    /// # Panics
    ///
    /// When one is missing, with the trace.
    pub fn in_order(self) {
        self.check(true);
    }

    /// Checks that the events are there.
    ///
    /// # Panics
    ///
    /// When one is missing, with the trace.
    pub fn anywhere(self) {
        self.check(false);
    }

    #[expect(clippy::panic, reason = "an expectation of a test that is not met fails the test")]
    fn check(&self, in_order: bool) {
        let events = match self.trace.events() {
            Ok(events) => events,
            Err(error) => panic!("no trace to look at: {error}"),
        };
        if let Err(missing) = check(&events, &self.expected, in_order) {
            panic!("{missing}");
        }
    }
}
