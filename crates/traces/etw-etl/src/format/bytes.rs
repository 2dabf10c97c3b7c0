//! Little-endian integers at offsets. Reads return `None` past the end; writes are truncated there.

use etw_types::Guid;

#[inline]
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

#[inline]
pub(crate) fn u8_at(bytes: &[u8], offset: usize) -> Option<u8> {
    bytes.get(offset).copied()
}

#[inline]
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_le_bytes)
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_le_bytes)
}

#[inline]
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_le_bytes)
}

#[inline]
pub(crate) fn i64_at(bytes: &[u8], offset: usize) -> Option<i64> {
    array_at(bytes, offset).map(i64::from_le_bytes)
}

#[inline]
pub(crate) fn guid_at(bytes: &[u8], offset: usize) -> Option<Guid> {
    array_at(bytes, offset).map(Guid::from_bytes_le)
}

/// Copies `value` to `offset`. Bytes past the end are dropped, which cannot happen here: every layout is as large as its fields.
#[inline]
pub(crate) fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    let place = bytes.get_mut(offset..).unwrap_or_default();
    let length = place.len().min(value.len());
    if let (Some(place), Some(value)) = (place.get_mut(..length), value.get(..length)) {
        place.copy_from_slice(value);
    }
}

/// Splits off UTF-16 text up to its NUL or the end, and returns it with the bytes after it. Invalid code units become replacement
/// characters.
pub(crate) fn split_utf16z(bytes: &[u8]) -> (String, &[u8]) {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let length = units.clone().take_while(|unit| *unit != 0).count();
    let text = char::decode_utf16(units.take(length)).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
    (text.collect(), bytes.get(length * 2 + 2..).unwrap_or_default())
}

/// Encodes `text` as UTF-16 with a terminating NUL.
pub(crate) fn utf16z(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::{guid_at, i64_at, put, split_utf16z, u8_at, u16_at, u32_at, u64_at, utf16z};
    use etw_types::Guid;

    #[test]
    fn nothing_is_read_or_written_past_the_end() {
        let mut bytes = [0; 6];
        put(&mut bytes, 4, &0x1122_3344_u32.to_le_bytes());
        assert_eq!(bytes, [0, 0, 0, 0, 0x44, 0x33]);
        assert_eq!(u32_at(&bytes, 2), Some(0x3344_0000));
        assert_eq!(u32_at(&bytes, 3), None);
        assert_eq!(u32_at(&bytes, usize::MAX), None);
        let bytes = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
        assert_eq!(u8_at(&bytes, 8), Some(1));
        assert_eq!(u8_at(&bytes, 9), None);
        assert_eq!(u16_at(&bytes, 0), Some(0xFFFE));
        assert_eq!(u16_at(&bytes, 8), None);
        assert_eq!(u64_at(&bytes, 1), Some(0x01FF_FFFF_FFFF_FFFF));
        assert_eq!(u64_at(&bytes, 2), None);
        assert_eq!(i64_at(&bytes, 0), Some(-2));
        assert_eq!(i64_at(&bytes, 2), None);
        let id = Guid::from_u128(0x1122_3344_5566_7788_99AA_BBCC_DDEE_FF00);
        assert_eq!(guid_at(&id.to_bytes_le(), 0), Some(id));
        assert_eq!(guid_at(&bytes, 0), None);
    }

    #[test]
    fn names_round_trip_and_may_lack_their_end() {
        let mut bytes = utf16z("Sitzung ü");
        bytes.extend(utf16z("x.etl"));
        let (first, rest) = split_utf16z(&bytes);
        assert_eq!(first.as_str(), "Sitzung ü");
        assert_eq!(split_utf16z(rest).0.as_str(), "x.etl");
        assert_eq!(split_utf16z(rest).1, [0; 0], "nothing follows");
        assert_eq!(split_utf16z(&[b'a', 0, b'b']).0, "a");
    }
}
