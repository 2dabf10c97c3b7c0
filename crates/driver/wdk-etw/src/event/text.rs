//! Values of variable length: where they end, and where they are truncated.
//!
//! Counted fields and arrays have a `u16` count, so they can have at most 65535 bytes or elements. Longer values are
//! truncated; text is cut between two characters. Nothing here can panic.

/// The largest count.
const MAX: usize = u16::MAX as usize;

/// Maximum number of UTF-16 code units whose byte count fits in a `u16`.
const MAX_UTF16: usize = MAX / size_of::<u16>();

/// UTF-8 of at most 65535 bytes; longer text is cut between two characters.
#[must_use]
#[inline(always)]
pub const fn utf8(text: &[u8]) -> &[u8] {
    if text.len() <= MAX { text } else { bounded(cut_utf8(text), MAX) }
}

/// UTF-16 of at most 65534 bytes; longer text is cut between two characters.
#[must_use]
#[inline(always)]
pub const fn utf16(text: &[u16]) -> &[u16] {
    if text.len() <= MAX_UTF16 { text } else { bounded(cut_utf16(text), MAX_UTF16) }
}

/// At most 65535 elements.
#[must_use]
#[inline(always)]
pub const fn elements<T>(values: &[T]) -> &[T] {
    if values.len() <= MAX { values } else { cut(values, MAX) }
}

/// Returns the size of the elements in bytes. The caller guarantees that it fits.
#[must_use]
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the value was cut to fit before")]
pub const fn byte_count<T>(values: &[T]) -> u16 {
    size_of_val(values) as u16
}

/// Returns the number of elements. The caller guarantees that it fits.
#[must_use]
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the value was cut to fit before")]
pub const fn element_count<T>(values: &[T]) -> u16 {
    values.len() as u16
}

/// Everything before the first NUL, or all of it.
#[must_use]
#[inline]
pub fn until_nul<T: Default + PartialEq>(text: &[T]) -> &[T] {
    let nul = T::default();
    match text.iter().position(|unit| *unit == nul) {
        Some(end) => cut(text, end),
        None => text,
    }
}

/// Returns a security identifier without the bytes after it, or `None` if there are too few bytes.
///
/// Its second byte is the number of subauthorities. They have four bytes each and follow a header of eight bytes.
#[must_use]
#[inline]
pub fn sid(bytes: &[u8]) -> Option<&[u8]> {
    const HEAD: usize = 8;
    const SUBAUTHORITY: usize = 4;
    let count = usize::from(*bytes.get(1)?);
    bytes.get(..HEAD + SUBAUTHORITY * count)
}

/// Returns `values`, which have at most `max` elements. The check is at the call of a function that is not inlined. It
/// tells the compiler the maximum length, so that later length checks can be removed.
#[inline(always)]
const fn bounded<T>(values: &[T], max: usize) -> &[T] {
    if values.len() <= max { values } else { &[] }
}

/// Returns the first `end` elements, or all of them if there are fewer.
#[inline]
const fn cut<T>(values: &[T], end: usize) -> &[T] {
    match values.split_at_checked(end) {
        Some((front, _)) => front,
        None => values,
    }
}

/// Truncates UTF-8 after the last character that fits. Bytes that are not UTF-8 are cut at the limit.
///
/// It is inlined although it rarely runs, because a call would make every writer save registers for it.
#[inline(always)]
const fn cut_utf8(text: &[u8]) -> &[u8] {
    /// A character has at most three continuation bytes.
    const LONGEST_TAIL: usize = 3;
    let mut end = MAX;
    while end >= MAX - LONGEST_TAIL {
        let Some((front, rest)) = text.split_at_checked(end) else {
            return text;
        };
        match rest {
            // Cutting here is correct unless a continuation byte follows.
            [next, ..] if *next & 0xC0 == 0x80 => end -= 1,
            _ => return front,
        }
    }
    cut(text, MAX)
}

/// Truncates UTF-16 without splitting a surrogate pair.
#[inline(always)]
const fn cut_utf16(text: &[u16]) -> &[u16] {
    let front = cut(text, MAX_UTF16);
    match front {
        [whole @ .., 0xD800..=0xDBFF] => whole,
        _ => front,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::{MAX, MAX_UTF16, byte_count, element_count, elements, sid, until_nul, utf8, utf16};

    #[test]
    fn text_that_fits_is_left_alone() {
        let text = vec![b'x'; MAX];
        assert_eq!(utf8(&text).len(), MAX);
        assert_eq!(byte_count(utf8(&text)), u16::MAX);
        assert_eq!(utf16(&[0xD800].repeat(MAX_UTF16)).len(), MAX_UTF16);
        assert_eq!(utf8(b""), b"");
    }

    #[test]
    fn utf8_is_cut_between_characters() {
        for (ahead, character) in [(0, "é"), (1, "é"), (1, "€"), (2, "€"), (0, "🚗"), (1, "🚗"), (2, "🚗"), (3, "🚗")]
        {
            let text = "x".repeat(ahead) + &character.repeat(MAX);
            let front = utf8(text.as_bytes());
            assert!(front.len() <= MAX, "it fits");
            assert!(front.len() > MAX - character.len(), "no character that fits is cut");
            assert_eq!((front.len() - ahead) % character.len(), 0);
        }
    }

    #[test]
    fn invalid_utf8_is_cut_at_the_limit() {
        assert_eq!(utf8(&vec![0x80; MAX + 1]).len(), MAX);
        // More continuation bytes than a character has.
        let mut text = vec![b'x'; MAX - 4];
        text.extend([0x80; 8]);
        assert_eq!(utf8(&text).len(), MAX);
    }

    #[test]
    fn utf16_is_cut_between_characters() {
        let text = [0xD83D, 0xDE97].repeat(MAX_UTF16);
        assert_eq!(utf16(&text).len(), MAX_UTF16 - 1);
        assert_eq!(utf16(&text[1..]).len(), MAX_UTF16);
        assert_eq!(utf16(&[0x20].repeat(MAX_UTF16 + 1)).len(), MAX_UTF16);
        assert_eq!(byte_count(utf16(&[0x20].repeat(MAX_UTF16 + 1))), 65534);
    }

    #[test]
    fn arrays_are_cut_at_65535_elements() {
        let values = [7_u32].repeat(MAX + 2);
        assert_eq!(elements(&values).len(), MAX);
        assert_eq!(element_count(elements(&values)), u16::MAX);
        assert_eq!(element_count(elements(&values[..3])), 3);
    }

    #[test]
    fn terminated_text_ends_before_the_first_nul() {
        assert_eq!(until_nul(b"ab\0cd\0"), b"ab");
        assert_eq!(until_nul(b"abcd"), b"abcd");
        assert_eq!(until_nul(&[0_u16, 1]), []);
        // Miri takes seconds to look at all of them.
        let long = [1_u16].repeat(if cfg!(miri) { 100 } else { MAX + 5 });
        assert_eq!(until_nul(&long).len(), long.len());
    }

    #[test]
    fn a_sid_that_ends_early_is_refused() {
        let mut bytes = vec![1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
        assert_eq!(sid(&bytes), Some(&bytes[..]));
        bytes.push(99);
        assert_eq!(sid(&bytes).map(<[u8]>::len), Some(16));
        assert_eq!(sid(&bytes[..15]), None);
        assert_eq!(sid(&bytes[..1]), None);
        assert_eq!(sid(&[]), None);
    }
}
