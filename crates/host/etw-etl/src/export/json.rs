//! JSON, written by hand: objects here have keys in the order of the schema and numbers that must not pass through `f64`,
//! which is most of what a serialisation crate would have to be talked out of.

use std::collections::HashMap;
use std::fmt::Write;

use super::digits::{decimal, hexadecimal};
use super::typed;
use crate::decode::{Field, Scalar};
use crate::format::bytes::hex;

/// What becomes of whole numbers that a JSON reader may round: those beyond 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integers {
    /// Numbers like all others, so that a field has one type.
    Numbers,
    /// Strings, for readers that are JavaScript.
    Safe,
}

/// Largest whole number that every JSON reader keeps.
const MAX_SAFE: u128 = (1 << 53) - 1;

/// Fields of an object that are compared with each other, not hashed, to find those of one name.
const FEW: usize = 16;

/// Appends a string in quotes.
pub(super) fn string(out: &mut String, text: &str) {
    let is_special = |character: char| character < ' ' || matches!(character, '"' | '\\');
    out.push('"');
    let mut rest = text;
    while let Some(place) = rest.find(is_special) {
        let (plain, special) = rest.split_at_checked(place).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut characters = special.chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => push(out, format_args!("\\u{:04x}", u32::from(control))),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends anything that can be formatted.
pub(super) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

/// Appends fields as an object in their order. The second field of a name is called `name#2`, as objects have no two.
///
/// A field has one JSON type in all events, whatever its values are. Returns whether the values say everything: text that is
/// not valid in its encoding, a boolean that is neither 0 nor 1 and a number that is not finite do not fit their types.
pub(super) fn fields(out: &mut String, fields: &[Field], integers: Integers) -> bool {
    let mut is_exact = true;
    // Few fields are compared with each other sooner than they are hashed.
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
        is_exact &= typed::node(out, field, &field.node, integers);
    }
    out.push('}');
    is_exact
}

/// Appends return addresses as an array of hexadecimal numbers in strings: JSON numbers have too few digits.
pub(super) fn stack(out: &mut String, frames: &[u64]) {
    out.push('[');
    for (index, frame) in frames.iter().enumerate() {
        out.push_str(if index > 0 { ",\"" } else { "\"" });
        hexadecimal(out, *frame);
        out.push('"');
    }
    out.push(']');
}

/// Appends a value in the form that loses nothing, whatever its type is then.
pub(super) fn scalar(out: &mut String, value: &Scalar, integers: Integers) {
    match value {
        Scalar::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Scalar::Integer(value) if integers == Integers::Numbers || value.unsigned_abs() <= MAX_SAFE => {
            if *value < 0 {
                out.push('-');
            }
            decimal(out, u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX));
        }
        Scalar::Integer(value) => push(out, format_args!("\"{value}\"")),
        // The shortest digits that read back as the same number of this width.
        Scalar::F32(value) if value.is_finite() => push(out, format_args!("{value:?}")),
        Scalar::F64(value) if value.is_finite() => push(out, format_args!("{value:?}")),
        Scalar::F32(value) => {
            special(out, (*value).into(), value.to_bits().into(), value.to_bits() == f32::NAN.to_bits());
        }
        Scalar::F64(value) => special(out, *value, value.to_bits(), value.to_bits() == f64::NAN.to_bits()),
        Scalar::Text(text) | Scalar::Word(text) => string(out, text),
        Scalar::BadText { text, bytes } => {
            out.push_str("{\"text\":");
            string(out, text);
            push(out, format_args!(",\"bytes\":\"{}\"}}", hex(bytes)));
        }
        Scalar::Numbers(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
            push(out, format_args!("[{}]", numbers.join(",")));
        }
    }
}

/// Infinities and NaN as strings; a NaN that is not the usual one with its bits.
fn special(out: &mut String, value: f64, bits: u64, usual: bool) {
    match (value.is_nan(), usual) {
        (true, true) => out.push_str("\"NaN\""),
        (true, false) => push(out, format_args!("\"NaN({bits:#x})\"")),
        (false, _) => push(out, format_args!("\"{}Infinity\"", if value < 0.0 { "-" } else { "" })),
    }
}
