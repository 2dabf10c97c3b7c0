//! Byte helpers that work in constants and never panic.

/// Splits the first character off UTF-8 text. Returns it with the remaining bytes.
///
/// The input should be the bytes of a `str`. Returns `None` if the first character is malformed.
pub(crate) const fn next_char(bytes: &[u8]) -> Option<(char, &[u8])> {
    let (code, rest) = match bytes {
        [a @ 0..0x80, rest @ ..] => (*a as u32, rest),
        [a @ 0xC0..0xE0, b, rest @ ..] => ((*a as u32 & 0x1F) << 6 | low(*b), rest),
        [a @ 0xE0..0xF0, b, c, rest @ ..] => ((*a as u32 & 0x0F) << 12 | low(*b) << 6 | low(*c), rest),
        [a @ 0xF0..=0xF7, b, c, d, rest @ ..] => {
            ((*a as u32 & 0x07) << 18 | low(*b) << 12 | low(*c) << 6 | low(*d), rest)
        }
        _ => return None,
    };
    match char::from_u32(code) {
        Some(character) => Some((character, rest)),
        None => None,
    }
}

const fn low(byte: u8) -> u32 {
    byte as u32 & 0x3F
}

/// Returns whether `bytes` contains a NUL.
pub(crate) const fn contains_nul(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        if *byte == 0 {
            return true;
        }
        rest = tail;
    }
    false
}

/// Splits at the first NUL. Returns the bytes before it and the bytes after it, or `None` if there is no NUL.
pub(crate) const fn split_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0;
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        if *byte == 0 {
            return match bytes.split_at_checked(length) {
                Some((name, _)) => Some((name, tail)),
                None => None,
            };
        }
        length += 1;
        rest = tail;
    }
    None
}

/// Splits a little-endian `u16` off the front.
pub(crate) const fn split_u16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    match bytes {
        [low, high, rest @ ..] => Some((u16::from_le_bytes([*low, *high]), rest)),
        _ => None,
    }
}

/// Appends to a fixed buffer and records whether anything did not fit.
///
/// Used in constants, where the buffer has exactly the computed length, and at run time with a caller's buffer.
pub(crate) struct Appender<'a> {
    buffer: &'a mut [u8],
    used: usize,
    overflowed: bool,
}

impl<'a> Appender<'a> {
    pub(crate) const fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, used: 0, overflowed: false }
    }

    pub(crate) const fn push(&mut self, bytes: &[u8]) {
        if let Some((_, free)) = self.buffer.split_at_mut_checked(self.used)
            && let Some((room, _)) = free.split_at_mut_checked(bytes.len())
        {
            room.copy_from_slice(bytes);
            self.used += bytes.len();
        } else {
            self.overflowed = true;
        }
    }

    /// Returns the number of free bytes.
    pub(crate) const fn room(&self) -> usize {
        self.buffer.len().saturating_sub(self.used)
    }

    pub(crate) const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Returns the appended bytes, or `None` if anything did not fit.
    pub(crate) fn into_used(self) -> Option<&'a mut [u8]> {
        if self.overflowed { None } else { self.buffer.get_mut(..self.used) }
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::next_char;

    #[test]
    fn characters_are_those_of_the_text() {
        let text = "a\u{7F}\u{80}ü\u{7FF}\u{800}€\u{D7FF}\u{E000}\u{FFFF}\u{10000}𐐨\u{10FFFF}";
        let mut rest = text.as_bytes();
        let mut read = String::new();
        while let Some((character, tail)) = next_char(rest) {
            read.push(character);
            rest = tail;
        }
        assert_eq!(read, text);
    }

    #[test]
    fn malformed_text_has_no_character() {
        for bytes in [
            &b""[..],
            b"\x80a",
            b"\xC3",
            b"\xE2\x82",
            b"\xF0\x90\x90",
            b"\xED\xA0\x80",
            b"\xF7\xBF\xBF\xBF",
            b"\xF8aaaa",
        ] {
            assert_eq!(next_char(bytes), None, "{bytes:x?}");
        }
    }
}
