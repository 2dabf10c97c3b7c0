//! Activities: ids that join the events of one piece of work.
//!
//! In kernel mode there is no current activity to fall back on: an event without an id gets a zero GUID. So the id is a
//! value that is passed along, here as a scope.

use core::fmt;

use etw_types::Guid;

use crate::backend::kernel::Kernel;
use crate::backend::{Mode, new_activity_id};
use crate::event::Event;
use crate::provider::Provider;

impl<M: Mode> Provider<M> {
    /// Creates an activity id, unique on this machine until it restarts.
    ///
    /// Answers the zero GUID where the system refuses, which it does not do for this operation. Needs no registration.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn new_activity_id(&self) -> Guid {
        new_activity_id::<M>()
    }
}

impl Provider<Kernel> {
    /// Creates an activity id, like [`new_activity_id`](Provider::new_activity_id), without a provider at hand.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn create_activity_id() -> Guid {
        new_activity_id::<Kernel>()
    }
}

/// An activity under way: made by [`start_activity!`](crate::start_activity), which writes the start event.
///
/// Pass [`id`](Self::id) to the events of the activity (`activity_id(scope.id())`) and to the start of nested ones
/// (`related_id(scope.id())`). Dropping the scope writes the stop event: same name, level and keyword, opcode `Stop`.
///
/// Where the start event was not enabled, the scope is inactive: its id is the zero GUID and its end writes nothing.
///
/// # IRQL
///
/// Any, for all of it.
#[must_use = "the activity ends when this is dropped"]
pub struct ActivityScope<M: Mode = Kernel> {
    provider: &'static Provider<M>,
    stop: Option<&'static Event>,
    id: Guid,
}

impl<M: Mode> ActivityScope<M> {
    /// An active scope with a new id; `stop` is what its end writes.
    #[doc(hidden)]
    pub fn active(provider: &'static Provider<M>, stop: &'static Event) -> Self {
        Self { provider, stop: Some(stop), id: provider.new_activity_id() }
    }

    /// A scope that does nothing.
    #[doc(hidden)]
    pub fn inactive(provider: &'static Provider<M>) -> Self {
        Self { provider, stop: None, id: Guid::ZERO }
    }

    /// The activity's id; zero where the scope is inactive.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn id(&self) -> &Guid {
        &self.id
    }

    /// Whether the start event was enabled.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.stop.is_some()
    }

    /// Ends the activity now, and answers the status of writing the stop event: success where nothing was written.
    ///
    /// # IRQL
    ///
    /// Any.
    #[expect(clippy::must_use_candidate, reason = "a failure to trace is usually ignored")]
    pub fn stop(mut self) -> M::Status {
        self.write_stop()
    }

    /// Gives up the scope without a stop event, and answers the id: for work that ends elsewhere.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn into_id(mut self) -> Guid {
        self.stop = None;
        self.id
    }

    fn write_stop(&mut self) -> M::Status {
        match self.stop.take() {
            Some(stop) => self.provider.write(
                stop.descriptor(),
                Some(&self.id),
                None,
                &[self.provider.traits_descriptor(), stop.metadata()],
            ),
            None => <M::Status as crate::Status>::SUCCESS,
        }
    }
}

impl<M: Mode> Drop for ActivityScope<M> {
    fn drop(&mut self) {
        let _ = self.write_stop();
    }
}

impl<M: Mode> fmt::Debug for ActivityScope<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityScope").field("id", &self.id).field("active", &self.is_active()).finish_non_exhaustive()
    }
}
