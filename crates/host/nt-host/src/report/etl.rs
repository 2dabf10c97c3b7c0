//! A trace file of the events.

use std::path::Path;

use etw_etl::{Error, EventData, ExtendedItem, ExtendedType, Writer, WriterOptions};
use etw_types::Guid;

use crate::api::Event;

/// The system process, in which drivers run.
const SYSTEM: u32 = 4;
/// `EVENT_HEADER_FLAG_64_BIT_HEADER`.
const FLAG_64_BIT: u16 = 0x40;

/// Writes the events to a file that tools for Windows read.
pub(crate) fn etl(path: &Path, events: &[Event], lost: u64) -> Result<(), Error> {
    let options = WriterOptions { session_name: "nt-host".into(), ..WriterOptions::default() };
    let mut writer = Writer::create(path, options)?;
    for event in events {
        let related = event.related.as_ref().map(Guid::to_bytes_le);
        let stack = stack(&event.stack);
        let items = items(event, related.as_ref().map(<[u8; 16]>::as_slice), stack.as_deref());
        let data = EventData {
            provider: event.provider,
            descriptor: event.descriptor,
            flags: FLAG_64_BIT,
            process_id: SYSTEM,
            timestamp: event.timestamp,
            activity: event.activity,
            items: &items,
            payload: &event.payload,
            ..EventData::default()
        };
        writer.write(0, &data)?;
    }
    writer.add_lost(lost, 0);
    writer.close().map(drop)
}

/// `EVENT_EXTENDED_ITEM_STACK_TRACE64`: a match id, which is 0 where a stack is in one part, and the addresses.
fn stack(frames: &[u64]) -> Option<Vec<u8>> {
    let words = [0].iter().chain(frames);
    (!frames.is_empty()).then(|| words.flat_map(|word: &u64| word.to_le_bytes()).collect())
}

fn items<'a>(event: &'a Event, related: Option<&'a [u8]>, stack: Option<&'a [u8]>) -> Vec<ExtendedItem<'a>> {
    let item = |kind, data: Option<&'a [u8]>| data.map(|data| ExtendedItem { kind, data });
    let all = [
        item(ExtendedType::RELATED_ACTIVITY_ID, related),
        item(ExtendedType::STACK_TRACE64, stack),
        item(ExtendedType::PROV_TRAITS, event.traits.as_deref()),
        item(ExtendedType::EVENT_SCHEMA_TL, event.metadata.as_deref()),
    ];
    all.into_iter().flatten().collect()
}
