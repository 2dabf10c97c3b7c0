//! Extended data items: what stands between an event's header and its data.

use std::ops::Range;

use etw_types::Guid;

use super::ALIGNMENT;
use super::bytes::{put, u16_at};

/// Bytes of an item's header.
pub const HEADER_SIZE: usize = 8;
/// Linkage bit: another item follows.
const MORE: u16 = 1;

/// The type of an extended item, `EVENT_HEADER_EXT_TYPE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExtendedType(pub u16);

impl ExtendedType {
    /// The related activity id, 16 bytes.
    pub const RELATED_ACTIVITY_ID: Self = Self(0x0001);
    /// The SID of the user.
    pub const SID: Self = Self(0x0002);
    /// The terminal session.
    pub const TS_ID: Self = Self(0x0003);
    /// Instance information of a classic event.
    pub const INSTANCE_INFO: Self = Self(0x0004);
    /// Stack of 32-bit addresses behind a match id.
    pub const STACK_TRACE32: Self = Self(0x0005);
    /// Stack of 64-bit addresses behind a match id.
    pub const STACK_TRACE64: Self = Self(0x0006);
    /// The event's TraceLogging metadata.
    pub const EVENT_SCHEMA_TL: Self = Self(0x000B);
    /// The provider's traits.
    pub const PROV_TRAITS: Self = Self(0x000C);
    /// When the process was started.
    pub const PROCESS_START_KEY: Self = Self(0x000D);
    /// Key of a 32-bit stack.
    pub const STACK_KEY32: Self = Self(0x0011);
    /// Key of a 64-bit stack.
    pub const STACK_KEY64: Self = Self(0x0012);
}

/// One extended item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedItem<'a> {
    /// What it is.
    pub kind: ExtendedType,
    /// Its data.
    pub data: &'a [u8],
}

impl<'a> ExtendedItem<'a> {
    /// The items of a TraceLogging event, in the order of genuine files.
    #[must_use]
    pub const fn trace_logging(traits: &'a [u8], metadata: &'a [u8]) -> [Self; 2] {
        [
            Self { kind: ExtendedType::PROV_TRAITS, data: traits },
            Self { kind: ExtendedType::EVENT_SCHEMA_TL, data: metadata },
        ]
    }

    /// The related activity, where the item is one.
    #[must_use]
    pub fn related_activity(&self) -> Option<Guid> {
        let bytes = (self.kind == ExtendedType::RELATED_ACTIVITY_ID).then_some(self.data)?;
        bytes.try_into().ok().map(Guid::from_bytes_le)
    }

    /// Bytes of the item in a file.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        (HEADER_SIZE + self.data.len()).next_multiple_of(ALIGNMENT)
    }

    /// Writes the item to the front of `out` and answers its bytes; `None` where it does not fit or has more than 65527 bytes.
    pub(crate) fn encode(&self, more: bool, out: &mut [u8]) -> Option<usize> {
        let length = self.encoded_len();
        let out = out.get_mut(..length)?;
        out.fill(0);
        put(out, 0, &u16::try_from(length).ok()?.to_le_bytes());
        put(out, 2, &self.kind.0.to_le_bytes());
        put(out, 4, &if more { MORE } else { 0 }.to_le_bytes());
        put(out, 6, &u16::try_from(self.data.len()).ok()?.to_le_bytes());
        put(out, HEADER_SIZE, self.data);
        Some(length)
    }
}

/// Where an item's data stands in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: ExtendedType,
    pub(crate) data: Range<usize>,
}

/// Finds the items of `record` from `start` on, and where its data starts. The chain ends at the first item that does not
/// fit; its bytes are then data.
pub(crate) fn places(record: &[u8], start: usize) -> (Vec<Place>, usize) {
    let mut places = Vec::new();
    let mut offset = start;
    while let Some((place, next, more)) = place(record, offset) {
        places.push(place);
        offset = next;
        if !more {
            break;
        }
    }
    (places, offset)
}

fn place(record: &[u8], offset: usize) -> Option<(Place, usize, bool)> {
    let size = usize::from(u16_at(record, offset)?);
    let kind = ExtendedType(u16_at(record, offset + 2)?);
    let linkage = u16_at(record, offset + 4)?;
    let length = usize::from(u16_at(record, offset + 6)?);
    let data = offset + HEADER_SIZE..offset + HEADER_SIZE + length;
    let next = offset + size;
    (data.end <= next && next <= record.len()).then_some((Place { kind, data }, next, linkage & MORE != 0))
}

#[cfg(test)]
mod tests {
    use super::{ExtendedItem, ExtendedType, places};

    #[test]
    fn items_are_aligned_linked_and_found_again() {
        let items = ExtendedItem::trace_logging(b"\x05\x00ab\x00", b"\x04\x00\x00\x00");
        let mut record = vec![0xEE; 64];
        let first = items[0].encode(true, &mut record).unwrap();
        let second = items[1].encode(false, &mut record[first..]).unwrap();
        assert_eq!(record[..16], *b"\x10\0\x0C\0\x01\0\x05\0\x05\0ab\0\0\0\0");
        let (found, data) = places(&record, 0);
        assert_eq!(data, first + second);
        assert_eq!(
            found.iter().map(|place| place.kind).collect::<Vec<_>>(),
            [ExtendedType::PROV_TRAITS, ExtendedType::EVENT_SCHEMA_TL]
        );
        assert_eq!(record[found[1].data.clone()], *items[1].data);
    }

    #[test]
    fn a_chain_that_does_not_fit_ends_where_it_breaks() {
        assert_eq!(places(&[9, 0, 1, 0, 1, 0, 0, 0], 0), (Vec::new(), 0));
        assert_eq!(places(&[0; 8], 0), (Vec::new(), 0), "an item without size is none");
        let (found, data) = places(&[8, 0, 1, 0, 1, 0, 0, 0, 8, 0], 0);
        assert_eq!((found.len(), data), (1, 8));
    }
}
