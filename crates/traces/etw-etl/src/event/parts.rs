//! The parts of a TraceLogging event.

use std::fmt::Write;

use etw_types::tracelogging::{self, DecodeError, Metadata, Visitor};
use etw_types::traits;

use super::kind::Kind;
use super::record::{Event, EventRef};
use crate::format::bytes::u16_at;
use crate::format::extended::ExtendedType;

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
/// let parts = Parts::from_event(&event).ok_or("not TraceLogging")?;
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
    pub fn from_event(event: &'a Event) -> Option<Self> {
        Self::from_ref(&event.as_ref())
    }

    fn from_ref(event: &EventRef<'a>) -> Option<Self> {
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

/// Converts the name of a provider, an event or a field. Bytes that are not UTF-8 are shown as `\xNN`.
pub(crate) fn name_text(name: &[u8]) -> String {
    if let Ok(text) = str::from_utf8(name) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

impl<'a> EventRef<'a> {
    /// Returns the traits, the metadata and the values of a TraceLogging event.
    #[must_use]
    pub fn parts(&self) -> Option<Parts<'a>> {
        Parts::from_ref(self)
    }

    /// Passes the values of a TraceLogging event to a visitor one by one, without keeping any. Use this to read only a few
    /// values, or very many events. Returns `true` if this is a TraceLogging event and its metadata covers the whole payload.
    ///
    /// # Errors
    ///
    /// Fails if the metadata or the payload does not decode. The values before the error have been visited.
    pub fn visit(&self, visitor: &mut impl Visitor<'a>) -> Result<bool, DecodeError> {
        let Some(parts) = self.parts() else {
            return Ok(false);
        };
        let (metadata, _) = Metadata::parse(parts.metadata)?;
        tracelogging::decode(&metadata, parts.payload, visitor).map(<[u8]>::is_empty)
    }
}
