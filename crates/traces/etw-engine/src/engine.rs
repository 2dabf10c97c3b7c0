//! The engine itself: the state that its parts share, and its settings.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard, Weak};

use crate::EngineOptions;
use crate::activity::Activities;
use crate::gate::Gates;
use crate::log::Log;
use crate::routes::Published;
use crate::script::Script;
use crate::session::Sessions;
use crate::session::information::MachineInformation;
use crate::state::State;
use crate::sync::write;
use crate::time::Time;
use crate::timer::Timer;

/// Numbers the engines of a process, so that one engine does not know the handles of another.
static ENGINES: AtomicU64 = AtomicU64::new(1);

/// An ETW runtime in this process. Clones refer to the same engine; separate engines are independent.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

/// An [`Engine`] reference that does not keep the engine alive, for use in values that the engine owns, such as
/// callbacks.
#[derive(Clone)]
pub struct WeakEngine(Weak<Inner>);

/// The parts of an engine. Locks are taken in this order: gate, session table, newest routes, state, session. The locks
/// of the call record and the script are innermost.
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
    /// The last sequence number that the sessions share.
    pub(crate) sequence: Arc<AtomicU32>,
}

impl Inner {
    /// Locks the tables for a change. The routes that writers have cached are outdated from now on.
    pub(crate) fn write_state(&self) -> RwLockWriteGuard<'_, State> {
        let state = write(&self.state);
        self.routes.outdate();
        state
    }
}

impl Drop for Inner {
    /// Ends the sessions of the engine and closes their files.
    fn drop(&mut self) {
        crate::session::end_all(&self.sessions);
        self.timer.wake();
    }
}

impl Engine {
    /// Creates an engine without registrations and sessions.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(EngineOptions::default())
    }

    /// Creates an engine with the given options.
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

    /// Sets whether kernel callers run on system threads, which cannot store an activity id.
    /// [`Engine::activity_id_control`] then returns `NotSupported` for every code except CREATE. Off by default.
    pub fn set_system_threads(&self, system: bool) {
        self.0.system_threads.store(system, Ordering::Relaxed);
    }

    /// Sets whether this system supports the information class `BinaryTrackInfo`; older builds return
    /// `InvalidDeviceRequest`. On by default.
    pub fn set_binary_tracking(&self, known: bool) {
        self.0.binary_tracking.store(known, Ordering::Relaxed);
    }

    /// Returns a reference that does not keep this engine alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.0))
    }

    /// Returns the time: 100 ns units since this engine was created, or the value of its clock if one was set.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.time.now()
    }

    /// Gives this engine another clock, in 100 ns units, for a host whose time is not real time. Only the first call
    /// has an effect; returns whether this was the first. Timers then expire by this clock, when [`Engine::run_timers`]
    /// is called.
    pub fn set_clock(&self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> bool {
        self.0.time.set(clock)
    }

    /// Returns the options that this engine was created with.
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
    /// Returns the engine if it still exists.
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
