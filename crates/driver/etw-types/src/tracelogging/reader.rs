//! Parses event metadata.

use core::fmt;

use super::tag::split_tag;
use super::{InType, OutType};
use crate::bytes::{split_nul, split_u16};

/// The reason that event metadata is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataError {
    /// There are fewer bytes than the size prefix says, or than the smallest metadata has.
    Truncated,
    /// The tag of the event or of a field is not terminated.
    UnterminatedTag,
    /// The name of the event or of a field is not terminated.
    UnterminatedName,
    /// The metadata ends within a field, before its type is complete.
    MissingType,
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the event metadata is shorter than its size field says",
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
    /// Parses metadata with its size prefix. Also returns the bytes after it.
    ///
    /// # Errors
    ///
    /// Returns an error if the header is malformed. The fields are checked later, by [`fields`](Self::fields).
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

    /// Returns the event's name. It should be UTF-8, but this is not checked.
    #[must_use]
    pub const fn name(&self) -> &'a [u8] {
        self.name
    }

    /// Returns the event's tag.
    #[must_use]
    pub const fn tag(&self) -> u32 {
        self.tag
    }

    /// Returns the fields in the order of the metadata. The fields of a struct follow the struct.
    #[must_use]
    pub const fn fields(&self) -> Fields<'a> {
        Fields { rest: self.fields }
    }
}

/// The number of values that a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count<'a> {
    /// One.
    One,
    /// The number is in the metadata.
    Constant(u16),
    /// The number is a `u16` in the payload, before the values.
    Variable,
    /// A custom encoding, which these bytes describe. The payload has a `u16` byte count and the bytes.
    Custom(&'a [u8]),
}

/// One field of an event's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name. It should be UTF-8, but this is not checked.
    pub name: &'a [u8],
    /// Encoding of a value.
    pub in_type: InType,
    /// The number of values.
    pub count: Count<'a>,
    /// How a value is displayed.
    pub out_type: OutType,
    /// A tag with a meaning that the provider defines.
    pub tag: u32,
}

impl Field<'_> {
    /// If this is a struct, returns how many of the next fields belong to it.
    #[must_use]
    pub const fn struct_fields(&self) -> Option<u8> {
        if self.in_type.as_int() == InType::Struct.as_int() { Some(self.out_type.as_int()) } else { None }
    }
}

/// Iterator over an event's fields. It ends after the first malformed field.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl Fields<'_> {
    /// Returns the number of metadata bytes that have not been read yet.
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
    let in_byte = *in_byte;
    let mut rest = rest;
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
