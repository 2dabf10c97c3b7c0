//! Extended data items, which are stored between an event's header and its data.

use etw_types::Guid;

use super::ALIGNMENT;
use super::bytes::{put, u16_at, u32_at, u64_at};

/// Size of an item's header in bytes.
pub const HEADER_SIZE: usize = 8;
/// Linkage bit: another item follows.
const MORE: u16 = 1;

/// The type of an extended item, `EVENT_HEADER_EXT_TYPE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExtendedType(pub u16);

impl ExtendedType {
    /// The related activity id, 16 bytes.
    pub const RELATED_ACTIVITY_ID: Self = Self(0x0001);
    /// The user's SID.
    pub const SID: Self = Self(0x0002);
    /// The terminal session id.
    pub const TS_ID: Self = Self(0x0003);
    /// Instance information of a classic event.
    pub const INSTANCE_INFO: Self = Self(0x0004);
    /// A match id, then a stack of 32-bit addresses.
    pub const STACK_TRACE32: Self = Self(0x0005);
    /// A match id, then a stack of 64-bit addresses.
    pub const STACK_TRACE64: Self = Self(0x0006);
    /// The event's TraceLogging metadata.
    pub const EVENT_SCHEMA_TL: Self = Self(0x000B);
    /// The provider's traits.
    pub const PROV_TRAITS: Self = Self(0x000C);
    /// The start key of the process.
    pub const PROCESS_START_KEY: Self = Self(0x000D);
    /// Key of a 32-bit stack.
    pub const STACK_KEY32: Self = Self(0x0011);
    /// Key of a 64-bit stack.
    pub const STACK_KEY64: Self = Self(0x0012);
}

/// One extended item.
///
/// ```
/// use etw_etl::{ExtendedItem, ExtendedType};
/// use etw_types::Guid;
///
/// let id = Guid::from_name("MyDriver").to_bytes_le();
/// let item = ExtendedItem { kind: ExtendedType::RELATED_ACTIVITY_ID, data: &id };
/// assert_eq!(item.related_activity(), Some(Guid::from_name("MyDriver")));
/// assert_eq!((item.stack(), item.stack_key()), (None, None));
/// // A header of eight bytes, and the data.
/// assert_eq!(item.encoded_len(), 24);
/// assert!(item.header(false).is_some());
/// assert_eq!(item.encoded_len() % etw_etl::format::ALIGNMENT, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedItem<'a> {
    /// The type of the item.
    pub kind: ExtendedType,
    /// The data of the item.
    pub data: &'a [u8],
}

impl<'a> ExtendedItem<'a> {
    /// Returns the items of a TraceLogging event, in the order that Windows writes them.
    #[must_use]
    pub const fn trace_logging(traits: &'a [u8], metadata: &'a [u8]) -> [Self; 2] {
        [
            Self { kind: ExtendedType::PROV_TRAITS, data: traits },
            Self { kind: ExtendedType::EVENT_SCHEMA_TL, data: metadata },
        ]
    }

    /// Returns the related activity id, if this item holds one.
    #[must_use]
    pub fn related_activity(&self) -> Option<Guid> {
        let bytes = (self.kind == ExtendedType::RELATED_ACTIVITY_ID).then_some(self.data)?;
        <&[u8; 16]>::try_from(bytes).ok().map(Guid::from_bytes_le)
    }

    /// Returns the return addresses, if this item holds a stack. The match id in front of them is skipped.
    #[must_use]
    pub fn stack(&self) -> Option<Vec<u64>> {
        let addresses = self.data.get(8..)?;
        match self.kind {
            ExtendedType::STACK_TRACE64 => {
                Some(addresses.as_chunks::<8>().0.iter().map(|address| u64::from_le_bytes(*address)).collect())
            }
            ExtendedType::STACK_TRACE32 => {
                Some(addresses.as_chunks::<4>().0.iter().map(|address| u32::from_le_bytes(*address).into()).collect())
            }
            _ => None,
        }
    }

    /// Returns the key of a stack, if this item holds one. The match id in front of it is skipped.
    #[must_use]
    pub fn stack_key(&self) -> Option<u64> {
        match self.kind {
            ExtendedType::STACK_KEY64 => u64_at(self.data, 8),
            ExtendedType::STACK_KEY32 => u32_at(self.data, 8).map(u64::from),
            _ => None,
        }
    }

    /// Returns the size of the item in a file, in bytes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        // `next_multiple_of` takes four times as many instructions, and this runs twice for every event of the engine.
        (HEADER_SIZE + self.data.len() + (ALIGNMENT - 1)) & !(ALIGNMENT - 1)
    }

    /// Writes the item to the start of `out` and returns its size in bytes. Returns `None` if it does not fit or has more than
    /// 65527 bytes.
    pub(crate) fn encode(&self, more: bool, out: &mut [u8]) -> Option<usize> {
        let length = self.encoded_len();
        let out = out.get_mut(..length)?;
        put(out, 0, &self.header(more)?.to_le_bytes());
        put(out, HEADER_SIZE, self.data);
        out.get_mut(HEADER_SIZE + self.data.len()..)?.fill(0);
        Some(length)
    }

    /// Returns the header that precedes the item's data, as a little-endian word, or `None` if the item has more than 65527
    /// bytes. `more` says whether another item follows. In a file, zeros after the data pad the item to a multiple of eight
    /// bytes.
    #[inline]
    #[must_use]
    pub fn header(&self, more: bool) -> Option<u64> {
        let size = u64::from(u16::try_from(self.encoded_len()).ok()?);
        let length = u64::from(u16::try_from(self.data.len()).ok()?);
        let linkage = u64::from(if more { MORE } else { 0 });
        Some(size | u64::from(self.kind.0) << 16 | linkage << 32 | length << 48)
    }
}

