//! Text in a buffer of fixed size.

use core::fmt;

use super::bytes::{FixedBytes, MARK, Text};

/// Text in a buffer of `N` bytes, for example on the stack. A driver can format into it without allocating.
///
/// Write to it with [`write!`] or [`format`](Self::format). Text that does not fit is truncated between two characters
/// and ends with an ellipsis (`…`). Three bytes are always reserved for the ellipsis.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::FixedText;
///
/// let mut text = FixedText::<16>::new();
/// text.format(format_args!("{:?}", [1, 2, 3]));
/// assert_eq!(text.as_str(), "[1, 2, 3]");
/// text.format(format_args!("{:?}", [111_111, 222_222]));
/// assert_eq!(text.as_str(), "[111111, 2222…");
/// assert_eq!(text.cut(), 3);
/// ```
///
/// # IRQL
///
/// Any for all methods. The formatted values can have their own limits.
pub struct FixedText<const N: usize> {
    /// UTF-8.
    bytes: FixedBytes<N>,
    cut: usize,
}

impl<const N: usize> FixedText<N> {
    /// Creates an empty text. `N` must be at least 4: the ellipsis and one letter.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::FixedText;
    ///
    /// let text = FixedText::<64>::new();
    /// assert_eq!(text.as_str(), "");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        const { assert!(N > MARK.len(), "FixedText needs at least 4 bytes: an ellipsis and one letter") };
        Self { bytes: FixedBytes::new(), cut: 0 }
    }

    /// Replaces the text with the formatted `arguments`. If a formatter fails, the text ends there with an ellipsis.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::FixedText;
    ///
    /// let mut text = FixedText::<64>::new();
    /// assert_eq!(text.format(format_args!("{:#x}", 255)), "0xff");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any. The formatted values can have their own limits.
    pub fn format(&mut self, arguments: fmt::Arguments<'_>) -> &str {
        self.bytes.clear();
        let mut text = Text { bytes: &mut self.bytes, end: N, cut: 0 };
        text.format(arguments);
        self.cut = text.cut;
        self.as_str()
    }

    /// Returns the text.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::FixedText;
    ///
    /// use core::fmt::Write as _;
    ///
    /// let mut text = FixedText::<64>::new();
    /// write!(text, "{} of {}", 1, 2)?;
    /// assert_eq!(text.as_str(), "1 of 2");
    /// # Ok::<(), core::fmt::Error>(())
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // SAFETY: only `Text` appends to the bytes, and it appends whole characters.
        unsafe { core::str::from_utf8_unchecked(self.bytes.as_slice()) }
    }

    /// Returns the number of bytes that did not fit.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::FixedText;
    ///
    /// let mut text = FixedText::<8>::new();
    /// text.format(format_args!("0123456789"));
    /// assert_eq!(text.as_str(), "01234…");
    /// assert_eq!(text.cut(), 5);
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn cut(&self) -> usize {
        self.cut
    }
}

impl<const N: usize> fmt::Write for FixedText<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut all = Text { bytes: &mut self.bytes, end: N, cut: self.cut };
        let written = all.write_str(text);
        self.cut = all.cut;
        written
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Debug for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedText").field("text", &self.as_str()).field("cut", &self.cut).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::fmt::{self, Write as _};
    use std::format;
    use std::string::String;

    use super::FixedText;

    #[test]
    fn text_of_every_length_is_whole_or_marked() {
        for character in ["x", "é", "€", "🚗"] {
            for count in 0..20 {
                let text = character.repeat(count);
                let mut fixed = FixedText::<16>::new();
                fixed.write_str(&text).unwrap();
                if text.len() <= 13 {
                    assert_eq!(fixed.as_str(), text.as_str());
                    assert_eq!(fixed.cut(), 0);
                    continue;
                }
                let kept = fixed.as_str().strip_suffix('…').unwrap();
                assert!(text.starts_with(kept), "{kept}");
                assert!(kept.len() + character.len() > 13, "{kept}");
                assert_eq!(kept.len() + fixed.cut(), text.len());
            }
        }
    }

    #[test]
    fn nothing_is_appended_after_the_mark() {
        let mut fixed = FixedText::<8>::new();
        for _ in 0..5 {
            fixed.write_str("abc").unwrap();
        }
        assert_eq!(fixed.as_str(), "abcab…");
        assert_eq!(fixed.cut(), 10);
        assert_eq!(format!("{fixed:?}"), "FixedText { text: \"abcab…\", cut: 10, .. }");
        assert_eq!(fixed.format(format_args!("{}", 12)), "12");
        assert_eq!(fixed.cut(), 0);
    }

    #[test]
    fn a_formatter_that_fails_leaves_a_mark() {
        struct Fails;
        impl fmt::Display for Fails {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("half")?;
                Err(fmt::Error)
            }
        }
        let mut fixed = FixedText::<32>::new();
        assert_eq!(fixed.format(format_args!("a {Fails} b")), "a half…");
        assert_eq!(fixed.cut(), 1);
        assert_eq!(String::from(FixedText::<4>::new().format(format_args!("ab"))), "a…");
    }
}
