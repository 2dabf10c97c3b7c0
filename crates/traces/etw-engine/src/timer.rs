//! Timers: the periodic capture state of class 16.
//!
//! A thread of the engine waits for them in real time. It starts with the first such request and does not keep the
//! engine alive. An engine whose host provides the time needs no thread: the host calls [`Engine::run_timers`] after
//! its time has advanced.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::sync::lock;
use crate::{Engine, WeakEngine};

/// The number of 100 ns units in a second.
pub(crate) const PER_SECOND: u64 = 10_000_000;

/// The thread that waits for timers.
#[derive(Default)]
pub(crate) struct Timer {
    thread: Mutex<Option<Thread>>,
    /// Whether a request is running its callbacks. A callback that sets a list must not run them again.
    running: AtomicBool,
}

impl Timer {
    /// Wakes the thread, so that it checks again what is due, or ends.
    pub(crate) fn wake(&self) {
        if let Some(thread) = &*lock(&self.thread) {
            thread.unpark();
        }
    }
}

impl Engine {
    /// Runs what is due by the engine's clock: requests the state of providers if the period of a session
    /// (`TracePeriodicCaptureStateListInfo`) has elapsed. Returns the time at which something is due next, or `None` if
    /// nothing is scheduled or the function is already running.
    ///
    /// Only a host with its own clock ([`Engine::set_clock`]) has to call this, after its time has advanced; otherwise
    /// a thread of the engine does. A period that elapsed several times since the last call causes one request (our
    /// choice), and the next is due one period after this call.
    ///
    /// # Panics
    ///
    /// Panics if a callback of a provider panics, after the other requests that are due were made. Later calls work as
    /// usual.
    pub fn run_timers(&self) -> Option<u64> {
        let timer = &self.inner().timer;
        if timer.running.swap(true, Ordering::AcqRel) {
            return None;
        }
        let now = self.now();
        let result = catch_unwind(AssertUnwindSafe(|| {
            each(self.sessions().into_iter().filter(|session| session.core.take_due(now)), |session| {
                session.capture_periodic();
            });
        }));
        timer.running.store(false, Ordering::Release);
        if let Err(panic) = result {
            resume_unwind(panic);
        }
        self.next_due()
    }

    fn next_due(&self) -> Option<u64> {
        self.sessions().iter().filter_map(|session| session.core.due()).min()
    }

    /// Starts or wakes the timer thread, because a session has a period.
    pub(crate) fn start_timer(&self) {
        let timer = &self.inner().timer;
        if self.inner().time.is_hosted() {
            return;
        }
        let mut thread = lock(&timer.thread);
        if let Some(thread) = &*thread {
            thread.unpark();
            return;
        }
        let engine = self.downgrade();
        // If no thread can be started, periodic requests happen only when `run_timers` is called.
        let spawned = thread::Builder::new().name("etw-timer".to_owned()).spawn(move || run(&engine));
        *thread = spawned.ok().map(|join| join.thread().clone());
    }
}

/// Calls `body` for each item. If a call panics, the others still run, and the first panic continues after them.
pub(crate) fn each<T>(items: impl IntoIterator<Item = T>, mut body: impl FnMut(T)) {
    let mut first = None;
    for item in items {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(item))) {
            first.get_or_insert(panic);
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

fn run(engine: &WeakEngine) {
    while let Some(strong) = engine.upgrade() {
        if strong.inner().time.is_hosted() {
            return;
        }
        // A panic of a callback was already printed. It must not end the thread, which other sessions need.
        let due = catch_unwind(AssertUnwindSafe(|| strong.run_timers())).unwrap_or_else(|_| strong.next_due());
        let now = strong.now();
        drop(strong);
        match due {
            None => thread::park(),
            Some(due) => thread::park_timeout(Duration::from_nanos(due.saturating_sub(now).saturating_mul(100))),
        }
    }
}
