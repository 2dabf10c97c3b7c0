//! The buffers of a session and the thread that empties them.
//!
//! Writers wake the thread with an unpark, which neither locks nor waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use etw_types::Win32Error;
use etw_types::session::mode;

use super::core::SessionCore;
use super::outlet::Outlet;
use crate::buffers::Pool;
use crate::sync::lock;
use crate::time::Time;

/// Buffers, their way out, and who takes care of it.
pub(crate) struct Buffers {
    pub(super) pool: Pool,
    pub(crate) outlet: Mutex<Outlet>,
    /// Milliseconds between two flushes; 0 for no timer.
    flush_every: AtomicU64,
    /// The engine's time.
    time: Arc<Time>,
    thread: OnceLock<Thread>,
    join: Mutex<Option<JoinHandle<()>>>,
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

    fn flush_every(&self) -> Option<Duration> {
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

/// Starts the thread of a session. A session that keeps its events in memory needs none.
pub(super) fn spawn(core: &Arc<SessionCore>) -> Result<(), Win32Error> {
    let Some(buffers) = core.buffers() else {
        return Ok(());
    };
    if lock(&buffers.outlet).mode() & mode::BUFFERING != 0 {
        return Ok(());
    }
    let session = Arc::clone(core);
    let spawned = thread::Builder::new().name("etw-logger".to_owned()).spawn(move || run(&session));
    let join = spawned.map_err(|_| Win32Error::NoSystemResources)?;
    let _ = buffers.thread.set(join.thread().clone());
    *lock(&buffers.join) = Some(join);
    Ok(())
}

fn run(core: &SessionCore) {
    let Some(buffers) = core.buffers() else {
        return;
    };
    let mut flushed = Instant::now();
    loop {
        let mut outlet = lock(&buffers.outlet);
        if outlet.is_finished() {
            return;
        }
        if buffers.flush_every().is_some_and(|every| flushed.elapsed() >= every) {
            buffers.pool.flush();
            flushed = Instant::now();
        }
        outlet.report_lost(core.lost.load(Ordering::Acquire));
        outlet.drain(&buffers.pool, &core.stacks, core.stamp(buffers.now()), false);
        drop(outlet);
        match buffers.flush_every() {
            Some(every) => thread::park_timeout(every.saturating_sub(flushed.elapsed())),
            None => thread::park(),
        }
    }
}

impl SessionCore {
    /// Writes out everything that was written before.
    pub(super) fn flush(&self) {
        if let Some(buffers) = self.buffers() {
            let mut outlet = lock(&buffers.outlet);
            if !outlet.is_finished() && outlet.mode() & mode::BUFFERING == 0 {
                buffers.pool.flush();
                outlet.report_lost(self.lost.load(Ordering::Acquire));
                outlet.drain(&buffers.pool, &self.stacks, self.stamp(buffers.now()), false);
            }
        }
    }

    /// Takes no event from here on, writes out what there is and ends the thread. Later calls do nothing.
    pub(crate) fn shut_down(&self) {
        self.begin_stop();
        if let Some(memory) = self.memory() {
            memory.stop();
        }
        if let Some(buffers) = self.buffers() {
            let mut outlet = lock(&buffers.outlet);
            if !outlet.is_finished() {
                buffers.pool.stop();
                outlet.report_lost(self.lost.load(Ordering::Acquire));
                let stamp = self.stamp(buffers.now());
                outlet.drain(&buffers.pool, &self.stacks, stamp, true);
                outlet.finish(&self.stacks, stamp);
            }
            drop(outlet);
            buffers.wake();
            let join = lock(&buffers.join).take();
            if let Some(join) = join
                && join.thread().id() != thread::current().id()
            {
                // A thread that panicked has nothing left to do.
                let _ = join.join();
            }
        }
        self.life.store(2, Ordering::Release);
    }
}
