//! Who gets the events of a registration: what the write path looks at instead of the tables.
//!
//! The tables are behind a lock; the write path must not wait for it. Every change of the tables moves a number on. A
//! thread keeps the routes it used last and compares their number with one load; only after a change it builds or
//! fetches new ones, under a lock. So a write that begins after a change returned sees the change, and while nothing
//! changes no thread waits for another.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use etw_types::{Guid, Opcode};

use crate::enable::{Settings, property};
use crate::filter::Filters;
use crate::session::SessionCore;
use crate::state::{Missing, State};
use crate::sync::{lock, read};
use crate::{Engine, EventWrite};

/// `EVENT_WRITE_FLAG_INPRIVATE`: the event comes from private browsing.
const WRITE_INPRIVATE: u32 = 2;

/// A session's request as the write path sees it.
pub(crate) struct Taker {
    pub(crate) session: Arc<SessionCore>,
    pub(crate) settings: Settings,
    pub(crate) filters: Arc<Filters>,
    /// Events of the provider that get a stack whatever the request says.
    pub(crate) stacks: Opcodes,
}

/// A set of opcodes, one bit each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Opcodes([u64; 4]);

impl Opcodes {
    pub(crate) fn contains(self, opcode: Opcode) -> bool {
        let opcode = opcode.as_int();
        let word = self.0.get(usize::from(opcode / 64)).copied().unwrap_or_default();
        word >> (opcode % 64) & 1 != 0
    }
}

impl FromIterator<u8> for Opcodes {
    fn from_iter<I: IntoIterator<Item = u8>>(opcodes: I) -> Self {
        let mut set = Self::default();
        for opcode in opcodes {
            if let Some(word) = set.0.get_mut(usize::from(opcode / 64)) {
                *word |= 1 << (opcode % 64);
            }
        }
        set
    }
}

impl Taker {
    /// Whether the session wants the event as far as its descriptor and the flags of its write tell.
    pub(crate) fn may_want(&self, event: &EventWrite) -> bool {
        let descriptor = &event.descriptor;
        let is_excluded =
            event.flags & WRITE_INPRIVATE != 0 && self.settings.property() & property::EXCLUDE_INPRIVATE != 0;
        self.settings.passes(descriptor.level, descriptor.keyword) && self.filters.passes_id(descriptor) && !is_excluded
    }

    /// Whether the session wants the event by its name, too.
    pub(crate) fn wants_name(&self, event: &EventWrite, metadata: Option<&[u8]>) -> bool {
        !self.filters.has_names() || self.filters.passes_name(&event.descriptor, metadata)
    }
}

/// A registration as the write path sees it.
pub(crate) struct Route {
    pub(crate) provider: Guid,
    pub(crate) uses_descriptor_types: bool,
    pub(crate) merged: Option<Settings>,
    /// Requests of one session are neighbours.
    pub(crate) takers: Vec<Taker>,
    /// Whether one of the sessions captures events for a test, with every data block.
    pub(crate) captures: bool,
}

/// All routes of an engine at some moment.
pub(crate) struct Routes {
    engine: u64,
    number: u64,
    /// By handle, sorted: there are few, and hashing would cost more than looking.
    table: Vec<(u64, Route)>,
    handles: Handles,
}

/// The handles that an engine gave out so far: enough to tell an old one from one that never was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handles {
    pub(crate) first: u64,
    pub(crate) next: u64,
    pub(crate) step: u64,
}

impl Handles {
    pub(crate) fn missing(&self, handle: u64) -> Missing {
        let given_out = handle >= self.first && handle < self.next && (handle - self.first).is_multiple_of(self.step);
        match handle {
            0 => Missing::Zero,
            _ if given_out => Missing::Stale,
            _ => Missing::Unknown,
        }
    }
}

impl Routes {
    pub(crate) fn get(&self, handle: u64) -> Result<&Route, Missing> {
        let found = self.table.binary_search_by_key(&handle, |(handle, _)| *handle).ok();
        let route = found.and_then(|index| self.table.get(index)).map(|(_, route)| route);
        route.ok_or_else(|| self.handles.missing(handle))
    }

    fn build(engine: u64, number: u64, state: &State) -> Self {
        let route = |(handle, registration)| (handle, state.route(registration));
        Self { engine, number, table: state.registrations().map(route).collect(), handles: state.handles() }
    }
}

/// The newest routes of an engine.
#[derive(Default)]
pub(crate) struct Published {
    /// Moves on with every change of the tables, while they are locked for it.
    number: AtomicU64,
    newest: Mutex<Option<Arc<Routes>>>,
}

impl Published {
    /// The tables changed. The caller holds their lock for writing.
    pub(crate) fn outdate(&self) {
        self.number.fetch_add(1, Ordering::AcqRel);
    }
}

thread_local! {
    /// The routes that this thread used last, of whichever engine. They keep its sessions' memory until the thread uses
    /// others or ends, but nothing that runs: an engine that goes away stops its sessions.
    static LAST: Cell<Option<Arc<Routes>>> = const { Cell::new(None) };
}

impl Engine {
    /// Calls `with` with the present routes. `with` may write in turn: it then fetches the routes once more.
    pub(crate) fn with_routes<T>(&self, with: impl FnOnce(&Routes) -> T) -> T {
        let inner = self.inner();
        let number = inner.routes.number.load(Ordering::Acquire);
        let last = LAST.try_with(Cell::take).ok().flatten();
        let routes = match last {
            Some(last) if last.engine == inner.number && last.number == number => last,
            _ => self.fetch_routes(),
        };
        let result = with(&routes);
        // A thread that is ending has no place for them any more.
        let _ = LAST.try_with(|last| last.set(Some(routes)));
        result
    }

    fn fetch_routes(&self) -> Arc<Routes> {
        let inner = self.inner();
        let mut newest = lock(&inner.routes.newest);
        let state = read(&inner.state);
        // Nobody moves the number on while the tables are locked.
        let number = inner.routes.number.load(Ordering::Acquire);
        match &*newest {
            Some(routes) if routes.number == number => Arc::clone(routes),
            _ => {
                let routes = Arc::new(Routes::build(inner.number, number, &state));
                *newest = Some(Arc::clone(&routes));
                routes
            }
        }
    }
}
