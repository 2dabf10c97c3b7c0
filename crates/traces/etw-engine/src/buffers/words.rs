//! Records, and the words of a buffer that they are stored in.

use super::sync::{AtomicU64, Ordering};

/// Bytes of a word, the unit in which buffers are filled.
pub(super) const WORD: usize = 8;

/// A record that can be written to a buffer. It stores its parts directly, without joining them first.
pub(crate) trait Record {
    /// Returns the length in bytes, without the padding of the last word.
    fn len(&self) -> usize;

    /// Whether the record counts as an event. Other records only describe events.
    fn is_event(&self) -> bool {
        true
    }

    /// Stores the record. `words` has exactly the room that [`len`](Self::len) needs.
    fn store(&self, words: Words<'_>);
}

/// A record that is already encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoded<'a> {
    bytes: &'a [u8],
    is_event: bool,
}

impl<'a> Encoded<'a> {
    /// A record that counts as an event.
    pub(crate) const fn event(bytes: &'a [u8]) -> Self {
        Self { bytes, is_event: true }
    }

    /// A record that only describes events. It is not counted.
    pub(crate) const fn silent(bytes: &'a [u8]) -> Self {
        Self { bytes, is_event: false }
    }
}

impl Record for Encoded<'_> {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn is_event(&self) -> bool {
        self.is_event
    }

    fn store(&self, words: Words<'_>) {
        words.end(&[self.bytes]);
    }
}

/// The words of a buffer that are reserved for a record, filled from the front. Data that does not fit is dropped.
pub(crate) struct Words<'a>(&'a [AtomicU64]);

impl<'a> Words<'a> {
    pub(super) const fn new(words: &'a [AtomicU64]) -> Self {
        Self(words)
    }

    /// Stores whole words.
    #[inline]
    pub(crate) fn words<const N: usize>(&mut self, words: [u64; N]) {
        if let Some((places, rest)) = self.0.split_first_chunk::<N>() {
            for (place, word) in places.iter().zip(words) {
                place.store(word, Ordering::Relaxed);
            }
            self.0 = rest;
        }
    }

    /// Stores bytes. The last word is padded with zeros.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (words, end) = bytes.as_chunks::<WORD>();
        if let Some((places, rest)) = self.0.split_at_checked(words.len()) {
            for (place, word) in places.iter().zip(words) {
                place.store(u64::from_le_bytes(*word), Ordering::Relaxed);
            }
            self.0 = rest;
        }
        if !end.is_empty() {
            self.words([last(bytes, end)]);
        }
    }

    /// Stores the end of a record: contiguous pieces. The last word is padded with 0xFF.
    ///
    /// The bytes are shifted into place in registers. Storing them in memory and loading them as a word right afterwards
    /// would stall the processor.
    #[inline]
    pub(crate) fn end(mut self, pieces: &[&[u8]]) {
        // The bits of the next word that are already known, and their number, which is less than a word.
        let mut known = 0_u64;
        let mut bits = 0_u32;
        for piece in pieces {
            let (words, rest) = piece.as_chunks::<WORD>();
            for word in words {
                let word = u64::from_le_bytes(*word);
                self.words([known | word << bits]);
                // In two steps, because a shift by 64 is not allowed.
                known = word >> 1 >> (63 - bits);
            }
            if !rest.is_empty() {
                let word = last(piece, rest);
                let more = 8 * u32::try_from(rest.len()).unwrap_or_default();
                let joined = known | word << bits;
                bits += more;
                if bits < 64 {
                    known = joined;
                } else {
                    self.words([joined]);
                    bits -= 64;
                    known = word >> (more - bits);
                }
            }
        }
        if bits != 0 {
            self.words([known | u64::MAX << bits]);
        }
    }
}

/// Returns `end`, the last one to seven bytes of `bytes`, as the low part of a word.
#[inline]
fn last(bytes: &[u8], end: &[u8]) -> u64 {
    match bytes.last_chunk::<WORD>() {
        Some(word) => u64::from_le_bytes(*word) >> (8 * (WORD - end.len() % WORD) % 64),
        None => few(end),
    }
}

/// Returns at most seven bytes as the low part of a word.
#[inline]
fn few(bytes: &[u8]) -> u64 {
    let join = |low: u64, high: u64, shift: usize| low | high << (8 * shift);
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The two chunks overlap, and contain the same bytes where they do.
        (Some(first), Some(last)) => {
            join(u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into(), bytes.len() - 4)
        }
        _ => match (bytes.first_chunk::<2>(), bytes.last()) {
            (Some(first), Some(last)) => join(u16::from_le_bytes(*first).into(), (*last).into(), bytes.len() - 1),
            _ => bytes.first().map_or(0, |byte| u64::from(*byte)),
        },
    }
}
