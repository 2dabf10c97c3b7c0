//! Converts the child's events to records, as in a trace file.

use etw_engine::CapturedEvent;
use etw_etl::format::event::{EVENT_HEADER_FLAG_64_BIT_HEADER, EVENT_HEADER_FLAG_STRING_ONLY};
use etw_etl::{EventData, ExtendedItem, ExtendedType};
use etw_types::Guid;

/// Returns the record of an event, or `None` if the event is larger than a record can be.
pub(crate) fn record(event: &CapturedEvent) -> Option<Vec<u8>> {
    let related = event.related.as_ref().map(Guid::to_bytes_le);
    // A match ID, which is 0 because the stack has only one part, and the addresses.
    let stack: Vec<u8> = [0].iter().chain(&event.stack).flat_map(|word: &u64| word.to_le_bytes()).collect();
    let stack = (!event.stack.is_empty()).then_some(stack);
    let items: Vec<ExtendedItem<'_>> = [
        (ExtendedType::RELATED_ACTIVITY_ID, related.as_ref().map(<[u8; 16]>::as_slice)),
        (ExtendedType::STACK_TRACE64, stack.as_deref()),
        (ExtendedType::PROV_TRAITS, event.traits.as_deref()),
        (ExtendedType::EVENT_SCHEMA_TL, event.metadata.as_deref()),
    ]
    .into_iter()
    .filter_map(|(kind, data)| Some(ExtendedItem { kind, data: data? }))
    .collect();
    let data = EventData {
        provider: event.provider,
        descriptor: event.descriptor,
        flags: EVENT_HEADER_FLAG_64_BIT_HEADER | if event.string_only { EVENT_HEADER_FLAG_STRING_ONLY } else { 0 },
        thread_id: event.thread_id,
        process_id: event.process_id,
        timestamp: event.timestamp,
        activity: event.activity,
        items: &items,
        payload: &event.payload,
        ..EventData::default()
    };
    let mut bytes = vec![0; data.encoded_len()];
    data.encode(&mut bytes)?;
    Some(bytes)
}
