//! The events in the session's file.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use etw_etl::decode::Decoded;
use etw_etl::{About, Event, Kind, Reader};

/// The events of providers in the order of their time, and what was lost.
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    pub(crate) about: About,
}

impl Trace {
    /// Reads a file. Records of the kernel and of the session itself ([`Kind::System`]) are left out.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let mut reader = Reader::open(path).map_err(|error| error.to_string())?;
        let events = reader.by_ref().filter(|event| event.kind() != Kind::System).collect();
        Ok(Self { events, about: About::from(reader.report()) })
    }

    /// The number of different activity ids.
    pub(crate) fn activities(&self) -> usize {
        self.events.iter().filter_map(|event| event.header.activity).collect::<HashSet<_>>().len()
    }

    /// The milliseconds from the first event to the last.
    pub(crate) fn milliseconds(&self) -> f64 {
        let time = |event: Option<&Event>| event.map_or(0, |event| event.header.time.0);
        let ticks = time(self.events.last()).saturating_sub(time(self.events.first()));
        Duration::from_nanos(ticks.unsigned_abs().saturating_mul(100)).as_secs_f64() * 1000.0
    }

    /// Decodes the first event with this name.
    pub(crate) fn first(&self, name: &str) -> Option<Decoded> {
        self.events.iter().map(Event::decode).find(|decoded| decoded.event.as_deref() == Some(name))
    }
}
