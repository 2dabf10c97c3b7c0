//! Selects events of a trace: by provider, level, time and conditions.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use etw_etl::decode::{Field, Node, Scalar};
use etw_etl::{Decoded, Decoder, EventRef, FileTime, escaped};
use etw_types::{Guid, Level};

use crate::cli::Selected;
use crate::values::{self, Moment, hint};

/// The maximum number of names that are kept for suggestions.
const MOST_NAMES: usize = 1000;

/// Which events to take.
#[derive(Debug)]
pub(crate) struct Selection {
    providers: Vec<(Guid, String)>,
    level: Option<Level>,
    conditions: Vec<Condition>,
    seen: Seen,
    from: Option<Moment>,
    to: Option<Moment>,
    range: (FileTime, FileTime),
}

/// The names that a trace has, to suggest one for a name that is mistyped.
#[derive(Debug, Default)]
struct Seen {
    providers: BTreeSet<String>,
    fields: BTreeSet<String>,
    /// The providers and names of the selection that at least one event has.
    found: BTreeSet<String>,
}

/// `NAME OPERATOR VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    name: String,
    operator: Operator,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// The operators; those of two characters first.
const OPERATORS: [(&str, Operator); 7] = [
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("~", Operator::Contains),
];

impl Selection {
    /// The selection of the options `--provider`, `--level`, `--where`, `--from` and `--to`.
    pub(crate) fn of(selected: &Selected) -> Self {
        Self {
            providers: selected.providers.iter().map(|provider| (provider.guid, provider.name.clone())).collect(),
            level: selected.level.filter(|level| *level != Level::LogAlways),
            conditions: selected.conditions.clone(),
            seen: Seen::default(),
            from: selected.from,
            to: selected.to,
            range: (FileTime(i64::MIN), FileTime(i64::MAX)),
        }
    }

    /// Notes about parts of the selection that match nothing: a provider without events, a name that no event has.
    pub(crate) fn notes(&self) -> Vec<String> {
        let missing = |name: &&String| !self.seen.found.contains(*name);
        let providers = self.providers.iter().map(|(_, name)| name).filter(missing);
        let names = self.conditions.iter().map(|condition| &condition.name).filter(missing);
        let provider = |name: &String| match hint(name, &self.seen.providers) {
            nothing if nothing.is_empty() => {
                let some: Vec<_> = self.seen.providers.iter().take(5).map(|name| escaped(name)).collect();
                format!("no event is from provider '{name}'; the trace has {}", some.join(", "))
            }
            hint => format!("no event is from provider '{name}'{hint}"),
        };
        let known = || HEADER_NAMES.iter().copied().chain(self.seen.fields.iter().map(String::as_str));
        providers
            .map(provider)
            .chain(names.map(|name| format!("no event has '{name}'{}", hint(name, known()))))
            .collect()
    }

    /// Sets the start of the trace, for times that are relative to it.
    pub(crate) fn start(mut self, origin: FileTime) -> Self {
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

    /// Whether an event may be selected, by its header alone.
    pub(crate) fn may_take(&self, event: &EventRef<'_>) -> bool {
        let is_at_level = self.level.is_none_or(|level| event.header.descriptor.level <= level);
        let time = event.header.time;
        let is_in_range = self.range.0 <= time && time < self.range.1;
        // With providers or conditions, events of every level are decoded: otherwise `notes` would report names that only
        // events of other levels have.
        is_in_range && (is_at_level || !self.conditions.is_empty() || !self.providers.is_empty())
    }

    /// Whether an event is selected. The event is decoded only if the selection needs that.
    pub(crate) fn takes_lazily(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) -> bool {
        if self.providers.is_empty() && self.conditions.is_empty() {
            return self.takes(event, &Decoded::default());
        }
        self.takes(event, &decoder.decode(event))
    }

    /// Whether an event is selected.
    pub(crate) fn takes(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> bool {
        let is_within = self.level.is_none_or(|level| event.header.descriptor.level <= level);
        if self.providers.is_empty() && self.conditions.is_empty() {
            return is_within;
        }
        self.seen.note(event, decoded);
        let is_of = |(guid, name): &(Guid, String)| {
            event.class() == Some(*guid) || decoded.provider.as_ref().is_some_and(|of| of.eq_ignore_ascii_case(name))
        };
        let of: Vec<&String> = self.providers.iter().filter(|wanted| is_of(wanted)).map(|(_, name)| name).collect();
        let is_wanted = self.providers.is_empty() || !of.is_empty();
        self.seen.found.extend(of.into_iter().cloned());
        // Every condition is checked, also after one that does not hold, so that `found` is complete.
        let mut holds = true;
        for condition in &self.conditions {
            match value_of(&condition.name, event, decoded) {
                Some(value) => {
                    self.seen.found.insert(condition.name.clone());
                    holds &= condition.holds(&value);
                }
                // If the event does not have the name, the condition does not hold, whatever its operator.
                None => holds = false,
            }
        }
        is_within && is_wanted && holds
    }
}

impl Seen {
    fn note(&mut self, event: &EventRef<'_>, decoded: &Decoded) {
        let provider = decoded.provider.clone().or_else(|| event.class().map(|guid| guid.to_string()));
        if let Some(provider) = provider.filter(|_| self.providers.len() < MOST_NAMES) {
            self.providers.insert(provider);
        }
        if self.fields.len() < MOST_NAMES {
            self.fields.extend(decoded.fields.iter().map(|field| field.name.clone()));
        }
    }
}

impl Condition {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let places =
            OPERATORS.iter().filter_map(|(sign, operator)| text.find(sign).map(|place| (place, *sign, *operator)));
        // The first operator in the text counts; of two at the same place, the longer one.
        let found = places.min_by_key(|(place, sign, _)| (*place, 2 - sign.len()));
        let (place, sign, operator) =
            found.ok_or_else(|| format!("'{text}' has no operator: expected NAME=VALUE, or !=, <, <=, >, >= or ~"))?;
        let (name, rest) = text.split_at(place);
        let value = rest.strip_prefix(sign).unwrap_or_default().trim();
        if name.trim().is_empty() {
            return Err(format!("'{text}' has no name before {sign}"));
        }
        Ok(Self { name: name.trim().to_owned(), operator, value: value.to_owned() })
    }

    fn holds(&self, value: &str) -> bool {
        if self.operator == Operator::Contains {
            return value.to_lowercase().contains(&self.value.to_lowercase());
        }
        let order = compare(value, &self.value);
        match self.operator {
            Operator::Equal => order == Ordering::Equal,
            Operator::NotEqual => order != Ordering::Equal,
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::Contains => false,
        }
    }
}

/// Compares as numbers if both are numbers, otherwise as text without regard to case.
fn compare(one: &str, other: &str) -> Ordering {
    match (values::number(one), values::number(other)) {
        (Ok(one), Ok(other)) => one.cmp(&other),
        _ => match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(one), Ok(other)) => one.total_cmp(&other),
            _ => one.to_lowercase().cmp(&other.to_lowercase()),
        },
    }
}

