//! Manifests of .NET's `EventSource`, which a provider writes into the trace in chunks.
//!
//! An event with the id 0xFFFE starts with an envelope: format, two version numbers, a magic byte, the number of chunks and the
//! index of this chunk. UTF-8 text follows.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use etw_types::{Guid, InType};

use crate::bytes::u16_at;
use crate::schema::{EventSchema, Field, Source};
use crate::types::Encoding;

/// Id of the events that contain a manifest.
pub const EVENT_ID: u16 = 0xFFFE;
/// Size of an envelope in bytes.
const SIZE: usize = 8;
/// The fourth byte of an envelope.
const MAGIC: u8 = 0x5B;
/// The format for chunks of XML.
const FORMAT_XML: u8 = 1;
/// Approximate maximum memory for incomplete manifests, in bytes.
const MAX_MEMORY: usize = 64 * 1024 * 1024;
/// Memory cost of a chunk in addition to its bytes.
const COST: usize = 64;

/// Returns the schema of the events that contain a manifest, for a provider of this name.
#[must_use]
pub fn schema(provider: Arc<str>) -> Arc<EventSchema> {
    static FIELDS: LazyLock<Arc<[Field]>> = LazyLock::new(|| {
        let field = |name, in_type| Field::new(name, Encoding::Value(in_type));
        let bytes = ["Format", "MajorVersion", "MinorVersion", "Magic"].map(|name| field(name, InType::U8));
        let counts = ["TotalChunks", "ChunkNumber"].map(|name| field(name, InType::U16));
        bytes.into_iter().chain(counts).chain([Field::new("Manifest", Encoding::Rest8)]).collect()
    });
    Arc::new(EventSchema {
        provider,
        name: "ManifestData".into(),
        level: None,
        channel: None,
        keywords: Vec::new(),
        message: None,
        fields: Arc::clone(&FIELDS),
        top_level: FIELDS.len(),
        source: Source::BuiltIn,
    })
}

/// Assembles manifests from their chunks.
#[derive(Debug, Default)]
pub struct Assembler {
    open: HashMap<(Guid, u32, u16), Chunks>,
    held: usize,
    dropped: u64,
}

/// Chunks of one manifest by index.
type Chunks = HashMap<u16, Box<[u8]>>;

impl Assembler {
    /// Adds a chunk from a provider in a process. Returns the manifest if this was the last missing chunk.
    pub fn add(&mut self, provider: Guid, process: u32, payload: &[u8]) -> Option<Vec<u8>> {
        let [format, _major, _minor, magic, ..] = *payload.first_chunk::<SIZE>()?;
        let total = u16_at(payload, 4)?;
        let number = u16_at(payload, 6)?;
        if format != FORMAT_XML || magic != MAGIC || number >= total {
            return None;
        }
        let text = payload.get(SIZE..)?;
        if total == 1 {
            return Some(text.to_vec());
        }
        if self.held + text.len() + COST > MAX_MEMORY {
            self.dropped += 1;
            return None;
        }
        let key = (provider, process, total);
        let chunks = self.open.entry(key).or_default();
        let replaced = chunks.insert(number, text.into());
        self.held += text.len() + COST;
        self.held = self.held.saturating_sub(replaced.map_or(0, |text| text.len() + COST));
        if chunks.len() < usize::from(total) {
            return None;
        }
        let chunks = self.open.remove(&key)?;
        self.held = self.held.saturating_sub(chunks.values().map(|text| text.len() + COST).sum());
        Some((0..total).filter_map(|number| chunks.get(&number)).flatten().copied().collect())
    }

    /// Returns how many chunks were dropped because of the memory limit.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use etw_types::Guid;

    use super::Assembler;

    fn chunk(total: u8, number: u8, text: &[u8]) -> Vec<u8> {
        [&[1, 1, 0, 0x5B, total, 0, number, 0], text].concat()
    }

    #[test]
    fn chunks_come_in_any_order_and_from_several_processes() {
        let mut assembler = Assembler::default();
        let provider = Guid::from_u128(7);
        assert_eq!(assembler.add(provider, 1, &chunk(1, 0, b"whole")).as_deref(), Some(&b"whole"[..]));
        assert_eq!(assembler.add(provider, 1, &chunk(2, 1, b"b")), None);
        assert_eq!(assembler.add(provider, 2, &chunk(2, 0, b"x")), None);
        assert_eq!(assembler.add(provider, 1, &chunk(2, 0, b"a")).as_deref(), Some(&b"ab"[..]));
        assert_eq!(assembler.add(provider, 2, &chunk(2, 1, b"y")).as_deref(), Some(&b"xy"[..]));
        assert!(assembler.open.is_empty());
        assert_eq!(assembler.held, 0);
    }

    #[test]
    fn a_replaced_chunk_counts_with_its_new_size() {
        let mut assembler = Assembler::default();
        let provider = Guid::from_u128(7);
        for text in [&b"a"[..], b"aaaa", b"aa"] {
            assert_eq!(assembler.add(provider, 1, &chunk(2, 0, text)), None);
            assert_eq!(assembler.held, text.len() + super::COST);
        }
        assert_eq!(assembler.add(provider, 1, &chunk(2, 1, b"b")).as_deref(), Some(&b"aab"[..]));
        assert_eq!(assembler.held, 0);
    }

    #[test]
    fn a_payload_that_is_not_an_envelope_is_ignored() {
        let mut assembler = Assembler::default();
        let provider = Guid::from_u128(7);
        for payload in
            [&[][..], &[1, 1, 0, 0x5B, 1, 0], &chunk(1, 1, b"x"), &chunk(0, 0, b"x"), b"\x02\0\0\x5b\x01\0\0\0x"]
        {
            assert_eq!(assembler.add(provider, 1, payload), None);
        }
    }
}
