//! JSON values with one type per field. A value that does not fit the type of its field is written as closely as the type allows,
//! and the return value tells the caller to add the raw bytes.

use std::collections::HashMap;

use etw_types::{InType, OutType};

use super::json::{Integers, push, scalar, string};
use crate::decode::{Field, Node, Scalar};
use crate::digits::hex;

/// Up to this many fields, duplicate names are found by comparison rather than by hashing.
const FEW: usize = 16;

/// Appends fields as an object, in their order. The second field with a name becomes `name#2`, because keys must be unique.
///
/// A field has the same JSON type in all events, whatever its value. Returns whether the JSON represents all values exactly: text
/// that is invalid in its encoding, a boolean other than 0 and 1 and a number that is not finite do not fit their types.
pub(super) fn fields(out: &mut String, fields: &[Field], integers: Integers) -> bool {
    let mut is_exact = true;
    // For few fields, comparing names is faster than hashing them.
    let mut seen: Option<HashMap<&str, usize>> = (fields.len() > FEW).then(HashMap::new);
    out.push('{');
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let times = match &mut seen {
            Some(seen) => {
                let times = seen.entry(&field.name).or_default();
                *times += 1;
                *times
            }
            None => fields.iter().take(index + 1).filter(|other| other.name == field.name).count(),
        };
        if times == 1 {
            string(out, &field.name);
        } else {
            string(out, &format!("{}#{times}", field.name));
        }
        out.push(':');
        is_exact &= node(out, field, &field.node, integers);
    }
    out.push('}');
    is_exact
}

/// Appends a value, an array or a struct. Returns whether the JSON represents it exactly.
pub(super) fn node(out: &mut String, field: &Field, value: &Node, integers: Integers) -> bool {
    match value {
        Node::Value(value) => one(out, field, value, integers),
        Node::Array(nodes) if is_characters(field) => {
            // One of the characters is invalid, otherwise they would already have been joined.
            let character = |node: &Node| match node {
                Node::Value(Scalar::Text(text)) => text.clone(),
                _ => char::REPLACEMENT_CHARACTER.to_string(),
            };
            string(out, &nodes.iter().map(character).collect::<String>());
            false
        }
        Node::Array(nodes) => {
            out.push('[');
            let mut is_exact = true;
            for (index, element) in nodes.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                is_exact &= node(out, field, element, integers);
            }
            out.push(']');
            is_exact
        }
        Node::Struct(members) => fields(out, members, integers),
        Node::Custom { description, bytes } => {
            push(out, format_args!("{{\"custom\":\"{}\",\"bytes\":\"{}\"}}", hex(description), hex(bytes)));
            true
        }
    }
}

fn one(out: &mut String, field: &Field, value: &Scalar, integers: Integers) -> bool {
    match value {
        Scalar::Integer(_) if is_boolean(field) => {
            out.push_str("true");
            false
        }
        Scalar::Integer(number) if is_text(field) => {
            push(out, format_args!("\"{number}\""));
            true
        }
        Scalar::F32(number) if !number.is_finite() => {
            out.push_str("null");
            false
        }
        Scalar::F64(number) if !number.is_finite() => {
            out.push_str("null");
            false
        }
        Scalar::BadText { text, .. } => {
            string(out, text);
            false
        }
        Scalar::Numbers(numbers) => {
            push(out, format_args!("\"{numbers:?}\""));
            true
        }
        value => {
            scalar(out, value, integers);
            true
        }
    }
}

fn is_boolean(field: &Field) -> bool {
    field.in_type == InType::Bool32 || (field.out_type == OutType::Boolean && field.in_type.fixed_size().is_some())
}

/// Returns whether an integer field is shown as text, a date or a status unless its value is out of range.
fn is_text(field: &Field) -> bool {
    let width = field.in_type.fixed_size().unwrap_or_default();
    match field.out_type {
        OutType::String | OutType::Utf8 | OutType::Xml | OutType::Json => width <= 2,
        OutType::DateTime
        | OutType::DateTimeCultureInsensitive
        | OutType::DateTimeUtc
        | OutType::Win32Error
        | OutType::NtStatus
        | OutType::HResult => width == 8,
        _ => matches!(field.in_type, InType::FileTime | InType::SystemTime),
    }
}

/// Returns whether an array of this field is an array of characters, which is shown as one string.
fn is_characters(field: &Field) -> bool {
    matches!(field.out_type, OutType::String | OutType::Utf8 | OutType::Xml | OutType::Json)
        && matches!(field.in_type, InType::I8 | InType::U8 | InType::U16)
}
