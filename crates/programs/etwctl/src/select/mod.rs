//! Selects events of a trace: by provider, level, time and conditions.

mod expression;
mod mistake;
mod value;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use command_line::note;
use etw_etl::decode::{Field, Node};
use etw_etl::{Decoded, Decoder, EventRef, FileTime, escaped};
use etw_types::{Guid, Level};

use crate::cli::Selected;
use crate::failure::Failure;
use crate::values::{LEVELS, Moment, OPCODES, hint};
pub(crate) use expression::Expression;
use value::Value;

/// The maximum number of names that are kept for suggestions.
const MAX_NAMES: usize = 1000;

/// Which events to take.
#[derive(Debug)]
pub(crate) struct Selection {
    providers: Vec<(Guid, String)>,
    level: Option<Level>,
    events: Vec<String>,
    conditions: Vec<Expression>,
    seen: Seen,
    from: Option<Moment>,
    to: Option<Moment>,
    range: (FileTime, FileTime),
    /// The start of the trace, and the time of its last event so far.
    origin: FileTime,
    last: Cell<FileTime>,
}

/// The names that a trace has, to suggest one for a name that is mistyped.
#[derive(Debug, Default)]
struct Seen {
    providers: BTreeSet<String>,
    fields: BTreeSet<String>,
    events: BTreeSet<String>,
    /// The providers, events and names of the selection that at least one event has.
    found: BTreeSet<String>,
    /// Comparisons in order of values that are not numbers: the name, and the operator and a value.
    not_numbers: BTreeMap<String, String>,
    /// Comparisons of numbers with texts: the name and the text.
    numbers: BTreeMap<String, String>,
    /// The names that had a value that is not only a number.
    texts: BTreeSet<String>,
}

impl Selection {
    /// The selection of the options `--provider`, `--level`, `--where`, `--from` and `--to`.
    pub(crate) fn from_args(selected: &Selected) -> Self {
        Self {
            providers: selected.providers.iter().map(|provider| (provider.guid, provider.name.clone())).collect(),
            level: selected.level.filter(|level| *level != Level::LogAlways),
            events: selected.events.clone(),
            conditions: selected.conditions.clone(),
            seen: Seen::default(),
            from: selected.from,
            to: selected.to,
            range: (FileTime(i64::MIN), FileTime(i64::MAX)),
            origin: FileTime(i64::MIN),
            last: Cell::new(FileTime(i64::MIN)),
        }
    }

    /// Notes about parts of the selection that match nothing: a provider without events, a name of events that there are not.
    pub(crate) fn notes(&self) -> Vec<String> {
        let missing = |name: &&String| !self.seen.found.contains(*name);
        let note = |what: &str, name: &String, known: &BTreeSet<String>| match hint(name, known) {
            nothing if nothing.is_empty() => {
                let some: Vec<_> = known.iter().take(5).map(|name| escaped(name)).collect();
                format!("no event {what} '{name}'; the trace has {}", some.join(", "))
            }
            hint => format!("no event {what} '{name}'{hint}"),
        };
        let providers = self.providers.iter().map(|(_, name)| name).filter(missing);
        let providers = providers.map(|name| note("is from provider", name, &self.seen.providers));
        let events = self.events.iter().filter(missing).map(|name| note("has the name", name, &self.seen.events));
        providers.chain(events).collect()
    }

    /// A note if the selected time begins after the last event.
    fn beyond_the_end(&self) -> Option<String> {
        let last = self.last.get();
        let is_beyond = self.from.is_some() && last >= self.origin && last < self.range.0;
        let ticks = u64::try_from(last.0.saturating_sub(self.origin.0)).unwrap_or_default();
        let seconds = ticks / 10_000_000;
        let millis = ticks / 10_000 % 1000;
        is_beyond.then(|| {
            format!("nothing is selected: --from is after the last event, at +{seconds}.{millis:03}s ({last})")
        })
    }

