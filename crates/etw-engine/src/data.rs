//! The data of an event as sessions see it, and the way from its writer that needs no copy.

use etw_types::DataKind;

use crate::BlockSource;
use crate::gather::Gathered;
use crate::write::MAX_DATA;

/// Most blocks of an event that are not copied before a session takes them. Events of drivers rarely have more.
const MOST: usize = 16;

/// An event's data, sorted into its places.
#[derive(Clone, Copy)]
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
    pub(crate) blocks: Option<&'a Gathered>,
}

/// Data that stays where its writer has it.
#[derive(Default)]
pub(crate) struct Borrowed<'a> {
    traits: Option<&'a [u8]>,
    metadata: Option<&'a [u8]>,
    payload: [&'a [u8]; MOST],
    count: usize,
    payload_len: usize,
    timestamp: Option<u64>,
}

impl<'a> Borrowed<'a> {
    /// Looks at the blocks, into this empty one: what is looked at for every event is not moved about. False where anything is
    /// unusual: many blocks, a limit that is passed, a block that cannot be read, two of a kind that there is once.
    /// [`Gathered::read`] then takes its time.
    #[inline]
    pub(crate) fn look(&mut self, source: &'a (impl BlockSource + ?Sized), uses_kinds: bool) -> bool {
        let data = self;
        let count = source.count();
        if count > MOST {
            return false;
        }
        let mut total = 0_usize;
        for index in 0..count {
            let size = source.size(index);
            let Some(block) = source.block(index) else {
                return false;
            };
            let bytes = block.bytes;
            total = total.saturating_add(size);
            if bytes.len() != size {
                return false;
            }
            let kind = if uses_kinds { block.kind } else { DataKind::Data };
            match kind {
                DataKind::EventMetadata if data.metadata.is_none() => data.metadata = Some(bytes),
                DataKind::ProviderMetadata if data.traits.is_none() => data.traits = Some(bytes),
                DataKind::EventMetadata | DataKind::ProviderMetadata => return false,
                DataKind::TimestampOverride if size == 8 => {
                    data.timestamp = bytes.first_chunk().map(|time| u64::from_le_bytes(*time));
                }
                _ => {
                    if let Some(place) = data.payload.get_mut(data.count) {
                        *place = bytes;
                    }
                    data.count += 1;
                    data.payload_len = data.payload_len.saturating_add(size);
                }
            }
        }
        total <= MAX_DATA
    }

    pub(crate) fn data(&self) -> Data<'_> {
        Data {
            traits: self.traits,
            metadata: self.metadata,
            payload: self.payload.get(..self.count).unwrap_or_default(),
            payload_len: self.payload_len,
            timestamp: self.timestamp,
            blocks: None,
        }
    }
}
