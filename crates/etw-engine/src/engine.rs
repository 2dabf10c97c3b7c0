//! The engine itself: what is shared by its parts, and its switches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock, Weak};
use std::time::Instant;

use crate::activity::Activities;
use crate::gate::Gates;
use crate::log::Log;
use crate::script::Script;
use crate::state::State;

/// Distinguishes the engines of a process, so that a handle of one is unknown to another.
static ENGINES: AtomicU64 = AtomicU64::new(1);

/// An ETW in this process. Clones are handles of the same engine; engines do not know each other.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

/// An [`Engine`] that does not keep the engine alive, for what the engine itself owns (callbacks).
#[derive(Clone)]
pub struct WeakEngine(Weak<Inner>);

/// The parts. Locks are taken in the order gate, state, session buffer; record and script are innermost.
pub(crate) struct Inner {
    pub(crate) number: u64,
    pub(crate) state: RwLock<State>,
    pub(crate) gates: Gates,
    pub(crate) log: Log,
    pub(crate) script: Script,
    pub(crate) activities: Activities,
    pub(crate) system_threads: AtomicBool,
    pub(crate) binary_tracking: AtomicBool,
    started: Instant,
}

impl Engine {
    /// A fresh engine: nothing registered, no session.
    #[must_use]
    pub fn new() -> Self {
        let number = ENGINES.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(Inner {
            number,
            state: RwLock::new(State::new(number)),
            gates: Gates::default(),
            log: Log::default(),
            script: Script::default(),
            activities: Activities::default(),
            system_threads: AtomicBool::new(false),
            binary_tracking: AtomicBool::new(true),
            started: Instant::now(),
        }))
    }

    /// Whether kernel callers run on system threads, which have no place for an activity id: then
    /// [`Engine::activity_id_control`] answers `NotSupported` to all but CREATE. Off at first.
    pub fn set_system_threads(&self, system: bool) {
        self.0.system_threads.store(system, Ordering::Relaxed);
    }

    /// Whether this system knows the information class `BinaryTrackInfo`; older builds answer
    /// `InvalidDeviceRequest`. On at first.
    pub fn set_binary_tracking(&self, known: bool) {
        self.0.binary_tracking.store(known, Ordering::Relaxed);
    }

    /// A handle that does not keep this engine alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.0))
    }

    /// 100 ns units since this engine was made.
    #[must_use]
    pub fn now(&self) -> u64 {
        u64::try_from(self.0.started.elapsed().as_nanos() / 100).unwrap_or(u64::MAX)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("number", &self.0.number).finish_non_exhaustive()
    }
}

impl WeakEngine {
    /// The engine, where it still exists.
    #[must_use]
    pub fn upgrade(&self) -> Option<Engine> {
        self.0.upgrade().map(Engine)
    }
}

impl std::fmt::Debug for WeakEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WeakEngine")
    }
}
