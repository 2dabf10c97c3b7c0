//! The state that several threads share: what the sessions have enabled, and whether the provider is registered.
//!
//! Nothing here locks or waits. The atomics come from [`sync`](super::sync), so that a model checker can run this code.

use super::sync::{self, AtomicU32, AtomicU64, Ordering, const_fn};

/// What the sessions have enabled for a provider, as of the last enable callback.
///
/// The fields are read one by one without a lock, so a reader that races with a callback can see the old value of one
/// field and the new value of another. Every test below is a conjunction of tests of single fields. This guarantees the
/// important property: **an event that is enabled before and after a change is never lost in between.** An event that
/// is enabled neither before nor after can be passed to the operating system, which applies the sessions' own filters
/// again.
#[derive(Debug)]
pub(crate) struct EnableState {
    /// 0 if disabled; otherwise the level plus one, or 256 for every level.
    level_plus_1: AtomicU32,
    /// An event's keyword must have at least one of these bits.
    any: AtomicU64,
    /// An event's keyword must have all of these bits.
    all: AtomicU64,
    /// The single-bit keywords that pass both masks. Most events have such a keyword, and for them one load and one
    /// test are enough.
    single: AtomicU64,
}

impl EnableState {
    const_fn! {
        /// Creates the disabled state.
        pub(crate) fn new() -> Self {
            Self {
                level_plus_1: AtomicU32::new(0),
                any: AtomicU64::new(0),
                all: AtomicU64::new(0),
                single: AtomicU64::new(0),
            }
        }
    }

    /// A session enabled the provider or changed its parameters. Level 0 means every level.
    pub(crate) fn enable(&self, level: u8, any: u64, all: u64) {
        let single = match all.count_ones() {
            0 => any,
            1 => any & all,
            _ => 0,
        };
        let level_plus_1 = if level == 0 { 256 } else { u32::from(level) + 1 };
        self.any.store(any, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
        self.single.store(single, Ordering::Relaxed);
        self.level_plus_1.store(level_plus_1, Ordering::Release);
    }

    /// No session has the provider enabled any more.
    pub(crate) fn disable(&self) {
        self.level_plus_1.store(0, Ordering::Release);
    }

    /// Returns whether an event with this level and keyword is enabled. With constant arguments, a disabled event costs
    /// a load, a compare and a branch.
    #[inline(always)]
    pub(crate) fn wants(&self, level: u8, keyword: u64) -> bool {
        u32::from(level) < self.level_plus_1.load(Ordering::Relaxed) && self.wants_keyword(keyword)
    }

    /// Does the same for a level and a keyword that are known only at run time. Counting the bits of the keyword would
    /// then cost more than it saves.
    pub(crate) fn wants_at_run_time(&self, level: u8, keyword: u64) -> bool {
        u32::from(level) < self.level_plus_1.load(Ordering::Relaxed)
            && (keyword == 0 || {
                let all = self.all.load(Ordering::Relaxed);
                keyword & self.any.load(Ordering::Relaxed) != 0 && keyword & all == all
            })
    }

    #[inline(always)]
    fn wants_keyword(&self, keyword: u64) -> bool {
        match keyword.count_ones() {
            0 => true,
            1 => keyword & self.single.load(Ordering::Relaxed) != 0,
            _ => {
                let all = self.all.load(Ordering::Relaxed);
                keyword & self.any.load(Ordering::Relaxed) != 0 && keyword & all == all
            }
        }
    }
}

const IDLE: u32 = 0;
const CHANGING: u32 = 1;
const REGISTERED: u32 = 2;

/// The reason that a registration cannot be changed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It already has the requested state: registered, or not registered.
    NothingToDo,
    /// Another call is in progress, perhaps further up this thread's stack, if a callback runs within `register`.
    Busy,
}

/// Whether a provider is registered, and its handle.
///
/// The thread that changes `phase` to `CHANGING` owns the registration until it changes `phase` again. Calls of all
/// other threads fail at once, so that no thread waits for one that may be waiting for a callback.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    phase: AtomicU32,
    /// The registration handle; 0 if there is none. The operating system writes it during `register`, before the first
    /// callback.
    handle: AtomicU64,
}

impl Lifecycle {
    const_fn! {
        /// Creates the unregistered state.
        pub(crate) fn new() -> Self {
            Self { phase: AtomicU32::new(IDLE), handle: AtomicU64::new(0) }
        }
    }

    /// Claims the registration, to register. Fails unless the provider is not registered.
    pub(crate) fn begin_register(&self) -> Result<(), Refusal> {
        self.begin(IDLE)
    }

    /// Claims the registration, to unregister. Fails unless the provider is registered.
    pub(crate) fn begin_unregister(&self) -> Result<(), Refusal> {
        self.begin(REGISTERED)
    }

    fn begin(&self, from: u32) -> Result<(), Refusal> {
        match self.phase.compare_exchange(from, CHANGING, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(CHANGING) => Err(Refusal::Busy),
            Err(_) => Err(Refusal::NothingToDo),
        }
    }

    /// Ends a change: the provider is registered.
    pub(crate) fn end_registered(&self) {
        self.phase.store(REGISTERED, Ordering::Release);
    }

    /// Ends a change: the provider is not registered.
    pub(crate) fn end_idle(&self) {
        self.handle.store(0, Ordering::Relaxed);
        self.phase.store(IDLE, Ordering::Release);
    }

    /// Returns the handle; 0 if there is none.
    #[inline(always)]
    pub(crate) fn handle(&self) -> u64 {
        self.handle.load(Ordering::Relaxed)
    }

    /// Returns the address to which ETW writes the handle.
    pub(crate) fn handle_address(&self) -> *mut u64 {
        sync::address(&self.handle)
    }

    /// Removes the handle, so that writers no longer see it.
    pub(crate) fn take_handle(&self) -> u64 {
        self.handle.swap(0, Ordering::AcqRel)
    }

    /// Restores a removed handle.
    pub(crate) fn restore_handle(&self, handle: u64) {
        self.handle.store(handle, Ordering::Release);
    }
}
