//! The sessions that receive the events of a registration: what the write path uses instead of the tables.
//!
//! The tables are behind a lock, and the write path must not wait for it. Every change of the tables increments a
//! number. A thread keeps the routes that it used last and compares their number with a single load. Only after a
//! change does it build or fetch new routes, under a lock. A write that begins after a change has returned therefore
//! sees the change, and no thread waits for another while nothing changes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use etw_types::{Guid, NtStatus};

use crate::data::Data;
use crate::enable::{Settings, property};
use crate::event::Offer;
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
    /// Events of the provider that get a stack regardless of the request.
    pub(crate) stacks: Opcodes,
}

impl Taker {
    /// Whether the session accepts the event, judged by its descriptor and the flags of the write.
    pub(crate) fn may_want(&self, event: &EventWrite) -> bool {
        let descriptor = &event.descriptor;
        let is_excluded =
            event.flags & WRITE_INPRIVATE != 0 && self.settings.property() & property::EXCLUDE_INPRIVATE != 0;
        self.settings.passes(descriptor.level, descriptor.keyword) && self.filters.passes_id(descriptor) && !is_excluded
    }

    /// Records an event in the session, unless the request excludes its name. Returns `None` in that case.
    #[expect(clippy::inline_always, reason = "a call would cost as much as the function")]
    #[inline(always)]
    pub(crate) fn record(&self, offer: &Offer<'_>, data: &Data<'_>) -> Option<NtStatus> {
        let descriptor = &offer.event.descriptor;
        if self.filters.has_names() && !self.filters.passes_name(descriptor, data.metadata) {
            return None;
        }
        let property = self.settings.property();
        let stack = property & property::STACK_TRACE != 0 && self.filters.wants_stack(descriptor, data.metadata);
        let wanted = Wanted { property, stack: stack || self.stacks.contains(descriptor.opcode) };
        Some(self.session.offer(offer, data, wanted))
    }
}

/// A registration as the write path sees it.
pub(crate) struct Route {
    pub(crate) provider: Guid,
    pub(crate) uses_descriptor_types: bool,
    pub(crate) merged: Option<Settings>,
    /// The requests that reach the registration. Requests of one session are adjacent.
    pub(crate) takers: Vec<Taker>,
    /// Whether one of the sessions captures events for a test, including every data block.
    pub(crate) captures: bool,
}

impl Route {
    fn new(state: &State, registration: &Registration) -> Self {
        let taker = |enablement: &Enablement| Taker {
            session: Arc::clone(&enablement.session),
            settings: enablement.settings,
            filters: Arc::clone(&enablement.filters),
            // Only the kernel's own events can be listed for stacks.
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

/// All routes of an engine at one moment.
pub(crate) struct Routes {
    engine: u64,
    number: u64,
    /// Sorted by handle. There are few entries, so hashing would cost more than a search.
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
    /// Incremented with every change of the tables, while they are locked for writing.
    number: AtomicU64,
    newest: Mutex<Option<Arc<Routes>>>,
}

impl Published {
    /// Marks the routes as outdated. The caller holds the lock of the tables for writing.
    pub(crate) fn outdate(&self) {
        self.number.fetch_add(1, Ordering::AcqRel);
    }
}

thread_local! {
    /// The routes that this thread used last, of any engine. They keep the memory of its sessions until the thread uses
    /// other routes or ends, but they keep nothing running: an engine stops its sessions when it is dropped.
    static LAST: Cell<Option<Arc<Routes>>> = const { Cell::new(None) };
}

impl Engine {
    /// Calls `with` with the current routes. If `with` writes an event itself, that write fetches the routes again.
    pub(crate) fn with_routes<T>(&self, with: impl FnOnce(&Routes) -> T) -> T {
        let inner = self.inner();
        let number = inner.routes.number.load(Ordering::Acquire);
        let last = LAST.try_with(Cell::take).ok().flatten();
        let routes = match last {
            Some(last) if last.engine == inner.number && last.number == number => last,
            _ => self.fetch_routes(),
        };
        let result = with(&routes);
        // The thread-local no longer exists if the thread is ending.
        let _ = LAST.try_with(|last| last.set(Some(routes)));
        result
    }

    fn fetch_routes(&self) -> Arc<Routes> {
        let inner = self.inner();
        let mut newest = lock(&inner.routes.newest);
        let state = read(&inner.state);
        // The number cannot change while the tables are locked.
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
