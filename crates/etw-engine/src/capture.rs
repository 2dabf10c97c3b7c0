//! An event as a session keeps it.

use etw_types::{DataKind, EventDescriptor, Guid};

/// One event that a session captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedEvent {
    /// The GUID that the writer registered.
    pub provider: Guid,
    /// Level, keyword, id and so on.
    pub descriptor: EventDescriptor,
    /// The activity id; zero where the writer gave none.
    pub activity: Guid,
    /// The related activity id.
    pub related: Option<Guid>,
    /// The provider traits that came with the event as data of that kind.
    pub traits: Option<Vec<u8>>,
    /// The TraceLogging metadata that came with the event as data of that kind.
    pub metadata: Option<Vec<u8>>,
    /// The other data, joined. Where the provider did not turn descriptor types on this is everything, and a
    /// TraceLogging event (channel 11) carries traits and metadata at its start.
    pub payload: Vec<u8>,
    /// The filter argument of `EtwWriteEx`.
    pub filter: u64,
    /// The flags argument of `EtwWriteEx`.
    pub flags: u32,
    /// Whether the event was written as a string: the payload is then UTF-16 with its terminator.
    pub string_only: bool,
    /// How many data descriptors the writer passed.
    pub descriptors: usize,
    /// The data descriptors as they were passed.
    pub blocks: Vec<CapturedBlock>,
    /// When the event was written: 100 ns units since the engine was made.
    pub timestamp: u64,
    /// The time that the writer put in place of it, in the writer's own unit.
    pub timestamp_override: Option<u64>,
    /// Position among all events of the session, lost ones included; starts at 0.
    pub sequence: u64,
}

/// One data descriptor of a captured event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedBlock {
    /// What the writer said the bytes are, honoured or not.
    pub kind: DataKind,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Bytes of an event's header.
const HEADER: usize = 0x50;
/// Bytes of the header of an extended data item.
const ITEM_HEADER: usize = 8;

impl CapturedEvent {
    /// Sorts the blocks into their places. Kinds count only where the provider turned them on; a time stamp that is not
    /// eight bytes, and a kind that nobody knows, is payload (our choice: Windows does not document it).
    pub(crate) fn place(&mut self, blocks: Vec<CapturedBlock>, uses_descriptor_types: bool) {
        for block in &blocks {
            let kind = if uses_descriptor_types { block.kind } else { DataKind::Data };
            let bytes = block.bytes.as_slice();
            match (kind, <[u8; 8]>::try_from(bytes)) {
                (DataKind::EventMetadata, _) => append(&mut self.metadata, bytes),
                (DataKind::ProviderMetadata, _) => append(&mut self.traits, bytes),
                (DataKind::TimestampOverride, Ok(time)) => {
                    self.timestamp_override = Some(u64::from_le_bytes(time));
                }
                _ => self.payload.extend_from_slice(bytes),
            }
        }
        self.descriptors = blocks.len();
        self.blocks = blocks;
    }

    /// Bytes that the event takes in a trace: header, extended items, payload.
    pub(crate) fn size(&self) -> usize {
        let item = |data: usize| (ITEM_HEADER + data).next_multiple_of(8);
        HEADER
            + self.related.map_or(0, |_| item(size_of::<Guid>()))
            + self.traits.as_ref().map_or(0, |traits| item(traits.len()))
            + self.metadata.as_ref().map_or(0, |metadata| item(metadata.len()))
            + self.payload.len()
    }
}

fn append(place: &mut Option<Vec<u8>>, bytes: &[u8]) {
    place.get_or_insert_default().extend_from_slice(bytes);
}
