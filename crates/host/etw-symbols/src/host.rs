//! Which engine handles the calls of a thread.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::OnceLock;

use etw_engine::Engine;

/// A system for providers to run on: one engine behind the routines of this crate.
///
/// Clones are handles of the same host, so other threads can enter it too.
#[derive(Clone, Debug, Default)]
pub struct Host {
    engine: Engine,
}

/// Until this is dropped, routines called on this thread reach the host that was entered.
#[must_use = "the host is left when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    entry: u64,
    /// An entry belongs to its thread.
    not_send: PhantomData<*const ()>,
}

thread_local! {
    static ENTERED: RefCell<Vec<(u64, Host)>> = const { RefCell::new(Vec::new()) };
    static ENTRIES: Cell<u64> = const { Cell::new(0) };
}

static PROCESS: OnceLock<Host> = OnceLock::new();

impl Host {
    /// A host with a fresh engine.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The host of threads that entered none.
    #[must_use]
    pub fn process() -> Self {
        PROCESS.get_or_init(Self::new).clone()
    }

    /// The host that routines called on this thread reach now.
    #[must_use]
    pub fn current() -> Self {
        ENTERED
            .try_with(|entered| entered.borrow().last().map(|(_, host)| host.clone()))
            .ok()
            .flatten()
            .unwrap_or_else(Self::process)
    }

    /// The engine that answers.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Makes this the host of the calling thread until the result is dropped. Entries nest, and may be left in any
    /// order: the latest one that is still there counts.
    pub fn enter(&self) -> Entered {
        let entry = ENTRIES.with(|entries| entries.replace(entries.get().wrapping_add(1)));
        ENTERED.with(|entered| entered.borrow_mut().push((entry, self.clone())));
        Entered { entry, not_send: PhantomData }
    }

    pub(crate) const fn of(engine: Engine) -> Self {
        Self { engine }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // The host is dropped outside the borrow: the last handle of an engine drops what the engine owns.
        let left = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let position = entered.iter().rposition(|(entry, _)| *entry == self.entry);
            position.map(|position| entered.remove(position))
        });
        drop(left);
    }
}
