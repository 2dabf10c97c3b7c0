//! Message tables: texts by number, parsed and written.

use std::collections::HashMap;
use windows_constants::image::MESSAGE_RESOURCE_UNICODE;

use super::blob::Blob;
use crate::bytes::{size_at, u16_at, u32_at, utf16};

/// Maximum number of messages in a block.
const MAX_MESSAGES: u32 = 0x10_0000;

/// Texts by number.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    texts: HashMap<u32, Box<str>>,
}

impl Messages {
    /// Returns the text with this number.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&str> {
        self.texts.get(&id).map(AsRef::as_ref)
    }

    /// Adds the messages of a resource: blocks of numbers, then entries with a size, a flag for UTF-16, and text. Messages that
    /// are already known are not replaced. Returns `None` if the table is malformed.
    #[must_use]
    pub fn add(&mut self, table: &[u8]) -> Option<()> {
        let blocks = table.get(4..)?.as_chunks::<12>().0.get(..size_at(table, 0)?)?;
        // Blocks do not share entries. Without this check, a small table could contain the same long text many times.
        let mut left = table.len();
        for block in blocks {
            let low = u32_at(block, 0)?;
            let high = u32_at(block, 4)?;
            let mut offset = size_at(block, 8)?;
            for id in low..=high.min(low.saturating_add(MAX_MESSAGES)) {
                let entry = table.get(offset..)?;
                let size = usize::from(u16_at(entry, 0)?);
                let is_wide = u16_at(entry, 2)? & MESSAGE_RESOURCE_UNICODE != 0;
                left = left.checked_sub(size)?;
                let text = entry.get(4..size)?;
                let text =
                    if is_wide { utf16(text) } else { String::from_utf8_lossy(text).trim_end_matches('\0').into() };
                self.texts.entry(id).or_insert_with(|| text.trim_end().into());
                offset += size;
            }
        }
        Some(())
    }
}

/// Creates a message table with these texts. Each text ends with a line break, as in tables of the message compiler. A text that
/// is too long for its entry is cut off after 32,000 UTF-16 code units.
#[must_use]
pub fn message_table(texts: &[(u32, &str)]) -> Vec<u8> {
    /// Number of UTF-16 code units that fit into an entry together with its header and the line break.
    const LONGEST: usize = 32_000;
    let mut texts = texts.to_vec();
    texts.sort_unstable_by_key(|(id, _)| *id);
    texts.dedup_by_key(|(id, _)| *id);
    let blocks: Vec<&[(u32, &str)]> = texts.chunk_by(|(one, _), (next, _)| one.checked_add(1) == Some(*next)).collect();
    let mut blob = Blob::default();
    blob.u32(u32::try_from(blocks.len()).unwrap_or(u32::MAX));
    let mut offsets = Vec::new();
    for block in &blocks {
        if let [(first, _), ..] = block
            && let [.., (last, _)] = block
        {
            blob.u32(*first);
            blob.u32(*last);
            offsets.push(blob.later());
        }
    }
    for (block, offset) in blocks.iter().zip(offsets) {
        blob.fill(offset, blob.here());
        for (_, text) in *block {
            let mut units: Vec<u16> = text.encode_utf16().take(LONGEST).collect();
            units.extend("\r\n\0".encode_utf16());
            let size = (4 + 2 * units.len()).next_multiple_of(4);
            blob.u16(u16::try_from(size).unwrap_or(u16::MAX));
            blob.u16(MESSAGE_RESOURCE_UNICODE);
            blob.0.extend(units.into_iter().flat_map(u16::to_le_bytes));
            blob.align(4);
        }
    }
    blob.0
}
