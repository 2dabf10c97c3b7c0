//! An event of a trace, decoded where it describes itself.

use std::fmt;

use etw_engine::CapturedEvent;
use etw_types::tracelogging::{Field, Metadata, Value, Visitor, decode};
use etw_types::{Channel, EventDescriptor, Guid, traits};

use crate::wire::Wire;

/// An event that a session took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The provider.
    pub provider: Guid,
    /// Level, keyword, id and so on.
    pub descriptor: EventDescriptor,
    /// The activity; zero where there is none.
    pub activity: Guid,
    /// The related activity.
    pub related: Option<Guid>,
    /// The provider's traits, which name it.
    pub traits: Option<Vec<u8>>,
    /// The description of its fields.
    pub metadata: Option<Vec<u8>>,
    /// The fields.
    pub payload: Vec<u8>,
    /// 100 ns units since the start of the host.
    pub timestamp: u64,
    /// Where the calls return to that led to the event, the innermost first; empty unless the session asked for it.
    pub stack: Vec<u64>,
}

impl From<CapturedEvent> for Event {
    fn from(event: CapturedEvent) -> Self {
        let mut result = Self {
            provider: event.provider,
            descriptor: event.descriptor,
            activity: event.activity,
            related: event.related,
            traits: event.traits,
            metadata: event.metadata,
            payload: event.payload,
            timestamp: event.timestamp,
            stack: event.stack,
        };
        result.split_untyped();
        result
    }
}

impl Event {
    /// Where the provider did not turn descriptor types on, traits and metadata are the start of the payload.
    fn split_untyped(&mut self) {
        if self.metadata.is_some() || self.descriptor.channel != Channel::TraceLogging {
            return;
        }
        let split = |bytes: &[u8]| -> Option<(Vec<u8>, Vec<u8>)> {
            let size = usize::from(u16::from_le_bytes(*bytes.first_chunk()?));
            let (head, rest) = bytes.split_at_checked(size)?;
            Some((head.to_vec(), rest.to_vec()))
        };
        if let Some((traits, rest)) = split(&self.payload)
            && let Some((metadata, payload)) = split(&rest)
        {
            (self.traits, self.metadata, self.payload) = (Some(traits), Some(metadata), payload);
        }
    }

    /// The event's name, where it has one.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let (metadata, _) = Metadata::parse(self.metadata.as_deref()?).ok()?;
        Some(String::from_utf8_lossy(metadata.name()).into_owned())
    }

    /// The provider's name, where its traits came along.
    #[must_use]
    pub fn provider_name(&self) -> Option<String> {
        let traits = traits::validate(self.traits.as_deref()?).ok()?;
        Some(String::from_utf8_lossy(traits.name()).into_owned())
    }

    /// Names and values of the fields, as text; those of structs with a dot between.
    #[must_use]
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut collector = Collector::default();
        if let Some((metadata, _)) = self.metadata.as_deref().and_then(|metadata| Metadata::parse(metadata).ok()) {
            // What was found before the damage is still worth showing.
            let _ = decode(&metadata, &self.payload, &mut collector);
        }
        collector.fields
    }

    /// The value of a field, as text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        self.fields().into_iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }
}

#[derive(Default)]
struct Collector {
    fields: Vec<(String, String)>,
    path: Vec<String>,
    /// The values of the array that is being read.
    array: Option<Vec<String>>,
}

impl Collector {
    fn full_name(&self, field: &Field<'_>) -> String {
        let mut name = self.path.concat();
        name.push_str(&String::from_utf8_lossy(field.name));
        name
    }
}

impl<'a> Visitor<'a> for Collector {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        match &mut self.array {
            Some(array) => array.push(value.to_string()),
            None => self.fields.push((self.full_name(field), value.to_string())),
        }
    }

    fn begin_array(&mut self, field: &Field<'a>, _: u16) {
        self.array = field.struct_fields().is_none().then(Vec::new);
    }

    fn end_array(&mut self, field: &Field<'a>) {
        if let Some(array) = self.array.take() {
            self.fields.push((self.full_name(field), format!("[{}]", array.join(", "))));
        }
    }

    fn begin_struct(&mut self, field: &Field<'a>) {
        self.path.push(format!("{}.", String::from_utf8_lossy(field.name)));
    }

    fn end_struct(&mut self, _: &Field<'a>) {
        self.path.pop();
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let provider = self.provider_name().unwrap_or_else(|| self.provider.to_string());
        let name = self.name().unwrap_or_else(|| format!("#{}", self.descriptor.id));
        write!(f, "{provider}/{name}")?;
        match self.descriptor.opcode.as_int() {
            0 => {}
            1 => f.write_str(" start")?,
            2 => f.write_str(" stop")?,
            other => write!(f, " opcode {other}")?,
        }
        for (field, value) in self.fields() {
            write!(f, " {field}={value}")?;
        }
        if self.metadata.is_none() && !self.payload.is_empty() {
            write!(f, " ({} bytes)", self.payload.len())?;
        }
        Ok(())
    }
}

impl Wire for Event {
    fn put(&self, out: &mut Vec<u8>) {
        self.provider.put(out);
        self.descriptor.put(out);
        self.activity.put(out);
        self.related.put(out);
        self.traits.put(out);
        self.metadata.put(out);
        self.payload.put(out);
        self.timestamp.put(out);
        self.stack.put(out);
    }

    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            provider: Wire::get(from)?,
            descriptor: Wire::get(from)?,
            activity: Wire::get(from)?,
            related: Wire::get(from)?,
            traits: Wire::get(from)?,
            metadata: Wire::get(from)?,
            payload: Wire::get(from)?,
            timestamp: Wire::get(from)?,
            stack: Wire::get(from)?,
        })
    }
}
