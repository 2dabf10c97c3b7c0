//! Text in UTF-16 and UTF-8, and names.

use std::borrow::Cow;
use std::fmt;

use super::Scalar;

/// Converts UTF-16LE text.
pub(super) fn utf16(bytes: &[u8]) -> Scalar {
    let ascii = bytes.as_chunks::<2>().0;
    if bytes.len().is_multiple_of(2) && ascii.iter().all(|unit| unit[1] == 0 && unit[0] < 0x80) {
        // The common case: most paths and names are ASCII.
        return Scalar::Text(ascii.iter().map(|unit| char::from(unit[0])).collect());
    }
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    match String::from_utf16(&units) {
        Ok(text) if bytes.len().is_multiple_of(2) => Scalar::Text(text),
        _ => Scalar::BadText { text: String::from_utf16_lossy(&units), bytes: bytes.to_vec() },
    }
}

/// Converts text bytes. Unless the provider declares UTF-8, they are in a code page that the trace does not name. Text that is
/// not valid UTF-8 keeps its bytes.
pub(super) fn utf8(bytes: &[u8]) -> Scalar {
    match str::from_utf8(bytes) {
        Ok(text) => Scalar::Text(text.into()),
        Err(_) => Scalar::BadText { text: String::from_utf8_lossy(bytes).into_owned(), bytes: bytes.to_vec() },
    }
}

/// Converts the name of a provider, an event or a field. Bytes that are not UTF-8 are shown as `\xNN`.
pub(in crate::decode) fn name_text(name: &[u8]) -> String {
    use fmt::Write;
    if let Ok(text) = str::from_utf8(name) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Writes text. Text that could be confused with its surroundings or could affect a terminal is quoted and escaped.
pub(super) fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let plain =
        |character: char| !character.is_whitespace() && is_printable(character) && !"\"=,[]{}()".contains(character);
    if !text.is_empty() && text.chars().all(plain) { f.write_str(text) } else { write!(f, "{text:?}") }
}

/// Returns whether a character is safe to print: not a control character, a direction change or a line end.
fn is_printable(character: char) -> bool {
    matches!(character, ' '..='~')
        || (!character.is_ascii() && (character.escape_debug().len() == 1 || extends(character)))
}

/// Returns whether a character is drawn onto the one before it, such as an accent or a vowel sign. The standard library escapes
/// such characters only at the beginning of text.
fn extends(character: char) -> bool {
    let mut text = String::from("a");
    text.push(character);
    text.escape_debug().count() == 2
}

/// Escapes text from a trace or a file for display on a terminal. Control characters, line ends, invisible characters and
/// characters that change the text direction are shown as escapes such as `\u{202e}`.
///
/// ```
/// assert_eq!(etw_etl::escaped("a\u{1b}[31m"), "a\\u{1b}[31m");
/// ```
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_printable(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_debug());
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("plain ünïcode 日本 ที่ नी", "plain ünïcode 日本 ที่ नी"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("two\nlines\r", "two\\nlines\\r"),
            ("a\u{202e}b\u{2066}c\u{200f}", "a\\u{202e}b\\u{2066}c\\u{200f}"),
            ("\u{2028}\u{85}\u{7f}\u{feff}", "\\u{2028}\\u{85}\\u{7f}\\u{feff}"),
            ("quote \" and \\ stay", "quote \" and \\ stay"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }
}
