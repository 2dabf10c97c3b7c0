//! The machine's statics: each layer has one reference to its part of the machine, and no other static.
//!
//! Signal handlers and the routines that the driver calls have no argument that leads to the machine, so each layer
//! finds its own part through such a reference. The parts themselves belong to the [`Machine`](crate::Machine).
//! Per-thread state is thread-local.

use std::sync::OnceLock;

/// A layer's reference to its part of the machine.
pub(crate) struct Part<T: 'static>(OnceLock<&'static T>);

impl<T> Part<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Sets the part for this process. Returns `false` and changes nothing if one was already set.
    pub(crate) fn attach(&self, part: &'static T) -> bool {
        self.0.set(part).is_ok()
    }

    /// Returns the part, or `None` if no machine has been started. Signal handlers may call this.
    pub(crate) fn find(&self) -> Option<&'static T> {
        self.0.get().copied()
    }

    /// Returns the part of the machine that was started. Panics if none was.
    #[expect(clippy::expect_used, reason = "routines run only after the machine was started")]
    pub(crate) fn get(&self) -> &'static T {
        self.find().expect("a machine was started")
    }
}
