//! How a value is shown, which depends on its encoding and on the provider's out type.
//!
//! The result is one of a few variants ([`Scalar`]) that text and JSON render without loss: the payload bytes can be restored
//! from the shown value and the schema.

mod integer;
mod network;
pub(super) mod text;
mod time;

use std::fmt;

use etw_types::tracelogging::Value;
use etw_types::{InType, OutType};

use crate::format::bytes::hex;

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

/// Converts a value to the form in which it is shown.
pub(crate) fn show(in_type: InType, out_type: OutType, value: Value<'_>) -> Scalar {
    match value {
        // The common case.
        Value::Unsigned(number) if out_type == OutType::Default => Scalar::Integer(number.into()),
        Value::Signed(number) => integer::show(in_type, out_type, number.cast_unsigned()),
        Value::Unsigned(number) => integer::show(in_type, out_type, number),
        Value::Hex(number) => integer::show_hex(in_type, out_type, number),
        Value::F32(number) => Scalar::F32(number),
        Value::F64(number) => Scalar::F64(number),
        Value::Bool32(number) => integer::boolean(number.into()),
        Value::Utf16(bytes) => text::utf16(bytes),
        Value::Text(bytes) => text::utf8(bytes),
        Value::Binary(bytes) => network::binary(out_type, bytes),
        Value::Guid(guid) => Scalar::Word(guid.to_string()),
        Value::FileTime(time) => time::filetime(time),
        Value::SystemTime(parts) => time::systemtime(parts),
        Value::Sid(bytes) => network::sid(bytes),
        // A value that `etw-types` supports but this crate does not know yet.
        other => Scalar::Word(other.to_string()),
    }
}

/// Plain text for people, not meant to be parsed. Text is quoted if it contains blanks, control characters or delimiters.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::F32(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
            Self::Text(text) => text::quoted(f, text),
            Self::Word(word) => f.write_str(word),
            Self::BadText { text, bytes } => {
                text::quoted(f, text)?;
                write!(f, "(bytes {})", hex(bytes))
            }
            Self::Numbers(numbers) => write!(f, "{numbers:?}"),
        }
    }
}
