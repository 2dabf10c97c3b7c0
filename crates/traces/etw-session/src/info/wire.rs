//! Encoding and decoding of elements, lists and chains.

use etw_types::Guid;
use etw_types::session::{ClassicEventId, TraceInfoClass};

use crate::Malformed;

/// A value of a fixed size.
pub(super) trait Element: Sized {
    const SIZE: usize;
    fn read(bytes: &[u8]) -> Option<Self>;
    fn append_to(&self, bytes: &mut Vec<u8>);
}

impl Element for u16 {
    const SIZE: usize = 2;

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Element for u32 {
    const SIZE: usize = 4;

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Element for Guid {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_bytes_le(*bytes))
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_bytes_le());
    }
}

/// Implements [`Element`] for structures of `etw-types`, which all have `parse` and `to_bytes`.
macro_rules! element {
    ($($name:ty),*) => {$(
        impl Element for $name {
            const SIZE: usize = Self::SIZE;

            fn read(bytes: &[u8]) -> Option<Self> {
                Self::parse(bytes)
            }

            fn append_to(&self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_bytes());
            }
        }
    )*};
}

element!(ClassicEventId, etw_types::session::TraceEnableInfo, etw_types::session::PmcCounterOwner);

pub(super) const fn malformed(class: TraceInfoClass, reason: &'static str) -> Malformed {
    Malformed { class, reason }
}

pub(super) fn encode_all<T: Element>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * T::SIZE);
    for element in elements {
        element.append_to(&mut bytes);
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

/// Decodes a value that must have exactly this size.
pub(super) fn exact<T>(
    class: TraceInfoClass,
    data: &[u8],
    size: usize,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<T, Malformed> {
    let data = Some(data).filter(|data| data.len() == size);
    data.and_then(read).ok_or(malformed(class, "it does not have the length of its structure"))
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
        let place = bytes.len();
        if let Some(previous) = previous.replace(place) {
            let distance = count(place - previous).to_le_bytes();
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
