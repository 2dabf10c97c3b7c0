//! A record on its way into a buffer: in pieces, so that nobody has to join them first.

/// Bytes of a word, in which buffers are filled.
pub(super) const WORD: usize = 8;

/// An extended item: its header and its data, which zeros fill up to a multiple of eight bytes.
pub(crate) type Item<'a> = (u64, &'a [u8]);

/// The pieces of a record, in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pieces<'a> {
    /// The header.
    pub(crate) head: &'a [u64],
    /// Extended items in one piece, a multiple of eight bytes.
    pub(crate) more_items: &'a [u8],
    /// Extended items.
    pub(crate) items: [Option<Item<'a>>; 2],
    /// What ends the record, one right behind the other. Bytes of 0xFF, which are not the record's, fill it up.
    pub(crate) payload: &'a [&'a [u8]],
    /// Bytes of the payload.
    pub(crate) payload_len: usize,
    /// Whether it says something about events and is none itself: then it is not counted.
    pub(crate) is_silent: bool,
}

impl<'a> Pieces<'a> {
    /// A record in one piece.
    pub(crate) fn whole(record: &'a [&'a [u8]; 1]) -> Self {
        let [bytes] = record;
        Self { payload: record, payload_len: bytes.len(), ..Self::default() }
    }

    /// The same record, not counted as an event.
    pub(crate) const fn silent(self) -> Self {
        Self { is_silent: true, ..self }
    }

    /// Bytes of the record, without what fills up its end.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let item = |item: &Option<Item<'_>>| item.map_or(0, |(_, data)| WORD + data.len().next_multiple_of(WORD));
        let [first, second] = &self.items;
        self.head.len() * WORD + self.more_items.len() + item(first) + item(second) + self.payload_len
    }
}
