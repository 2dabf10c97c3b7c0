//! Taking event metadata apart.

use core::fmt;

use super::tag::split_tag;
use super::{InType, OutType};
use crate::bytes::{split_nul, split_u16};

/// What is wrong with event metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataError {
    /// Fewer bytes than the size prefix says, or than the smallest metadata has.
    Truncated,
    /// The event's or a field's tag has no end.
    UnterminatedTag,
    /// The event's or a field's name has no end.
    UnterminatedName,
    /// A field ends before its type does.
    MissingType,
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the event metadata is shorter than it says",
            Self::UnterminatedTag => "a tag in the event metadata has no end",
            Self::UnterminatedName => "a name in the event metadata has no end",
            Self::MissingType => "a field in the event metadata has no type",
        })
    }
}

impl core::error::Error for MetadataError {}

/// An event's metadata: its name, its tag and its fields.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    name: &'a [u8],
    tag: u32,
    fields: &'a [u8],
}

impl<'a> Metadata<'a> {
    /// Reads metadata with its size prefix, and returns what lies behind it as well.
    ///
    /// # Errors
    ///
    /// Where the header is malformed; fields are looked at by [`fields`](Self::fields).
    pub const fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), MetadataError> {
        let Some((size, _)) = split_u16(bytes) else {
            return Err(MetadataError::Truncated);
        };
        let Some((this, behind)) = bytes.split_at_checked(size as usize) else {
            return Err(MetadataError::Truncated);
        };
        let [_, _, body @ ..] = this else {
            return Err(MetadataError::Truncated);
        };
        let Some((tag, rest)) = split_tag(body) else {
            return Err(MetadataError::UnterminatedTag);
        };
        let Some((name, fields)) = split_nul(rest) else {
            return Err(MetadataError::UnterminatedName);
        };
        Ok((Self { name, tag, fields }, behind))
    }

    /// The event's name; UTF-8 by convention, not by check.
    #[must_use]
    pub const fn name(&self) -> &'a [u8] {
        self.name
    }

    /// The event's tag.
    #[must_use]
    pub const fn tag(&self) -> u32 {
        self.tag
    }

    /// The fields in the order of the metadata; those of a struct follow it.
    #[must_use]
    pub const fn fields(&self) -> Fields<'a> {
        Fields { rest: self.fields }
    }
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count<'a> {
    /// One.
    One,
    /// As many as the metadata says.
    Constant(u16),
    /// As many as a `u16` in front of them says.
    Variable,
    /// A custom encoding: a `u16` byte count and bytes in the payload, described by these bytes.
    Custom(&'a [u8]),
}

/// One field of an event's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name; UTF-8 by convention, not by check.
    pub name: &'a [u8],
    /// Encoding of a value.
    pub in_type: InType,
    /// How many values there are.
    pub count: Count<'a>,
    /// Presentation of a value.
    pub out_type: OutType,
    /// The provider's own mark.
    pub tag: u32,
}

impl Field<'_> {
    /// How many of the next fields belong to this one, where it is a struct.
    #[must_use]
    pub const fn struct_fields(&self) -> Option<u8> {
        if self.in_type.as_int() == InType::Struct.as_int() { Some(self.out_type.as_int()) } else { None }
    }
}

/// Iterator over an event's fields. It ends behind the first malformed one.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl Fields<'_> {
    /// Bytes of the metadata that are not walked yet.
    pub(super) const fn bytes_left(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, MetadataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match split_field(self.rest) {
            Ok((field, rest)) => {
                self.rest = rest;
                Some(Ok(field))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

const fn split_field(bytes: &[u8]) -> Result<(Field<'_>, &[u8]), MetadataError> {
    let Some((name, rest)) = split_nul(bytes) else {
        return Err(MetadataError::UnterminatedName);
    };
    let [in_byte, rest @ ..] = rest else {
        return Err(MetadataError::MissingType);
    };
    let (in_byte, mut rest) = (*in_byte, rest);
    let mut out_type = 0;
    let mut tag = 0;
    if in_byte & InType::ChainFlag != 0 {
        let [out_byte, behind @ ..] = rest else {
            return Err(MetadataError::MissingType);
        };
        out_type = *out_byte & OutType::TypeMask;
        rest = behind;
        if *out_byte & OutType::ChainFlag != 0 {
            let Some((value, behind)) = split_tag(rest) else {
                return Err(MetadataError::UnterminatedTag);
            };
            tag = value;
            rest = behind;
        }
    }
    let count = match in_byte & InType::FlagMask {
        0 => Count::One,
        InType::VariableCountFlag => Count::Variable,
        flags => {
            let Some((number, behind)) = split_u16(rest) else {
                return Err(MetadataError::MissingType);
            };
            rest = behind;
            if flags == InType::ConstantCountFlag {
                Count::Constant(number)
            } else {
                let Some((description, behind)) = rest.split_at_checked(number as usize) else {
                    return Err(MetadataError::MissingType);
                };
                rest = behind;
                Count::Custom(description)
            }
        }
    };
    let field = Field {
        name,
        in_type: InType::from_int(in_byte & InType::TypeMask),
        count,
        out_type: OutType::from_int(out_type),
        tag,
    };
    Ok((field, rest))
}
