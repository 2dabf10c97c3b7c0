//! An event as an in-memory session keeps it.

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
    /// The activity id; zero if the writer passed none.
    pub activity: Guid,
    /// The related activity id.
    pub related: Option<Guid>,
    /// The provider traits, if the event passed them as data of that kind.
    pub traits: Option<Vec<u8>>,
    /// The TraceLogging metadata, if the event passed it as data of that kind.
    pub metadata: Option<Vec<u8>>,
    /// The other data, joined. If the provider did not turn on descriptor types, this is all data, and a TraceLogging
    /// event (channel 11) has its traits and metadata at the start.
    pub payload: Vec<u8>,
    /// The filter argument of `EtwWriteEx`.
    pub filter: u64,
    /// The flags argument of `EtwWriteEx`.
    pub flags: u32,
    /// Whether the event was written as a string. The payload is then UTF-16 with a terminator.
    pub string_only: bool,
    /// How many data descriptors the writer passed.
    pub descriptors: usize,
    /// The data descriptors as they were passed.
    pub blocks: Vec<CapturedBlock>,
    /// When the event was written: the engine's time, in 100 ns units.
    pub timestamp: u64,
    /// The thread that wrote it.
    pub thread_id: u32,
    /// Its process.
    pub process_id: u32,
    /// The time that the writer supplied instead of `timestamp`, in the writer's own unit.
    pub timestamp_override: Option<u64>,
    /// Return addresses of the writing thread, innermost first, if the session requested them.
    pub stack: Vec<u64>,
    /// Position among all events of the session, including lost events; starts at 0.
    pub sequence: u64,
}

/// One data descriptor of a captured event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedBlock {
    /// The kind that the writer declared, whether or not it was honoured.
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

/// Returns the size of an event in a trace, in bytes: the header, the extended items of the event itself, and the
/// payload.
pub(crate) fn trace_size(offer: &Offer<'_>, data: &Data<'_>) -> usize {
    let item = |data: usize| (ITEM_HEADER + data).next_multiple_of(8);
    HEADER
        + offer.event.related.map_or(0, |_| item(size_of::<Guid>()))
        + data.traits.map_or(0, |traits| item(traits.len()))
        + data.metadata.map_or(0, |metadata| item(metadata.len()))
        + data.payload_len
}

/// Splits the bytes into the individual blocks.
fn captured(blocks: Blocks<'_>) -> Vec<CapturedBlock> {
    let mut rest = blocks.bytes;
    let mut block = |&(kind, size): &(DataKind, usize)| {
        let (bytes, behind) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        rest = behind;
        CapturedBlock { kind, bytes: bytes.to_vec() }
    };
    blocks.kinds.iter().map(&mut block).collect()
}
