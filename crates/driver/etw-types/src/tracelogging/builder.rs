//! Builds events whose schema is known only at run time.

use core::fmt;

use super::metadata::push_tag;
use super::{InType, MAX_FIELDS, MAX_METADATA_SIZE, MAX_STRUCT_FIELDS, MAX_TAG, OutType};
use crate::Guid;
use crate::bytes::{Appender, contains_nul};

/// Why an event could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The metadata buffer is full, or the metadata has more than 65535 bytes.
    MetadataFull,
    /// The payload buffer is full.
    PayloadFull,
    /// A name contains a NUL.
    NulInName,
    /// A tag has more than 28 bits.
    TagTooLarge,
    /// A string, a binary field or an array has more than 65535 bytes or elements.
    ValueTooLong,
    /// The event has more than 128 fields, or a struct more than 127.
    TooManyFields,
    /// A type byte has flags that are not allowed there.
    BadType,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MetadataFull => "the buffer for event metadata is full",
            Self::PayloadFull => "the buffer for event data is full",
            Self::NulInName => "an event or field name contains a NUL",
            Self::TagTooLarge => "a tag has more than 28 bits",
            Self::ValueTooLong => "a field has more than 65535 bytes or elements",
            Self::TooManyFields => "the event has more than 128 fields or a struct more than 127",
            Self::BadType => "a field type is out of range",
        })
    }
}

impl core::error::Error for BuildError {}

/// Builds an event in two buffers of the caller: one for the metadata, one for the payload.
///
/// Nothing is allocated. After the first failure, later calls do nothing and [`finish`](Self::finish) returns that
/// failure, so a chain of calls needs only one check. An event that does not fit is never returned in part.
///
/// ```
/// use etw_types::tracelogging::EventBuilder;
///
/// let mut metadata = [0; 128];
/// let mut payload = [0; 128];
/// let (metadata, payload) = EventBuilder::new(&mut metadata, &mut payload, "Read", 0)
///     .u32("Length", 512)
///     .str8("File", "a.txt")
///     .finish()?;
/// assert_eq!(metadata[..7], *b"\x17\x00\x00Read");
/// assert_eq!(payload, b"\x00\x02\x00\x00\x05\x00a.txt");
/// # Ok::<(), etw_types::tracelogging::BuildError>(())
/// ```
pub struct EventBuilder<'a> {
    metadata: Appender<'a>,
    payload: Appender<'a>,
    fields: usize,
    error: Option<BuildError>,
}

/// Declares the methods that add fixed-size values.
macro_rules! scalar_fields {
    ($( $(#[$doc:meta])* $method:ident($type:ty) = $in_type:ident $out_type:ident, )*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $method(self, name: &str, value: $type) -> Self {
                self.field(name, InType::$in_type, OutType::$out_type, 0, &value.to_le_bytes())
            }
        )*
    };
}

impl<'a> EventBuilder<'a> {
    /// Starts an event.
    #[must_use]
    pub fn new(metadata: &'a mut [u8], payload: &'a mut [u8], name: &str, tag: u32) -> Self {
        let room = metadata.len().min(MAX_METADATA_SIZE);
        let metadata = metadata.get_mut(..room).unwrap_or_default();
        let mut this =
            Self { metadata: Appender::new(metadata), payload: Appender::new(payload), fields: 0, error: None };
        this.metadata.push(&[0, 0]);
        if tag > MAX_TAG {
            this.fail(BuildError::TagTooLarge);
        }
        push_tag(&mut this.metadata, tag);
        this.push_name(name);
        this
    }

    scalar_fields! {
        /// Adds an 8-bit signed integer.
        i8(i8) = I8 Default,
        /// Adds an 8-bit unsigned integer.
        u8(u8) = U8 Default,
        /// Adds a 16-bit signed integer.
        i16(i16) = I16 Default,
        /// Adds a 16-bit unsigned integer.
        u16(u16) = U16 Default,
        /// Adds a 32-bit signed integer.
        i32(i32) = I32 Default,
        /// Adds a 32-bit unsigned integer.
        u32(u32) = U32 Default,
        /// Adds a 64-bit signed integer.
        i64(i64) = I64 Default,
        /// Adds a 64-bit unsigned integer.
        u64(u64) = U64 Default,
        /// Adds a 32-bit floating-point number.
        f32(f32) = F32 Default,
        /// Adds a 64-bit floating-point number.
        f64(f64) = F64 Default,
        /// Adds a 32-bit integer shown in hexadecimal.
        hex32(u32) = Hex32 Default,
        /// Adds a 64-bit integer shown in hexadecimal.
        hex64(u64) = Hex64 Default,
        /// Adds an NTSTATUS.
        ntstatus(u32) = Hex32 NtStatus,
        /// Adds a time in units of 100 ns since 1601.
        filetime(i64) = FileTime Default,
        /// Adds an address.
        pointer(usize) = HexSize Default,
    }

    /// Adds a boolean.
    #[must_use]
    pub fn bool8(self, name: &str, value: bool) -> Self {
        self.field(name, InType::U8, OutType::Boolean, 0, &[u8::from(value)])
    }

