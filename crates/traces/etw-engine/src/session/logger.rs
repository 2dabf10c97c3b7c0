//! The thread that empties the buffers of a session, and the end of that thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use etw_types::Win32Error;
use etw_types::session::mode;

use super::core::SessionCore;
use crate::sync::lock;

/// Starts the thread of a session. A session that keeps its events in memory needs no thread.
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
    /// Writes out everything that is in the buffers.
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

    /// Accepts no more events, writes out the remaining buffers and ends the thread. Later calls do nothing.
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
                // If the thread panicked, there is nothing left to do.
                let _ = join.join();
            }
        }
        self.life.store(2, Ordering::Release);
    }
}
