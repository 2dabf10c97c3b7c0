//! An event's categories.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign};

/// The categories of an event, one bit each. The upper 16 bits are reserved for Microsoft, the lower 48 are defined by
/// the provider.
#[repr(transparent)]
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keyword(u64);

impl Keyword {
    /// No category. Such an event passes every keyword check on the provider's side.
    pub const NONE: Self = Self(0);

    /// Wraps category bits.
    #[must_use]
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the category bits.
    #[must_use]
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns whether a session with the masks `any` and `all` receives events with this keyword, by the rule that
    /// providers apply: the keyword is 0, or it has at least one bit of `any` and every bit of `all`.
    #[must_use]
    #[inline(always)]
    pub const fn matches(self, any: u64, all: u64) -> bool {
        self.0 == 0 || ((self.0 & any) != 0 && (self.0 & all) == all)
    }
}

impl From<u64> for Keyword {
    #[inline(always)]
    fn from(bits: u64) -> Self {
        Self(bits)
    }
}

impl From<Keyword> for u64 {
    #[inline(always)]
    fn from(keyword: Keyword) -> Self {
        keyword.0
    }
}

impl BitOr for Keyword {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Keyword {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Keyword {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyword({:#x})", self.0)
    }
}

impl fmt::Display for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::Keyword;

    #[test]
    fn keywords_are_combined_by_bits() {
        let low = Keyword::from_bits(0b0110);
        let high = Keyword::from_bits(0b1100);
        assert_eq!(low | high, Keyword(0b1110));
        assert_eq!(low & high, Keyword(0b0100));
        let mut both = low;
        both |= high;
        assert_eq!(u64::from(both), 0b1110);
        assert_eq!(Keyword::from(6), low);
        assert_eq!(format!("{low} {low:?}"), "0x6 Keyword(0x6)");
    }

    #[test]
    fn an_event_without_keyword_passes_every_mask() {
        assert!(Keyword::NONE.matches(0, 0));
        assert!(Keyword::NONE.matches(0, u64::MAX));
    }

    #[test]
    fn any_needs_one_bit_and_all_needs_every_bit() {
        assert!(Keyword::from_bits(0b101).matches(0b100, 0));
        assert!(!Keyword::from_bits(0b101).matches(0b010, 0));
        assert!(Keyword::from_bits(0b101).matches(0b001, 0b101));
        assert!(!Keyword::from_bits(0b101).matches(0b001, 0b111));
    }
}
