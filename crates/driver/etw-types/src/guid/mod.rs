//! `GUID`: identifies providers, groups, sessions and activities.

mod by_reference;
mod case;
mod name;
mod parse;
mod sha1;

use core::fmt;
use core::mem::{align_of, size_of};

use by_reference::{ValueOrReference, value};

pub use parse::GuidParseError;

/// A `GUID` with the memory layout that Windows uses.
///
/// ```
/// use etw_types::Guid;
///
/// const GROUP: Guid = match Guid::parse("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c") {
///     Ok(guid) => guid,
///     Err(_) => Guid::ZERO,
/// };
/// assert_eq!(GROUP, Guid::from_u128(0xfaaf2f61_9b26_4591_9bb1_b9b8bae2d34c));
/// assert_eq!(GROUP.to_bytes_le()[..4], [0x61, 0x2f, 0xaf, 0xfa]);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid {
    /// The first group of digits.
    pub data1: u32,
    /// The second group.
    pub data2: u16,
    /// The third group.
    pub data3: u16,
    /// The last two groups.
    pub data4: [u8; 8],
}

const _: () = {
    assert!(size_of::<Guid>() == 16);
    assert!(align_of::<Guid>() == 4);
};

impl Guid {
    /// The GUID whose digits are all zero.
    pub const ZERO: Self = Self::from_u128(0);

    /// Creates a GUID from the four fields of the structure.
    #[must_use]
    pub const fn from_fields(data1: u32, data2: u16, data3: u16, data4: [u8; 8]) -> Self {
        Self { data1, data2, data3, data4 }
    }

    /// Creates a GUID from its digits as one number: `0x00112233_4455_6677_8899_aabbccddeeff`. The number can be passed
    /// by value or, as with `tracelogging`, by reference.
    ///
    /// ```
    /// use etw_types::Guid;
    ///
    /// const BY_VALUE: Guid = Guid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    /// const BY_REFERENCE: Guid = Guid::from_u128(&0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    /// assert_eq!(BY_VALUE, BY_REFERENCE);
    /// ```
    #[must_use]
    pub const fn from_u128(digits: impl ValueOrReference<u128>) -> Self {
        let digits: u128 = value(digits);
        Self::from_bytes_be(digits.to_be_bytes())
    }

    /// Returns the digits as one number.
    #[must_use]
    pub const fn to_u128(&self) -> u128 {
        u128::from_be_bytes(self.to_bytes_be())
    }

    /// Creates a GUID from its bytes in printed order. The array can be passed by value or by reference.
    #[must_use]
    pub const fn from_bytes_be(bytes: impl ValueOrReference<[u8; 16]>) -> Self {
        let [a, b, c, d, e, f, g, h, tail @ ..] = value(bytes);
        Self {
            data1: u32::from_be_bytes([a, b, c, d]),
            data2: u16::from_be_bytes([e, f]),
            data3: u16::from_be_bytes([g, h]),
            data4: tail,
        }
    }

    /// Returns the bytes in printed order.
    #[must_use]
    pub const fn to_bytes_be(&self) -> [u8; 16] {
        let [a, b, c, d] = self.data1.to_be_bytes();
        let [e, f] = self.data2.to_be_bytes();
        let [g, h] = self.data3.to_be_bytes();
        let [i, j, k, l, m, n, o, p] = self.data4;
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }

    /// Creates a GUID from its bytes in the order that Windows uses in memory and in files. The array can be passed by
    /// value or by reference.
    #[must_use]
    pub const fn from_bytes_le(bytes: impl ValueOrReference<[u8; 16]>) -> Self {
        let [a, b, c, d, e, f, g, h, tail @ ..] = value(bytes);
        Self {
            data1: u32::from_le_bytes([a, b, c, d]),
            data2: u16::from_le_bytes([e, f]),
            data3: u16::from_le_bytes([g, h]),
            data4: tail,
        }
    }

    /// Returns the bytes in the order that Windows uses in memory and in files.
    #[must_use]
    pub const fn to_bytes_le(&self) -> [u8; 16] {
        let [a, b, c, d] = self.data1.to_le_bytes();
        let [e, f] = self.data2.to_le_bytes();
        let [g, h] = self.data3.to_le_bytes();
        let [i, j, k, l, m, n, o, p] = self.data4;
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }

    /// Returns [`ZERO`](Self::ZERO). `tracelogging` has a function of this name.
    ///
    /// ```
    /// assert_eq!(etw_types::Guid::zero(), etw_types::Guid::ZERO);
    /// ```
    #[must_use]
    pub const fn zero() -> Self {
        Self::ZERO
    }

    /// Returns the four fields of the structure.
    ///
    /// ```
    /// let guid = etw_types::Guid::from_fields(1, 2, 3, [4; 8]);
    /// assert_eq!(guid.to_fields(), (1, 2, 3, [4; 8]));
    /// ```
    #[must_use]
    pub const fn to_fields(&self) -> (u32, u16, u16, [u8; 8]) {
        (self.data1, self.data2, self.data3, self.data4)
    }

