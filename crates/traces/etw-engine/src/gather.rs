//! The data of one event, read once from its writer and copied. This path is for unusual events, and for sessions that
//! capture every block for a test. Other events are not copied; see [`crate::data`].
//!
//! The memory is kept per thread, so that writing an event allocates nothing after the thread has written a few events.

use std::cell::Cell;

use etw_types::{DataKind, NtStatus};

use crate::BlockSource;
use crate::data::{Blocks, Data};
use crate::event::{MAX_BLOCKS, MAX_DATA};

/// Why data could not be read. A number is the index of the block.
#[derive(Clone, Copy)]
pub(crate) enum Unread {
    /// The data exceeds a limit.
    Limit(NtStatus),
    /// The block cannot be read.
    Unreadable(usize),
    /// The block does not have the size that it declared.
    SizeChanged(usize),
}

/// An event's data, sorted by kind.
#[derive(Default)]
pub(crate) struct Gathered {
    /// All bytes as they were passed, if the blocks are kept.
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
    /// Takes the thread's instance, or a new one if a write happens within a write.
    pub(crate) fn take() -> Box<Self> {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps the instance for the next event of this thread.
    pub(crate) fn give_back(self: Box<Self>) {
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }

    /// Reads the blocks. Like the kernel, it first checks the count, then adds up the sizes, then reads. Kinds are
    /// honoured only if the provider turned them on. A timestamp that is not eight bytes and an unknown kind count as
    /// payload (our choice: Windows does not document it).
    ///
    /// If `keeps_blocks` is true, the individual blocks can be read afterwards.
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
        // The addition saturates, so that an overflow cannot produce a sum below the limit.
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

    /// Returns the data; `payload` must contain [`Gathered::payload`].
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
