//! The tables: who is registered, and which session enabled what.
//!
//! Plain data behind the engine's state lock. Nothing here calls back or waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use etw_types::{Guid, Keyword, Level};

use crate::enable::{Settings, Target};
use crate::notify::Callback;
use crate::session::SessionCore;

/// Distance between two handles; handles look like addresses of kernel objects.
const STEP: u64 = 0x10;

/// One registration.
#[derive(Clone)]
pub(crate) struct Registration {
    pub(crate) provider: Guid,
    pub(crate) callback: Option<Callback>,
    pub(crate) traits: Option<Arc<[u8]>>,
    pub(crate) group: Option<Guid>,
    pub(crate) uses_descriptor_types: bool,
    pub(crate) tracked: bool,
}

/// One session's request to one target.
#[derive(Clone)]
pub(crate) struct Enablement {
    pub(crate) session: Arc<SessionCore>,
    pub(crate) settings: Settings,
    pub(crate) source: Guid,
}

/// Why a handle is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Zero,
    Stale,
    Unknown,
}

pub(crate) struct State {
    registrations: BTreeMap<u64, Registration>,
    enablements: BTreeMap<Target, BTreeMap<u64, Enablement>>,
    first_handle: u64,
    next_handle: u64,
    next_session: u64,
}

impl State {
    pub(crate) const fn new(engine: u64) -> Self {
        let first_handle = (engine << 40).wrapping_add(STEP);
        Self {
            registrations: BTreeMap::new(),
            enablements: BTreeMap::new(),
            first_handle,
            next_handle: first_handle,
            next_session: 1,
        }
    }

    pub(crate) fn next_session(&mut self) -> u64 {
        let id = self.next_session;
        self.next_session += 1;
        id
    }

    pub(crate) fn insert(&mut self, registration: Registration) -> u64 {
        let handle = self.next_handle;
        self.next_handle = handle.wrapping_add(STEP);
        self.registrations.insert(handle, registration);
        handle
    }

    pub(crate) fn remove(&mut self, handle: u64) -> Option<Registration> {
        self.registrations.remove(&handle)
    }

    pub(crate) fn get(&self, handle: u64) -> Result<&Registration, Missing> {
        self.registrations.get(&handle).ok_or_else(|| self.missing(handle))
    }

    pub(crate) fn get_mut(&mut self, handle: u64) -> Result<&mut Registration, Missing> {
        let missing = self.missing(handle);
        self.registrations.get_mut(&handle).ok_or(missing)
    }

    fn missing(&self, handle: u64) -> Missing {
        let given_out = handle >= self.first_handle
            && handle < self.next_handle
            && (handle - self.first_handle).is_multiple_of(STEP);
        match handle {
            0 => Missing::Zero,
            _ if given_out => Missing::Stale,
            _ => Missing::Unknown,
        }
    }

    pub(crate) fn registrations(&self) -> impl Iterator<Item = (u64, &Registration)> {
        self.registrations.iter().map(|(&handle, registration)| (handle, registration))
    }

    /// The registrations that `target` stands for.
    pub(crate) fn registrations_of(&self, target: Target) -> impl Iterator<Item = (u64, &Registration)> {
        self.registrations().filter(move |(_, registration)| match target {
            Target::Provider(guid) => registration.provider == guid,
            Target::Group(guid) => registration.group == Some(guid),
        })
    }

    /// The GUIDs whose callbacks run when `target` changes.
    pub(crate) fn providers_of(&self, target: Target) -> BTreeSet<Guid> {
        match target {
            Target::Provider(guid) => BTreeSet::from([guid]),
            Target::Group(_) => self.registrations_of(target).map(|(_, registration)| registration.provider).collect(),
        }
    }

    pub(crate) fn enablement(&self, target: Target, session: u64) -> Option<&Enablement> {
        self.enablements.get(&target)?.get(&session)
    }

    pub(crate) fn sessions_of(&self, target: Target) -> usize {
        self.enablements.get(&target).map_or(0, BTreeMap::len)
    }

    pub(crate) fn set_enablement(&mut self, target: Target, enablement: Enablement) {
        self.enablements.entry(target).or_default().insert(enablement.session.id(), enablement);
    }

    /// Takes the session's request away; whether there was one.
    pub(crate) fn remove_enablement(&mut self, target: Target, session: u64) -> bool {
        let Some(sessions) = self.enablements.get_mut(&target) else {
            return false;
        };
        let removed = sessions.remove(&session).is_some();
        if sessions.is_empty() {
            self.enablements.remove(&target);
        }
        removed
    }

    /// Everything the session enabled.
    pub(crate) fn targets_of(&self, session: u64) -> Vec<Target> {
        self.enablements
            .iter()
            .filter(|(_, sessions)| sessions.contains_key(&session))
            .map(|(&target, _)| target)
            .collect()
    }

    /// The requests that reach a registration: those to its GUID and those to its group.
    fn enablements_for<'a>(&'a self, registration: &Registration) -> impl Iterator<Item = &'a Enablement> {
        let own = self.enablements.get(&Target::Provider(registration.provider));
        let group = registration.group.and_then(|guid| self.enablements.get(&Target::Group(guid)));
        own.into_iter().chain(group).flat_map(BTreeMap::values)
    }

    /// What all sessions together want of a registration; `None` when none does.
    pub(crate) fn merged(&self, registration: &Registration) -> Option<Settings> {
        self.enablements_for(registration).map(|enablement| enablement.settings).reduce(Settings::merge)
    }

    /// The sessions that want an event of a registration, each once.
    pub(crate) fn takers(&self, registration: &Registration, level: Level, keyword: Keyword) -> Vec<Arc<SessionCore>> {
        let mut takers: Vec<Arc<SessionCore>> = Vec::new();
        for enablement in self.enablements_for(registration) {
            let session = &enablement.session;
            if enablement.settings.passes(level, keyword) && !takers.iter().any(|taker| taker.id() == session.id()) {
                takers.push(Arc::clone(session));
            }
        }
        takers
    }
}
