//! What the threads of the driver's process share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etw_engine::Session;

/// The sessions in order of their numbers, starting with 1. Number 0 is the session that records everything; it is not
/// in here.
pub(super) type Sessions = Arc<Mutex<Vec<Session>>>;

/// Locks data that threads of this process share.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
