//! Decodes events that describe themselves.

use etw_types::tracelogging::{self, Metadata};

use super::decoded::Decoded;
use super::tree::{Field, TreeBuilder};
use crate::event::{Event, EventRef, name_text};
use crate::format::event::EVENT_HEADER_FLAG_STRING_ONLY;
use crate::format::record::Layout;
use etw_types::tracelogging::DecodeError;

/// Decodes an event as far as it is self-describing.
#[must_use]
pub fn decode(event: &EventRef<'_>) -> Decoded {
    let raw = || Some(event.payload().to_vec());
    if event.header.layout == Layout::Event && event.header.flags & EVENT_HEADER_FLAG_STRING_ONLY != 0 {
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
    let Some(parts) = event.parts() else {
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

impl Event {
    /// Decodes the event as far as it is self-describing.
    #[must_use]
    pub fn decode(&self) -> Decoded {
        self.as_ref().decode()
    }
}

impl EventRef<'_> {
    /// Decodes the event as far as it is self-describing.
    #[must_use]
    pub fn decode(&self) -> Decoded {
        decode(self)
    }
}
