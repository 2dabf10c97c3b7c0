//! Decodes a payload by its metadata.

use core::fmt;

use super::reader::Fields;
use super::{Count, Field, Metadata, MetadataError, Value};
use crate::bytes::split_u16;

/// The reason that an event could not be decoded completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The metadata is malformed.
    Metadata(MetadataError),
    /// The payload ends within a field, or the field's encoding is unknown.
    Payload,
    /// A struct declares more fields than follow it.
    MissingStructFields,
    /// Structs are nested more deeply than an event can have fields.
    TooDeep,
    /// The element counts amount to more values than an event can hold.
    TooManyValues,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metadata(error) => error.fmt(f),
            Self::Payload => f.write_str("the payload does not fit the event metadata"),
            Self::MissingStructFields => f.write_str("a struct in the event metadata lacks fields"),
            Self::TooDeep => f.write_str("structs in the event metadata are nested too deeply"),
            Self::TooManyValues => f.write_str("the event metadata describes more values than an event can hold"),
        }
    }
}

impl core::error::Error for DecodeError {}

impl From<MetadataError> for DecodeError {
    fn from(error: MetadataError) -> Self {
        Self::Metadata(error)
    }
}

/// Receives the values that [`decode`] finds, in order. By default, every method does nothing.
pub trait Visitor<'a> {
    /// A value. Several follow each other between `begin_array` and `end_array`.
    fn value(&mut self, _field: &Field<'a>, _value: Value<'a>) {}
    /// The start of a field with several values, or of an array of structs.
    fn begin_array(&mut self, _field: &Field<'a>, _count: u16) {}
    /// The end of such a field or array.
    fn end_array(&mut self, _field: &Field<'a>) {}
    /// The start of a struct, alone or as an element of an array.
    fn begin_struct(&mut self, _field: &Field<'a>) {}
    /// The end of a struct.
    fn end_struct(&mut self, _field: &Field<'a>) {}
    /// The bytes of a field with a custom encoding.
    fn custom(&mut self, _field: &Field<'a>, _bytes: &'a [u8]) {}
}

/// Maximum depth of nested structs: an event has at most 128 fields.
const MAX_DEPTH: u32 = 128;
/// Maximum number of values, structs and arrays in one event: four per byte of the largest payload, because structs
/// around a value take no bytes themselves.
const MAX_VALUES: u32 = 0x4_0000;
/// Maximum number of metadata bytes that are read for one event. The members are read again for each struct of an
/// array. An array with one struct per byte of the largest payload stays within this limit if the member names have up
/// to 60 letters.
const MAX_WALKED: u32 = 0x40_0000;

/// Decodes `payload` by `metadata` and passes what it finds to `visitor`. Returns the bytes after the last field.
///
/// # Errors
///
/// Returns an error if payload and metadata do not match. The visitor has then already received everything before the
/// mismatch.
pub fn decode<'a>(
    metadata: &Metadata<'a>,
    payload: &'a [u8],
    visitor: &mut dyn Visitor<'a>,
) -> Result<&'a [u8], DecodeError> {
    let mut walk = Walk { payload, visitor, values_left: MAX_VALUES, metadata_left: MAX_WALKED };
    let mut fields = metadata.fields();
    while let Some(field) = walk.next(&mut fields)? {
        walk.field(&field, &mut fields, 0)?;
    }
    Ok(walk.payload)
}

struct Walk<'a, 'v> {
    payload: &'a [u8],
    visitor: &'v mut dyn Visitor<'a>,
    values_left: u32,
    metadata_left: u32,
}

impl<'a> Walk<'a, '_> {
    /// Reads the next field of the metadata.
    fn next(&mut self, fields: &mut Fields<'a>) -> Result<Option<Field<'a>>, DecodeError> {
        let before = fields.bytes_left();
        let field = fields.next().transpose()?;
        let walked = u32::try_from(before - fields.bytes_left()).unwrap_or(u32::MAX);
        self.metadata_left = self.metadata_left.checked_sub(walked).ok_or(DecodeError::TooManyValues)?;
        Ok(field)
    }

    /// Reads the next field of a struct.
    fn member(&mut self, fields: &mut Fields<'a>) -> Result<Field<'a>, DecodeError> {
        self.next(fields)?.ok_or(DecodeError::MissingStructFields)
    }

    fn spend_value(&mut self) -> Result<(), DecodeError> {
        self.values_left = self.values_left.checked_sub(1).ok_or(DecodeError::TooManyValues)?;
        Ok(())
    }

    /// Decodes one field. Reads the members of a struct from `later`.
    fn field(&mut self, field: &Field<'a>, later: &mut Fields<'a>, depth: u32) -> Result<(), DecodeError> {
        if depth >= MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        self.spend_value()?;
        let count = match field.count {
            Count::One => return self.one(field, later, depth),
            Count::Custom(_) => {
                let size = self.count()?;
                let (bytes, rest) = self.payload.split_at_checked(usize::from(size)).ok_or(DecodeError::Payload)?;
                self.payload = rest;
                self.visitor.custom(field, bytes);
                return Ok(());
            }
            Count::Constant(count) => count,
            Count::Variable => self.count()?,
        };
        self.visitor.begin_array(field, count);
        let members = later.clone();
        for _ in 0..count {
            self.spend_value()?;
            later.clone_from(&members);
            self.one(field, later, depth)?;
        }
        if count == 0 {
            self.skip_members(field, later)?;
        }
        self.visitor.end_array(field);
        Ok(())
    }

    /// Decodes one value or one struct.
    fn one(&mut self, field: &Field<'a>, later: &mut Fields<'a>, depth: u32) -> Result<(), DecodeError> {
        if let Some(members) = field.struct_fields() {
            self.visitor.begin_struct(field);
            for _ in 0..members {
                let member = self.member(later)?;
                self.field(&member, later, depth + 1)?;
            }
            self.visitor.end_struct(field);
        } else {
            let (value, rest) = Value::split(field.in_type, self.payload).ok_or(DecodeError::Payload)?;
            self.payload = rest;
            self.visitor.value(field, value);
        }
        Ok(())
    }

    fn count(&mut self) -> Result<u16, DecodeError> {
        let (count, rest) = split_u16(self.payload).ok_or(DecodeError::Payload)?;
        self.payload = rest;
        Ok(count)
    }

    /// Skips the members of a struct array without elements.
    fn skip_members(&mut self, field: &Field<'a>, later: &mut Fields<'a>) -> Result<(), DecodeError> {
        let mut pending = u32::from(field.struct_fields().unwrap_or(0));
        while pending > 0 {
            let member = self.member(later)?;
            pending = pending - 1 + u32::from(member.struct_fields().unwrap_or(0));
        }
        Ok(())
    }
}
