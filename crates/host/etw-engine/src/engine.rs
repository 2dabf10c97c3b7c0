//! The engine itself: what is shared by its parts, and its switches.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard, Weak};

use crate::EngineOptions;
use crate::activity::Activities;
use crate::gate::Gates;
use crate::log::Log;
use crate::routes::Published;
use crate::script::Script;
use crate::session::Sessions;
use crate::state::State;
use crate::sync::write;
use crate::time::Time;
use crate::timer::Timer;
use crate::trace_info::MachineInformation;

/// Distinguishes the engines of a process, so that a handle of one is unknown to another.
static ENGINES: AtomicU64 = AtomicU64::new(1);

/// An ETW in this process. Clones are handles of the same engine; engines do not know each other.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

/// An [`Engine`] that does not keep the engine alive, for what the engine itself owns (callbacks).
#[derive(Clone)]
pub struct WeakEngine(Weak<Inner>);

/// The parts. Locks are taken in the order gate, table of sessions, newest routes, state, session; record and script are
/// innermost.
pub(crate) struct Inner {
    pub(crate) number: u64,
    pub(crate) options: EngineOptions,
    pub(crate) state: RwLock<State>,
    pub(crate) routes: Published,
    pub(crate) sessions: Mutex<Sessions>,
    pub(crate) machine: Mutex<MachineInformation>,
    pub(crate) event_keys: AtomicU64,
    pub(crate) gates: Gates,
    pub(crate) log: Log,
    pub(crate) script: Script,
    pub(crate) activities: Activities,
    pub(crate) system_threads: AtomicBool,
    pub(crate) binary_tracking: AtomicBool,
    pub(crate) time: Arc<Time>,
    pub(crate) timer: Timer,
    /// The last sequence number that sessions share.
    pub(crate) sequence: Arc<AtomicU32>,
}

impl Inner {
    /// The tables, to be changed: the routes that writers know are outdated from here on.
    pub(crate) fn write_state(&self) -> RwLockWriteGuard<'_, State> {
        let state = write(&self.state);
        self.routes.outdate();
        state
    }
}

impl Drop for Inner {
    /// Sessions end with their engine, and their files are closed.
    fn drop(&mut self) {
        crate::session::end_all(&self.sessions);
        self.timer.wake();
    }
}

impl Engine {
    /// A fresh engine: nothing registered, no session.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(EngineOptions::default())
    }

    /// A fresh engine of this kind.
    #[must_use]
    pub fn with_options(options: EngineOptions) -> Self {
        let number = ENGINES.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(Inner {
            number,
            state: RwLock::new(State::new(number)),
            routes: Published::default(),
            sessions: Mutex::default(),
            machine: Mutex::default(),
            event_keys: AtomicU64::new(1),
            gates: Gates::default(),
            log: Log::new(options.record_calls),
            options,
            script: Script::default(),
            activities: Activities::default(),
            system_threads: AtomicBool::new(false),
            binary_tracking: AtomicBool::new(true),
            time: Arc::new(Time::new()),
            timer: Timer::default(),
            sequence: Arc::default(),
        }))
    }

    /// Whether kernel callers run on system threads, which have no place for an activity id: then
    /// [`Engine::activity_id_control`] returns `NotSupported` for all but CREATE. Off at first.
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

    /// 100 ns units since this engine was made, or what its clock says.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.time.now()
    }

    /// Gives this engine another clock, in 100 ns units: a host whose time is not that on the wall. Only the first call
    /// counts; whether this was it. What is due at some time is then due by this clock, when [`Engine::run_timers`] is called.
    pub fn set_clock(&self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> bool {
        self.0.time.set(clock)
    }

    /// What kind of system this engine is.
    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.0.options
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
