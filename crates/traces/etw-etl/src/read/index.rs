//! The first pass over a file. It finds the buffers and their earliest time stamps, losses, and events that describe other
//! events: schemas, images, threads, names and stacks.

use std::io::{Read, Seek};

use etw_manifest::tdh::TraceSchemas;

use super::entry::{Entry, Targets};
use super::inventory::Inventory;
use super::owners::Threads;
use super::records::{Buffer, Slot};
use super::report::{LossReason, Report};
use super::schemas::collect;
use super::source::{Found, Source};
use super::stacks::{Keys, most_memory, target};
use crate::decode::Decoder;
use crate::event::EventRef;
use crate::format::bytes::{guid_at, u16_at};
use crate::format::logfile::LogfileHeader;
use crate::format::record::Layout;
use crate::format::stack::definition;
use crate::images::{IMAGE_ID, Images};
use crate::methods::Methods;
use crate::names::{KERNEL_PROCESS, SYS_CONFIG, TraceNames};
use crate::time::{Clock, ClockKind, FileTime};
use etw_types::session::mode;

/// What events of a file say about other events.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) keys: Keys,
    pub(crate) schemas: TraceSchemas,
    pub(crate) images: Images,
    pub(crate) threads: Threads,
    pub(crate) names: TraceNames,
    pub(crate) methods: Methods,
    pub(crate) decoder: Decoder,
}

