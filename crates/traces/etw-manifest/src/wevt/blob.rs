//! A byte buffer that is written from front to back, with placeholders that are filled in later.

/// The bytes written so far.
#[derive(Debug, Default)]
pub(super) struct Blob(pub(super) Vec<u8>);

impl Blob {
    /// Returns the offset of the next byte.
    pub(super) fn here(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    /// Reserves space for a number and returns its offset.
    pub(super) fn later(&mut self) -> u32 {
        let place = self.here();
        self.u32(0);
        place
    }

    /// Fills in a reserved number.
    pub(super) fn fill(&mut self, place: u32, value: u32) {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(bytes) = self.0.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = value.to_le_bytes();
        }
    }

    /// Fills in the number of bytes from `start` to the current offset.
    pub(super) fn fill_size(&mut self, place: u32, start: u32) {
        self.fill(place, self.here() - start);
    }

    /// Appends zeros up to a multiple of `size` bytes.
    pub(super) fn align(&mut self, size: usize) {
        self.0.resize(self.0.len().next_multiple_of(size), 0);
    }

    /// Appends UTF-16 text without a terminator.
    pub(super) fn utf16(&mut self, text: &str) {
        self.0.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }

    /// Appends the size of a text and the NUL-terminated text, padded to a multiple of four bytes. Stores the offset of the size
    /// at `offset`.
    pub(super) fn name(&mut self, offset: u32, text: &str) {
        let start = self.here();
        self.fill(offset, start);
        let size = self.later();
        self.utf16(text);
        self.u16(0);
        self.align(4);
        self.fill_size(size, start);
    }
}
