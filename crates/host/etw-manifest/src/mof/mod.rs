//! The kernel's own events: the classes that derive from `MSNT_SystemTrace`.
//!
//! The classes are text in `classes/`, one line for the types of a class that share a layout and one or more for their fields,
//! in the words of Microsoft's documentation of MOF: `sint32`, `pointer`, `sid`, `wstring`. A version stands for itself and all
//! later ones up to the next that is listed, as the kernel adds fields at the end. Types without fields have a name only.
//!
//! Sources are the documentation (the page about `MSNT_SystemTrace` and those below it) and, for newer versions, Microsoft's `TraceEvent` and
//! WMI packages, both under the MIT licence, compared with captured traces.

mod parse;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use etw_types::Guid;

use crate::schema::{EventKey, EventSchema, Schema};

/// The classes, by topic.
const CLASSES: [&str; 7] = [
    include_str!("classes/session.txt"),
    include_str!("classes/process.txt"),
    include_str!("classes/io.txt"),
    include_str!("classes/network.txt"),
    include_str!("classes/memory.txt"),
    include_str!("classes/perf.txt"),
    include_str!("classes/config.txt"),
];

/// The group of processes, and the type of an image that is loaded: the one event whose hook id names another class's group.
const GROUP_PROCESS: u8 = 0x03;
const TYPE_LOAD: u8 = 10;
const GROUP_IMAGE: u8 = 0x14;

/// A class.
#[derive(Debug)]
struct Class {
    name: Arc<str>,
    /// Versions of a type's layout, the newest first.
    types: HashMap<u8, Vec<(u8, Arc<EventSchema>)>>,
}

/// The classes that this crate knows.
#[derive(Debug)]
pub struct KernelClasses {
    classes: HashMap<Guid, Class>,
    /// By number: looked up for every kernel event.
    groups: Vec<Option<Guid>>,
}

static KERNEL: LazyLock<KernelClasses> = LazyLock::new(|| {
    let mut classes = KernelClasses { classes: HashMap::new(), groups: Vec::new() };
    for text in CLASSES {
        // The text is part of this crate, and a test reads all of it.
        let _ = parse::parse(text, &mut classes);
    }
    classes
});

impl KernelClasses {
    /// All of them.
    #[must_use]
    pub fn get() -> &'static Self {
        &KERNEL
    }

    /// The class of a kernel event by its hook id: the group in the upper byte, the type in the lower.
    #[must_use]
    pub fn class_of_hook(&self, hook: u16) -> Option<Guid> {
        let [event_type, group] = hook.to_le_bytes();
        let group = if group == GROUP_PROCESS && event_type == TYPE_LOAD { GROUP_IMAGE } else { group };
        self.groups.get(usize::from(group)).copied().flatten()
    }

    /// How many layouts are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.classes.values().flat_map(|class| class.types.values()).map(Vec::len).sum()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The classes as a source of schemas.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Schema for Kernel {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        if !key.is_classic {
            return None;
        }
        let versions = KERNEL.classes.get(&key.provider)?.types.get(&key.opcode)?;
        versions.iter().find(|(version, _)| *version <= key.version).map(|(_, schema)| Arc::clone(schema))
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        KERNEL.classes.get(provider).map(|class| Arc::clone(&class.name))
    }
}

#[cfg(test)]
mod tests;
