//! Key-values as fields.

use core::fmt;

use log::kv::{Error, Key, Source, Value, VisitSource, VisitValue};
use wdk_etw::tracelogging::EventBuilder;
use wdk_etw::{FixedText, InType, OutType};

/// Maximum size of the values of all key-values of a message, in bytes. Formatted text is truncated to half of it.
///
/// ```
/// const { assert!(wdk_etw_log::KEY_VALUE_SIZE / 2 >= 128, "longer values are expected") };
/// ```
pub const KEY_VALUE_SIZE: usize = 512;

/// Adds key-values to an event if they fit.
pub(crate) struct KeyValues<'a> {
    /// `None` only while a field is added.
    builder: Option<EventBuilder<'a>>,
    /// The number of key-values that did not fit.
    cut: u32,
}

impl<'a> KeyValues<'a> {
    /// Maximum size of the event's metadata in bytes: the names and types of all fields.
    pub(crate) const METADATA_SIZE: usize = 448;

    /// The field with the number of key-values that did not fit: its name, and its size in metadata and payload.
    const CUT: &'static str = "cut";
    const CUT_SIZE: (usize, usize) = (Self::CUT.len() + FIELD_SIZE, size_of::<u32>());

    /// Begins an event with the fields that every message has. The values of these fields are not in the buffers.
    pub(crate) fn new(metadata: &'a mut [u8], payload: &'a mut [u8]) -> Self {
        let builder = EventBuilder::new(metadata, payload, "Log", 0);
        let builder = ["message", "target", "module", "file"]
            .into_iter()
            .fold(builder, |builder, name| builder.field(name, InType::Str8, OutType::Utf8, 0, b""))
            .field("line", InType::U32, OutType::Default, 0, b"");
        Self { builder: Some(builder), cut: 0 }
    }

    /// Adds all key-values that fit. Adds none if `may_format` is false.
    pub(crate) fn add(mut self, key_values: &dyn Source, may_format: bool) -> EventBuilder<'a> {
        if may_format {
            // If the source fails, the key-values before the failure are kept.
            let _ = key_values.visit(&mut self);
        } else {
            self.cut = u32::try_from(key_values.count()).unwrap_or(u32::MAX);
        }
        let Self { builder, cut } = self;
        let builder = builder.unwrap_or_else(|| EventBuilder::new(&mut [], &mut [], "", 0));
        if cut == 0 { builder } else { builder.u32(Self::CUT, cut) }
    }

    /// Calls `add` to add a field of `size` bytes, if the field fits.
    fn field(&mut self, name: &str, size: usize, add: impl FnOnce(EventBuilder<'a>, &str) -> EventBuilder<'a>) {
        let fits =
            self.room().is_some_and(|(metadata, payload)| name.len() + FIELD_SIZE <= metadata && size <= payload);
        if !fits || name.contains('\0') {
            self.cut = self.cut.saturating_add(1);
            return;
        }
        self.builder = self.builder.take().map(|builder| add(builder, name));
    }

    /// Returns the free bytes in metadata and payload, without those that are reserved for the field `cut`.
    fn room(&self) -> Option<(usize, usize)> {
        let (metadata, payload) = self.builder.as_ref()?.room();
        Some((metadata.checked_sub(Self::CUT_SIZE.0)?, payload.checked_sub(Self::CUT_SIZE.1)?))
    }
}

/// The bytes that a field needs in metadata in addition to its name: a NUL and two types.
const FIELD_SIZE: usize = 3;

impl<'kvs> VisitSource<'kvs> for KeyValues<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        value.visit(Field { name: key.as_str(), all: self })
    }
}

/// One key-value.
struct Field<'f, 'a> {
    name: &'f str,
    all: &'f mut KeyValues<'a>,
}

impl Field<'_, '_> {
    fn text(&mut self, arguments: fmt::Arguments<'_>) {
        let mut text = FixedText::<{ KEY_VALUE_SIZE / 2 }>::new();
        let text = text.format(arguments);
        self.all.field(self.name, size_of::<u16>() + text.len(), |builder, name| builder.str8(name, text));
    }
}

/// Declares the methods for fixed-size values.
macro_rules! scalars {
    ($($method:ident($type:ty) => $field:ident;)*) => {
        $(
            fn $method(&mut self, value: $type) -> Result<(), Error> {
                self.all.field(self.name, size_of::<$type>(), |builder, name| builder.$field(name, value));
                Ok(())
            }
        )*
    };
}

impl VisitValue<'_> for Field<'_, '_> {
    scalars! {
        visit_u64(u64) => u64;
        visit_i64(i64) => i64;
        visit_f64(f64) => f64;
        visit_bool(bool) => bool8;
    }

    fn visit_str(&mut self, value: &str) -> Result<(), Error> {
        let size = size_of::<u16>() + value.len();
        if self.all.room().is_none_or(|(_, payload)| size > payload) {
            // Truncates the text in the same way as formatted text.
            self.text(format_args!("{value}"));
            return Ok(());
        }
        self.all.field(self.name, size, |builder, name| builder.str8(name, value));
        Ok(())
    }

    /// Other values are formatted as text.
    fn visit_any(&mut self, value: Value<'_>) -> Result<(), Error> {
        self.text(format_args!("{value}"));
        Ok(())
    }
}
