//! The names of the processes and threads of recent events, so that a process is not looked up again for each of its events.

use etw_types::tracelogging::Value;

use super::links::Links;
use super::names::{NameSource, Names};
use crate::event::{EventRef, Header};

/// Number of threads whose names are kept.
const RECENT: usize = 256;

/// The names of an event without any.
pub(super) static NONE: Names = Names { process: None, thread: None, file: None, key: None };

/// The names of a thread and of its process, and the first and the last time stamp for which they hold.
#[derive(Debug)]
struct Owner {
    ids: (Option<u32>, Option<u32>),
    life: (u64, u64),
    names: Names,
}

impl Owner {
    fn new(source: &dyn NameSource, header: &Header) -> Self {
        let stamp = header.stamp;
        let ids = (header.process_id, header.thread_id);
        let mut life = (0, u64::MAX);
        let mut during = |holds: std::ops::RangeInclusive<u64>| {
            life = (life.0.max(*holds.start()), life.1.min(*holds.end()));
        };
        let process = ids.0.and_then(|id| {
            let (process, holds) = source.process_life(id, stamp);
            during(holds);
            process
        });
        let thread = ids.1.and_then(|id| {
            let (thread, holds) = source.thread_life(id, stamp);
            during(holds);
            thread
        });
        Self { ids, life, names: Names { process, thread, file: None, key: None } }
    }

    #[inline]
    fn owns(&self, header: &Header) -> bool {
        self.ids == (header.process_id, header.thread_id) && self.life.0 <= header.stamp && header.stamp <= self.life.1
    }
}

/// The names of recent events.
#[derive(Debug)]
pub(super) struct RecentNames {
    owners: Vec<Option<Owner>>,
    /// The names of the last event that refers to a file or to a key.
    linked: Names,
}

impl Default for RecentNames {
    fn default() -> Self {
        Self { owners: std::iter::repeat_with(|| None).take(RECENT).collect(), linked: Names::default() }
    }
}

impl RecentNames {
    /// Returns the names that belong to an event with these values.
    #[inline]
    pub(super) fn find<'a>(
        &mut self,
        source: &dyn NameSource,
        event: &EventRef<'_>,
        links: &Links,
        value: impl Fn(usize) -> Option<Value<'a>>,
    ) -> &Names {
        let header = &event.header;
        let ids = header.thread_id.unwrap_or_default() ^ header.process_id.unwrap_or_default().rotate_left(16);
        let [.., place] = ids.wrapping_mul(0x9E37_79B1).to_le_bytes();
        let Some(owner) = self.owners.get_mut(usize::from(place) % RECENT) else { return &NONE };
        if owner.as_ref().is_none_or(|owner| !owner.owns(header)) {
            *owner = Some(Owner::new(source, header));
        }
        let names = owner.as_ref().map_or(&NONE, |owner| &owner.names);
        if links.is_empty() {
            return names;
        }
        let (file, key) = links.values(source, header.stamp, value);
        self.linked = Names { process: names.process.clone(), thread: names.thread.clone(), file, key };
        &self.linked
    }
}