    /// Notes a selected time after the end of the trace. Fails if `--where` names something that no event has, or compares a text as if it were a number. Call this after all events
    /// have been read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if let Some(text) = self.beyond_the_end() {
            note(&text);
        }
        let mut missing = None;
        for condition in &self.conditions {
            condition.visit(&mut |comparison| {
                if !self.seen.found.contains(&comparison.name) {
                    missing = missing.or(Some(&comparison.name));
                }
            });
        }
        if let Some(name) = missing {
            let known = HEADER_NAMES.iter().copied().chain(self.seen.fields.iter().map(String::as_str));
            let is_known = HEADER_NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
            let hint = match field_name(name) {
                _ if is_known => "; the trace does not say it".into(),
                Some(field) => hint(field, &self.seen.fields),
                None => hint(name, known),
            };
            return Err(Failure::Usage(format!("--where: no event has '{name}'{hint}")));
        }
        // A field with the same name in another kind of event may be a text.
        if let Some((name, text)) = self.seen.numbers.iter().find(|(name, _)| !self.seen.texts.contains(*name)) {
            return Err(Failure::Usage(format!("--where: '{name}' is a number, and '{text}' is not")));
        }
        match self.seen.not_numbers.iter().next() {
            Some((name, why)) => Err(Failure::Usage(format!("--where: '{name}' is not a number: {why}"))),
            None => Ok(()),
        }
    }

    /// Sets the start of the trace, for times that are relative to it.
    pub(crate) fn start(mut self, origin: FileTime) -> Self {
        self.origin = origin;
        let (from, to) = self.range;
        self.range = (
            self.from.map_or(from, |moment| moment.in_trace(origin)),
            self.to.map_or(to, |moment| moment.in_trace(origin)),
        );
        self
    }

    /// Whether this event and all later ones are after the selected range of time.
    pub(crate) fn is_over(&self, event: &EventRef<'_>) -> bool {
        event.header.time >= self.range.1
    }

    /// Whether a time is in the selected range.
    pub(crate) fn has_time(&self, time: FileTime) -> bool {
        self.range.0 <= time && time < self.range.1
    }

    /// The length of the part of an interval that is in the selected range of time, in units of 100 ns.
    pub(crate) fn clip(&self, from: FileTime, to: FileTime) -> Option<u64> {
        let start = from.max(self.range.0);
        let end = to.min(self.range.1);
        let has_part = start < end || (from == to && self.has_time(from));
        has_part.then(|| end.0.saturating_sub(start.0).unsigned_abs())
    }

    /// Whether an event may be selected, by its header alone.
    pub(crate) fn may_take(&self, event: &EventRef<'_>) -> bool {
        let is_at_level = self.level.is_none_or(|level| event.header.descriptor.level <= level);
        let time = event.header.time;
        self.last.set(self.last.get().max(time));
        let is_in_range = self.range.0 <= time && time < self.range.1;
        // With providers or conditions, events of every level are decoded: otherwise `notes` would report names that only
        // events of other levels have.
        is_in_range && (is_at_level || self.needs_names())
    }

    /// Whether the selection depends on names.
    const fn needs_names(&self) -> bool {
        !self.conditions.is_empty() || !self.providers.is_empty() || !self.events.is_empty()
    }

    /// Whether an event is selected by its header, and nothing else matters.
    pub(crate) fn takes_undecoded(&self, event: &EventRef<'_>) -> bool {
        !self.needs_names() && self.level.is_none_or(|level| event.header.descriptor.level <= level)
    }

    /// Whether an event is selected. The event is decoded only if the selection needs that.
    pub(crate) fn takes_lazily(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) -> bool {
        if !self.needs_names() {
            return self.takes(event, &Decoded::default());
        }
        self.takes(event, &decoder.decode(event))
    }

    /// Whether an event is selected.
    pub(crate) fn takes(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> bool {
        let is_within = self.level.is_none_or(|level| event.header.descriptor.level <= level);
        if !self.needs_names() {
            return is_within;
        }
        let name = decoded.event.clone().unwrap_or_else(|| event.label());
        self.seen.note(event, decoded, &name);
        let is_from = |(guid, name): &(Guid, String)| {
            event.class() == Some(*guid) || decoded.provider.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        let from: Vec<&String> = self.providers.iter().filter(|wanted| is_from(wanted)).map(|(_, name)| name).collect();
        let named: Vec<&String> = self.events.iter().filter(|wanted| wanted.eq_ignore_ascii_case(&name)).collect();
        let is_wanted =
            (self.providers.is_empty() || !from.is_empty()) && (self.events.is_empty() || !named.is_empty());
        self.seen.found.extend(from.into_iter().chain(named).cloned());
        // Every condition is checked, also after one that does not hold, so that `found` is complete.
        let mut holds = true;
        for condition in &self.conditions {
            let seen = &mut self.seen;
            holds &= condition.holds(&mut |comparison| {
                // If the event does not have the name, the comparison does not hold, whatever its operator.
                let Some(value) = value_of(&comparison.name, event, decoded) else { return false };
                if !seen.found.contains(&comparison.name) {
                    seen.found.insert(comparison.name.clone());
                }
                if let Some(text) = comparison.text_for_number(&value) {
                    seen.numbers.entry(comparison.name.clone()).or_insert_with(|| text.to_owned());
                } else if !value.is_plain_number() && !seen.texts.contains(&comparison.name) {
                    seen.texts.insert(comparison.name.clone());
                }
                comparison.holds(&value).unwrap_or_else(|| {
                    let why = || format!("{} compares numbers, = and ~ compare text", comparison.sign());
                    seen.not_numbers.entry(comparison.name.clone()).or_insert_with(why);
                    false
                })
            });
        }
        is_within && is_wanted && holds
    }
}

impl Seen {
    fn note(&mut self, event: &EventRef<'_>, decoded: &Decoded, name: &str) {
        if self.events.len() < MAX_NAMES && !self.events.contains(name) {
            self.events.insert(name.to_owned());
        }
        let provider = decoded.provider.clone().or_else(|| event.class().map(|guid| guid.to_string()));
        if let Some(provider) = provider.filter(|_| self.providers.len() < MAX_NAMES) {
            self.providers.insert(provider);
        }
        if self.fields.len() < MAX_NAMES {
            self.fields.extend(decoded.fields.iter().map(|field| field.name.clone()));
        }
    }
}

/// What leads from a name to a field of the event.
const FIELD: &str = "field.";

/// The parts of an event's header that conditions can name. A field of the same name is `field.NAME`.
const HEADER_NAMES: [&str; 17] = [
    "event",
    "provider",
    "id",
    "level",
    "opcode",
    "task",
    "keyword",
    "pid",
    "tid",
    "cpu",
    "kind",
    "process",
    "thread",
    "file",
    "key",
    "command_line",
    "message",
];

fn value_of(name: &str, event: &EventRef<'_>, decoded: &Decoded) -> Option<Value> {
    if let Some(name) = field_name(name) {
        return field(name, &decoded.fields);
    }
    // A part of the header has precedence. What the header of an event does not say, such as its file, a field may say.
    part(name, event, decoded).or_else(|| field(name, &decoded.fields))
}

/// The value of a part of the header, if the event has it.
fn part(name: &str, event: &EventRef<'_>, decoded: &Decoded) -> Option<Value> {
    let header = &event.header;
    let descriptor = &header.descriptor;
    let names = &decoded.names;
    let text = |text: Option<&str>| text.map(Value::from_text);
    match name.to_ascii_lowercase().as_str() {
        "event" => Some(decoded.event.as_deref().map_or_else(|| Value::from_text(&event.label()), Value::from_text)),
        "provider" => {
            let id = || event.class().map(|guid| Value::from_text(&guid.to_string()));
            text(decoded.provider.as_deref()).or_else(id)
        }
        "id" => Some(Value::from_integer(descriptor.id)),
        "level" => {
            let number = descriptor.level.as_int();
            Some(Value::from_named(
                number,
                usize::from(number).checked_sub(1).and_then(|place| LEVELS.get(place)).copied(),
            ))
        }
        "opcode" => {
            let name = OPCODES.iter().find(|(_, opcode)| *opcode == descriptor.opcode).map(|(name, _)| *name);
            Some(Value::from_named(descriptor.opcode.as_int(), name))
        }
        "task" => Some(Value::from_integer(descriptor.task)),
        "keyword" => Some(Value::from_integer(descriptor.keyword.bits())),
        "pid" => header.process_id.map(Value::from_integer),
        "tid" => header.thread_id.map(Value::from_integer),
        "cpu" => Some(Value::from_integer(header.cpu)),
        "kind" => text(Some(event.kind().as_str())),
        "process" => text(names.process.as_ref().map(|process| &*process.name)),
        "command_line" => text(names.process.as_ref().and_then(|process| process.command_line.as_deref())),
        "thread" => text(names.thread.as_deref()),
        "file" => text(names.file.as_deref()),
        "key" => text(names.key.as_deref()),
        "message" => decoded.message().map(|message| Value::from_text(&message)),
        _ => None,
    }
}

/// The name of a field of the event in `field.NAME`, which is needed if a part of the header has the same name.
fn field_name(name: &str) -> Option<&str> {
    let (prefix, rest) = name.split_at_checked(FIELD.len())?;
    prefix.eq_ignore_ascii_case(FIELD).then_some(rest)
}

/// The value of a field; a dot in the name leads to a member of a struct.
fn field(name: &str, fields: &[Field]) -> Option<Value> {
    let find = |wanted: &str| fields.iter().find(|field| field.name.eq_ignore_ascii_case(wanted));
    if let Some(field) = find(name) {
        return Some(Value::from_node(&field.node));
    }
    let (first, rest) = name.split_once('.')?;
    match &find(first)?.node {
        Node::Struct(fields) => field(rest, fields),
        _ => None,
    }
}
