//! Tags: 28 bits of the provider's own meaning on an event or a field.

/// Largest tag.
pub const MAX_TAG: u32 = 0x0FFF_FFFF;

/// How many bytes a tag is encoded in: 1 to 4. Zero bits at its low end are left out.
#[must_use]
pub const fn tag_len(tag: u32) -> usize {
    match tag.trailing_zeros() {
        21.. => 1,
        14.. => 2,
        7.. => 3,
        _ => 4,
    }
}

/// The encoded tag in the first [`tag_len`] bytes: seven bits each, the most significant first, the upper bit set on all
/// but the last.
#[must_use]
pub const fn encode_tag(tag: u32) -> [u8; 4] {
    let last = tag_len(tag);
    [byte(tag, 21, 1 < last), byte(tag, 14, 2 < last), byte(tag, 7, 3 < last), byte(tag, 0, false)]
}

const fn byte(tag: u32, shift: u32, more: bool) -> u8 {
    (tag >> shift & 0x7F) as u8 | if more { 0x80 } else { 0 }
}

/// Takes an encoded tag off the front. Bits of a fifth byte and later ones are dropped, as 28 are all there are.
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
