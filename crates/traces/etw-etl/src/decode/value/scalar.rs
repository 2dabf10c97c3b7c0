//! A value as it is shown.

use std::fmt;

use super::escape::quoted;
use crate::digits::hex;

/// A value as it is shown.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer in the range of `i64` or `u64`.
    Integer(i128),
    /// A 32-bit floating-point number.
    F32(f32),
    /// A 64-bit floating-point number.
    F64(f64),
    /// Text from the provider.
    Text(String),
    /// A value formatted by this crate: hexadecimal, a GUID, an address, a date, a status with its name.
    Word(String),
    /// Text that is invalid in its encoding.
    BadText {
        /// The text with replacement characters.
        text: String,
        /// The bytes in the payload, without the count or the NUL.
        bytes: Vec<u8>,
    },
    /// Numbers that should be a date but are not a valid one.
    Numbers(Vec<u16>),
}

/// Plain text for people, not meant to be parsed. Text is quoted if it contains blanks, control characters or delimiters.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::F32(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
            Self::Text(text) => quoted(f, text),
            Self::Word(word) => f.write_str(word),
            Self::BadText { text, bytes } => {
                quoted(f, text)?;
                write!(f, "(bytes {})", hex(bytes))
            }
            Self::Numbers(numbers) => write!(f, "{numbers:?}"),
        }
    }
}
