//! Decodes a record into names and values.
//!
//! A TraceLogging event contains its own schema. `etw-types` parses the schema and walks the payload; this module builds a tree
//! from it and decides how each value is shown ([`Scalar`]). A [`Decoder`] finds the schemas of other events: in the trace, in
//! files, and among the kernel's classes. Nothing is lost: data that could not be decoded is kept as bytes.

mod find;
mod schema;
mod tree;
mod value;
mod walk;

use std::fmt;
use std::sync::Arc;

use etw_manifest::EventSchema;
use etw_types::tracelogging::{self, DecodeError, Metadata};
use etw_types::{Channel, traits};

pub use schema::{Decoder, Identity};
pub use tree::{Field, Node};
pub use value::Scalar;
pub(crate) use value::show;
pub use value::text::escaped;

use crate::format::bytes::u16_at;
use crate::format::event::{FLAG_CLASSIC_HEADER, FLAG_STRING_ONLY, FLAG_TRACE_MESSAGE};
use crate::format::extended::ExtendedType;
use crate::format::record::Layout;
use crate::read::event::{Event, EventRef};
use tree::TreeBuilder;
use value::text::name_text;

/// What kind of event a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An event that contains its schema.
    TraceLogging,
    /// An event whose schema is in a manifest, or an event that is a single string.
    Manifest,
    /// A classic event whose schema is a MOF class.
    Mof,
    /// A WPP message.
    Wpp,
    /// An event of the kernel or of the session itself, or a record of an unknown type.
    System,
}

impl Kind {
    pub(crate) fn of(event: &EventRef<'_>) -> Self {
        let header = &event.header;
        match header.layout {
            Layout::Event if event.item(ExtendedType::EVENT_SCHEMA_TL).is_some() => Self::TraceLogging,
            Layout::Event if header.flags & FLAG_TRACE_MESSAGE != 0 => Self::Wpp,
            Layout::Event if header.flags & FLAG_CLASSIC_HEADER != 0 => Self::Mof,
            Layout::Event if header.descriptor.channel == Channel::TraceLogging => Self::TraceLogging,
            Layout::Event => Self::Manifest,
            Layout::Full | Layout::Instance => Self::Mof,
            Layout::Message => Self::Wpp,
            _ => Self::System,
        }
    }

    /// Returns the name of the kind in exports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TraceLogging => "tracelogging",
            Self::Manifest => "manifest",
            Self::Mof => "mof",
            Self::Wpp => "wpp",
            Self::System => "system",
        }
    }
}

/// The parts of a TraceLogging event, wherever they are stored.
///
/// ```
/// # use etw_types::tracelogging::EventBuilder;
/// # use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
/// # fn traced(name: &str, opcode: Opcode) -> etw_etl::Event {
/// #     let (mut metadata, mut payload) = ([0; 64], [0; 64]);
/// #     let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32("Length", 512);
/// #     let (metadata, payload) = builder.finish().unwrap();
/// #     let items = etw_etl::ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
/// #     let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
/// #     let descriptor = EventDescriptor { opcode, ..descriptor };
/// #     let provider = Guid::from_name("MyDriver");
/// #     let data = etw_etl::EventData { provider, descriptor, items: &items, payload, ..etw_etl::EventData::default() };
/// #     let mut record = [0; 512];
/// #     let length = data.encode(&mut record).unwrap();
/// #     etw_etl::Event::from_record(&record[..length], 0, &etw_etl::WriterOptions::default().clock).unwrap()
/// # }
/// use etw_etl::decode::Parts;
///
/// let event = traced("Read", Opcode::Info);
/// let parts = Parts::of(&event).ok_or("not TraceLogging")?;
/// assert_eq!(parts.provider_name().as_deref(), Some("MyDriver"));
/// assert_eq!(parts.payload, event.payload());
/// assert_eq!(event.as_ref().parts().map(|parts| parts.metadata), Some(parts.metadata));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The provider's traits, with their size prefix.
    pub traits: Option<&'a [u8]>,
    /// The event's metadata, with its size prefix.
    pub metadata: &'a [u8],
    /// The field values.
    pub payload: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Finds the parts in the extended items or, if the provider does not set descriptor types, at the start of the payload.
    /// Returns `None` for other events.
    #[must_use]
    pub fn of(event: &'a Event) -> Option<Self> {
        Self::of_ref(&event.as_ref())
    }

    pub(crate) fn of_ref(event: &EventRef<'a>) -> Option<Self> {
        if let Some(metadata) = event.item(ExtendedType::EVENT_SCHEMA_TL) {
            let traits = event.item(ExtendedType::PROV_TRAITS);
            return Some(Self { traits, metadata, payload: event.payload() });
        }
        if event.kind() != Kind::TraceLogging {
            return None;
        }
        let (traits, rest) = split_sized(event.payload())?;
        let (metadata, payload) = split_sized(rest)?;
        Some(Self { traits: Some(traits), metadata, payload })
    }

    /// Returns the provider's name, even if the traits after it are malformed.
    #[must_use]
    pub fn provider_name(&self) -> Option<String> {
        let blob = self.traits?;
        let name = match traits::validate(blob) {
            Ok(traits) => traits.name(),
            Err(_) => blob.get(2..)?.split(|byte| *byte == 0).next()?,
        };
        (!name.is_empty()).then(|| name_text(name))
    }
}

/// Splits off a blob that starts with its size.
fn split_sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let size = usize::from(u16_at(bytes, 0)?);
    (size > 2).then(|| bytes.split_at_checked(size))?
}

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
    /// The functions of the event's stack, innermost first, if the [`Decoder`] can name them.
    pub frames: Vec<String>,
    /// The schema, if the event was decoded with one that it does not contain itself.
    pub schema: Option<Arc<EventSchema>>,
}

/// Decodes an event as far as it is self-describing.
#[must_use]
pub fn decode(event: &EventRef<'_>) -> Decoded {
    let raw = || Some(event.payload().to_vec());
    if event.header.layout == Layout::Event && event.header.flags & FLAG_STRING_ONLY != 0 {
        let payload = event.payload();
        let units = payload.as_chunks::<2>().0;
        let end = units.iter().position(|unit| *unit == [0, 0]);
        let text = payload.get(..end.unwrap_or(units.len()) * 2).unwrap_or_default();
        let whole = end.is_some_and(|end| (end + 1) * 2 == payload.len());
        return Decoded {
            fields: vec![Field::string("message", text)],
            raw: if whole { None } else { raw() },
            ..Decoded::default()
        };
    }
    let Some(parts) = Parts::of_ref(event) else {
        return Decoded { raw: raw(), ..Decoded::default() };
    };
    let mut decoded = Decoded { provider: parts.provider_name(), ..Decoded::default() };
    let metadata = match Metadata::parse(parts.metadata) {
        Ok((metadata, _)) => metadata,
        Err(error) => return Decoded { raw: raw(), error: Some(error.into()), ..decoded },
    };
    decoded.event = Some(name_text(metadata.name()));
    decoded.tag = metadata.tag();
    let mut builder = TreeBuilder::new(parts.payload.len());
    match tracelogging::decode(&metadata, parts.payload, &mut builder) {
        Ok([]) => {}
        Ok(_) => decoded.raw = raw(),
        Err(error) => {
            decoded.raw = raw();
            decoded.error = Some(error);
        }
    }
    if builder.is_cut() {
        decoded.raw = raw();
        decoded.error = decoded.error.or(Some(DecodeError::TooManyValues));
    }
    decoded.fields = builder.finish();
    decoded
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

#[cfg(test)]
mod tests;
