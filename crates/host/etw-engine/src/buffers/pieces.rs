//! A record that is written to a buffer, in pieces, so that the caller does not have to join them first.

/// Bytes of a word, the unit in which buffers are filled.
pub(super) const WORD: usize = 8;

/// An extended item: its header and its data, which is padded with zeros to a multiple of eight bytes.
pub(crate) type Item<'a> = (u64, &'a [u8]);

/// The pieces of a record, in the order in which they are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pieces<'a> {
    /// The header.
    pub(crate) head: &'a [u64],
    /// Encoded extended items; the length is a multiple of eight bytes.
    pub(crate) more_items: &'a [u8],
    /// Extended items.
    pub(crate) items: [Option<Item<'a>>; 2],
    /// The end of the record: contiguous pieces, padded with 0xFF. The padding is not part of the record.
    pub(crate) payload: &'a [&'a [u8]],
    /// Bytes of the payload.
    pub(crate) payload_len: usize,
    /// Whether the record only describes events and is not an event itself. Such a record is not counted.
    pub(crate) is_silent: bool,
}

impl<'a> Pieces<'a> {
    /// Creates a record from a single piece.
    pub(crate) fn whole(record: &'a [&'a [u8]; 1]) -> Self {
        let [bytes] = record;
        Self { payload: record, payload_len: bytes.len(), ..Self::default() }
    }

    /// The same record, not counted as an event.
    pub(crate) const fn silent(self) -> Self {
        Self { is_silent: true, ..self }
    }

    /// Returns the length of the record in bytes, without the padding at its end.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let item = |item: &Option<Item<'_>>| item.map_or(0, |(_, data)| WORD + data.len().next_multiple_of(WORD));
        let [first, second] = &self.items;
        self.head.len() * WORD + self.more_items.len() + item(first) + item(second) + self.payload_len
    }
}