/// The parts of an event's header that conditions can name.
const HEADER_NAMES: [&str; 11] =
    ["event", "provider", "id", "level", "opcode", "task", "keyword", "pid", "tid", "cpu", "kind"];

fn value_of(name: &str, event: &EventRef<'_>, decoded: &Decoded) -> Option<String> {
    // A field of the event has precedence over a part of the header with the same name.
    if let Some(value) = field(name, &decoded.fields) {
        return Some(value);
    }
    let header = &event.header;
    let descriptor = &header.descriptor;
    match name.to_ascii_lowercase().as_str() {
        "event" => decoded.event.clone(),
        "provider" => decoded.provider.clone().or_else(|| event.class().map(|guid| guid.to_string())),
        "id" => Some(descriptor.id.to_string()),
        "level" => Some(descriptor.level.as_int().to_string()),
        "opcode" => Some(descriptor.opcode.as_int().to_string()),
        "task" => Some(descriptor.task.to_string()),
        "keyword" => Some(descriptor.keyword.bits().to_string()),
        "pid" => header.process_id.map(|id| id.to_string()),
        "tid" => header.thread_id.map(|id| id.to_string()),
        "cpu" => Some(header.cpu.to_string()),
        "kind" => Some(event.kind().as_str().to_owned()),
        _ => None,
    }
}

/// The value of a field; a dot in the name leads to a member of a struct.
fn field(name: &str, fields: &[Field]) -> Option<String> {
    let of = |wanted: &str| fields.iter().find(|field| field.name.eq_ignore_ascii_case(wanted));
    if let Some(field) = of(name) {
        return Some(match &field.node {
            Node::Value(Scalar::Text(text) | Scalar::Word(text)) => text.clone(),
            node => node.to_string(),
        });
    }
    let (first, rest) = name.split_once('.')?;
    match &of(first)?.node {
        Node::Struct(fields) => field(rest, fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{Condition, Operator, compare};

    #[test]
    fn conditions_are_split_at_their_first_sign() {
        for (text, name, operator, value) in [
            ("Length>=512", "Length", Operator::GreaterOrEqual, "512"),
            ("event = Read", "event", Operator::Equal, "Read"),
            ("a!=b=c", "a", Operator::NotEqual, "b=c"),
            ("File~.sys", "File", Operator::Contains, ".sys"),
            ("x<3", "x", Operator::Less, "3"),
        ] {
            assert_eq!(Condition::parse(text), Ok(Condition { name: name.into(), operator, value: value.into() }));
        }
        assert!(Condition::parse("nothing").is_err());
        assert!(Condition::parse("=1").is_err());
    }

    #[test]
    fn numbers_compare_as_numbers_and_texts_without_case() {
        assert_eq!(compare("0x10", "16"), Ordering::Equal);
        assert_eq!(compare("9", "10"), Ordering::Less);
        assert_eq!(compare("-1.5", "2"), Ordering::Less);
        assert_eq!(compare("Read", "READ"), Ordering::Equal);
    }
}
