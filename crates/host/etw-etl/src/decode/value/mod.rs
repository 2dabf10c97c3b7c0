//! How a value is shown: by its encoding and the provider's wish.
//!
//! The result is one of a few shapes ([`Scalar`]) that text and JSON render without losing anything: whoever has the shown
//! value and the schema can make the payload's bytes again.

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
    /// True or false.
    Bool(bool),
    /// A whole number: anything from `i64` to `u64`.
    Integer(i128),
    /// A 32-bit floating-point number.
    F32(f32),
    /// A 64-bit floating-point number.
    F64(f64),
    /// Text of the provider's.
    Text(String),
    /// A rendition of ours: hexadecimal, a GUID, an address, a date, a status with its name.
    Word(String),
    /// Text that is not valid in its encoding: how it looks, and its bytes.
    BadText {
        /// With replacement characters.
        text: String,
        /// The bytes in the payload, without count or NUL.
        bytes: Vec<u8>,
    },
    /// Numbers that should be a date and are none.
    Numbers(Vec<u16>),
}

/// Shows a value.
pub(super) fn show(in_type: InType, out_type: OutType, value: Value<'_>) -> Scalar {
    match value {
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
        // A value that `etw-types` learns to split before this crate learns to show it.
        other => Scalar::Word(other.to_string()),
    }
}

/// Plain text for a reader; not meant to be read back. Text stands in quotes where it has blanks or control characters.
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
