//! Little-endian values at offsets. Functions return `None` if there are too few bytes.

use etw_types::Guid;

pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_le_bytes)
}

/// Reads a 32-bit value as a size or an offset.
pub(crate) fn size_at(bytes: &[u8], offset: usize) -> Option<usize> {
    u32_at(bytes, offset).and_then(|value| usize::try_from(value).ok())
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_le_bytes)
}

pub(crate) fn guid_at(bytes: &[u8], offset: usize) -> Option<Guid> {
    array_at(bytes, offset).map(Guid::from_bytes_le)
}

/// Decodes UTF-16 text up to its NUL or the end of the bytes.
pub(crate) fn utf16(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0);
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
