//! The tables: which providers are registered, and what each session enabled.
//!
//! Only data, behind the engine's state lock. Nothing here runs a callback or waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use etw_types::Guid;

use crate::callback::Callback;
use crate::enable::{Settings, Target};
use crate::environment::Origin;
use crate::filter::Filters;
use crate::session::SessionCore;

/// The difference between two consecutive handles. Handles look like addresses of kernel objects.
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
    pub(crate) origin: Arc<Origin>,
}

/// One session's request to one target.
#[derive(Clone)]
pub(crate) struct Enablement {
    pub(crate) session: Arc<SessionCore>,
    pub(crate) settings: Settings,
    pub(crate) filters: Arc<Filters>,
    pub(crate) source: Guid,
}

/// Why a handle is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Zero,
    Stale,
    Unknown,
}

/// The range of handles that an engine has returned, to distinguish a stale handle from one that never existed.
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

pub(crate) struct State {
    registrations: BTreeMap<u64, Registration>,
    enablements: BTreeMap<Target, BTreeMap<u64, Enablement>>,
    /// By session: the providers that a group request of the session does not enable.
    disallowed: BTreeMap<u64, BTreeSet<Guid>>,
    first_handle: u64,
    next_handle: u64,
}

impl State {
    pub(crate) const fn new(engine: u64) -> Self {
        let first_handle = (engine << 40).wrapping_add(STEP);
        Self {
            registrations: BTreeMap::new(),
            enablements: BTreeMap::new(),
            disallowed: BTreeMap::new(),
            first_handle,
            next_handle: first_handle,
        }
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
        self.handles().missing(handle)
    }

    pub(crate) const fn handles(&self) -> Handles {
        Handles { first: self.first_handle, next: self.next_handle, step: STEP }
    }

    pub(crate) fn registrations(&self) -> impl Iterator<Item = (u64, &Registration)> {
        self.registrations.iter().map(|(&handle, registration)| (handle, registration))
    }

    /// The registrations that `target` refers to.
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

    /// Removes the session's request. Returns whether there was one.
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

    /// Returns everything that the session enabled.
    pub(crate) fn targets_of(&self, session: u64) -> Vec<Target> {
        self.enablements
            .iter()
            .filter(|(_, sessions)| sessions.contains_key(&session))
            .map(|(&target, _)| target)
            .collect()
    }

    /// Returns the requests that reach a registration: those to its GUID and those to its group, sorted by session. A
    /// request to the group does not reach a provider that the session disallowed. No request reaches a process that
    /// its filters exclude.
    pub(crate) fn enablements_for(&self, registration: &Registration) -> Vec<&Enablement> {
        let own = self.enablements.get(&Target::Provider(registration.provider));
        let group = registration.group.and_then(|guid| self.enablements.get(&Target::Group(guid)));
        let group = group.into_iter().flat_map(BTreeMap::values).filter(|enablement| {
            let list = self.disallowed.get(&enablement.session.id());
            list.is_none_or(|list| !list.contains(&registration.provider))
        });
        let mut all: Vec<&Enablement> = own
            .into_iter()
            .flat_map(BTreeMap::values)
            .chain(group)
            .filter(|enablement| enablement.filters.reaches(&registration.origin))
            .collect();
        all.sort_by_key(|enablement| enablement.session.id());
        all
    }

    /// Whether a session's request reaches a registration.
    pub(crate) fn reaches(&self, session: u64, registration: &Registration) -> bool {
        self.enablements_for(registration).iter().any(|enablement| enablement.session.id() == session)
    }

    /// Returns the merged request of all sessions for a registration, or `None` if no request reaches it.
    pub(crate) fn merged(&self, registration: &Registration) -> Option<Settings> {
        self.enablements_for(registration).into_iter().map(|enablement| enablement.settings).reduce(Settings::merge)
    }

    /// The requests to a target.
    pub(crate) fn requests_to(&self, target: Target) -> impl Iterator<Item = &Enablement> {
        self.enablements.get(&target).into_iter().flat_map(BTreeMap::values)
    }

    /// All requests, with their targets.
    pub(crate) fn enablements(&self) -> impl Iterator<Item = (Target, &Enablement)> {
        let requests = self.enablements.iter();
        requests.flat_map(|(&target, sessions)| sessions.values().map(move |enablement| (target, enablement)))
    }

    /// Replaces the set of providers that a group request of a session does not enable.
    pub(crate) fn set_disallowed(&mut self, session: u64, providers: BTreeSet<Guid>) {
        if providers.is_empty() {
            self.disallowed.remove(&session);
        } else {
            self.disallowed.insert(session, providers);
        }
    }

    pub(crate) fn disallowed(&self, session: u64) -> Vec<Guid> {
        self.disallowed.get(&session).into_iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Handles, Missing};

    #[test]
    fn a_handle_that_was_given_out_is_stale_and_any_other_is_unknown() {
        let handles = Handles { first: 3, next: 51, step: 16 };
        assert_eq!(handles.missing(0), Missing::Zero);
        for (handle, expected) in [3, 19, 35]
            .map(|handle| (handle, Missing::Stale))
            .into_iter()
            .chain([1, 2, 4, 16, 18, 20, 50, 51, 52, 67, u64::MAX].map(|handle| (handle, Missing::Unknown)))
        {
            assert_eq!(handles.missing(handle), expected, "{handle}");
        }
    }
}
