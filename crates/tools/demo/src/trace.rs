//! The trace as it stands in the session's file.

use std::path::Path;

use etw_etl::decode::{Decoded, Field};
use etw_etl::{About, Event, Kind, Reader};
use etw_types::Guid;

/// An event and what it says.
pub(crate) struct Entry {
    pub(crate) event: Event,
    pub(crate) decoded: Decoded,
    /// Its activity: 1 is the first of the trace.
    pub(crate) activity: Option<usize>,
}

impl Entry {
    /// The event's name.
    pub(crate) fn name(&self) -> &str {
        self.decoded.event.as_deref().unwrap_or("(undecoded)")
    }

    /// The text of a field.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.decoded.fields.iter().find(|field| field.name == name).map(|field| field.node.to_string())
    }

    /// The fields in short: statuses by their names.
    pub(crate) fn fields(&self) -> Vec<String> {
        self.decoded.fields.iter().map(|field| short(&field.to_string(), field)).collect()
    }
}

/// `Status=0xC00000BB STATUS_NOT_SUPPORTED` without the number.
fn short(text: &str, field: &Field) -> String {
    match text.rsplit_once(' ') {
        Some((_, name)) if name.starts_with("STATUS_") => format!("{}={name}", field.name),
        _ => text.to_owned(),
    }
}

/// The events of providers, the earliest first, and what was lost.
pub(crate) struct Trace {
    pub(crate) events: Vec<Entry>,
    pub(crate) activities: usize,
    pub(crate) about: About,
}

impl Trace {
    /// Reads a file. Records of the session itself are left out.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let mut reader = Reader::open(path).map_err(|error| error.to_string())?;
        let mut seen: Vec<Guid> = Vec::new();
        let mut events = Vec::new();
        for event in reader.by_ref().filter(|event| event.kind() != Kind::System) {
            let activity = event.header.activity.map(|id| {
                seen.iter().position(|known| *known == id).unwrap_or_else(|| {
                    seen.push(id);
                    seen.len() - 1
                }) + 1
            });
            events.push(Entry { decoded: event.decode(), event, activity });
        }
        Ok(Self { events, activities: seen.len(), about: About::from(reader.report()) })
    }

    /// 100 ns units since the first event.
    pub(crate) fn since_start(&self, entry: &Entry) -> i64 {
        let start = self.events.first().map_or(0, |first| first.event.header.time.0);
        entry.event.header.time.0.saturating_sub(start)
    }
}
