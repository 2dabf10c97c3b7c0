//! Bytes that are put together from front to back, with places that are filled in later.

/// Bytes, and how texts stand among them.
#[derive(Debug, Default)]
pub(super) struct Blob(pub(super) Vec<u8>);

impl Blob {
    /// Where the next byte goes.
    pub(super) fn here(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    /// Room for a number; returns its place.
    pub(super) fn later(&mut self) -> u32 {
        let place = self.here();
        self.u32(0);
        place
    }

    /// Fills in a number.
    pub(super) fn fill(&mut self, place: u32, value: u32) {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(bytes) = self.0.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = value.to_le_bytes();
        }
    }

    /// Fills in how far it is from a start to here.
    pub(super) fn fill_size(&mut self, place: u32, start: u32) {
        self.fill(place, self.here() - start);
    }

    pub(super) fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// UTF-16, without a terminator.
    pub(super) fn utf16(&mut self, text: &str) {
        self.0.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }

    /// Text with a terminator behind its size, filled up to a multiple of four bytes. Puts its place into `offset`.
    pub(super) fn name(&mut self, offset: u32, text: &str) {
        let start = self.here();
        self.fill(offset, start);
        let size = self.later();
        self.utf16(text);
        self.u16(0);
        self.align();
        self.fill_size(size, start);
    }
}
