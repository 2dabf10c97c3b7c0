//! Encoding and decoding of elements, lists and chains.

use std::vec::Vec;

use super::Malformed;
use crate::session::TraceInfoClass;
use crate::session::wire::Wire;

/// A value of a fixed size.
pub(super) trait Element: Wire {
    const SIZE: usize = size_of::<Self>();

    fn read(bytes: &[u8]) -> Option<Self> {
        Self::get(bytes, 0)
    }
}

impl<T: Wire> Element for T {}

pub(super) const fn malformed(class: TraceInfoClass, reason: &'static str) -> Malformed {
    Malformed { class, reason }
}

pub(super) fn encode_all<T: Element>(elements: &[T]) -> Vec<u8> {
    let mut bytes = std::vec![0; elements.len() * T::SIZE];
    for (index, element) in elements.iter().enumerate() {
        element.put(&mut bytes, index * T::SIZE);
    }
    bytes
}

/// Decodes all of `data` as elements.
pub(super) fn decode_all<T: Element>(class: TraceInfoClass, data: &[u8]) -> Result<Vec<T>, Malformed> {
    let elements = data.chunks_exact(T::SIZE);
    if !elements.remainder().is_empty() {
        return Err(malformed(class, "its length is not a multiple of the size of an element"));
    }
    elements.map(T::read).collect::<Option<_>>().ok_or(malformed(class, "an element is cut off"))
}

/// Decodes `count` elements from the start of `data`. Returns them and the rest.
pub(super) fn decode_some<T: Element>(
    class: TraceInfoClass,
    data: &[u8],
    count: u32,
) -> Result<(Vec<T>, &[u8]), Malformed> {
    let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(T::SIZE));
    let parts = size.and_then(|size| data.split_at_checked(size));
    let (elements, rest) = parts.ok_or(malformed(class, "it has fewer elements than its count says"))?;
    Ok((decode_all(class, elements)?, rest))
}

/// Decodes one element that must be all of `data`.
pub(super) fn exact<T: Element>(class: TraceInfoClass, data: &[u8]) -> Result<T, Malformed> {
    let data = Some(data).filter(|data| data.len() == T::SIZE);
    data.and_then(T::read).ok_or(malformed(class, "it does not have the length of its structure"))
}

/// Returns the entries of a chain. Each entry starts with the offset of the next, or 0 if it is the last, and extends
/// to the next entry or to the end of the data. `least` is the size of its fixed part. Empty data has no entries.
pub(super) fn chain(class: TraceInfoClass, data: &[u8], least: usize) -> Result<Vec<&[u8]>, Malformed> {
    let mut entries = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let next = u32::read(rest).filter(|_| rest.len() >= least).ok_or(malformed(class, "an entry is cut off"))?;
        if next == 0 {
            entries.push(rest);
            break;
        }
        let next = usize::try_from(next).ok().filter(|next| *next >= least && *next < rest.len());
        let parts = next.and_then(|next| rest.split_at_checked(next));
        let (entry, behind) = parts.ok_or(malformed(class, "an entry points outside of the data"))?;
        entries.push(entry);
        rest = behind;
    }
    Ok(entries)
}

/// Joins entries into a chain, each aligned to eight bytes.
pub(super) fn encode_chain(entries: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut previous = None;
    for entry in entries {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let start = bytes.len();
        if let Some(previous) = previous.replace(start) {
            let distance = count(start - previous).to_le_bytes();
            if let Some(link) = bytes.get_mut(previous..).and_then(<[u8]>::first_chunk_mut) {
                *link = distance;
            }
        }
        bytes.extend(entry);
    }
    bytes
}

/// Converts a length or a count to its type in a structure.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
