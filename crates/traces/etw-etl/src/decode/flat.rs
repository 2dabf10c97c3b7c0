//! Events whose fields are single values or arrays of numbers. Their values are used without building a tree.

use std::collections::HashMap;
use std::sync::Arc;

use etw_manifest::{Encoding, EventSchema, Extent, Field as SchemaField, Source};
use etw_types::tracelogging::{self, Count, Field, Metadata, Value, Visitor};
use etw_types::{InType, OutType};

use super::flat_values::{FixedValues, FlatValue, FlatValues, Item};
use super::insert;
use super::names::Names;
use super::sinks::shown;
use super::tree::Node;
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
    pub names: &'d Names,
    pub(super) values: FlatValues<'d, 'a>,
}

impl FlatValue<'_, '_> {
    /// Returns the value in the form in which it is shown.
    #[must_use]
    pub fn node(self, field: &SchemaField) -> Node {
        let value = |(in_type, value): (InType, Value<'_>)| Node::Value(shown(field, in_type, value));
        match self {
            Self::One(in_type, one) => value((in_type, one)),
            Self::Many(elements) => Node::Array(elements.iter().map(value).collect()),
        }
    }
}

impl<'d, 'a> Flat<'d, 'a> {
    /// Returns the number of fields with a value, up to the end of the payload or an error.
    #[must_use]
    pub fn field_count(&self) -> usize {
        self.values.len()
    }

    /// Returns the fields in the order of the schema, with their values, up to the end of the payload or an error.
    pub fn fields(&self) -> impl Iterator<Item = (&SchemaField, FlatValue<'_, 'a>)> {
        self.schema.fields.iter().enumerate().map_while(|(index, field)| Some((field, self.values.get(index)?)))
    }

    /// Returns the values if they are numbers at fixed places, and possibly an array after them. All such events with the same
    /// schema and pointer size have the same places, and either all or none of them have an array.
    #[must_use]
    #[inline]
    pub const fn fixed(&self) -> Option<&FixedValues<'d, 'a>> {
        match &self.values {
            FlatValues::Fixed(fixed) => Some(fixed),
            FlatValues::Each(_) => None,
        }
    }

    /// Returns the event's message with its fields inserted, if its schema has one.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let mut text = String::new();
        self.write_message(&mut text).then_some(text)
    }

    /// Replaces the content of `text` with the event's message, like [`message`](Self::message) but without allocating for each
    /// event. Returns `false` if there is none.
    #[inline]
    pub fn write_message(&self, text: &mut String) -> bool {
        self.schema.message.as_ref().map(|message| self.insert_into(message, text)).is_some()
    }

    fn insert_into(&self, message: &str, text: &mut String) {
        etw_manifest::message::write(text, message, |text, number| {
            let field =
                number.checked_sub(1).and_then(|index| self.schema.fields.get(index).zip(self.values.get(index)));
            field.map(|(field, value)| insert::push(text, field, value)).is_some()
        });
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

    /// Returns the schema and the values of a TraceLogging event, and whether the values cover its payload.
    pub(super) fn flat<'a>(&mut self, parts: &Parts<'a>) -> Option<(&Arc<EventSchema>, Vec<Item<'a>>, bool)> {
        let schema = self.get(parts)?;
        let (metadata, _) = Metadata::parse(parts.metadata).ok()?;
        let mut builder = Builder { items: Vec::with_capacity(schema.fields.len()), is_in_array: false };
        let is_whole = tracelogging::decode(&metadata, parts.payload, &mut builder).is_ok_and(<[u8]>::is_empty);
        Some((schema, builder.items, is_whole))
    }
}

struct Builder<'a> {
    items: Vec<Item<'a>>,
    is_in_array: bool,
}

impl<'a> Visitor<'a> for Builder<'a> {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        match self.items.last_mut().filter(|_| self.is_in_array) {
            Some(Item::List(list)) => list.push((field.in_type, value)),
            _ => self.items.push(Item::One(field.in_type, value)),
        }
    }

    /// An array is a field from its start on: an error may cut it off.
    fn begin_array(&mut self, _field: &Field<'a>, _count: u16) {
        self.is_in_array = true;
        self.items.push(Item::List(Vec::new()));
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
