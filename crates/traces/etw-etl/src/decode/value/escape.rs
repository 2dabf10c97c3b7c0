//! Text of a trace that is safe to show on a terminal.

use std::borrow::Cow;
use std::fmt;

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
