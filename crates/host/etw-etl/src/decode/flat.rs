//! Events whose fields are single values or arrays of numbers. Their values are used without building a tree.

use std::collections::HashMap;
use std::sync::Arc;

use etw_manifest::{Encoding, EventSchema, Extent, Field as SchemaField, Source};
use etw_types::tracelogging::{self, Count, Field, Metadata, Value, Visitor};
use etw_types::{InType, OutType};

use super::flat_values::FlatValues;
use super::names::Names;
use super::sinks::shown;
use super::tree::Node;
use super::value::Scalar;
use crate::event::{Parts, name_text};

/// Maximum number of schemas that are kept. A hostile trace may have as many as it has events.
const MAX_KNOWN: usize = 0x1_0000;

/// The values of an event whose fields are single values or arrays of numbers: no structs. See
/// [`Decoder::flat`](super::Decoder::flat).
#[derive(Clone, Debug)]
pub struct Flat<'d, 'a> {
    /// The names and the fields. The provider's name is empty if it is unknown.
    pub schema: &'d Arc<EventSchema>,
    /// Whether the values cover every byte of the payload.
    pub is_whole: bool,
    /// The names of the process, the thread, the file and the registry key, if the decoder knows them.
    pub names: Names,
    pub(super) values: FlatValues<'a>,
}

/// The value of a field of a [`Flat`] event.
#[derive(Clone, Copy, Debug)]
pub enum FlatValue<'f, 'a> {
    /// A single value and its encoding.
    One(InType, Value<'a>),
    /// The elements of an array.
    Many(&'f [(InType, Value<'a>)]),
}

impl FlatValue<'_, '_> {
    /// Returns the value in the form in which it is shown.
    #[must_use]
    pub fn node(self, field: &SchemaField) -> Node {
        let value = |(in_type, value): (InType, Value<'_>)| Node::Value(shown(field, in_type, value));
        match self {
            Self::One(in_type, one) => value((in_type, one)),
            Self::Many(elements) => Node::Array(elements.iter().copied().map(value).collect()),
        }
    }
}

impl<'a> Flat<'_, 'a> {
    /// Returns the number of fields with a value, up to the end of the payload or an error.
    #[must_use]
    pub const fn field_count(&self) -> usize {
        self.values.fields
    }

    /// Returns the fields in the order of the schema, with their values, up to the end of the payload or an error.
    pub fn fields(&self) -> impl Iterator<Item = (&SchemaField, FlatValue<'_, 'a>)> {
        let mut rest = self.values.all.as_slice();
        let mut arrays = self.values.arrays.iter().peekable();
        self.schema.fields.iter().take(self.values.fields).enumerate().map_while(move |(index, field)| {
            let value;
            if let Some((_, count)) = arrays.next_if(|(place, _)| *place == index) {
                let (elements, later) = rest.split_at_checked(*count)?;
                (value, rest) = (FlatValue::Many(elements), later);
            } else {
                let ((in_type, one), later) = rest.split_first()?;
                (value, rest) = (FlatValue::One(*in_type, *one), later);
            }
            Some((field, value))
        })
    }

    /// Returns the event's message with its fields inserted, if its schema has one.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let message = self.schema.message.as_ref()?;
        Some(etw_manifest::message::format(message, |number| {
            let (field, value) = self.fields().nth(number.checked_sub(1)?)?;
            Some(match value.node(field) {
                Node::Value(Scalar::Text(text)) => text,
                node => node.to_string(),
            })
        }))
    }
}

/// The schemas of TraceLogging events, built from their metadata once per kind of event.
#[derive(Debug, Default)]
pub(super) struct OwnSchemas {
    /// By traits and metadata; `None` if an event of this kind is not flat.
    known: HashMap<Box<[u8]>, Option<Arc<EventSchema>>>,
    key: Vec<u8>,
}

impl OwnSchemas {
    fn get(&mut self, parts: &Parts<'_>) -> Option<&Arc<EventSchema>> {
        // Both start with their size, so different pairs never make the same key.
        self.key.clear();
        self.key.extend_from_slice(parts.traits.unwrap_or_default());
        self.key.extend_from_slice(parts.metadata);
        if !self.known.contains_key(self.key.as_slice()) {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            self.known.insert(self.key.as_slice().into(), own_schema(parts).map(Arc::new));
        }
        self.known.get(self.key.as_slice())?.as_ref()
    }

    /// Returns the values of a TraceLogging event.
    pub(super) fn flat<'a>(&mut self, parts: &Parts<'a>) -> Option<Flat<'_, 'a>> {
        let schema = self.get(parts)?;
        let (metadata, _) = Metadata::parse(parts.metadata).ok()?;
        let mut builder = Builder { values: FlatValues::with_capacity(schema.fields.len()), is_in_array: false };
        let is_whole = tracelogging::decode(&metadata, parts.payload, &mut builder).is_ok_and(<[u8]>::is_empty);
        Some(Flat { schema, values: builder.values, is_whole, names: Names::default() })
    }
}

struct Builder<'a> {
    values: FlatValues<'a>,
    is_in_array: bool,
}

impl<'a> Visitor<'a> for Builder<'a> {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        self.values.all.push((field.in_type, value));
        match self.values.arrays.last_mut().filter(|_| self.is_in_array) {
            Some((_, count)) => *count += 1,
            None => self.values.fields += 1,
        }
    }

    /// An array counts as a field from its first element on: an error may cut it off.
    fn begin_array(&mut self, _field: &Field<'a>, _count: u16) {
        self.is_in_array = true;
        self.values.arrays.push((self.values.fields, 0));
        self.values.fields += 1;
    }

    fn end_array(&mut self, _field: &Field<'a>) {
        self.is_in_array = false;
    }
}

/// Returns whether a field is a single value or an array of numbers. An array of characters is text.
fn is_flat(field: &Field<'_>) -> bool {
    let is_text = matches!(field.out_type, OutType::String | OutType::Utf8 | OutType::Xml | OutType::Json);
    match field.count {
        Count::One => field.struct_fields().is_none(),
        Count::Constant(_) | Count::Variable => field.in_type.fixed_size().is_some() && !is_text,
        Count::Custom(_) => false,
    }
}

fn own_schema(parts: &Parts<'_>) -> Option<EventSchema> {
    let (metadata, _) = Metadata::parse(parts.metadata).ok()?;
    let mut fields = Vec::new();
    for field in metadata.fields() {
        let field = field.ok().filter(is_flat)?;
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
