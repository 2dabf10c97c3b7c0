//! Events whose fields are all single values. Their values are used without building a tree.

use std::collections::HashMap;
use std::sync::Arc;

use etw_manifest::{Encoding, EventSchema, Extent, Field as SchemaField, Source};
use etw_types::InType;
use etw_types::tracelogging::{self, Count, Field, Metadata, Value, Visitor};

use super::names::Names;
use super::sinks::shown;
use super::value::Scalar;
use crate::event::{Parts, name_text};

/// Maximum number of schemas that are kept. A hostile trace may have as many as it has events.
const MAX_KNOWN: usize = 0x1_0000;

/// The values of an event whose fields are all single values: no arrays, no structs. See
/// [`Decoder::flat`](super::Decoder::flat).
#[derive(Clone, Debug)]
pub struct Flat<'a> {
    /// The names and the fields. The provider's name is empty if it is unknown.
    pub schema: Arc<EventSchema>,
    /// The encoding and the value of each field in the order of the schema, up to the end of the payload or an error.
    pub values: Vec<(InType, Value<'a>)>,
    /// Whether the values cover every byte of the payload.
    pub is_whole: bool,
    /// The names of the process, the thread, the file and the registry key, if the decoder knows them.
    pub names: Names,
}

impl Flat<'_> {
    /// Returns a value in the form in which it is shown.
    #[must_use]
    pub fn shown(&self, index: usize) -> Option<Scalar> {
        let (in_type, value) = self.values.get(index)?;
        Some(shown(self.schema.fields.get(index)?, *in_type, *value))
    }

    /// Returns the event's message with its fields inserted, if its schema has one.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let message = self.schema.message.as_ref()?;
        Some(etw_manifest::message::format(message, |number| {
            Some(match self.shown(number.checked_sub(1)?)? {
                Scalar::Text(text) => text,
                other => other.to_string(),
            })
        }))
    }
}

/// The schemas of TraceLogging events, built from their metadata once per kind of event.
#[derive(Debug, Default)]
pub(super) struct OwnSchemas {
    /// By traits and metadata; `None` if an event of this kind has arrays or structs.
    known: HashMap<Box<[u8]>, Option<Arc<EventSchema>>>,
    key: Vec<u8>,
}

impl OwnSchemas {
    fn get(&mut self, parts: &Parts<'_>) -> Option<Arc<EventSchema>> {
        // Both start with their size, so different pairs never make the same key.
        self.key.clear();
        self.key.extend_from_slice(parts.traits.unwrap_or_default());
        self.key.extend_from_slice(parts.metadata);
        if let Some(found) = self.known.get(self.key.as_slice()) {
            return found.clone();
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let schema = own_schema(parts).map(Arc::new);
        self.known.insert(self.key.as_slice().into(), schema.clone());
        schema
    }

    /// Returns the values of a TraceLogging event.
    pub(super) fn flat<'a>(&mut self, parts: &Parts<'a>) -> Option<Flat<'a>> {
        let schema = self.get(parts)?;
        let (metadata, _) = Metadata::parse(parts.metadata).ok()?;
        let mut values = Values(Vec::with_capacity(schema.fields.len()));
        let is_whole = tracelogging::decode(&metadata, parts.payload, &mut values).is_ok_and(<[u8]>::is_empty);
        Some(Flat { schema, values: values.0, is_whole, names: Names::default() })
    }
}

struct Values<'a>(Vec<(InType, Value<'a>)>);

impl<'a> Visitor<'a> for Values<'a> {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        self.0.push((field.in_type, value));
    }
}

fn own_schema(parts: &Parts<'_>) -> Option<EventSchema> {
    let (metadata, _) = Metadata::parse(parts.metadata).ok()?;
    let mut fields = Vec::new();
    for field in metadata.fields() {
        let field = field.ok().filter(|field| field.count == Count::One && field.struct_fields().is_none())?;
        fields.push(SchemaField {
            name: name_text(field.name).into(),
            encoding: Encoding::Value(field.in_type),
            out: field.out_type,
            count: Extent::None,
            length: Extent::None,
            map: None,
        });
    }
    Some(EventSchema {
        provider: parts.provider_name().unwrap_or_default().into(),
        name: name_text(metadata.name()).into(),
        level: None,
        channel: None,
        keywords: Vec::new(),
        message: None,
        top_level: fields.len(),
        fields: fields.into(),
        source: Source::Trace,
    })
}
