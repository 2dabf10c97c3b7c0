//! The verifier: what a driver may not do, and the record of what it did.
//!
//! It is always on. A finding is recorded where it happens, in memory that outlives the process that runs the driver, and
//! is given names and source lines later, by the process that asked for the run.

mod arena;
pub(crate) mod calls;
mod finding;
pub(crate) mod locks;
pub(crate) mod notify;
mod record;
mod rule;

pub(crate) use arena::Arena;
pub(crate) use calls::Calls;
pub use finding::{Finding, Place};
pub(crate) use record::Record;
pub use rule::Rule;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cpu::thread;

static ARENA: OnceLock<Arena> = OnceLock::new();
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Says where findings of this process go.
pub(crate) fn record_in(arena: Arena) {
    let _ = ARENA.set(arena);
}

pub(crate) fn arena() -> Option<&'static Arena> {
    ARENA.get()
}

/// Where in the driver's code a finding belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// An instruction, or the start of a routine.
    Code(u64),
    /// Where a call returns to.
    Call(u64),
}

impl From<u64> for At {
    fn from(from: u64) -> Self {
        Self::Call(from)
    }
}

/// Records a finding at the call that the driver is making on this thread.
pub(crate) fn find(rule: Rule, detail: std::fmt::Arguments<'_>) {
    let site = thread::site();
    find_at(rule, site.map(|site| site.routine), site.map_or(0, |site| site.from), detail);
}

/// Records a finding at an address of the driver's code.
pub(crate) fn find_at(rule: Rule, routine: Option<&str>, at: impl Into<At>, detail: std::fmt::Arguments<'_>) {
    let at = at.into();
    let (address, is_call) = match at {
        At::Code(address) => (address, false),
        At::Call(address) => (address, true),
    };
    if let Some(arena) = arena() {
        let rva = crate::image::rva(address);
        arena.add(&Record::new(rule, thread::irql(), routine, rva, is_call, Calls::to(address), detail));
    }
}

/// Records what ends the run, tells the host, and stays here for ever: the driver's thread must not go on.
pub(crate) fn stop(rule: Rule, routine: Option<&str>, at: impl Into<At>, detail: std::fmt::Arguments<'_>) -> ! {
    find_at(rule, routine, at, detail);
    STOPPED.store(true, Ordering::SeqCst);
    notify::crashed();
    park()
}

/// Whether the run has ended with a bug check.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::SeqCst)
}

/// Keeps the calling thread from going on.
pub(crate) fn park() -> ! {
    loop {
        // SAFETY: waits for a signal; has no precondition.
        unsafe { libc::pause() };
    }
}
