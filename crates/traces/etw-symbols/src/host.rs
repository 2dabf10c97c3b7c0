//! Selects the engine that handles the calls of a thread.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::OnceLock;

use etw_engine::Engine;

/// A system for providers to run on: the engine that the routines of this crate call.
///
/// Clones refer to the same host, so other threads can enter it too.
#[derive(Clone, Debug, Default)]
pub struct Host {
    engine: Engine,
}

/// Until this is dropped, the routines that this thread calls use the entered host.
#[must_use = "the host is left when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    entry: u64,
    /// An entry belongs to its thread, so this is not `Send`.
    not_send: PhantomData<*const ()>,
}

thread_local! {
    static ENTERED: RefCell<Vec<(u64, Host)>> = const { RefCell::new(Vec::new()) };
    static ENTRIES: Cell<u64> = const { Cell::new(0) };
}

static PROCESS: OnceLock<Host> = OnceLock::new();

impl Host {
    /// Creates a host with a new engine.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the host of threads that have not entered any.
    #[must_use]
    pub fn process() -> Self {
        PROCESS.get_or_init(Self::new).clone()
    }

    /// Returns the host that routines use when this thread calls them.
    #[must_use]
    pub fn current() -> Self {
        ENTERED
            .try_with(|entered| entered.borrow().last().map(|(_, host)| host.clone()))
            .ok()
            .flatten()
            .unwrap_or_else(Self::process)
    }

    /// Returns the engine of this host.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Makes this the host of the calling thread until the result is dropped. Entries nest and may be dropped in any
    /// order: the latest one that still exists counts.
    pub fn enter(&self) -> Entered {
        let entry = ENTRIES.with(|entries| entries.replace(entries.get().wrapping_add(1)));
        ENTERED.with(|entered| entered.borrow_mut().push((entry, self.clone())));
        Entered { entry, not_send: PhantomData }
    }

    pub(crate) const fn with_engine(engine: Engine) -> Self {
        Self { engine }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // The host is dropped outside the borrow, because dropping the last reference to an engine also drops what it
        // owns.
        let left = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let position = entered.iter().rposition(|(entry, _)| *entry == self.entry);
            position.map(|position| entered.remove(position))
        });
        drop(left);
    }
}
