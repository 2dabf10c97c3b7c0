//! Collects the events of a file that describe other events.

use etw_manifest::envelope;
use etw_manifest::tdh::{METADATA_CLASS, TraceSchemas};
use etw_types::Guid;

use crate::format::bytes::{guid_at, u8_at, u16_at, u32_at};
use crate::format::event::{self, EVENT_HEADER_FLAG_EXTENDED_INFO};
use crate::format::extended::Items;
use crate::format::record::Layout;

/// Collects the schema in a record of the layout `Full` or `Event`. Returns `None` if the record is too short.
pub(super) fn collect(schemas: &mut TraceSchemas, layout: Layout, record: &[u8]) -> Option<()> {
    // Both headers have the GUID at the same offset.
    let guid: Guid = guid_at(record, 0x18)?;
    if layout == Layout::Full {
        if guid == METADATA_CLASS {
            schemas.add(u8_at(record, 4)?, record.get(layout.header_size()..)?);
        }
        return Some(());
    }
    if guid == METADATA_CLASS {
        schemas.add(u8_at(record, 0x2D)?, payload(record)?);
    } else if u16_at(record, 0x28)? == envelope::EVENT_ID {
        schemas.add_chunk(guid, u32_at(record, 0x0C)?, payload(record)?);
    }
    Some(())
}

/// Returns what follows the header and the extended items.
fn payload(record: &[u8]) -> Option<&[u8]> {
    let has_items = u16_at(record, 4)? & EVENT_HEADER_FLAG_EXTENDED_INFO != 0;
    record.get(if has_items { Items::new(record, event::SIZE).end() } else { event::SIZE }..)
}
