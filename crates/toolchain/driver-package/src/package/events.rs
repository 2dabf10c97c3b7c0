//! The levels and keywords of the events in an image.
//!
//! `TraceLoggingProvider.h` puts its events into blobs, `wdk-etw` has a constant for each event whose pointer to the event's
//! metadata the loader relocates, and a manifest is a resource. Events that other code makes at run time are not found,
//! so what is found says what a driver writes, but not what it never writes.

use std::collections::BTreeSet;

use etw_types::{Channel, DataKind};
use memchr::memmem;

use super::manifest;
use crate::pe::Image;

/// What the events in an image have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Events {
    /// The levels of all events.
    pub(super) levels: BTreeSet<u8>,
    /// The keywords of all events.
    pub(super) keywords: u64,
}

/// The end of the header before the blobs of `TraceLoggingProvider.h`.
pub(super) const BLOBS: [u8; 8] = 0xBB8A_052B_8804_0E86_u64.to_le_bytes();
const METADATA: u8 = DataKind::EventMetadata.as_int();
/// The size of an `EVENT_DESCRIPTOR`, and of an `EVENT_DATA_DESCRIPTOR`.
const DESCRIPTOR: u32 = 16;

impl Events {
    /// Finds the events in an image, whose file has these bytes.
    pub(super) fn find(file: &[u8], image: &Image) -> Self {
        let mut events = Self::default();
        for start in memmem::find_iter(file, &BLOBS) {
            // A blob that cannot be read ends the list.
            let _ = events.add_blobs(file.get(start + BLOBS.len()..).unwrap_or_default());
        }
        for fixup in image.relocations.iter().flat_map(|relocations| &relocations.fixups) {
            if let Some(descriptor) = descriptor_beside(file, image, fixup.rva) {
                events.add_descriptor(descriptor);
            }
        }
        for provider in manifest::providers(file) {
            events.levels.extend(provider.levels.iter().map(|level| level.value));
            events.keywords |= provider.keywords.iter().fold(0, |all, keyword| all | keyword.value);
        }
        events
    }

    fn add(&mut self, level: u8, keyword: u64) {
        self.levels.insert(level);
        self.keywords |= keyword;
    }

    fn add_descriptor(&mut self, [_, _, _, _, level, _, _, _, keyword @ ..]: [u8; DESCRIPTOR as usize]) {
        self.add(level, u64::from_le_bytes(keyword));
    }

    /// Adds the events in a list of blobs. Each begins with its type.
    fn add_blobs(&mut self, mut rest: &[u8]) -> Option<()> {
        loop {
            let (kind, blob) = rest.split_first()?;
            // What is before the size of the rest, which counts itself.
            let fixed = match kind {
                // Padding.
                0 => {
                    rest = blob;
                    continue;
                }
                // A provider without its id.
                2 => 0,
                // An event: channel, level, opcode, keyword.
                3 | 6 => {
                    self.add(*blob.get(1)?, u64::from_le_bytes(*blob.get(3..)?.first_chunk()?));
                    11
                }
                // A provider with its id.
                4 => 16,
                // An event of older headers: level, opcode, task, keyword.
                5 => {
                    self.add(*blob.first()?, u64::from_le_bytes(*blob.get(4..)?.first_chunk()?));
                    12
                }
                // The end, or an unknown type.
                _ => return None,
            };
            let blob = blob.get(fixed..)?;
            let size = usize::from(u16::from_le_bytes(*blob.first_chunk()?));
            rest = blob.get(size.max(2)..)?;
        }
    }
}

/// The `EVENT_DESCRIPTOR` before or after an address, if an `EVENT_DATA_DESCRIPTOR` of TraceLogging metadata is there.
fn descriptor_beside(file: &[u8], image: &Image, rva: u32) -> Option<[u8; DESCRIPTOR as usize]> {
    let data: &[u8; 16] = image.bytes_from(file, rva)?.first_chunk()?;
    let [pointer @ .., s0, s1, s2, s3, METADATA, 0, 0, 0] = *data else { return None };
    let size = u32::from_le_bytes([s0, s1, s2, s3]);
    let target = u64::from_le_bytes(pointer).checked_sub(image.header.image_base)?;
    let metadata = image.bytes_from(file, u32::try_from(target).ok()?)?;
    // The metadata begins with its size.
    if u32::from(u16::from_le_bytes(*metadata.first_chunk()?)) != size {
        return None;
    }
    let beside = [rva.checked_sub(DESCRIPTOR), rva.checked_add(DESCRIPTOR)];
    let mut found = beside.into_iter().flatten().filter_map(|rva| image.bytes_from(file, rva)?.first_chunk().copied());
    found.find(|[_, _, _, channel, ..]: &[u8; DESCRIPTOR as usize]| *channel == Channel::TraceLogging.as_int())
}

#[cfg(test)]
mod tests {
    use super::Events;

    /// A blob of an event of `TraceLoggingProvider.h`.
    fn blob(level: u8, keyword: u64) -> Vec<u8> {
        [&[6, 11, level, 0][..], &keyword.to_le_bytes(), &[5, 0, 0, b'E', 0]].concat()
    }

    #[test]
    fn the_blobs_of_microsofts_header_are_read_up_to_the_last_one() {
        let provider = [&[4][..], &[7; 16], &[6, 0, b'P', b'.', b'Q', 0]].concat();
        let old = [&[5, 3, 0, 0, 0][..], &8_u64.to_le_bytes(), &[2, 0]].concat();
        let list =
            [blob(4, 1), provider, vec![0, 0], old, blob(2, 0x8000_0000_0000_0000), vec![1], blob(5, 2)].concat();
        let mut events = Events::default();
        assert_eq!(events.add_blobs(&list), None);
        assert_eq!(Vec::from_iter(events.levels), vec![2, 3, 4]);
        assert_eq!(events.keywords, 0x8000_0000_0000_0009);
        for end in 0..list.len() {
            let _ = Events::default().add_blobs(&list[..end]);
        }
    }
}