    /// Adds a GUID.
    #[must_use]
    pub fn guid(self, name: &str, value: &Guid) -> Self {
        self.field(name, InType::Guid, OutType::Default, 0, &value.to_bytes_le())
    }

    /// Adds UTF-8 text.
    #[must_use]
    pub fn str8(self, name: &str, value: &str) -> Self {
        self.counted(name, InType::Str8, OutType::Utf8, 0, value.as_bytes())
    }

    /// Adds UTF-16 text.
    #[must_use]
    pub fn str16(mut self, name: &str, value: &[u16]) -> Self {
        self.push_field(name, InType::Str16.as_int(), OutType::Default, 0);
        self.push_count(value.len().saturating_mul(2));
        for unit in value {
            self.payload.push(&unit.to_le_bytes());
        }
        self
    }

    /// Adds bytes.
    #[must_use]
    pub fn binary(self, name: &str, value: &[u8]) -> Self {
        self.counted(name, InType::Binary, OutType::Default, 0, value)
    }

    /// Adds a field of any encoding. `value` goes into the payload as it is, so it must include counts and NULs.
    #[must_use]
    pub fn field(mut self, name: &str, in_type: InType, out_type: OutType, tag: u32, value: &[u8]) -> Self {
        self.push_field(name, in_type.as_int(), out_type, tag);
        self.payload.push(value);
        self
    }

    /// Adds a field whose payload is a `u16` byte count followed by `value`.
    #[must_use]
    pub fn counted(mut self, name: &str, in_type: InType, out_type: OutType, tag: u32, value: &[u8]) -> Self {
        self.push_field(name, in_type.as_int(), out_type, tag);
        self.push_count(value.len());
        self.payload.push(value);
        self
    }

    /// Adds an array of `count` elements. `values` has the elements without gaps.
    #[must_use]
    pub fn array(
        mut self,
        name: &str,
        in_type: InType,
        out_type: OutType,
        tag: u32,
        count: usize,
        values: &[u8],
    ) -> Self {
        self.push_field(name, in_type.as_int() | InType::VariableCountFlag, out_type, tag);
        self.push_count(count);
        self.payload.push(values);
        self
    }

    /// Adds a struct. The next `fields` fields belong to it.
    #[must_use]
    pub fn structure(mut self, name: &str, fields: u8, tag: u32) -> Self {
        if fields > MAX_STRUCT_FIELDS {
            self.fail(BuildError::TooManyFields);
        }
        self.push_field(name, InType::Struct.as_int(), OutType::from_int(fields & OutType::TypeMask), tag);
        self
    }

    /// Returns the free bytes in the buffers for metadata and payload, or zeros after a failure. Lets a caller omit a
    /// field that would not fit.
    #[must_use]
    pub fn room(&self) -> (usize, usize) {
        if self.error.is_some() { (0, 0) } else { (self.metadata.room(), self.payload.room()) }
    }

    /// Returns the event's metadata and payload.
    ///
    /// # Errors
    ///
    /// Returns the first failure.
    pub fn finish(self) -> Result<(&'a [u8], &'a [u8]), BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let payload = self.payload.into_used().ok_or(BuildError::PayloadFull)?;
        let metadata = self.metadata.into_used().ok_or(BuildError::MetadataFull)?;
        let size = u16::try_from(metadata.len()).map_err(|_| BuildError::MetadataFull)?;
        if let Some(prefix) = metadata.first_chunk_mut() {
            *prefix = size.to_le_bytes();
        }
        Ok((metadata, payload))
    }

    fn push_field(&mut self, name: &str, in_type: u8, out_type: OutType, tag: u32) {
        self.fields += 1;
        if self.fields > MAX_FIELDS {
            self.fail(BuildError::TooManyFields);
        }
        if in_type & InType::ChainFlag != 0 || out_type.as_int() & OutType::ChainFlag != 0 {
            self.fail(BuildError::BadType);
        }
        if tag > MAX_TAG {
            self.fail(BuildError::TagTooLarge);
        }
        self.push_name(name);
        if tag != 0 {
            self.metadata.push(&[in_type | InType::ChainFlag, out_type.as_int() | OutType::ChainFlag]);
            push_tag(&mut self.metadata, tag);
        } else if out_type != OutType::Default {
            self.metadata.push(&[in_type | InType::ChainFlag, out_type.as_int()]);
        } else {
            self.metadata.push(&[in_type]);
        }
    }

    fn push_name(&mut self, name: &str) {
        if contains_nul(name.as_bytes()) {
            self.fail(BuildError::NulInName);
        }
        self.metadata.push(name.as_bytes());
        self.metadata.push(&[0]);
    }

    fn push_count(&mut self, count: usize) {
        match u16::try_from(count) {
            Ok(count) => self.payload.push(&count.to_le_bytes()),
            Err(_) => self.fail(BuildError::ValueTooLong),
        }
    }

    fn fail(&mut self, error: BuildError) {
        self.error = self.error.or(Some(error));
    }
}
