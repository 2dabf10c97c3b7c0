//! The filters of a request: prepared once when a session enables a provider, evaluated for every event.
//!
//! Filters by process select registrations. Filters by event id and name select events. Stack filters select the events
//! that get a stack item. Data for the provider is passed to its callback.

#[cfg(test)]
mod tests;

use etw_types::EventDescriptor;
use etw_types::session::filter::{NONE, SCHEMATIZED};
use etw_types::session::{Enable, Filter, Listed, Selection};
use etw_types::tracelogging::Metadata;

use crate::callback::FilterData;
use crate::environment::Origin;

/// A list of events by id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ids {
    listed: Listed,
    /// Sorted.
    ids: Vec<u16>,
}

/// A list of TraceLogging events by name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    listed: Listed,
    which: Selection,
    list: Vec<String>,
}

/// All filters of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    processes: Option<Vec<u32>>,
    images: Option<Vec<String>>,
    packages: Option<Vec<String>>,
    package_apps: Option<Vec<String>>,
    ids: Option<Ids>,
    names: Option<Names>,
    stack_ids: Option<Ids>,
    stack_names: Option<Names>,
    stack_levels: Option<(Listed, Selection)>,
    passed_on: Option<FilterData>,
}

impl Filters {
    /// Checks and prepares the filters of a request. Returns `None` if a filter is invalid or of an unknown kind.
    pub(crate) fn new(enable: &Enable) -> Option<Self> {
        enable.check_enforced().ok()?;
        let mut all = Self::default();
        for filter in &enable.filters {
            match filter.clone() {
                Filter::ProcessIds(ids) => all.processes = Some(ids),
                Filter::Executables(names) => all.images = Some(names),
                Filter::PackageIds(names) => all.packages = Some(names),
                Filter::PackageAppIds(names) => all.package_apps = Some(names),
                Filter::EventIds(listed, ids) => all.ids = Some(Ids::new(listed, ids)),
                Filter::StackEventIds(listed, ids) => all.stack_ids = Some(Ids::new(listed, ids)),
                Filter::EventNames(listed, which, list) => all.names = Some(Names { listed, which, list }),
                Filter::StackEventNames(listed, which, list) => all.stack_names = Some(Names { listed, which, list }),
                Filter::StackSelection(listed, which) => all.stack_levels = Some((listed, which)),
                // There are no containers here, and only the system providers use system flags and trace handles.
                Filter::Container(_) | Filter::SystemFlags(_) | Filter::TraceHandle(_) | Filter::Other(NONE, _) => {}
                Filter::Other(kind, _) if kind & SCHEMATIZED != 0 => return None,
                // The provider interprets this data itself. Payload filters were compiled by the trace helper library;
                // any other kind is defined by the provider, as in Windows 7.
                Filter::Schematized(data) | Filter::Payload(data) | Filter::Other(_, data) => {
                    all.passed_on = Some(FilterData { kind: filter.kind(), data });
                }
                _ => return None,
            }
        }
        Some(all)
    }

    /// Returns the data for the provider's callback.
    pub(crate) const fn passed_on(&self) -> Option<&FilterData> {
        self.passed_on.as_ref()
    }

    /// Whether the request reaches registrations of this origin. Kernel registrations are never filtered by process.
    pub(crate) fn reaches(&self, origin: &Origin) -> bool {
        if !origin.is_user_mode {
            return true;
        }
        let lists = |list: &Option<Vec<String>>, name: Option<&String>| {
            list.as_ref()
                .is_none_or(|list| name.is_some_and(|name| list.iter().any(|listed| listed.eq_ignore_ascii_case(name))))
        };
        self.processes.as_ref().is_none_or(|list| list.contains(&origin.process_id))
            && lists(&self.images, Some(&origin.image))
            && lists(&self.packages, origin.package.as_ref())
            && lists(&self.package_apps, origin.package_app.as_ref())
    }

    /// Whether the event passes the filter by event id.
    pub(crate) fn passes_id(&self, event: &EventDescriptor) -> bool {
        self.ids.as_ref().is_none_or(|ids| ids.passes(event.id))
    }

    /// Whether [`passes_name`](Self::passes_name) must be called.
    pub(crate) const fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Whether the event passes the filter by name; `metadata` is its TraceLogging metadata.
    pub(crate) fn passes_name(&self, event: &EventDescriptor, metadata: Option<&[u8]>) -> bool {
        self.names.as_ref().is_none_or(|names| names.passes(event, metadata))
    }

    /// Whether the event gets a stack, provided that the request includes stacks.
    pub(crate) fn wants_stack(&self, event: &EventDescriptor, metadata: Option<&[u8]>) -> bool {
        self.stack_ids.as_ref().is_none_or(|ids| ids.passes(event.id))
            && self.stack_names.as_ref().is_none_or(|names| names.passes(event, metadata))
            && self.stack_levels.is_none_or(|(listed, which)| covers(which, event) == (listed == Listed::Pass))
    }
}

impl Ids {
    fn new(listed: Listed, mut ids: Vec<u16>) -> Self {
        ids.sort_unstable();
        Self { listed, ids }
    }

    fn passes(&self, id: u16) -> bool {
        self.ids.binary_search(&id).is_ok() == (self.listed == Listed::Pass)
    }
}

/// Whether a filter applies to the event. Level 0 and mask 0 mean everything, as in a request.
fn covers(which: Selection, event: &EventDescriptor) -> bool {
    let keyword = event.keyword.bits();
    let by_keyword = keyword == 0 || ((which.any == 0 || keyword & which.any != 0) && keyword & which.all == which.all);
    (which.level == 0 || event.level.as_int() <= which.level) && by_keyword
}

impl Names {
    /// An event is listed if the filter covers it and contains its name. An event without a name is not listed.
    fn passes(&self, event: &EventDescriptor, metadata: Option<&[u8]>) -> bool {
        let name = metadata.and_then(|bytes| Metadata::parse(bytes).ok()).map(|(metadata, _)| metadata.name());
        let is_listed = covers(self.which, event)
            && name.is_some_and(|name| self.list.iter().any(|listed| listed.as_bytes() == name));
        is_listed == (self.listed == Listed::Pass)
    }
}