impl Collected {
    /// Collects the schemas, images, threads and stack keys in a buffer of a file of this length. Returns the time stamps of the events
    /// that the buffer's stacks belong to.
    fn add(&mut self, buffer: &Buffer, length: u64) -> Option<Targets> {
        let mut targets: Option<Targets> = None;
        for slot in &buffer.slots {
            let record = buffer.record(*slot);
            match slot.layout {
                // Most kernel events describe nothing. The hook id is enough to skip them.
                Layout::System | Layout::Compact | Layout::PerfInfo => match u16_at(record, 6).map(u16::to_be_bytes) {
                    Some([GROUP_STACK, _]) => {
                        if let Some(definition) = definition(slot.layout, record) {
                            self.keys.add(&definition, buffer.session, slot.stamp, most_memory(length));
                        } else if let Some(stamp) = target(slot.layout, record) {
                            targets = Some(Targets::with(targets, stamp));
                        }
                    }
                    // The start and the end of a thread, and the two rundown events.
                    Some([0x05, event_type @ 1..=4]) => {
                        let version = u16_at(record, 0).unwrap_or_default();
                        let payload = record.get(slot.layout.header_size()..).unwrap_or_default();
                        self.threads.add(event_type, version, slot.stamp, payload);
                        // Before version 3, these events do not have the thread's name.
                        if version >= 3 {
                            self.add_names(*slot, buffer);
                        }
                    }
                    // Processes; names of threads, of file objects, of registry keys and of services.
                    Some(
                        [0x03, 1..=4 | 39]
                        | [0x05, 72]
                        | [0x04, 0 | 32 | 35 | 36 | 64]
                        | [0x09, 22 | 24 | 25]
                        | [0x0B, 10 | 15],
                    ) => self.add_names(*slot, buffer),
                    // A load (in two groups), an unload, and the two rundown events.
                    Some([0x03 | 0x14, 0x0A] | [0x14, 0x02..=0x04]) => self.add_image(*slot, buffer),
                    _ => {}
                },
                Layout::Full | Layout::Event => {
                    collect(&mut self.schemas, slot.layout, record);
                    match guid_at(record, 0x18) {
                        Some(IMAGE_ID) => self.add_image(*slot, buffer),
                        Some(SYS_CONFIG) => self.add_names(*slot, buffer),
                        Some(KERNEL_PROCESS)
                            if slot.layout == Layout::Event && matches!(u16_at(record, 0x28), Some(1 | 2 | 15)) =>
                        {
                            self.add_names(*slot, buffer);
                        }
                        Some(provider)
                            if slot.layout == Layout::Event
                                && Methods::is_described_by(provider, u16_at(record, 0x28).unwrap_or_default()) =>
                        {
                            self.methods.add(&mut self.decoder, &event(*slot, buffer));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        targets
    }

    /// Adds an image event.
    fn add_image(&mut self, slot: Slot, buffer: &Buffer) {
        self.images.add(&mut self.decoder, &event(slot, buffer));
    }

    /// Adds an event that names something.
    fn add_names(&mut self, slot: Slot, buffer: &Buffer) {
        self.names.add(&mut self.decoder, &event(slot, buffer));
    }
}

/// Returns an event whose time does not matter, only its time stamp.
fn event(slot: Slot, buffer: &Buffer) -> EventRef<'_> {
    let clock = Clock { kind: ClockKind::SystemTime, frequency: 0, start: FileTime(0), start_stamp: 0 };
    EventRef::new(slot.layout, slot.stamp, buffer.cpu, &clock, buffer.record(slot))
}

/// The group of hook ids that have stacks and definitions of stack keys.
const GROUP_STACK: u8 = 0x18;

/// Size of a buffer header in bytes.
const HEADER: u64 = 0x48;

/// Finds all buffers from an offset on. Returns them ordered by their earliest time stamp, and the end of the last one. If the
/// file `grows`, an incomplete buffer at its end is not counted as lost, because the rest may still be written. The source keeps
/// decompressed buffers of at most `keep` bytes.
pub(crate) fn index<R: Read + Seek>(
    source: &mut Source<R>,
    header: &LogfileHeader,
    report: &mut Report,
    collected: &mut Collected,
    from: u64,
    grows: bool,
    keep: usize,
) -> (Vec<Entry>, u64) {
    let mut entries = Vec::new();
    let mut inventory = Inventory::default();
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
                inventory.add(offset, &buffer);
                let stacks = collected.add(&buffer, source.length);
                entries.extend(buffer.slots.first().map(|slot| Entry { first: slot.stamp, offset, stacks }));
                source.keep(offset, size, buffer, keep);
                if let Some((place, bytes, reason)) = loss {
                    report.lose(place, bytes, reason);
                }
                Some(offset.saturating_add(size))
            }
            Ok(Found::Packed(size, reason)) => {
                report.buffers += 1;
                inventory.add_packed(offset);
                report.lose(offset, size.min(left), reason);
                Some(offset.saturating_add(size))
            }
            Ok(Found::Unwritten) => {
                let next = behind(offset, header);
                let bytes = next.unwrap_or(source.length).min(source.length) - offset;
                report.unwritten_bytes += bytes;
                inventory.add_zeros(offset, bytes);
                next
            }
            Ok(Found::Bad) => {
                let next = behind(offset, header);
                let reason = if left < HEADER { LossReason::Truncated } else { LossReason::BadBufferHeader };
                let bytes = next.unwrap_or(source.length).min(source.length) - offset;
                inventory.add_unreadable(bytes, header);
                report.lose(offset, bytes, reason);
                next
            }
            Err(error) => {
                let next = behind(offset, header);
                let bytes = next.unwrap_or(source.length).min(source.length) - offset;
                inventory.add_unreadable(bytes, header);
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
    // A file that is still being written has no final counts, and neither has a part of a file.
    if !grows && from == 0 {
        inventory.check(header, report);
    }
    entries.sort_unstable();
    collected.keys.sort();
    collected.threads.sort();
    collected.images.sort();
    collected.names.sort();
    collected.methods.sort();
    (entries, offset)
}

/// Returns where the next buffer can start after an offset that holds none: at the next multiple of the buffer size. Returns
/// `None` for compressed buffers, because their sizes differ.
fn behind(offset: u64, header: &LogfileHeader) -> Option<u64> {
    let stride = u64::from(header.buffer_size);
    if stride < HEADER || header.log_file_mode & mode::COMPRESSED != 0 {
        return None;
    }
    offset.saturating_add(1).checked_next_multiple_of(stride)
}
