//! Bytes in a buffer of fixed size that is not initialised before use, and text that is truncated to fit.

use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;
use core::slice;

/// The end of a truncated text: an ellipsis.
pub(crate) const MARK: &str = "\u{2026}";

/// Up to `N` bytes, for example on the stack.
pub struct FixedBytes<const N: usize> {
    /// The first `used` bytes are initialised.
    bytes: [MaybeUninit<u8>; N],
    /// At most `N`.
    used: usize,
}

impl<const N: usize> FixedBytes<N> {
    /// Returns an empty buffer.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { bytes: [MaybeUninit::uninit(); N], used: 0 }
    }

    /// Returns the bytes that were appended.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline]
    pub const fn as_slice(&self) -> &[u8] {
        // SAFETY: `used` bytes are initialised.
        unsafe { slice::from_raw_parts(self.bytes.as_ptr().cast::<u8>(), self.used) }
    }

    /// Returns the number of free bytes.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline]
    pub const fn room(&self) -> usize {
        N - self.used
    }

    pub(crate) const fn clear(&mut self) {
        self.used = 0;
    }

    /// Appends `bytes` and returns true, or appends nothing and returns false if they do not fit.
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > self.room() {
            return false;
        }
        // SAFETY: `used` is at most `N`.
        let to = unsafe { self.bytes.as_mut_ptr().cast::<u8>().add(self.used) };
        // SAFETY: that many bytes are free. The buffer is borrowed mutably, so `bytes` does not overlap it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        self.used += bytes.len();
        true
    }

    /// Appends a two-byte count and then that many bytes of UTF-8: the formatted `arguments`, at most `limit` bytes and
    /// no more than fit. Truncated text ends with an ellipsis. Returns false and appends nothing if there is no room
    /// for a count and an ellipsis.
    ///
    /// # IRQL
    ///
    /// Any. The formatted values can have their own limits.
    pub fn counted_text(&mut self, limit: usize, arguments: fmt::Arguments<'_>) -> bool {
        let Some(room) = self.room().checked_sub(size_of::<u16>()).filter(|room| *room >= MARK.len()) else {
            return false;
        };
        let start = self.used;
        self.append(&[0; size_of::<u16>()]);
        let end = self.used + room.min(limit).min(usize::from(u16::MAX));
        let mut text = Text { bytes: self, end, cut: 0 };
        text.format(arguments);
        let length = self.used - start - size_of::<u16>();
        let count = u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes();
        // SAFETY: `start` is in the buffer.
        let place = unsafe { self.bytes.as_mut_ptr().cast::<u8>().add(start) };
        // SAFETY: two bytes were appended there.
        unsafe { place.cast::<[u8; size_of::<u16>()]>().write(count) };
        true
    }
}

impl<const N: usize> Default for FixedBytes<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Debug for FixedBytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// Appends text to bytes in whole characters. If the text does not fit, it ends with an ellipsis.
pub(crate) struct Text<'a, const N: usize> {
    pub(crate) bytes: &'a mut FixedBytes<N>,
    /// The offset at which the text must end. The last bytes before it are reserved for the ellipsis.
    pub(crate) end: usize,
    /// The number of bytes that did not fit.
    pub(crate) cut: usize,
}

impl<const N: usize> Text<'_, N> {
    /// Appends the formatted `arguments`. If a formatter fails, the text ends there with an ellipsis.
    pub(crate) fn format(&mut self, arguments: fmt::Arguments<'_>) {
        if fmt::write(self, arguments).is_err() && self.cut == 0 {
            self.mark(1);
        }
    }

    /// Appends the ellipsis if there is none yet, and counts `bytes` that did not fit.
    #[cold]
    fn mark(&mut self, bytes: usize) {
        if self.cut == 0 {
            self.bytes.append(MARK.as_bytes());
        }
        self.cut = self.cut.saturating_add(bytes);
    }

    /// Appends the part of a text that fits.
    #[cold]
    fn append_part(&mut self, text: &str, room: usize) {
        if self.cut == 0 {
            let (part, rest) = text.split_at_checked(text.floor_char_boundary(room)).unwrap_or(("", text));
            self.bytes.append(part.as_bytes());
            self.mark(rest.len());
        } else {
            self.mark(text.len());
        }
    }
}

impl<const N: usize> fmt::Write for Text<'_, N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = (self.end - MARK.len()).saturating_sub(self.bytes.used);
        if text.len() <= room && self.cut == 0 {
            self.bytes.append(text.as_bytes());
        } else {
            self.append_part(text, room);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;

    use super::FixedBytes;

    #[test]
    fn counted_text_is_cut_to_its_limit_and_to_the_room() {
        for (limit, text, expected) in [
            (64, "", &b"\x00\x00"[..]),
            (64, "abc", b"\x03\x00abc"),
            (6, "abcd", b"\x06\x00abc\xE2\x80\xA6"),
            (64, "0123456789", b"\x0A\x000123456789"),
            (64, "0123456789a", b"\x0D\x000123456789\xE2\x80\xA6"),
        ] {
            let mut bytes = FixedBytes::<17>::new();
            bytes.append(b"12");
            assert!(bytes.counted_text(limit, format_args!("{text}")));
            assert_eq!(bytes.as_slice().strip_prefix(b"12"), Some(expected), "{text} in {limit}");
        }
        let mut full = FixedBytes::<6>::new();
        full.append(b"1");
        assert!(full.counted_text(64, format_args!("abc")));
        assert_eq!(full.as_slice(), b"1\x03\x00\xE2\x80\xA6");
        assert!(!full.counted_text(64, format_args!("abc")));
        assert_eq!(full.as_slice(), &b"1\x03\x00\xE2\x80\xA6"[..]);
        assert_eq!(full.room(), 0);
    }

    #[test]
    fn bytes_are_appended_whole_or_not_at_all() {
        let mut bytes = FixedBytes::<4>::new();
        assert!(bytes.append(b"abc"));
        assert!(!bytes.append(b"de"));
        assert!(bytes.append(b"f"));
        assert_eq!(bytes.as_slice(), &b"abcf"[..]);
        assert_eq!(bytes.room(), 0);
        assert_eq!(format!("{bytes:?}"), "[97, 98, 99, 102]");
    }
}
