//! The filters of a request: prepared once when a session enables, asked for every event.
//!
//! Those by process decide about registrations, those by
//! event id and name about events, those for stacks about the stack item; data for the provider is passed on.

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
    /// Checks and prepares the filters of a request; `None` if a rule is broken or a kind is unknown.
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
                // There are no containers, and system flags and handles mean something to the system providers only.
                Filter::Container(_) | Filter::SystemFlags(_) | Filter::TraceHandle(_) | Filter::Other(NONE, _) => {}
                Filter::Other(kind, _) if kind & SCHEMATIZED != 0 => return None,
                // The provider looks at its own data; payload filters are compiled for it by the trace helper library, and
                // another kind is the provider's own, as in Windows 7.
                Filter::Schematized(data) | Filter::Payload(data) | Filter::Other(_, data) => {
                    all.passed_on = Some(FilterData { kind: filter.kind(), data });
                }
                _ => return None,
            }
        }
        Some(all)
    }

    /// Data for the provider's callback.
    pub(crate) const fn passed_on(&self) -> Option<&FilterData> {
        self.passed_on.as_ref()
    }

    /// Whether the request reaches registrations of this origin. The kernel's own are never filtered by process.
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

    /// Whether the event may pass as far as its descriptor tells.
    pub(crate) fn passes_id(&self, event: &EventDescriptor) -> bool {
        self.ids.as_ref().is_none_or(|ids| ids.passes(event.id))
    }

    /// Whether [`passes_name`](Self::passes_name) has to be asked.
    pub(crate) const fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Whether the event passes by its name; `metadata` is its TraceLogging metadata.
    pub(crate) fn passes_name(&self, event: &EventDescriptor, metadata: Option<&[u8]>) -> bool {
        self.names.as_ref().is_none_or(|names| names.passes(event, metadata))
    }

    /// Whether the event gets a stack, where the request asks for stacks at all.
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

/// Whether a filter looks at the event. Level 0 and mask 0 stand for everything, as they do in a request.
fn covers(which: Selection, event: &EventDescriptor) -> bool {
    let keyword = event.keyword.bits();
    let by_keyword = keyword == 0 || ((which.any == 0 || keyword & which.any != 0) && keyword & which.all == which.all);
    (which.level == 0 || event.level.as_int() <= which.level) && by_keyword
}

impl Names {
    /// An event is listed when the filter covers it and has its name. An event without a name is not.
    fn passes(&self, event: &EventDescriptor, metadata: Option<&[u8]>) -> bool {
        let name = metadata.and_then(|bytes| Metadata::parse(bytes).ok()).map(|(metadata, _)| metadata.name());
        let is_listed = covers(self.which, event)
            && name.is_some_and(|name| self.list.iter().any(|listed| listed.as_bytes() == name));
        is_listed == (self.listed == Listed::Pass)
    }
}
