//! Text in UTF-16 and UTF-8.

use super::scalar::Scalar;

/// Converts UTF-16LE text.
pub(super) fn utf16(bytes: &[u8]) -> Scalar {
    // The common case: most paths and names are ASCII.
    let mut text = String::with_capacity(bytes.len() / 2);
    if push_ascii(&mut text, bytes) {
        return Scalar::Text(text);
    }
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    match String::from_utf16(&units) {
        Ok(text) if bytes.len().is_multiple_of(2) => Scalar::Text(text),
        _ => Scalar::BadText { text: String::from_utf16_lossy(&units), bytes: bytes.to_vec() },
    }
}

/// Appends UTF-16LE text if all of its characters are ASCII, and returns whether they are.
pub(in crate::decode) fn push_ascii(out: &mut String, bytes: &[u8]) -> bool {
    let (units, rest) = bytes.as_chunks::<2>();
    // Without an early exit, so that many characters are looked at at once.
    let bits = units.iter().fold(0, |bits, unit| bits | u16::from_le_bytes(*unit));
    if bits >= 0x80 || !rest.is_empty() {
        return false;
    }
    for units in units.chunks(BLOCK) {
        let mut block = [0; BLOCK];
        block.iter_mut().zip(units).for_each(|(letter, [low, _])| *letter = *low);
        out.push_str(block.get(..units.len()).and_then(|letters| str::from_utf8(letters).ok()).unwrap_or_default());
    }
    true
}

/// Number of characters that are converted together.
const BLOCK: usize = 32;

/// Converts text bytes. Unless the provider declares UTF-8, they are in a code page that the trace does not name. Text that is
/// not valid UTF-8 keeps its bytes.
pub(super) fn utf8(bytes: &[u8]) -> Scalar {
    match str::from_utf8(bytes) {
        Ok(text) => Scalar::Text(text.into()),
        Err(_) => Scalar::BadText { text: String::from_utf8_lossy(bytes).into_owned(), bytes: bytes.to_vec() },
    }
}
