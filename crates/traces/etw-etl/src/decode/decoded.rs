//! The content of an event: names, fields, and what could not be decoded.

use std::fmt;
use std::sync::Arc;

use etw_manifest::EventSchema;
use etw_types::tracelogging::DecodeError;

use super::names::Names;
use super::tree::{Field, Node};
use super::value::escape::escaped;

/// The content of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The provider's name, if known.
    pub provider: Option<String>,
    /// The event's name, if known.
    pub event: Option<String>,
    /// The event's tag.
    pub tag: u32,
    /// The fields.
    pub fields: Vec<Field>,
    /// The event's data, if it was not decoded completely.
    pub raw: Option<Vec<u8>>,
    /// Why decoding failed, for an event that has a schema.
    pub error: Option<DecodeError>,
    /// The functions of the event's stack, innermost first, if the [`Decoder`](super::Decoder) can name them.
    pub frames: Vec<String>,
    /// The names of its process, its thread, its file and its registry key, if the [`Decoder`](super::Decoder) knows them.
    pub names: Names,
    /// The schema, if the event was decoded with one that it does not contain itself.
    pub schema: Option<Arc<EventSchema>>,
}

impl Decoded {
    /// Returns the value of the field with this name. `Outer.Inner` names a field of a struct.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Node> {
        let mut fields = &self.fields;
        let mut rest = path;
        loop {
            if let Some(field) = fields.iter().find(|field| field.name == rest) {
                return Some(&field.node);
            }
            let (name, inner) = rest.split_once('.')?;
            let field = fields.iter().find(|field| field.name == name)?;
            let Node::Struct(members) = &field.node else { return None };
            (fields, rest) = (members, inner);
        }
    }
}

/// `provider/event name=value …` in one line.
impl fmt::Display for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.provider, &self.event) {
            (Some(provider), Some(event)) => write!(f, "{}/{}", escaped(provider), escaped(event))?,
            (Some(name), None) | (None, Some(name)) => f.write_str(&escaped(name))?,
            (None, None) => f.write_str("(undecoded)")?,
        }
        if self.tag != 0 {
            write!(f, " tag={:#x}", self.tag)?;
        }
        for field in &self.fields {
            write!(f, " {field}")?;
        }
        if let Some(error) = self.error {
            write!(f, " ({error})")?;
        }
        Ok(())
    }
}
