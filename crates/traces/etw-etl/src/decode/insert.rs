//! Values in messages, as Windows formats them. Numbers and text, which most values are, are formatted without a tree.

use etw_manifest::Field;
use etw_types::tracelogging::Value;
use etw_types::{InType, OutType};

use super::flat_values::{Elements, FlatValue};
use super::value::text::push_ascii;
use crate::digits::{decimal, hexadecimal};

/// Appends the value of a field to a message.
pub(super) fn push(text: &mut String, field: &Field, value: FlatValue<'_, '_>) {
    let start = text.len();
    let is_done = match value {
        _ if field.map.is_some() => false,
        FlatValue::One(_, Value::Utf16(bytes)) => push_ascii(text, bytes),
        FlatValue::One(_, Value::Text(bytes)) => str::from_utf8(bytes).is_ok_and(|valid| push_str(text, valid)),
        FlatValue::One(_, value) => push_number(text, field.out, value),
        FlatValue::Many(elements) => push_numbers(text, field.out, elements),
    };
    if !is_done {
        text.truncate(start);
        let in_type = if let FlatValue::One(in_type, _) = value { in_type } else { InType::Invalid };
        text.push_str(&value.node(field).into_insert(in_type, field.out));
    }
}

fn push_str(text: &mut String, more: &str) -> bool {
    text.push_str(more);
    true
}

/// Appends a number that is shown with its digits.
fn push_number(text: &mut String, out: OutType, value: Value<'_>) -> bool {
    match (value, out) {
        (Value::Unsigned(number), OutType::Default | OutType::Unsigned | OutType::Pid | OutType::Tid) => {
            decimal(text, number);
        }
        (Value::Signed(number), OutType::Default | OutType::Signed | OutType::Pid | OutType::Tid) => {
            if number < 0 {
                text.push('-');
            }
            decimal(text, number.unsigned_abs());
        }
        (Value::Hex(number), OutType::Default | OutType::NoPrint | OutType::Hex)
        | (Value::Unsigned(number), OutType::Hex | OutType::CodePointer) => hexadecimal(text, number),
        _ => return false,
    }
    true
}

/// Appends an array of such numbers.
fn push_numbers(text: &mut String, out: OutType, elements: Elements<'_, '_>) -> bool {
    text.push('[');
    // Most arrays are stacks.
    if let (Some((InType::Hex64, bytes)), OutType::Default) = (elements.bytes(), out) {
        for (index, raw) in bytes.as_chunks().0.iter().enumerate() {
            text.push_str(if index > 0 { ", " } else { "" });
            hexadecimal(text, u64::from_le_bytes(*raw));
        }
        return push_str(text, "]");
    }
    let is_done = elements.iter().enumerate().all(|(index, (_, value))| {
        if index > 0 {
            text.push_str(", ");
        }
        push_number(text, out, value)
    });
    text.push(']');
    is_done
}
