//! The filters of a request: parsed once when a session enables, asked for every event.
//!
//! Every kind of `EVENT_FILTER_TYPE_*` has its layout checked. Those by process decide about registrations, those by
//! event id and name about events, those for stacks about the stack item; data for the provider is passed on.

mod parse;
#[cfg(test)]
mod tests;

use etw_types::tracelogging::Metadata;
use etw_types::{EventDescriptor, Win32Error};

use crate::enable::Filter;
use crate::environment::Origin;

/// A list of events by id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ids {
    includes: bool,
    /// Sorted.
    ids: Vec<u16>,
}

/// Level and keyword that an event must have for a filter to look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LevelKeyword {
    includes: bool,
    level: u8,
    any: u64,
    all: u64,
}

/// A list of TraceLogging events by name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    which: LevelKeyword,
    names: Vec<Vec<u8>>,
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
    stack_levels: Option<LevelKeyword>,
    passed_on: Option<Filter>,
}

impl Filters {
    /// Checks and takes apart the filters of a request; `bad` is the answer to those that are not as they should be.
    pub(crate) fn new(filters: &[Filter], bad: Win32Error) -> Result<Self, Win32Error> {
        parse::parse(filters).ok_or(bad)
    }

    /// Data for the provider's callback.
    pub(crate) const fn passed_on(&self) -> Option<&Filter> {
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
            && self.stack_levels.is_none_or(|levels| levels.covers(event) == levels.includes)
    }
}

impl Ids {
    fn passes(&self, id: u16) -> bool {
        self.ids.binary_search(&id).is_ok() == self.includes
    }
}

impl LevelKeyword {
    /// Level 0 and mask 0 stand for everything, as they do in a request.
    fn covers(&self, event: &EventDescriptor) -> bool {
        let keyword = event.keyword.bits();
        let by_keyword = keyword == 0 || ((self.any == 0 || keyword & self.any != 0) && keyword & self.all == self.all);
        (self.level == 0 || event.level.as_int() <= self.level) && by_keyword
    }
}

impl Names {
    /// An event is listed when the filter covers it and has its name. An event without a name is not.
    fn passes(&self, event: &EventDescriptor, metadata: Option<&[u8]>) -> bool {
        let name = metadata.and_then(|bytes| Metadata::parse(bytes).ok()).map(|(metadata, _)| metadata.name());
        let listed = self.which.covers(event)
            && name.is_some_and(|name| self.names.iter().any(|listed| listed.as_slice() == name));
        listed == self.which.includes
    }
}