    /// Returns the bytes as they are in memory, without a copy. On Windows they equal
    /// [`to_bytes_le`](Self::to_bytes_le).
    ///
    /// ```
    /// let guid = etw_types::Guid::from_name("MyProvider");
    /// assert_eq!(*guid.as_bytes_raw(), guid.to_bytes_le());
    /// ```
    #[must_use]
    #[expect(unsafe_code, reason = "a view of bytes, which safe code can only copy")]
    pub const fn as_bytes_raw(&self) -> &[u8; 16] {
        // SAFETY: the structure has 16 bytes without padding (asserted above), so all bytes are initialised; bytes need
        // no alignment.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// Returns the text as ASCII: 36 characters, lower case, in groups of 8-4-4-4-12.
    ///
    /// ```
    /// let guid = etw_types::Guid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    /// assert_eq!(&guid.to_utf8_bytes(), b"00112233-4455-6677-8899-aabbccddeeff");
    /// ```
    #[must_use]
    pub fn to_utf8_bytes(&self) -> [u8; 36] {
        const DIGITS: [u8; 16] = *b"0123456789abcdef";
        let mut text = [b'-'; 36];
        let positions = (0..36).filter(|position| !matches!(position, 8 | 13 | 18 | 23));
        let digits = self.to_bytes_be().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
        for (position, digit) in positions.zip(digits) {
            if let (Some(character), Some(digit)) = (text.get_mut(position), DIGITS.get(usize::from(digit))) {
                *character = *digit;
            }
        }
        text
    }

    /// Parses text like [`parse`](Self::parse), but returns `None` on failure.
    ///
    /// ```
    /// assert_eq!(etw_types::Guid::try_parse("no GUID"), None);
    /// ```
    #[must_use]
    pub fn try_parse(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    /// Parses ASCII text like [`try_parse`](Self::try_parse).
    ///
    /// ```
    /// assert!(etw_types::Guid::try_parse_ascii(b"00112233-4455-6677-8899-aabbccddeeff").is_some());
    /// assert_eq!(etw_types::Guid::try_parse_ascii(b"\xFF"), None);
    /// ```
    #[must_use]
    pub fn try_parse_ascii(text: &[u8]) -> Option<Self> {
        core::str::from_utf8(text).ok().and_then(Self::try_parse)
    }

    /// Returns the id that ETW's naming convention assigns to the provider called `name`.
    ///
    /// The id is a hash of the name in invariant upper case, so `MyProvider` and `MYPROVIDER` have the same id. Tools
    /// such as tracelog (`-guid *MyProvider`) and .NET's `EventSource` compute the same id.
    #[must_use]
    pub const fn from_name(name: &str) -> Self {
        name::hash(name)
    }

    /// Parses a GUID: 32 digits in groups of 8-4-4-4-12, upper or lower case, with or without braces.
    ///
    /// # Errors
    ///
    /// Returns a [`GuidParseError`] with the position of the first unexpected character.
    pub const fn parse(text: &str) -> Result<Self, GuidParseError> {
        parse::parse(text)
    }

    /// Returns whether all digits are zero.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.to_u128() == 0
    }
}

/// Splits a GUID off the front.
pub(crate) const fn split_guid(bytes: &[u8]) -> Option<(Guid, &[u8])> {
    match bytes.split_first_chunk::<16>() {
        Some((raw, rest)) => Some((Guid::from_bytes_le(*raw), rest)),
        None => None,
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [clock_high, clock_low, node @ ..] = self.data4;
        write!(f, "{:08x}-{:04x}-{:04x}-{clock_high:02x}{clock_low:02x}-", self.data1, self.data2, self.data3)?;
        node.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::str::FromStr for Guid {
    type Err = GuidParseError;

    fn from_str(text: &str) -> Result<Self, GuidParseError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::ToString;

    use super::Guid;

    #[test]
    fn names_hash_to_the_ids_other_tools_compute() {
        for (name, id) in [
            ("MyProvider", "b3864c38-4273-58c5-545b-8b3608343471"),
            ("myprovider", "b3864c38-4273-58c5-545b-8b3608343471"),
            ("Microsoft-Diagnostics-DiagnosticSource", "adb401e1-5296-51f8-c125-5fda75826144"),
            ("Microsoft-Extensions-Logging", "3ac73b97-af73-50e9-0822-5da4367920d0"),
        ] {
            assert_eq!(Guid::from_name(name).to_string(), id, "{name}");
        }
    }

    #[test]
    fn a_name_is_hashed_in_constants() {
        const ID: Guid = Guid::from_name("Ünïcode-Прøvider-𐐨");
        assert_eq!(ID, Guid::from_name("ÜNÏCODE-ПРØVIDER-𐐀"));
        assert_eq!(ID.data3 >> 12, 5);
    }

    #[test]
    fn byte_orders_round_trip() {
        let guid = Guid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        assert_eq!(guid.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!(Guid::from_bytes_le(guid.to_bytes_le()), guid);
        assert_eq!(Guid::from_bytes_be(guid.to_bytes_be()), guid);
        assert_eq!(guid.to_bytes_le()[..8], [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66]);
    }

    #[test]
    fn fields_and_bytes_in_memory_are_those_of_the_structure() {
        let tail = [0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
        let guid = Guid::from_fields(0x0011_2233, 0x4455, 0x6677, tail);
        assert_eq!(guid.to_u128(), 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        assert_eq!(guid.to_fields(), (0x0011_2233, 0x4455, 0x6677, tail));
        assert_eq!(guid.as_bytes_raw()[8..], tail);
        assert!(Guid::zero().is_zero());
        assert!(!guid.is_zero());
    }

    #[test]
    fn text_as_ascii_is_the_displayed_text() {
        let guid = Guid::from_u128(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);
        assert_eq!(guid.to_utf8_bytes(), *guid.to_string().as_bytes());
        assert_eq!(guid.to_utf8_bytes(), *b"01234567-89ab-cdef-fedc-ba9876543210");
        assert_eq!(format!("{guid:?}"), guid.to_string());
        assert_eq!(Guid::try_parse_ascii(&guid.to_utf8_bytes()), Some(guid));
        assert_eq!(Guid::try_parse_ascii(b"\xFF"), None);
        assert_eq!(Guid::try_parse(&guid.to_string()), Some(guid));
        assert_eq!(Guid::try_parse("no GUID"), None);
    }
}
