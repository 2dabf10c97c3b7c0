//! The data of an event as sessions see it, and the path from the writer that needs no copy.

use etw_types::DataKind;

use crate::BlockSource;
use crate::event::MAX_DATA;

/// Maximum number of blocks of an event that is passed to sessions without a copy. Events of drivers rarely have more.
const MOST: usize = 16;

/// An event's data, sorted by kind.
#[derive(Clone, Copy, Default)]
pub(crate) struct Data<'a> {
    /// The provider traits, if passed as data of that kind.
    pub(crate) traits: Option<&'a [u8]>,
    /// The TraceLogging metadata, if passed as data of that kind.
    pub(crate) metadata: Option<&'a [u8]>,
    /// The other data: pieces that are contiguous in a record.
    pub(crate) payload: &'a [&'a [u8]],
    /// Total bytes of the payload.
    pub(crate) payload_len: usize,
    /// The time that the writer supplied instead of the session's.
    pub(crate) timestamp: Option<u64>,
    /// The blocks as the writer passed them, if a session captures them.
    pub(crate) blocks: Blocks<'a>,
}

/// The blocks of an event as the writer passed them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Blocks<'a> {
    /// Kind and size of each block.
    pub(crate) kinds: &'a [(DataKind, usize)],
    /// The bytes of all blocks, concatenated.
    pub(crate) bytes: &'a [u8],
}

/// The pieces of a payload that stays in the writer's memory.
pub(crate) type Pieces<'a> = [&'a [u8]; MOST];

impl<'a> Data<'a> {
    /// Sorts the blocks into this empty value and `pieces`, and returns how many of `pieces` belong to the payload. The
    /// caller provides both, so that nothing is moved for each event. Returns `None` if anything is unusual: too many
    /// blocks, too many bytes, a block that cannot be read, or two blocks of a kind that may occur only once.
    /// [`Gathered::read`] then handles the event.
    #[inline]
    pub(crate) fn look(
        &mut self,
        source: &'a (impl BlockSource + ?Sized),
        uses_kinds: bool,
        pieces: &mut Pieces<'a>,
    ) -> Option<usize> {
        let count = source.count();
        if count > MOST {
            return None;
        }
        let mut total = 0_usize;
        let mut used = 0;
        for index in 0..count {
            let size = source.size(index);
            let block = source.block(index)?;
            let bytes = block.bytes;
            total = total.saturating_add(size);
            if bytes.len() != size {
                return None;
            }
            let kind = if uses_kinds { block.kind } else { DataKind::Data };
            match kind {
                DataKind::EventMetadata if self.metadata.is_none() => self.metadata = Some(bytes),
                DataKind::ProviderMetadata if self.traits.is_none() => self.traits = Some(bytes),
                DataKind::EventMetadata | DataKind::ProviderMetadata => return None,
                DataKind::TimestampOverride if size == 8 => {
                    self.timestamp = bytes.first_chunk().map(|time| u64::from_le_bytes(*time));
                }
                _ => {
                    *pieces.get_mut(used)? = bytes;
                    used += 1;
                    self.payload_len = self.payload_len.saturating_add(size);
                }
            }
        }
        (total <= MAX_DATA).then_some(used)
    }
}
