//! The statics of the machine: each layer has one reference to its part of the machine, and nothing else.
//!
//! A signal handler and a routine that the driver calls have no argument that leads to the machine, so each layer
//! finds its own part by such a reference. The parts themselves belong to the [`Machine`](crate::Machine). What belongs
//! to a thread is thread-local.

use std::sync::OnceLock;

/// Where a layer finds its part of the machine.
pub(crate) struct Part<T: 'static>(OnceLock<&'static T>);

impl<T> Part<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Makes a part that of this process; a second one is refused. Returns whether it was the first.
    pub(crate) fn attach(&self, part: &'static T) -> bool {
        self.0.set(part).is_ok()
    }

    /// The part, once a machine was started. Signal handlers may ask.
    pub(crate) fn find(&self) -> Option<&'static T> {
        self.0.get().copied()
    }

    /// The part of the machine that was started.
    #[expect(clippy::expect_used, reason = "routines run only after the machine was started")]
    pub(crate) fn get(&self) -> &'static T {
        self.find().expect("a machine was started")
    }
}
