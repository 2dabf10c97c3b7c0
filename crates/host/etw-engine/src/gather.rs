//! The data of one event, read once from its writer and copied: the way for events that are unusual, and for sessions that
//! capture every block for a test. Others take their data from where it is, see [`crate::data`].
//!
//! Lives in memory that a thread keeps, so that writing an event allocates nothing once the thread has written a few.

use std::cell::Cell;

use etw_types::{DataKind, NtStatus};

use crate::BlockSource;
use crate::data::{Blocks, Data};
use crate::event::{MAX_BLOCKS, MAX_DATA};

/// Why data could not be read, and at which block.
#[derive(Clone, Copy)]
pub(crate) enum Unread {
    /// A limit.
    Limit(NtStatus),
    /// The block cannot be read.
    Unreadable(usize),
    /// The block has another size than it said.
    SizeChanged(usize),
}

/// An event's data, sorted into its places.
#[derive(Default)]
pub(crate) struct Gathered {
    /// All bytes as they came, where somebody wants to see the blocks.
    raw: Vec<u8>,
    /// Kind and size of each block.
    blocks: Vec<(DataKind, usize)>,
    metadata: Vec<u8>,
    traits: Vec<u8>,
    payload: Vec<u8>,
    has_metadata: bool,
    has_traits: bool,
    timestamp: Option<u64>,
}

thread_local! {
    static SPARE: Cell<Option<Box<Gathered>>> = const { Cell::new(None) };
}

impl Gathered {
    /// The thread's own, or a new one where a write happens within a write.
    pub(crate) fn take() -> Box<Self> {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps it for the next event of this thread.
    pub(crate) fn give_back(self: Box<Self>) {
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }

    /// Reads the blocks: counts, adds up the sizes, then reads, as the kernel does. Kinds count only where the provider
    /// turned them on; a time stamp that is not eight bytes, and a kind that nobody knows, is payload (our choice:
    /// Windows does not document it).
    ///
    /// With `keeps_blocks` the blocks can be seen one by one afterwards.
    pub(crate) fn read(
        &mut self,
        source: &(impl BlockSource + ?Sized),
        uses_kinds: bool,
        keeps_blocks: bool,
    ) -> Result<(), Unread> {
        self.clear();
        let count = source.count();
        if count > MAX_BLOCKS {
            return Err(Unread::Limit(NtStatus::InvalidParameter));
        }
        self.blocks.extend((0..count).map(|index| (DataKind::Data, source.size(index))));
        // Sizes saturate: 128 of them cannot add up to less than the limit by overflowing.
        let total = self.blocks.iter().fold(0_usize, |total, (_, size)| total.saturating_add(*size));
        if total > MAX_DATA {
            return Err(Unread::Limit(NtStatus::IntegerOverflow));
        }
        for (index, (kind, size)) in self.blocks.iter_mut().enumerate() {
            let block = source.block(index).ok_or(Unread::Unreadable(index))?;
            let bytes = block.bytes;
            if bytes.len() != *size {
                return Err(Unread::SizeChanged(index));
            }
            *kind = block.kind;
            if keeps_blocks {
                self.raw.extend_from_slice(bytes);
            }
            let kind = if uses_kinds { block.kind } else { DataKind::Data };
            match (kind, <[u8; 8]>::try_from(bytes)) {
                (DataKind::EventMetadata, _) => {
                    self.metadata.extend_from_slice(bytes);
                    self.has_metadata = true;
                }
                (DataKind::ProviderMetadata, _) => {
                    self.traits.extend_from_slice(bytes);
                    self.has_traits = true;
                }
                (DataKind::TimestampOverride, Ok(time)) => self.timestamp = Some(u64::from_le_bytes(time)),
                _ => self.payload.extend_from_slice(bytes),
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.raw.clear();
        self.blocks.clear();
        self.metadata.clear();
        self.traits.clear();
        self.payload.clear();
        self.has_metadata = false;
        self.has_traits = false;
        self.timestamp = None;
    }

    /// The data; `payload` is [`Gathered::payload`].
    pub(crate) fn data<'a>(&'a self, payload: &'a [&'a [u8]; 1]) -> Data<'a> {
        Data {
            traits: self.has_traits.then_some(&self.traits),
            metadata: self.has_metadata.then_some(&self.metadata),
            payload,
            payload_len: self.payload.len(),
            timestamp: self.timestamp,
            blocks: Blocks { kinds: &self.blocks, bytes: &self.raw },
        }
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }
}
