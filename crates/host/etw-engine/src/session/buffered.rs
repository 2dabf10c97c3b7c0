//! The buffers of a session, and the state that its thread and its writers share.
//!
//! Writers wake the thread with an unpark, which neither locks nor waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use super::outlet::Outlet;
use crate::buffers::Pool;
use crate::time::Time;

/// The buffers of a session, their outlet, and the thread that empties them.
pub(crate) struct Buffers {
    pub(super) pool: Pool,
    pub(crate) outlet: Mutex<Outlet>,
    /// Milliseconds between two flushes; 0 for no timer.
    flush_every: AtomicU64,
    /// The engine's time.
    time: Arc<Time>,
    pub(super) thread: OnceLock<Thread>,
    pub(super) join: Mutex<Option<JoinHandle<()>>>,
}

impl Buffers {
    pub(super) fn new(pool: Pool, outlet: Outlet, flush_every: Option<Duration>, time: Arc<Time>) -> Self {
        let buffers = Self {
            pool,
            outlet: Mutex::new(outlet),
            flush_every: AtomicU64::new(0),
            time,
            thread: OnceLock::new(),
            join: Mutex::new(None),
        };
        buffers.set_flush_every(flush_every);
        buffers
    }

    /// Wakes the session's thread.
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(super) fn set_flush_every(&self, every: Option<Duration>) {
        let millis = every.map_or(0, |every| u64::try_from(every.as_millis()).unwrap_or(u64::MAX).max(1));
        self.flush_every.store(millis, Ordering::Release);
    }

    pub(super) fn flush_every(&self) -> Option<Duration> {
        match self.flush_every.load(Ordering::Acquire) {
            0 => None,
            millis => Some(Duration::from_millis(millis)),
        }
    }

    /// The engine's time.
    pub(super) fn now(&self) -> u64 {
        self.time.now()
    }
}
