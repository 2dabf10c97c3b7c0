//! The machine's statics: each layer has one reference to its state in the machine, and no other static.
//!
//! Signal handlers and the routines that the driver calls have no argument that leads to the machine, so each layer
//! finds its own state through such a reference. The state itself belongs to the `Machine`.
//! Per-thread state is thread-local.

use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread as std_thread;
use std::time::Duration;

/// How often [`lock_from_handler`] tries, and how long it waits in between.
const ATTEMPTS: u32 = 5000;
const PAUSE: Duration = Duration::from_micros(100);

/// Locks state for the handler of a fault. Another thread may hold the lock for a moment, and what the handler says about
/// the driver must not depend on that. If the thread that faulted holds the lock itself, or a thread that was stopped,
/// there is nothing to look at.
pub fn lock_from_handler<T>(state: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..ATTEMPTS {
        match state.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(_)) => return None,
            Err(TryLockError::WouldBlock) => std_thread::sleep(PAUSE),
        }
    }
    None
}

/// A layer's reference to its state in the machine.
pub struct LayerState<T: 'static>(OnceLock<&'static T>);

impl<T> LayerState<T> {
    /// Returns a reference that is not set yet.
    #[expect(clippy::new_without_default, reason = "only statics have this type")]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Sets the state for this process. Returns `false` and changes nothing if one was already set.
    pub fn attach(&self, state: &'static T) -> bool {
        self.0.set(state).is_ok()
    }

    /// Returns the state, or `None` if no machine has been started. Signal handlers may call this.
    pub fn find(&self) -> Option<&'static T> {
        self.0.get().copied()
    }

    /// Returns the state in the machine that was started.
    ///
    /// # Panics
    ///
    /// Panics if none was.
    #[expect(clippy::expect_used, reason = "routines run only after the machine was started")]
    pub fn get(&self) -> &'static T {
        self.find().expect("a machine was started")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::lock_from_handler;

    #[test]
    fn a_handler_waits_for_other_threads_and_gives_up_on_its_own() {
        let state = Mutex::new(1);
        let (sender, holds) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let guard = state.lock();
                sender.send(()).expect("a receiver");
                std::thread::yield_now();
                drop(guard);
            });
            holds.recv().expect("a sender");
            assert_eq!(lock_from_handler(&state).as_deref(), Some(&1));
        });
        let _held = state.lock();
        assert!(lock_from_handler(&state).is_none());
    }
}
