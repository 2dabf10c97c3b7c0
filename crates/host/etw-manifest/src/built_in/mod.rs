//! Schemas that this crate knows without a file: the kernel's own events and those of the .NET runtime.
//!
//! They are text. `kernel/` has the classes that derive from `MSNT_SystemTrace`, by topic; `dotnet.txt` has the providers of the
//! runtime. A line names the events that share a layout, the next ones their fields, in the words of Microsoft's documentation of MOF:
//! `sint32`, `pointer`, `sid`, `wstring`. A version stands for itself and all later ones up to the next that is listed, because
//! fields are added at the end. Events without fields have a name only.
//!
//! Sources of the kernel's classes are the documentation (the page about `MSNT_SystemTrace` and those below it) and, for newer versions,
//! Microsoft's `TraceEvent` and WMI packages, compared with captured traces; that of .NET is the runtime's manifest. All of
//! them are under the MIT licence.

mod parse;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use etw_types::Guid;

use crate::schema::{EventKey, EventSchema, Schema};

/// Classes and providers, by topic.
const TEXTS: [&str; 8] = [
    include_str!("kernel/session.txt"),
    include_str!("kernel/process.txt"),
    include_str!("kernel/io.txt"),
    include_str!("kernel/network.txt"),
    include_str!("kernel/memory.txt"),
    include_str!("kernel/perf.txt"),
    include_str!("kernel/config.txt"),
    include_str!("dotnet.txt"),
];

/// The group of processes, and the type of an image that is loaded: the one event whose hook id names another class's group.
const GROUP_PROCESS: u8 = 0x03;
const TYPE_LOAD: u8 = 10;
const GROUP_IMAGE: u8 = 0x14;

/// A class of classic events, or a provider of manifest events.
#[derive(Debug)]
struct Group {
    name: Arc<str>,
    is_classic: bool,
    /// Versions of an event's layout by its id or type, the newest first.
    events: HashMap<u16, Vec<(u8, Arc<EventSchema>)>>,
}

#[derive(Debug, Default)]
struct Table {
    groups: HashMap<Guid, Group>,
    /// Classes by the numbers of their groups: looked up for every kernel event.
    hooks: Vec<Option<Guid>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for text in TEXTS {
        // The text is part of this crate, and a test reads all of it.
        let _ = parse::parse(text, &mut table);
    }
    table
});

/// The schemas that this crate knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn;

impl BuiltIn {
    /// The class of a kernel event by its hook id: the group in the upper byte, the type in the lower.
    #[must_use]
    pub fn class_of_hook(hook: u16) -> Option<Guid> {
        let [event_type, group] = hook.to_le_bytes();
        let group = if group == GROUP_PROCESS && event_type == TYPE_LOAD { GROUP_IMAGE } else { group };
        TABLE.hooks.get(usize::from(group)).copied().flatten()
    }
}

impl Schema for BuiltIn {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        let group = TABLE.groups.get(&key.provider).filter(|group| group.is_classic == key.is_classic)?;
        let versions = group.events.get(&if key.is_classic { key.opcode.into() } else { key.id })?;
        versions.iter().find(|(version, _)| *version <= key.version).map(|(_, schema)| Arc::clone(schema))
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        TABLE.groups.get(provider).map(|group| Arc::clone(&group.name))
    }
}

#[cfg(test)]
mod tests;
