//! Compares two traces of the same steps: a trace of Windows with one of `nt-host`, or today's with yesterday's.
//!
//! Compared are the events, their order, their names, levels, opcodes, keywords, the names, types and values of their fields,
//! and which events share an activity. What differs between two runs of one driver is left out: times, processes, threads,
//! processors, stacks, the values of activity ids, and fields that hold a time, a process, a thread or a code address; of kernel
//! events, all addresses, with the names of files and registry keys in their place.

mod align;

use std::collections::HashMap;
use std::fmt;

use etw_manifest::{Encoding, Field as SchemaField};
use etw_types::{Guid, InType, OutType};

use crate::decode::{Decoded, Field, Node};
use crate::event::{EventRef, Kind};
use align::{Pair, align};

/// The fields of kernel events that hold the time stamp of a start or a duration.
const TIMES: [&str; 2] = ["InitialTime", "HighResResponseTime"];

/// The part of an event that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    key: Key,
    label: Label,
    header: [(&'static str, u64); 4],
    fields: Vec<Value>,
    activity: Option<Guid>,
    related: Option<Guid>,
}

/// What makes two events of two traces the same event. What a schema calls them does not: it may be known for one of the traces
/// only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    class: Option<Guid>,
    kind: Kind,
    id: u16,
    opcode: u8,
    /// The name of an event that describes itself.
    name: Option<String>,
}

/// What an event is called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Label {
    provider: String,
    event: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    name: String,
    types: (InType, OutType),
    text: String,
}

impl Entry {
    /// Takes the compared part of an event. `ignored` names fields to leave out; `Outer.Inner` names a field of a struct.
    #[must_use]
    pub fn new(event: &EventRef<'_>, decoded: &Decoded, ignored: &[String]) -> Self {
        let descriptor = &event.header.descriptor;
        let kind = event.kind();
        let provider =
            decoded.provider.clone().or_else(|| event.class().map(|class| class.to_string())).unwrap_or_default();
        let name = decoded.event.clone().unwrap_or_else(|| format!("{} {}", kind.as_str(), descriptor.id));
        let mut fields = Vec::new();
        if kind == Kind::System {
            names(decoded, ignored, &mut fields);
            let ignored = [ignored, &addresses_and_times(decoded)].concat();
            flatten("", &decoded.fields, &ignored, &mut fields);
        } else {
            flatten("", &decoded.fields, ignored, &mut fields);
        }
        if let Some(raw) = &decoded.raw {
            let text = crate::digits::hex(raw);
            fields.push(Value { name: "(undecoded)".into(), types: (InType::Invalid, OutType::Default), text });
        }
        Self {
            key: Key {
                class: event.class(),
                kind,
                id: descriptor.id,
                opcode: descriptor.opcode.as_int(),
                name: decoded.event.clone().filter(|_| kind == Kind::TraceLogging),
            },
            label: Label { provider, event: name },
            header: [
                ("(level)", descriptor.level.as_int().into()),
                ("(keyword)", descriptor.keyword.bits()),
                ("(task)", descriptor.task.into()),
                ("(version)", descriptor.version.into()),
            ],
            fields,
            activity: event.header.activity,
            related: event.related(),
        }
    }
}

/// The name of the event as it is shown: `Provider/Event`, with the opcode if it has one.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Label { provider, event } = &self.label;
        write!(f, "{provider}/{event}")?;
        match self.key.opcode {
            0 => Ok(()),
            1 => f.write_str(" (start)"),
            2 => f.write_str(" (stop)"),
            other => write!(f, " (opcode {other})"),
        }
    }
}

/// Adds the fields, those of structs with the names of their structs before theirs.
fn flatten(prefix: &str, fields: &[Field], ignored: &[String], out: &mut Vec<Value>) {
    for field in fields {
        let name = format!("{prefix}{}", field.name);
        if ignored.contains(&name) || differs_by_nature(field) {
            continue;
        }
        match &field.node {
            Node::Struct(members) => flatten(&format!("{name}."), members, ignored, out),
            node => out.push(Value { name, types: (field.in_type, field.out_type), text: node.to_string() }),
        }
    }
}

