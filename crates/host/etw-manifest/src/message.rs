//! Formats the text of a message: inserts such as `%1`, and the escapes of message files.

/// Maximum text length in bytes before the rest of a message is cut off.
const MAX_LENGTH: usize = 64 * 1024;

/// Inserts values into a message. `value` returns the text of the field with this number, counted from 1; an insert without a
/// field is left unchanged. A format after an insert (`%1!x!`) is dropped, because values are already formatted for people.
///
/// Once the text exceeds 64 KiB, it is cut off at the next insert or escape and ends with an ellipsis.
#[must_use]
pub fn format(message: &str, mut value: impl FnMut(usize) -> Option<String>) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(place) = rest.find('%') {
        if text.len() > MAX_LENGTH {
            text.push('…');
            return text;
        }
        let (before, insert) = rest.split_at_checked(place).unwrap_or((rest, ""));
        text.push_str(before);
        let insert = insert.strip_prefix('%').unwrap_or_default();
        let mut characters = insert.chars();
        rest = match characters.next() {
            Some('1'..='9') => {
                let digits = insert.bytes().take(2).take_while(u8::is_ascii_digit).count();
                let (number, mut behind) = insert.split_at_checked(digits).unwrap_or((insert, ""));
                if let Some((_, after)) = behind.strip_prefix('!').and_then(|format| format.split_once('!')) {
                    behind = after;
                }
                if let Some(shown) = number.parse().ok().and_then(&mut value) {
                    text.push_str(&shown);
                } else {
                    text.push('%');
                    text.push_str(number);
                }
                behind
            }
            Some('n') => push(&mut text, "\n", characters.as_str()),
            Some('r') => push(&mut text, "\r", characters.as_str()),
            Some('t') => push(&mut text, "\t", characters.as_str()),
            Some('b' | ' ') => push(&mut text, " ", characters.as_str()),
            Some('0') => "",
            Some(other @ ('%' | '!' | '.')) => push(&mut text, other.encode_utf8(&mut [0; 4]), characters.as_str()),
            _ => push(&mut text, "%", insert),
        };
    }
    text.push_str(rest);
    text.truncate(text.trim_end().len());
    text
}

fn push<'a>(text: &mut String, piece: &str, rest: &'a str) -> &'a str {
    text.push_str(piece);
    rest
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn inserts_and_escapes_are_replaced() {
        let values = ["one", "two"];
        let shown = |message: &str| format(message, |number| values.get(number - 1).map(|value| (*value).to_owned()));
        assert_eq!(shown("a %1 b %2!x! c"), "a one b two c");
        assert_eq!(shown("%2%1"), "twoone");
        assert_eq!(shown("%3 %12 100%% %q"), "%3 %12 100% %q");
        assert_eq!(shown("line%nline%0 never"), "line\nline");
        assert_eq!(shown("%1!d"), "one!d");
        assert_eq!(shown("end %"), "end %");
        assert_eq!(shown("tail%r%n"), "tail");
    }
}
