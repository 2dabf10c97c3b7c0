//! How a value is shown, which depends on its encoding and on the provider's out type.
//!
//! The result is one of a few variants ([`Scalar`]) that text and JSON render without loss: the payload bytes can be restored
//! from the shown value and the schema.

pub(super) mod escape;
mod integer;
mod network;
mod scalar;
pub(super) mod text;
mod time;

use etw_types::tracelogging::Value;
use etw_types::{InType, OutType};

pub use scalar::Scalar;

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
