//! The data of an event as sessions see it, and the way from its writer that needs no copy.

use etw_types::DataKind;

use crate::BlockSource;
use crate::event::MAX_DATA;

/// Most blocks of an event that are not copied before a session takes them. Events of drivers rarely have more.
const MOST: usize = 16;

/// An event's data, sorted into its places.
#[derive(Clone, Copy, Default)]
pub(crate) struct Data<'a> {
    /// The provider traits that came as data of that kind.
    pub(crate) traits: Option<&'a [u8]>,
    /// The TraceLogging metadata that came as data of that kind.
    pub(crate) metadata: Option<&'a [u8]>,
    /// The other data: pieces that stand one right behind the other in a record.
    pub(crate) payload: &'a [&'a [u8]],
    /// Bytes of the payload.
    pub(crate) payload_len: usize,
    /// The time that the writer put in place of the session's.
    pub(crate) timestamp: Option<u64>,
    /// The blocks as they came, where a session captures them.
    pub(crate) blocks: Blocks<'a>,
}

/// The blocks of an event as they came.
#[derive(Clone, Copy, Default)]
pub(crate) struct Blocks<'a> {
    /// Kind and size of each.
    pub(crate) kinds: &'a [(DataKind, usize)],
    /// Their bytes, one behind the other.
    pub(crate) bytes: &'a [u8],
}

/// The pieces of a payload that stays where its writer has it.
pub(crate) type Pieces<'a> = [&'a [u8]; MOST];

impl<'a> Data<'a> {
    /// Looks at the blocks, into this empty one and `pieces`, of which the answer says how many are the payload: what is looked
    /// at for every event is not moved about. `None` where anything is unusual: many blocks, a limit that is passed, a block
    /// that cannot be read, two of a kind that there is once. [`Gathered::read`] then takes its time.
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
