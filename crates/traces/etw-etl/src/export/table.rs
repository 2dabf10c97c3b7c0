//! A table for a terminal: the time since the first and since the previous event, the level, the activity with a bracket, the
//! event, its process if the trace names it, its fields, and the names of its thread, file and registry key.
//!
//! At most [`PAGE`] rows are buffered so that they can be aligned. This bounds the memory for a trace of any length.

use std::collections::HashMap;

use etw_types::{Guid, Level, Opcode};

use super::columns::Columns;
use super::paint;
use super::writer::FormatWriter;
use crate::decode::{Decoded, Field, Scalar, escaped};
use crate::digits::hex;
use crate::event::EventRef;
use crate::time::FileTime;

/// Number of rows that are aligned with each other.
const PAGE: usize = 500;
/// Maximum number of activities that are told apart. After that, numbering starts again.
const MAX_ACTIVITIES: usize = 65_536;
/// Maximum number of bytes of undecoded data in a row.
const MAX_RAW: usize = 32;

/// The table, and the state that the next row depends on.
#[derive(Debug)]
pub(super) struct Table {
    columns: Columns,
    /// The time that others are relative to; by default, that of the first event.
    origin: Option<i64>,
    /// Time of the last event.
    last: Option<i64>,
    /// The first provider. Its name is in the title and not repeated in the rows.
    provider: Option<Guid>,
    /// The line that names the first provider, until it is written.
    title: Option<String>,
    activities: HashMap<Guid, usize>,
    has_colours: bool,
}

impl Default for Table {
    fn default() -> Self {
        let columns = Columns::with_numbers(&[0, 1]);
        Self {
            columns,
            origin: None,
            last: None,
            provider: None,
            title: None,
            activities: HashMap::new(),
            has_colours: false,
        }
    }
}

impl FormatWriter for Table {
    fn fit(&mut self, width: usize) {
        self.columns.fit(width);
    }

    fn colour(&mut self) {
        self.has_colours = true;
    }

    fn since(&mut self, origin: FileTime) {
        self.origin = Some(origin.0);
    }

    /// Adds an event, and appends complete rows to `out`.
    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded) {
        let header = &event.header;
        let now = header.time.0;
        if let (None, Some(id)) = (self.provider, header.provider) {
            self.provider = Some(id);
            let name = decoded.provider.clone().unwrap_or_else(|| id.to_string());
            self.title = Some(format!("  provider {}\n", escaped(&name)));
        }
        if self.last.is_none() {
            let names = ["ms", "delta", "level", "activity", "event"];
            self.columns.row(names.map(String::from), vec!["fields".into()]);
        }
        let first = *self.origin.get_or_insert(now);
        let last = self.last.replace(now).unwrap_or(now);
        let cells = [
            milliseconds(now.saturating_sub(first)),
            milliseconds(now.saturating_sub(last)),
            level(header.descriptor.level),
            self.activity(event),
            self.name(event, decoded),
        ];
        let process = decoded.names.process.iter().map(|process| format!("{}({})", process.name, process.id));
        let mut words: Vec<String> = process.chain(decoded.fields.iter().map(short)).collect();
        words.extend(decoded.names.others().map(|(what, name)| format!("{what}={}", Scalar::Text(name.to_owned()))));
        words.extend(decoded.error.map(|error| format!("({error})")));
        words.extend(decoded.raw.as_deref().filter(|raw| !raw.is_empty()).map(raw));
        let colour = if self.has_colours { paint::of_level(header.descriptor.level) } else { None };
        self.columns.coloured(cells, words, colour);
        if self.columns.len() >= PAGE {
            self.flush(out);
        }
    }

    /// Appends the buffered rows to `out`.
    fn flush(&mut self, out: &mut String) {
        out.push_str(&self.title.take().unwrap_or_default());
        for line in self.columns.take_lines() {
            out.push_str(&line);
            out.push('\n');
        }
    }
}

impl Table {
    /// Returns the number of the activity, with a bracket that shows whether it starts, continues or stops.
    fn activity(&mut self, event: &EventRef<'_>) -> String {
        let Some(id) = event.header.activity else { return String::new() };
        if self.activities.len() >= MAX_ACTIVITIES {
            self.activities.clear();
        }
        let next = self.activities.len() + 1;
        let number = *self.activities.entry(id).or_insert(next);
        let bracket = match event.header.descriptor.opcode {
            Opcode::Start => '┌',
            Opcode::Stop => '└',
            _ => '│',
        };
        format!("{bracket} {number}")
    }

    /// Returns the name of the event, prefixed with its provider unless that is the first one.
    fn name(&self, event: &EventRef<'_>, decoded: &Decoded) -> String {
        let descriptor = &event.header.descriptor;
        let name = decoded.event.clone().unwrap_or_else(|| event.label());
        let phase = match descriptor.opcode.as_int() {
            0 => String::new(),
            1 => String::from(" start"),
            2 => String::from(" stop"),
            other => format!(" opcode {other}"),
        };
        match (&decoded.provider, event.header.provider) {
            (_, provider) if provider == self.provider => format!("{name}{phase}"),
            (Some(provider), _) => format!("{provider}/{name}{phase}"),
            (None, Some(provider)) => format!("{provider}/{name}{phase}"),
            (None, None) => format!("{name}{phase}"),
        }
    }
}

/// Formats 100 ns units as milliseconds with four decimal places.
pub(super) fn milliseconds(ticks: i64) -> String {
    let sign = if ticks < 0 { "-" } else { "" };
    let ticks = ticks.unsigned_abs();
    format!("{sign}{}.{:04}", ticks / 10_000, ticks % 10_000)
}

fn level(level: Level) -> String {
    let names = ["always", "critical", "error", "warning", "info", "verbose"];
    names.get(usize::from(level.as_int())).map_or_else(|| level.as_int().to_string(), |name| (*name).to_owned())
}

/// Shortens `Status=0xC00000BB STATUS_NOT_SUPPORTED` to the name without the number.
fn short(field: &Field) -> String {
    let text = field.to_string();
    // A string of the provider may also end with the name of a status.
    let value = text.strip_prefix(field.name.as_str()).and_then(|rest| rest.strip_prefix("=0x"));
    match value.and_then(|number| number.split_once(' ')) {
        Some((_, name)) if name.starts_with("STATUS_") => format!("{}={name}", field.name),
        _ => text,
    }
}

fn raw(bytes: &[u8]) -> String {
    let shown = bytes.get(..MAX_RAW).unwrap_or(bytes);
    let more = bytes.len() - shown.len();
    let rest = if more > 0 { format!("…(+{more} bytes)") } else { String::new() };
    format!("raw={}{rest}", hex(shown))
}
