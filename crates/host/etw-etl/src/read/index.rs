//! The first pass over a file. It finds the buffers and their earliest time stamps, losses, and events that describe other
//! events: schemas, images and stacks.

use std::io::{Read, Seek};

use etw_manifest::tdh::TraceSchemas;
use etw_types::Guid;

use super::records::Buffer;
use super::report::{LossReason, Report};
use super::schemas::collect;
use super::source::{Found, Source};
use super::stacks::Stacks;
use crate::decode::Decoder;
use crate::format::bytes::{guid_at, u16_at};
use crate::format::logfile::{LogfileHeader, MODE_COMPRESSED};
use crate::format::record::Layout;
use crate::images::Images;
use crate::read::event::EventRef;
use crate::time::{Clock, ClockKind, FileTime};

/// What events of a file say about other events.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) stacks: Stacks,
    pub(crate) schemas: TraceSchemas,
    pub(crate) images: Images,
    pub(crate) decoder: Decoder,
}

impl Collected {
    fn add(&mut self, buffer: &Buffer) {
        self.stacks.collect(buffer);
        collect(&mut self.schemas, buffer);
        self.collect_images(buffer);
    }

    /// Collects the images of a buffer. Even a rundown at the end of a trace describes images that were loaded throughout.
    fn collect_images(&mut self, buffer: &Buffer) {
        for slot in &buffer.slots {
            let record = buffer.record(*slot);
            let is_image = match slot.layout {
                Layout::System | Layout::Compact | Layout::PerfInfo => {
                    // A load (in two groups), an unload, and the two rundown events.
                    matches!(u16_at(record, 6), Some(0x030A | 0x140A | 0x1402..=0x1404))
                }
                Layout::Full | Layout::Event => guid_at(record, 0x18) == Some(IMAGE_ID),
                _ => false,
            };
            if is_image {
                let clock = Clock { kind: ClockKind::SystemTime, frequency: 0, start: FileTime(0), start_stamp: 0 };
                let event = EventRef::new(slot.layout, slot.stamp, buffer.cpu, &clock, record);
                self.images.add(&self.decoder.decode(&event));
            }
        }
    }
}

/// The class of events that describe images and their PDBs.
const IMAGE_ID: Guid = Guid::from_u128(0xb3e6_75d7_2554_4f18_830b_2762_7325_60de);

/// Size of a buffer header in bytes.
const HEADER: u64 = 0x48;

/// A buffer that has records. These 16 bytes per buffer are all that the reader keeps permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The earliest time stamp.
    pub(crate) first: u64,
    /// Offset in the file.
    pub(crate) offset: u64,
}

/// Finds all buffers from an offset on. Returns them ordered by their earliest time stamp, and the end of the last one. If the
/// file `grows`, an incomplete buffer at its end is not counted as lost, because the rest may still be written.
pub(crate) fn index<R: Read + Seek>(
    source: &mut Source<R>,
    header: &LogfileHeader,
    report: &mut Report,
    collected: &mut Collected,
    from: u64,
    grows: bool,
) -> (Vec<Entry>, u64) {
    let mut entries = Vec::new();
    let mut offset = from;
    while offset < source.length {
        let left = source.length - offset;
        let next = match source.buffer(offset) {
            Ok(Found::Buffer(_, size, _) | Found::Packed(size, _)) if grows && size > left => break,
            Ok(Found::Unwritten) if grows => break,
            Ok(Found::Bad) if grows && left < HEADER => break,
            Ok(Found::Buffer(buffer, size, loss)) => {
                report.buffers += 1;
                report.events += u64::try_from(buffer.slots.len()).unwrap_or(u64::MAX);
                collected.add(&buffer);
                entries.extend(buffer.slots.first().map(|slot| Entry { first: slot.stamp, offset }));
                if let Some((place, bytes, reason)) = loss {
                    report.lose(place, bytes, reason);
                }
                Some(offset.saturating_add(size))
            }
            Ok(Found::Packed(size, reason)) => {
                report.buffers += 1;
                report.lose(offset, size.min(left), reason);
                Some(offset.saturating_add(size))
            }
            Ok(Found::Unwritten) => {
                let next = behind(offset, header);
                report.unwritten_bytes += next.unwrap_or(source.length).min(source.length) - offset;
                next
            }
            Ok(Found::Bad) => {
                let next = behind(offset, header);
                let reason = if left < HEADER { LossReason::Truncated } else { LossReason::BadBufferHeader };
                report.lose(offset, next.unwrap_or(source.length).min(source.length) - offset, reason);
                next
            }
            Err(error) => {
                let next = behind(offset, header);
                let bytes = next.unwrap_or(source.length).min(source.length) - offset;
                report.lose(offset, bytes, LossReason::Unreadable(error.to_string()));
                next
            }
        };
        let Some(next) = next else {
            offset = source.length;
            break;
        };
        offset = next;
    }
    entries.sort_unstable();
    (entries, offset)
}

/// Returns where the next buffer can start after an offset that holds none: at the next multiple of the buffer size. Returns
/// `None` for compressed buffers, because their sizes differ.
fn behind(offset: u64, header: &LogfileHeader) -> Option<u64> {
    let stride = u64::from(header.buffer_size);
    if stride < HEADER || header.log_file_mode & MODE_COMPRESSED != 0 {
        return None;
    }
    offset.saturating_add(1).checked_next_multiple_of(stride)
}