/// Iterates over the consecutive items of a record. Iteration stops at the first item that does not fit; its bytes then count as
/// event data.
#[derive(Clone, Debug)]
pub(crate) struct Items<'a> {
    record: &'a [u8],
    offset: usize,
    more: bool,
}

impl<'a> Items<'a> {
    /// Iterates over the items of `record`, starting at offset `start`.
    pub(crate) const fn new(record: &'a [u8], start: usize) -> Self {
        Self { record, offset: start, more: true }
    }

    /// Returns the offset of the data after the items.
    pub(crate) fn end(mut self) -> usize {
        while self.next().is_some() {}
        self.offset
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = ExtendedItem<'a>;

    fn next(&mut self) -> Option<ExtendedItem<'a>> {
        let rest = self.record.get(self.offset..).filter(|_| self.more)?;
        let (header, data) = rest.split_first_chunk::<HEADER_SIZE>()?;
        let size = usize::from(u16_at(header, 0)?);
        let kind = ExtendedType(u16_at(header, 2)?);
        let length = usize::from(u16_at(header, 6)?);
        let is_whole = HEADER_SIZE + length <= size && size <= rest.len();
        let item = data.get(..length).filter(|_| is_whole)?;
        self.more = u16_at(header, 4)? & MORE != 0;
        self.offset += size;
        Some(ExtendedItem { kind, data: item })
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtendedItem, ExtendedType, Items};

    fn found(record: &[u8]) -> (usize, usize) {
        (Items::new(record, 0).count(), Items::new(record, 0).end())
    }

    #[test]
    fn items_are_aligned_linked_and_found_again() {
        let items = ExtendedItem::trace_logging(b"\x05\x00ab\x00", b"\x04\x00\x00\x00");
        let mut record = vec![0xEE; 64];
        let first = items[0].encode(true, &mut record).unwrap();
        let second = items[1].encode(false, &mut record[first..]).unwrap();
        assert_eq!(record[..16], *b"\x10\0\x0C\0\x01\0\x05\0\x05\0ab\0\0\0\0");
        assert_eq!(found(&record), (2, first + second));
        assert_eq!(Items::new(&record, 0).collect::<Vec<_>>(), items);
    }

    #[test]
    fn a_chain_that_does_not_fit_ends_where_it_breaks() {
        assert_eq!(found(&[9, 0, 1, 0, 1, 0, 0, 0]), (0, 0));
        assert_eq!(found(&[0; 8]), (0, 0), "an item without size is none");
        assert_eq!(found(&[8, 0, 1, 0, 1, 0, 0, 0, 8, 0]), (1, 8));
        // Eight bytes of data need an item of 16 bytes.
        let with_size = |size: u8, length: u8| found(&[&[size, 0, 1, 0, 0, 0, length, 0][..], &[0; 8]].concat());
        assert_eq!([with_size(16, 8), with_size(15, 8), with_size(17, 8)], [(1, 16), (0, 0), (0, 0)]);
        assert_eq!(with_size(16, 9), (0, 0), "more data than the item has");
    }

    #[test]
    fn an_item_has_at_most_the_size_of_its_field() {
        let data = vec![7; 0xFFFF];
        let item = |length| ExtendedItem { kind: ExtendedType::SID, data: &data[..length] };
        assert_eq!(item(0xFFF0).header(true), Some(0xFFF0 << 48 | 1 << 32 | 2 << 16 | 0xFFF8));
        assert_eq!(item(0xFFF1).header(true), None);
        assert_eq!(item(0xFFFF).header(false), None);
        for (length, size) in [(0, 8), (1, 16), (8, 16), (9, 24)] {
            assert_eq!(item(length).encoded_len(), size);
            assert_eq!(item(length).encode(false, &mut vec![0; size]), Some(size));
            assert_eq!(item(length).encode(false, &mut vec![0; size - 1]), None);
        }
    }

    #[test]
    fn stacks_and_keys_follow_a_match_id() {
        let data: Vec<u8> = [7_u64, 0x1_0000_0002, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
        let item = |kind| ExtendedItem { kind, data: &data };
        assert_eq!(item(ExtendedType::STACK_TRACE64).stack(), Some(vec![0x1_0000_0002, 3]));
        assert_eq!(item(ExtendedType::STACK_TRACE32).stack(), Some(vec![2, 1, 3, 0]));
        assert_eq!(item(ExtendedType::STACK_KEY64).stack_key(), Some(0x1_0000_0002));
        assert_eq!(item(ExtendedType::STACK_KEY32).stack_key(), Some(2));
        assert_eq!(item(ExtendedType::SID).stack(), None);
        assert_eq!(item(ExtendedType::SID).stack_key(), None);
        let id = |data, kind| ExtendedItem { kind, data }.related_activity();
        assert_eq!(id(&data[..16], ExtendedType::RELATED_ACTIVITY_ID).map(|id| id.data1), Some(7));
        assert_eq!(id(&data[..15], ExtendedType::RELATED_ACTIVITY_ID), None);
        assert_eq!(id(&data[..16], ExtendedType::SID), None);
    }
}
