//! The contents of a file: only what was written takes memory, so a file can be larger than the memory.

use std::collections::BTreeMap;

/// The number of bytes that are stored together.
const CHUNK: u64 = 0x1000;

/// The bytes of a file. What was not written is zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    end: u64,
    /// What was written, by its position in chunks.
    chunks: BTreeMap<u64, Box<[u8]>>,
}

impl Content {
    /// Returns the number of bytes.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Sets the number of bytes. New bytes are zero.
    pub(super) fn set_end(&mut self, end: u64) {
        if end < self.end {
            self.chunks.split_off(&end.div_ceil(CHUNK));
            let kept = (end % CHUNK) as usize;
            let last = self.chunks.get_mut(&(end / CHUNK)).and_then(|chunk| chunk.get_mut(kept..));
            last.unwrap_or_default().fill(0);
        }
        self.end = end;
    }

    /// Returns up to `length` bytes from an offset on; none behind the end.
    pub(super) fn read(&self, offset: u64, length: u32) -> Vec<u8> {
        let count = self.end.saturating_sub(offset).min(length.into());
        let mut bytes = vec![0; count as usize];
        for (chunk, stored) in self.chunks.range(offset / CHUNK..offset.saturating_add(count).div_ceil(CHUNK)) {
            let start = chunk * CHUNK;
            let skipped = offset.saturating_sub(start) as usize;
            let place = bytes.get_mut(start.saturating_sub(offset) as usize..).unwrap_or_default();
            for (to, from) in place.iter_mut().zip(stored.iter().skip(skipped)) {
                *to = *from;
            }
        }
        bytes
    }

    /// Writes bytes, and moves the end if they go beyond it.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let skipped = at % CHUNK;
            let (part, more) = rest.split_at(rest.len().min((CHUNK - skipped) as usize));
            let chunk = self.chunks.entry(at / CHUNK).or_insert_with(|| vec![0; CHUNK as usize].into());
            for (to, from) in chunk.iter_mut().skip(skipped as usize).zip(part) {
                *to = *from;
            }
            at += part.len() as u64;
            rest = more;
        }
        self.end = self.end.max(at);
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        let mut content = Self::default();
        content.write(0, bytes);
        content
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Content};

    #[test]
    fn a_large_file_takes_only_what_was_written() {
        let mut content = Content::default();
        content.set_end(1 << 30);
        assert_eq!(content.end(), 1 << 30);
        assert!(content.chunks.is_empty(), "nothing was written");
        content.write((1 << 30) - 2, b"end");
        assert_eq!(content.end(), (1 << 30) + 1);
        assert_eq!(content.chunks.len(), 2, "the bytes are in two chunks");
        assert_eq!(content.read((1 << 30) - 4, 16), b"\0\0end");
        assert_eq!(content.read(5, 3), [0; 3]);
        assert_eq!(content.read((1 << 30) + 1, 3), [0; 0]);
    }

    #[test]
    fn bytes_across_chunks_are_read_as_they_were_written() {
        let bytes: Vec<u8> = (0..3 * CHUNK).map(|index| (index % 251) as u8).collect();
        let content = Content::from(bytes.as_slice());
        for (offset, length) in [(0, bytes.len()), (1, 5), (CHUNK as usize - 1, 2), (100, 2 * CHUNK as usize)] {
            assert_eq!(content.read(offset as u64, length as u32), bytes[offset..offset + length], "{offset}");
        }
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let mut content = Content::from([7; 3 * CHUNK as usize].as_slice());
        content.set_end(CHUNK + 1);
        content.set_end(4 * CHUNK);
        assert_eq!(content.read(CHUNK - 1, 4), [7, 7, 0, 0]);
        assert_eq!(content.read(2 * CHUNK, 2), [0, 0]);
    }
}
