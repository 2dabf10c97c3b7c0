//! Arrays of elements of one size, parsed and encoded.

use etw_types::Guid;

/// Parses the elements. Returns `None` if the length is not a multiple of the element size, or an element is invalid.
pub(super) fn array_of<T>(data: &[u8], size: usize, parse: impl Fn(&[u8]) -> Option<T>) -> Option<Vec<T>> {
    let elements = data.chunks_exact(size);
    if elements.remainder().is_empty() { elements.map(parse).collect() } else { None }
}

pub(super) fn numbers(data: &[u8]) -> Option<Vec<u32>> {
    let (elements, rest) = data.as_chunks::<4>();
    rest.is_empty().then(|| elements.iter().map(|element| u32::from_le_bytes(*element)).collect())
}

pub(super) fn guids(data: &[u8]) -> Option<Vec<Guid>> {
    let (elements, rest) = data.as_chunks::<16>();
    rest.is_empty().then(|| elements.iter().map(|element| Guid::from_bytes_le(*element)).collect())
}

pub(super) fn guid_bytes(guids: &[Guid]) -> Vec<u8> {
    guids.iter().flat_map(Guid::to_bytes_le).collect()
}

/// Converts a length or an offset to its type in a structure.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Joins entries into a chain. Each entry starts with the offset of the next and is padded to eight bytes; the last has
/// offset 0 and no padding.
pub(super) fn chain(entries: Vec<Vec<u8>>) -> Vec<u8> {
    let last = entries.len().saturating_sub(1);
    let mut bytes = Vec::new();
    for (index, mut entry) in entries.into_iter().enumerate() {
        if index != last {
            entry.resize(entry.len().next_multiple_of(8), 0);
            let distance = count(entry.len()).to_le_bytes();
            if let Some(place) = entry.first_chunk_mut() {
                *place = distance;
            }
        }
        bytes.extend(entry);
    }
    bytes
}
