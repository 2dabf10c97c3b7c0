//! An event as a session in memory keeps it.

use etw_types::{DataKind, EventDescriptor, Guid};

use crate::data::{Blocks, Data};
use crate::event::Offer;

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
    /// The thread that wrote it.
    pub thread_id: u32,
    /// Its process.
    pub process_id: u32,
    /// The time that the writer put in place of it, in the writer's own unit.
    pub timestamp_override: Option<u64>,
    /// Return addresses of the writing thread, the innermost first, where the session asked for them.
    pub stack: Vec<u64>,
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
    pub(crate) fn new(offer: &Offer<'_>, data: &Data<'_>, stack: Vec<u64>, sequence: u64) -> Self {
        let blocks = captured(data.blocks);
        Self {
            provider: offer.provider,
            descriptor: offer.event.descriptor,
            activity: offer.event.activity.unwrap_or(Guid::ZERO),
            related: offer.event.related,
            traits: data.traits.map(<[u8]>::to_vec),
            metadata: data.metadata.map(<[u8]>::to_vec),
            payload: data.payload.concat(),
            filter: offer.event.filter,
            flags: offer.event.flags,
            string_only: offer.event.is_string(),
            descriptors: blocks.len(),
            blocks,
            timestamp: offer.now,
            thread_id: offer.environment.thread_id(),
            process_id: offer.environment.process_id(),
            timestamp_override: data.timestamp,
            stack,
            sequence,
        }
    }
}

/// Bytes that an event takes in a trace: header, extended items that it brings itself, payload.
pub(crate) fn trace_size(offer: &Offer<'_>, data: &Data<'_>) -> usize {
    let item = |data: usize| (ITEM_HEADER + data).next_multiple_of(8);
    HEADER
        + offer.event.related.map_or(0, |_| item(size_of::<Guid>()))
        + data.traits.map_or(0, |traits| item(traits.len()))
        + data.metadata.map_or(0, |metadata| item(metadata.len()))
        + data.payload_len
}

/// The blocks one by one.
fn captured(blocks: Blocks<'_>) -> Vec<CapturedBlock> {
    let mut rest = blocks.bytes;
    let mut block = |&(kind, size): &(DataKind, usize)| {
        let (bytes, behind) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        rest = behind;
        CapturedBlock { kind, bytes: bytes.to_vec() }
    };
    blocks.kinds.iter().map(&mut block).collect()
}
