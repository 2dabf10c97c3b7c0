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
    write(&mut text, message, |text, number| value(number).map(|value| text.push_str(&value)).is_some());
    text
}

/// Like [`format()`], but replaces the content of `text`, so that many messages need no memory of their own. `insert` appends the
/// text of a field and returns whether there is such a field.
///
/// ```
/// use etw_manifest::message::write;
///
/// let mut text = String::from("of the event before");
/// write(&mut text, "opened %1 at %2", |text, number| {
///     let name = (number == 1).then_some("disk");
///     name.map(|name| text.push_str(name)).is_some()
/// });
/// assert_eq!(text, "opened disk at %2");
/// ```
pub fn write(text: &mut String, message: &str, mut insert: impl FnMut(&mut String, usize) -> bool) {
    text.clear();
    let mut rest = message;
    while let Some(place) = next_insert(rest.as_bytes()) {
        if text.len() > MAX_LENGTH {
            text.push('…');
            return;
        }
        let (before, behind) = rest.split_at_checked(place).unwrap_or((rest, ""));
        text.push_str(before);
        let behind = behind.strip_prefix('%').unwrap_or_default();
        let mut characters = behind.chars();
        rest = match characters.next() {
            Some('1'..='9') => {
                let digits = behind.bytes().take(2).take_while(u8::is_ascii_digit).count();
                let (number, mut behind) = behind.split_at_checked(digits).unwrap_or((behind, ""));
                if let Some((_, after)) = behind.strip_prefix('!').and_then(|format| format.split_once('!')) {
                    behind = after;
                }
                if !number.parse().is_ok_and(|number| insert(text, number)) {
                    text.push('%');
                    text.push_str(number);
                }
                behind
            }
            Some('n') => push(text, "\n", characters.as_str()),
            Some('r') => push(text, "\r", characters.as_str()),
            Some('t') => push(text, "\t", characters.as_str()),
            Some('b' | ' ') => push(text, " ", characters.as_str()),
            Some('0') => "",
            Some(other @ ('%' | '!' | '.')) => push(text, other.encode_utf8(&mut [0; 4]), characters.as_str()),
            _ => push(text, "%", behind),
        };
    }
    text.push_str(rest);
    text.truncate(text.trim_end().len());
}

/// Returns the place of the first percent sign. Looks at eight bytes at a time: the pieces between inserts are too short for more.
fn next_insert(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A borrow reaches the high bit of a byte only if this byte, or one below it, is a percent sign.
    let has_sign = |block: &[u8; 8]| {
        let others = u64::from_le_bytes(*block) ^ (ONES * 0x25);
        others.wrapping_sub(ONES) & !others & (ONES << 7) != 0
    };
    let (blocks, _) = bytes.as_chunks();
    let start = 8 * blocks.iter().position(has_sign).unwrap_or(blocks.len());
    bytes.get(start..)?.iter().position(|byte| *byte == b'%').map(|place| start + place)
}

fn push<'a>(text: &mut String, piece: &str, rest: &'a str) -> &'a str {
    text.push_str(piece);
    rest
}

#[cfg(test)]
mod tests {
    use super::{format, next_insert};

    #[test]
    fn an_insert_is_found_wherever_it_is() {
        for length in 0..20 {
            // The bytes beside the percent sign, and its high bit.
            let text: Vec<u8> = b"$&\xA5".iter().copied().cycle().take(length).collect();
            assert_eq!(next_insert(&text), None, "{length}");
            assert_eq!(next_insert(&[&text, &b"%%abcdefgh"[..]].concat()), Some(length));
        }
    }

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
