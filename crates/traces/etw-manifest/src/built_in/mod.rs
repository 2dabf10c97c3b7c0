//! Built-in schemas: the kernel's own events, those of two of its manifest providers, and those of the .NET runtime.
//!
//! The schemas are text files. `kernel/` has the classes that derive from `MSNT_SystemTrace`, by topic; `dotnet.txt` has the
//! providers of the runtime. A line names the events that share a layout, and the next line lists their fields, with the type
//! names of Microsoft's MOF documentation: `sint32`, `pointer`, `sid`, `wstring`. A version applies to itself and to all later
//! versions up to the next one listed, because fields are only added at the end. Events without fields have no second line.
//!
//! The kernel's classes come from the documentation (the page about `MSNT_SystemTrace` and its subpages) and, for newer versions,
//! from Microsoft's `TraceEvent` and WMI packages and from what `EtwTools` recorded of Windows' own schemas, checked against captured
//! traces where they have such events. `kernel/undecoded.txt` has events of which only the name is public; most are from the
//! headers of System Informer. The .NET events come from the manifest of the runtime. All of these sources are under the MIT
//! licence. The events of the kernel's manifest providers (`kernel/provider.txt`) are those that Windows registers for them.

mod parse;
pub mod providers;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use etw_types::Guid;

use crate::schema::{EventKey, EventSchema, Schema};

/// Classes and providers, by topic.
const TEXTS: [&str; 10] = [
    include_str!("kernel/session.txt"),
    include_str!("kernel/process.txt"),
    include_str!("kernel/io.txt"),
    include_str!("kernel/network.txt"),
    include_str!("kernel/memory.txt"),
    include_str!("kernel/perf.txt"),
    include_str!("kernel/config.txt"),
    include_str!("kernel/provider.txt"),
    include_str!("kernel/undecoded.txt"),
    include_str!("dotnet.txt"),
];

/// The process group, and the type of an image load in it. This is the only event whose hook id has the group of another class.
const GROUP_PROCESS: u8 = 0x03;
const TYPE_LOAD: u8 = 10;
const GROUP_IMAGE: u8 = 0x14;

/// A class of classic events, or a provider of manifest events.
#[derive(Debug)]
struct Group {
    name: Arc<str>,
    is_classic: bool,
    /// Versions of an event's layout by its id or type, newest first.
    events: HashMap<u16, Vec<(u8, Arc<EventSchema>)>>,
}

#[derive(Debug, Default)]
struct Table {
    groups: HashMap<Guid, Group>,
    /// Classes by group number. This is looked up for every kernel event.
    hooks: Vec<Option<Guid>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for text in TEXTS {
        // The text is part of this crate, and a test parses all of it.
        let _ = parse::parse(text, &mut table);
    }
    table
});

/// The built-in schemas.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn;

impl BuiltIn {
    /// Returns the class of a kernel event by its hook id: the group in the upper byte, the type in the lower byte.
    #[must_use]
    #[inline]
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
        let group = TABLE.groups.get(provider).map(|group| Arc::clone(&group.name));
        group.or_else(|| providers::name(provider).map(Arc::from))
    }
}

#[cfg(test)]
mod tests;
