//! What is due at some time: the periodic requests for state of class 16.
//!
//! A thread of the engine waits for them in real time; it is started with the first such request and keeps nothing alive. An
//! engine whose host gives the time has no use for it: the host calls [`Engine::run_timers`] when its time has moved.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::sync::lock;
use crate::{Engine, WeakEngine};

/// 100 ns in a second.
pub(crate) const PER_SECOND: u64 = 10_000_000;

/// The thread that waits.
#[derive(Default)]
pub(crate) struct Timer {
    thread: Mutex<Option<Thread>>,
    /// Whether a request is running its callbacks: a callback that sets a list must not run them again.
    running: AtomicBool,
}

impl Timer {
    /// Lets the thread look again at what is due, or end.
    pub(crate) fn wake(&self) {
        if let Some(thread) = &*lock(&self.thread) {
            thread.unpark();
        }
    }
}

impl Engine {
    /// Does what is due by the engine's clock: asks providers for their state where a session's period
    /// (`TracePeriodicCaptureStateListInfo`) has passed. Answers when something is due next.
    ///
    /// Only a host with a clock of its own ([`Engine::set_clock`]) has to call this, after its time has moved; else a thread of
    /// the engine does. A period that passed several times while nobody looked is one request (our choice), and the next is
    /// due a period after this call.
    pub fn run_timers(&self) -> Option<u64> {
        let timer = &self.inner().timer;
        if timer.running.swap(true, Ordering::AcqRel) {
            return None;
        }
        let now = self.now();
        for session in self.sessions() {
            if session.core.take_due(now) {
                session.capture_periodic();
            }
        }
        timer.running.store(false, Ordering::Release);
        self.sessions().iter().filter_map(|session| session.core.due()).min()
    }

    /// A session has a period: somebody has to look at the time.
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
        // Without a thread nothing is asked by itself; `run_timers` still does.
        let spawned = thread::Builder::new().name("etw-timer".to_owned()).spawn(move || run(&engine));
        *thread = spawned.ok().map(|join| join.thread().clone());
    }
}

fn run(engine: &WeakEngine) {
    while let Some(strong) = engine.upgrade() {
        if strong.inner().time.is_hosted() {
            return;
        }
        let due = strong.run_timers();
        let now = strong.now();
        drop(strong);
        match due {
            None => thread::park(),
            Some(due) => thread::park_timeout(Duration::from_nanos(due.saturating_sub(now).saturating_mul(100))),
        }
    }
}
