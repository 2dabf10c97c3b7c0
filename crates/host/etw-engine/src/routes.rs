//! Who gets the events of a registration: what the write path looks at instead of the tables.
//!
//! The tables are behind a lock; the write path must not wait for it. Every change of the tables moves a number on. A
//! thread keeps the routes it used last and compares their number with one load; only after a change it builds or
//! fetches new ones, under a lock. So a write that begins after a change returned sees the change, and while nothing
//! changes no thread waits for another.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use etw_types::Guid;

use crate::enable::{Settings, property};
use crate::filter::Filters;
use crate::session::{Opcodes, SessionCore, Wanted};
use crate::state::{Enablement, Handles, Missing, Registration, State};
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

impl Taker {
    /// Whether the session wants the event as far as its descriptor and the flags of its write tell.
    pub(crate) fn may_want(&self, event: &EventWrite) -> bool {
        let descriptor = &event.descriptor;
        let is_excluded =
            event.flags & WRITE_INPRIVATE != 0 && self.settings.property() & property::EXCLUDE_INPRIVATE != 0;
        self.settings.passes(descriptor.level, descriptor.keyword) && self.filters.passes_id(descriptor) && !is_excluded
    }

    /// What the session wants added to an event.
    pub(crate) fn wanted(&self, event: &EventWrite, metadata: Option<&[u8]>) -> Wanted {
        let (property, descriptor) = (self.settings.property(), &event.descriptor);
        let stack = property & property::STACK_TRACE != 0 && self.filters.wants_stack(descriptor, metadata);
        Wanted { property, stack: stack || self.stacks.contains(descriptor.opcode) }
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

impl Route {
    fn new(state: &State, registration: &Registration) -> Self {
        let taker = |enablement: &Enablement| Taker {
            session: Arc::clone(&enablement.session),
            settings: enablement.settings,
            filters: Arc::clone(&enablement.filters),
            // Only the kernel's own events can be listed.
            stacks: if registration.origin.is_user_mode {
                Opcodes::default()
            } else {
                enablement.session.stack_opcodes(registration.provider)
            },
        };
        let takers: Vec<Taker> = state.enablements_for(registration).into_iter().map(taker).collect();
        Self {
            provider: registration.provider,
            uses_descriptor_types: registration.uses_descriptor_types,
            merged: state.merged(registration),
            captures: takers.iter().any(|taker| taker.session.captures()),
            takers,
        }
    }
}

/// All routes of an engine at some moment.
pub(crate) struct Routes {
    engine: u64,
    number: u64,
    /// By handle, sorted: there are few, and hashing would cost more than looking.
    table: Vec<(u64, Route)>,
    handles: Handles,
}

impl Routes {
    pub(crate) fn get(&self, handle: u64) -> Result<&Route, Missing> {
        let found = self.table.binary_search_by_key(&handle, |(handle, _)| *handle).ok();
        let route = found.and_then(|index| self.table.get(index)).map(|(_, route)| route);
        route.ok_or_else(|| self.handles.missing(handle))
    }

    fn build(engine: u64, number: u64, state: &State) -> Self {
        let route = |(handle, registration)| (handle, Route::new(state, registration));
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