/// The fields of a kernel event that differ at each start of Windows: addresses, time stamps and durations.
fn addresses_and_times(decoded: &Decoded) -> Vec<String> {
    let fields = decoded.schema.as_ref().map(|schema| &*schema.fields).unwrap_or_default();
    let differs =
        |field: &&SchemaField| field.encoding == Encoding::Pointer || TIMES.iter().any(|name| *name == &*field.name);
    fields.iter().filter(differs).map(|field| field.name.to_string()).collect()
}

/// Adds what the addresses of file objects and the handles of keys in an event of the kernel mean.
fn names(decoded: &Decoded, ignored: &[String], out: &mut Vec<Value>) {
    for (name, text) in [("(file)", &decoded.names.file), ("(key)", &decoded.names.key)] {
        if let Some(text) = text.as_ref().filter(|_| !ignored.iter().any(|ignored| ignored == name)) {
            out.push(Value { name: name.into(), types: (InType::CStr16, OutType::Default), text: text.to_string() });
        }
    }
}

/// Whether a field holds a time, a process, a thread or a code address.
fn differs_by_nature(field: &Field) -> bool {
    matches!(field.in_type, InType::FileTime | InType::SystemTime)
        || matches!(
            field.out_type,
            OutType::Pid
                | OutType::Tid
                | OutType::CodePointer
                | OutType::DateTime
                | OutType::DateTimeUtc
                | OutType::DateTimeCultureInsensitive
        ) && field.in_type != InType::Struct
}

/// A place where the traces differ. Positions count the compared events from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the first trace has the event.
    OnlyFirst {
        /// Its position in the first trace.
        position: usize,
        /// Its name.
        event: String,
    },
    /// Only the second trace has the event.
    OnlySecond {
        /// Its position in the second trace.
        position: usize,
        /// Its name.
        event: String,
    },
    /// Both traces have the event, with different contents.
    Changed {
        /// The positions in both traces.
        positions: (usize, usize),
        /// Its name.
        event: String,
        /// What differs.
        parts: Vec<Part>,
    },
}

