//! JSON, written by hand: the keys must have a fixed order and numbers must not pass through `f64`, which most serialisation
//! crates would have to be configured to respect.

use std::fmt::Write;

use crate::decode::Scalar;
use crate::digits::hex;
use crate::digits::{decimal, hexadecimal};

/// How to write integers beyond 2^53 - 1, which a JSON parser may round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integers {
    /// As numbers like all others, so that a field always has the same type.
    Numbers,
    /// As strings, for JavaScript.
    Safe,
}

/// Largest integer that every JSON parser represents exactly.
const MAX_SAFE: u128 = (1 << 53) - 1;

/// Appends a quoted string.
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

/// Appends formatted text.
pub(super) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

/// Appends return addresses as an array of hexadecimal strings: JSON numbers are not precise enough.
pub(super) fn stack(out: &mut String, frames: &[u64]) {
    out.push('[');
    for (index, frame) in frames.iter().enumerate() {
        out.push_str(if index > 0 { ",\"" } else { "\"" });
        hexadecimal(out, *frame);
        out.push('"');
    }
    out.push(']');
}

/// Appends a value without loss, even if that changes its JSON type.
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
        // `Debug` writes the shortest digits that parse to the same number of this width.
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

/// Appends infinities and NaN as strings; a non-standard NaN includes its bits.
fn special(out: &mut String, value: f64, bits: u64, usual: bool) {
    match (value.is_nan(), usual) {
        (true, true) => out.push_str("\"NaN\""),
        (true, false) => push(out, format_args!("\"NaN({bits:#x})\"")),
        (false, _) => push(out, format_args!("\"{}Infinity\"", if value < 0.0 { "-" } else { "" })),
    }
}
