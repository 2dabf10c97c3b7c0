//! Tags: 28 bits on an event or a field, with a meaning that the provider defines.

/// Largest tag.
pub const MAX_TAG: u32 = 0x0FFF_FFFF;

/// Returns the length of an encoded tag: 1 to 4 bytes. Groups of seven zero bits at the low end are omitted.
#[must_use]
pub const fn tag_len(tag: u32) -> usize {
    match tag.trailing_zeros() {
        21.. => 1,
        14.. => 2,
        7.. => 3,
        _ => 4,
    }
}

/// Encodes a tag in the first [`tag_len`] bytes: seven bits per byte, the most significant first. The highest bit is
/// set in every byte except the last.
#[must_use]
pub const fn encode_tag(tag: u32) -> [u8; 4] {
    let last = tag_len(tag);
    [byte(tag, 21, 1 < last), byte(tag, 14, 2 < last), byte(tag, 7, 3 < last), byte(tag, 0, false)]
}

const fn byte(tag: u32, shift: u32, more: bool) -> u8 {
    (tag >> shift & 0x7F) as u8 | if more { 0x80 } else { 0 }
}

/// Splits an encoded tag off the front. A tag has 28 bits, so the bits of a fifth byte and of later ones are dropped.
pub(super) const fn split_tag(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut rest = bytes;
    let mut tag = 0_u32;
    let mut shift = 28_u32;
    while let [byte, tail @ ..] = rest {
        if let Some(place) = shift.checked_sub(7) {
            tag |= (*byte as u32 & 0x7F) << place;
            shift = place;
        }
        if *byte & 0x80 == 0 {
            return Some((tag, tail));
        }
        rest = tail;
    }
    None
}