/// A part of an event that differs. A name in parentheses is a part of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the field.
    pub name: String,
    /// The value in the first trace, `None` if it does not have the field.
    pub first: Option<String>,
    /// The value in the second trace, `None` if it does not have the field.
    pub second: Option<String>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// How many events both traces have.
    pub common: usize,
    /// The differences in the order of the traces.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Returns whether neither trace has an event, so that nothing is known about them.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.common == 0 && self.differences.is_empty()
    }

    /// Returns whether the traces are the same.
    #[must_use]
    pub const fn is_same(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compares two traces.
///
/// ```
/// # use etw_types::tracelogging::EventBuilder;
/// # use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};
/// # fn traced(name: &str, length: u32) -> etw_etl::Event {
/// #     let (mut metadata, mut payload) = ([0; 64], [0; 64]);
/// #     let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32("Length", length);
/// #     let (metadata, payload) = builder.finish().unwrap();
/// #     let items = etw_etl::ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
/// #     let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
/// #     let provider = Guid::from_name("MyDriver");
/// #     let data = etw_etl::EventData { provider, descriptor, items: &items, payload, ..etw_etl::EventData::default() };
/// #     let mut record = [0; 512];
/// #     let written = data.encode(&mut record).unwrap();
/// #     etw_etl::Event::from_record(&record[..written], 0, &etw_etl::WriterOptions::default().clock).unwrap()
/// # }
/// use etw_etl::compare::{Comparison, Difference, Entry, Part, compare};
///
/// let entry = |event: etw_etl::Event| Entry::new(&event.as_ref(), &event.decode(), &[]);
/// let first = [entry(traced("Open", 0)), entry(traced("Read", 512))];
/// let second = [entry(traced("Read", 4096))];
/// let comparison: Comparison = compare(&first, &second);
/// assert!(!comparison.is_same() && comparison.common == 1);
/// let [Difference::OnlyFirst { event, .. }, Difference::Changed { parts, .. }] = &comparison.differences[..] else { panic!() };
/// assert_eq!(event, "MyDriver/Open");
/// let length = Part { name: "Length".into(), first: Some("512".into()), second: Some("4096".into()) };
/// assert_eq!(parts, &[length]);
/// // Traces without events are the same, but that says nothing about them.
/// assert!(compare(&[], &[]).is_same() && compare(&[], &[]).is_empty());
/// ```
#[must_use]
pub fn compare(first: &[Entry], second: &[Entry]) -> Comparison {
    let keys = |entries: &[Entry]| entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>();
    let mut activities = Activities::default();
    let mut comparison = Comparison::default();
    for pair in align(&keys(first), &keys(second)) {
        let difference = match pair {
            Pair::First(place) => {
                first.get(place).map(|entry| Difference::OnlyFirst { position: place + 1, event: entry.to_string() })
            }
            Pair::Second(place) => {
                second.get(place).map(|entry| Difference::OnlySecond { position: place + 1, event: entry.to_string() })
            }
            Pair::Both(one, other) => first.get(one).zip(second.get(other)).and_then(|(first, second)| {
                comparison.common += 1;
                let parts = parts(first, second, &mut activities);
                let event = first.to_string();
                (!parts.is_empty()).then(|| Difference::Changed { positions: (one + 1, other + 1), event, parts })
            }),
        };
        comparison.differences.extend(difference);
    }
    comparison
}

/// What differs between two events with the same key.
fn parts(first: &Entry, second: &Entry, activities: &mut Activities) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |name: &str, first: Option<String>, second: Option<String>| {
        parts.push(Part { name: name.to_owned(), first, second });
    };
    for ((name, one), (_, other)) in first.header.iter().zip(&second.header) {
        if one != other {
            add(name, Some(format!("{one:#x}")), Some(format!("{other:#x}")));
        }
    }
    let find = |fields: &[Value], name: &str| fields.iter().find(|field| field.name == name).cloned();
    for field in &first.fields {
        match find(&second.fields, &field.name) {
            None => add(&field.name, Some(field.text.clone()), None),
            Some(other) if other.types != field.types => {
                let typed = |value: &Value| format!("{} ({:?}, {:?})", value.text, value.types.0, value.types.1);
                add(&field.name, Some(typed(field)), Some(typed(&other)));
            }
            Some(other) if other.text != field.text => {
                add(&field.name, Some(field.text.clone()), Some(other.text));
            }
            Some(_) => {}
        }
    }
    for field in &second.fields {
        if find(&first.fields, &field.name).is_none() {
            add(&field.name, None, Some(field.text.clone()));
        }
    }
    let names = |fields: &[Value]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    let one = names(&first.fields);
    let other = names(&second.fields);
    if parts.is_empty() && one != other {
        parts.push(Part { name: "(order)".into(), first: Some(one.join(" ")), second: Some(other.join(" ")) });
    }
    for (name, one, other) in
        [("(activity)", first.activity, second.activity), ("(related)", first.related, second.related)]
    {
        if !activities.correspond(one, other) {
            let shown = |id: Option<Guid>| id.map(|id| id.to_string());
            parts.push(Part { name: name.to_owned(), first: shown(one), second: shown(other) });
        }
    }
    parts
}

/// Which activity of the second trace corresponds to which of the first.
#[derive(Default)]
struct Activities {
    second: HashMap<Guid, Guid>,
    first: HashMap<Guid, Guid>,
}

impl Activities {
    /// Returns whether two activities correspond. The first pair of events that has them decides.
    fn correspond(&mut self, first: Option<Guid>, second: Option<Guid>) -> bool {
        let (first, second) = match (first, second) {
            (None, None) => return true,
            (Some(first), Some(second)) => (first, second),
            _ => return false,
        };
        *self.second.entry(first).or_insert(second) == second && *self.first.entry(second).or_insert(first) == first
    }
}

#[cfg(test)]
mod tests;
