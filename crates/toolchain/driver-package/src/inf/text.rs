//! The encodings of INF files: the system's ANSI code page, or UTF-16LE with a byte order mark.
//!
//! ANSI bytes above 127 have a different meaning on every machine, so they are kept unchanged, as one character per
//! byte.

use super::Fault;

const RULE: u16 = 1003;

/// How the characters are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// One byte per character.
    Ansi,
    /// With a byte order mark.
    Utf16Le,
}

/// The text of a file, and its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The encoding.
    pub encoding: Encoding,
    /// The text, without a byte order mark.
    pub text: String,
}

impl Text {
    /// Decodes the bytes of a file.
    ///
    /// # Errors
    ///
    /// Returns rule 1003, with the line if possible, if Windows would read the file differently from what an editor
    /// shows.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        match bytes {
            [0xff, 0xfe, rest @ ..] => decode_utf16(rest),
            [0xfe, 0xff, ..] => Err(refuse(1, "it is UTF-16 in big-endian order")),
            [0xef, 0xbb, 0xbf, ..] => Err(refuse(1, "it is UTF-8 with a byte order mark")),
            _ => decode_ansi(bytes),
        }
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self.encoding {
            // A character that did not come from a byte cannot be encoded. Stamping adds only ASCII, so there are none.
            Encoding::Ansi => self.text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect(),
            Encoding::Utf16Le => {
                let units = std::iter::once(0xfeff).chain(self.text.encode_utf16());
                units.flat_map(u16::to_le_bytes).collect()
            }
        }
    }
}

fn refuse(line: usize, found: &str) -> Fault {
    Fault::new(RULE, line, format!("{found}; Windows reads INF files as ANSI or as UTF-16LE with a byte order mark"))
}

fn decode_utf16(bytes: &[u8]) -> Result<Text, Fault> {
    let units = bytes.chunks(2).map(|pair| match *pair {
        [low, high] => Some(u16::from_le_bytes([low, high])),
        _ => None,
    });
    let whole: Option<Vec<u16>> = units.collect();
    let Some(units) = whole else {
        return Err(refuse(1, "it is UTF-16 with an odd number of bytes"));
    };
    let mut text = String::with_capacity(units.len());
    for character in char::decode_utf16(units) {
        match character {
            Ok('\0') => return Err(refuse(line_at_end(&text), "it contains a NUL character")),
            Ok(character) => text.push(character),
            Err(_) => return Err(refuse(line_at_end(&text), "it is UTF-16 with an unpaired surrogate")),
        }
    }
    Ok(Text { encoding: Encoding::Utf16Le, text })
}

fn decode_ansi(bytes: &[u8]) -> Result<Text, Fault> {
    let line_of = |is_wanted: fn(&u8) -> bool| {
        let before = bytes.iter().take_while(|byte| !is_wanted(byte));
        before.filter(|byte| **byte == b'\n').count() + 1
    };
    if bytes.contains(&0) {
        return Err(refuse(
            line_of(|byte| *byte == 0),
            "it contains zero bytes, like UTF-16 without a byte order mark",
        ));
    }
    if !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok() {
        return Err(refuse(line_of(|byte| !byte.is_ascii()), "it contains a non-ASCII character in UTF-8"));
    }
    Ok(Text { encoding: Encoding::Ansi, text: bytes.iter().copied().map(char::from).collect() })
}

fn line_at_end(text: &str) -> usize {
    text.matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Text};

    fn refused(bytes: &[u8]) -> (usize, String) {
        let fault = Text::decode(bytes).unwrap_err();
        assert_eq!(fault.rule, 1003);
        (fault.line, fault.text)
    }

    #[test]
    fn ansi_bytes_are_carried_through() {
        let bytes = b"[Version]\r\n; caf\xe9\r\n";
        let text = Text::decode(bytes).unwrap();
        assert_eq!(text.encoding, Encoding::Ansi);
        assert_eq!(text.encode(), bytes);
    }

    #[test]
    fn utf16_with_its_mark_is_carried_through() {
        let bytes: Vec<u8> = "\u{feff}[Version]\n; \u{1f980}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let text = Text::decode(&bytes).unwrap();
        assert_eq!(text.encoding, Encoding::Utf16Le);
        assert_eq!(text.text.as_str(), "[Version]\n; \u{1f980}");
        assert_eq!(text.encode(), bytes);
    }

    #[test]
    fn text_that_windows_would_misread_is_rejected_with_its_line() {
        assert_eq!(refused("\u{feff}[Version]".as_bytes()).0, 1);
        assert_eq!(refused("[Version]\n; caf\u{e9}".as_bytes()).0, 2);
        assert_eq!(refused(b"\xfe\xff\0[").0, 1);
        assert_eq!(refused(b"[V]\n\n[\0").0, 3);
        assert_eq!(refused(b"\xff\xfe[\0V").0, 1);
        let half: Vec<u8> = [0xfeff, 10, 0xd800].iter().flat_map(|unit: &u16| unit.to_le_bytes()).collect();
        assert_eq!(refused(&half).0, 2);
        assert!(refused("[V]\n; \u{e9}".as_bytes()).1.contains("UTF-16LE"));
        assert!(refused(b"\xfe\xff\0[").1.starts_with("it is UTF-16 in big-endian order"));
    }
}
