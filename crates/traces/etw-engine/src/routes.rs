//! The sessions that receive the events of a registration: what the write path uses instead of the tables.
//!
//! The tables are behind a lock, and the write path must not wait for it. Every change of the tables increments a
//! number. A thread keeps the routes that it used last and compares their number with a single load. Only after a
//! change does it build or fetch new routes, under a lock. A write that begins after a change has returned therefore
//! sees the change, and no thread waits for another while nothing changes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use etw_types::{Guid, Keyword, Level, NtStatus};
use windows_constants::tracing::EVENT_WRITE_FLAG_INPRIVATE;

use crate::data::Data;
use crate::enable::{Settings, property};
use crate::event::Offer;
use crate::filter::Filters;
use crate::session::{Opcodes, SessionCore, Wanted};
use crate::state::{Enablement, Handles, Missing, Registration, State};
use crate::sync::{lock, read};
use crate::{Engine, EventWrite};

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
        let is_excluded = event.flags & EVENT_WRITE_FLAG_INPRIVATE != 0
            && self.settings.property() & property::EXCLUDE_INPRIVATE != 0;
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
    takers: Vec<Taker>,
    interest: Interest,
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
            interest: Interest::new(takers.iter().map(|taker| taker.settings)),
            takers,
        }
    }

    /// Returns the takers that may accept an event.
    #[inline]
    pub(crate) fn takers_of(&self, event: &EventWrite) -> Takers<'_> {
        Takers { all: &self.takers, left: self.interest.in_event(event) }
    }
}

/// Some of a route's takers.
pub(crate) struct Takers<'a> {
    all: &'a [Taker],
    left: u64,
}

impl<'a> Takers<'a> {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Removes and returns the next taker that accepts the event by its descriptor.
    #[inline]
    pub(crate) fn next(&mut self, event: &EventWrite) -> Option<&'a Taker> {
        loop {
            // If no taker is left, the index is 64, which is past the end.
            let taker = self.all.get(self.left.trailing_zeros() as usize)?;
            self.left &= self.left - 1;
            if taker.may_want(event) {
                return Some(taker);
            }
        }
    }
}

/// Maximum number of sessions that can enable a provider or a group, whatever the options say. A registration belongs to
/// at most one group, so it has at most 64 takers.
pub(crate) const MAX_SESSIONS: usize = 32;

/// For each level and each keyword, the set of takers that may accept it, as a bit mask of at most 64 takers. With
/// these sets, sessions that do not want an event do not make writing it slower.
struct Interest {
    levels: Box<[u64; 256]>,
    keywords: Box<[u64; 64]>,
    /// The takers that accept events without a keyword.
    no_keyword: u64,
}

impl Interest {
    fn new(requests: impl Iterator<Item = Settings>) -> Self {
        let mut all = Self { levels: Box::new([0; 256]), keywords: Box::new([0; 64]), no_keyword: 0 };
        for (index, settings) in requests.take(2 * MAX_SESSIONS).enumerate() {
            let bit = 1 << index;
            for (level, set) in (0..=u8::MAX).zip(all.levels.iter_mut()) {
                *set |= if settings.passes_level(Level::from_int(level)) { bit } else { 0 };
            }
            for (keyword, set) in all.keywords.iter_mut().enumerate() {
                *set |= if settings.any() & 1 << keyword == 0 { 0 } else { bit };
            }
            all.no_keyword |= if settings.passes_keyword(Keyword::NONE) { bit } else { 0 };
        }
        all
    }

    /// Returns the takers whose level and whose `any` mask include the event.
    #[inline]
    fn in_event(&self, event: &EventWrite) -> u64 {
        let by_level = self.levels.get(usize::from(event.descriptor.level.as_int())).copied().unwrap_or_default();
        let mut left = event.descriptor.keyword.bits();
        if left == 0 {
            return by_level & self.no_keyword;
        }
        let mut interested = 0;
        while left != 0 && interested != by_level {
            let keyword = left.trailing_zeros() as usize;
            interested |= by_level & self.keywords.get(keyword).copied().unwrap_or_default();
            left &= left - 1;
        }
        interested
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

#[cfg(test)]
mod tests {
    use etw_types::{EventDescriptor, Keyword, Level};

    use super::Interest;
    use crate::enable::{Settings, property};
    use crate::{Enable, EventWrite};

    #[test]
    fn every_request_that_an_event_passes_is_in_the_set_and_no_other() {
        let properties = [0, property::IGNORE_KEYWORD_0];
        let masks = [0, 1, 6, 1 << 63];
        let enable =
            |level, any, property| Enable { level: Level::from_int(level), any, property, ..Enable::default() };
        let requests: Vec<Settings> = [0, 2, 5, 255]
            .iter()
            .flat_map(|level| masks.iter().map(move |any| (*level, *any)))
            .flat_map(|(level, any)| properties.iter().map(move |property| enable(level, any, *property)))
            .map(|enable| Settings::new(&enable, false))
            .collect();
        let interest = Interest::new(requests.iter().copied());
        for level in [0, 1, 2, 3, 5, 6, 254, 255].map(Level::from_int) {
            for keyword in [0, 1, 2, 4, 7, 8, 1 << 63, u64::MAX].map(Keyword::from_bits) {
                let event = EventWrite::new(1, EventDescriptor::new(level, keyword));
                let set = interest.in_event(&event);
                for (index, request) in requests.iter().enumerate() {
                    // Without an `all` mask, the set is exact.
                    assert_eq!(set >> index & 1 == 1, request.passes(level, keyword), "{request:?} {event:?}");
                }
            }
        }
    }
}
