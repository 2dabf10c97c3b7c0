//! The two pieces of state that several threads share: what sessions want, and whether the provider is registered.
//!
//! Nothing here locks or waits. The atomics are those of [`sync`](super::sync), so that a model checker can run this code.

use super::sync::{self, AtomicU32, AtomicU64, Ordering, const_fn};

/// What the sessions that listen to a provider want, as the last callback said.
///
/// The members are read one by one without a lock, so a reader that races with a callback can see the old value of one
/// and the new value of another. Every test below is a conjunction of tests of single members, which gives the property
/// that matters: **an event that is wanted before and after a change is never lost in between.** An event that is wanted
/// by neither can slip through to the operating system, which applies the sessions' own filters again.
#[derive(Debug)]
pub(crate) struct EnableState {
    /// 0: disabled; otherwise one more than the level, 256 for every level.
    level_plus_1: AtomicU32,
    /// Keyword bits of which an event needs one.
    any: AtomicU64,
    /// Keyword bits of which an event needs all.
    all: AtomicU64,
    /// The keywords of a single bit that pass both masks. Most events have such a keyword; for them one load and one
    /// test are enough.
    single: AtomicU64,
}

impl EnableState {
    const_fn! {
        /// Disabled.
        pub(crate) fn new() -> Self {
            Self {
                level_plus_1: AtomicU32::new(0),
                any: AtomicU64::new(0),
                all: AtomicU64::new(0),
                single: AtomicU64::new(0),
            }
        }
    }

    /// A session enabled the provider, or changed what it wants. Level 0 stands for every level.
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

    /// No session listens any more.
    pub(crate) fn disable(&self) {
        self.level_plus_1.store(0, Ordering::Release);
    }

    /// Whether an event of this level and keyword is wanted. With constant arguments: a load, a compare and a branch
    /// where it is not.
    #[inline(always)]
    pub(crate) fn wants(&self, level: u8, keyword: u64) -> bool {
        u32::from(level) < self.level_plus_1.load(Ordering::Relaxed) && self.wants_keyword(keyword)
    }

    /// The same for a level and a keyword that are known only at run time: counting the bits of a keyword costs more then than it saves.
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

/// Why a registration cannot be changed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is already as it should be: registered, or not registered.
    NothingToDo,
    /// Another call is under way, perhaps further up this thread's stack: a callback that came inside `register`.
    Busy,
}

/// Whether a provider is registered, and its handle.
///
/// Whoever moves `phase` to `CHANGING` owns the registration until it moves it on; everybody else is refused at once, so
/// nobody waits for a thread that may wait for a callback.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    phase: AtomicU32,
    /// The registration handle; 0 where there is none. The operating system writes it inside `register`, before the
    /// first callback.
    handle: AtomicU64,
}

impl Lifecycle {
    const_fn! {
        /// Not registered.
        pub(crate) fn new() -> Self {
            Self { phase: AtomicU32::new(IDLE), handle: AtomicU64::new(0) }
        }
    }

    /// Claims the registration for a change from not registered.
    pub(crate) fn begin_register(&self) -> Result<(), Refusal> {
        self.begin(IDLE)
    }

    /// Claims the registration for a change from registered.
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

    /// The handle; 0 where there is none.
    #[inline(always)]
    pub(crate) fn handle(&self) -> u64 {
        self.handle.load(Ordering::Relaxed)
    }

    /// Where ETW writes the handle.
    pub(crate) fn handle_address(&self) -> *mut u64 {
        sync::address(&self.handle)
    }

    /// Takes the handle away from writers.
    pub(crate) fn take_handle(&self) -> u64 {
        self.handle.swap(0, Ordering::AcqRel)
    }

    /// Gives a taken handle back.
    pub(crate) fn restore_handle(&self, handle: u64) {
        self.handle.store(handle, Ordering::Release);
    }
}
