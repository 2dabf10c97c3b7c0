//! Text in UTF-16 and UTF-8.

use super::scalar::Scalar;

/// Converts UTF-16LE text.
pub(super) fn utf16(bytes: &[u8]) -> Scalar {
    let ascii = bytes.as_chunks::<2>().0;
    if bytes.len().is_multiple_of(2) && ascii.iter().all(|unit| unit[1] == 0 && unit[0] < 0x80) {
        // The common case: most paths and names are ASCII.
        return Scalar::Text(ascii.iter().map(|unit| char::from(unit[0])).collect());
    }
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    match String::from_utf16(&units) {
        Ok(text) if bytes.len().is_multiple_of(2) => Scalar::Text(text),
        _ => Scalar::BadText { text: String::from_utf16_lossy(&units), bytes: bytes.to_vec() },
    }
}

/// Converts text bytes. Unless the provider declares UTF-8, they are in a code page that the trace does not name. Text that is
/// not valid UTF-8 keeps its bytes.
pub(super) fn utf8(bytes: &[u8]) -> Scalar {
    match str::from_utf8(bytes) {
        Ok(text) => Scalar::Text(text.into()),
        Err(_) => Scalar::BadText { text: String::from_utf8_lossy(bytes).into_owned(), bytes: bytes.to_vec() },
    }
}
