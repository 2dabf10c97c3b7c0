//! `WMI_BUFFER_HEADER`: the header of every buffer.

use super::bytes::{array_at, put, u16_at, u32_at, u64_at};

/// Size of the header in bytes.
pub const SIZE: usize = 0x48;
/// Largest buffer of a session: 16384 KiB according to the documentation of `EVENT_TRACE_PROPERTIES`.
pub const MAX_BUFFER_SIZE: usize = 16 * 1024 * 1024;
/// Flag: the last buffer of a flush; set on the first and the last buffer of a file.
pub const FLAG_FLUSH_MARKER: u16 = 0x01;
/// Flag: events were lost.
pub const FLAG_EVENTS_LOST: u16 = 0x02;
/// Flag: a buffer was lost.
pub const FLAG_BUFFER_LOST: u16 = 0x04;
/// Flag: the processor is a `u16` rather than a `u8` processor number and a `u8` alignment.
pub const FLAG_PROCESSOR_INDEX: u16 = 0x20;
/// Flag: the bytes after this header are compressed.
pub const FLAG_COMPRESSED: u16 = 0x40;
/// Type of the buffer with the logfile header.
pub const TYPE_HEADER: u16 = 4;
/// State of a buffer that has been written out.
pub const STATE_FLUSH: u32 = 3;

/// The header of a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferHeader {
    /// Bytes to the next buffer.
    pub size: u32,
    /// Bytes used, including this header. Zero in some files captured on Windows.
    pub saved_offset: u32,
    /// Bytes used; the kernel sometimes adds the buffer's size.
    pub current_offset: u32,
    /// Reference count; 0 in a file.
    pub reference_count: u32,
    /// When the buffer was flushed, in the session's clock. 0 in the first buffer.
    pub timestamp: u64,
    /// Sequence number of the buffer, in the order in which the session allocated them.
    pub sequence: u64,
    /// Clock or list entry; meaningless in a file.
    pub clock: u64,
    /// The processor: see [`cpu`](Self::cpu).
    pub processor: u16,
    /// The session's id.
    pub logger_id: u16,
    /// State; in the first buffer of a compressed file, the compression format.
    pub state: u32,
    /// Bytes used, including this header. For a compressed buffer, bytes used after decompression.
    pub filled: u32,
    /// Flags.
    pub flags: u16,
    /// Type.
    pub kind: u16,
    /// A union that is meaningless in a file.
    pub tail: [u8; 16],
}

impl BufferHeader {
    /// Parses a header. Returns `None` if there are fewer than [`SIZE`] bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            size: u32_at(bytes, 0x00)?,
            saved_offset: u32_at(bytes, 0x04)?,
            current_offset: u32_at(bytes, 0x08)?,
            reference_count: u32_at(bytes, 0x0C)?,
            timestamp: u64_at(bytes, 0x10)?,
            sequence: u64_at(bytes, 0x18)?,
            clock: u64_at(bytes, 0x20)?,
            processor: u16_at(bytes, 0x28)?,
            logger_id: u16_at(bytes, 0x2A)?,
            state: u32_at(bytes, 0x2C)?,
            filled: u32_at(bytes, 0x30)?,
            flags: u16_at(bytes, 0x34)?,
            kind: u16_at(bytes, 0x36)?,
            tail: array_at(bytes, 0x38)?,
        })
    }

    /// Returns the header as it is stored in a file.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        put(&mut bytes, 0x00, &self.size.to_le_bytes());
        put(&mut bytes, 0x04, &self.saved_offset.to_le_bytes());
        put(&mut bytes, 0x08, &self.current_offset.to_le_bytes());
        put(&mut bytes, 0x0C, &self.reference_count.to_le_bytes());
        put(&mut bytes, 0x10, &self.timestamp.to_le_bytes());
        put(&mut bytes, 0x18, &self.sequence.to_le_bytes());
        put(&mut bytes, 0x20, &self.clock.to_le_bytes());
        put(&mut bytes, 0x28, &self.processor.to_le_bytes());
        put(&mut bytes, 0x2A, &self.logger_id.to_le_bytes());
        put(&mut bytes, 0x2C, &self.state.to_le_bytes());
        put(&mut bytes, 0x30, &self.filled.to_le_bytes());
        put(&mut bytes, 0x34, &self.flags.to_le_bytes());
        put(&mut bytes, 0x36, &self.kind.to_le_bytes());
        put(&mut bytes, 0x38, &self.tail);
        bytes
    }

    /// Returns the processor that the buffer belonged to. Files without [`FLAG_PROCESSOR_INDEX`] store it in one byte.
    #[must_use]
    pub const fn cpu(&self) -> u16 {
        if self.flags & FLAG_PROCESSOR_INDEX == 0 { self.processor & 0xFF } else { self.processor }
    }

    /// Returns whether the bytes after the header are compressed.
    #[must_use]
    pub const fn is_compressed(&self) -> bool {
        self.flags & FLAG_COMPRESSED != 0
    }

    /// Returns the bytes used of a buffer that has `size` bytes uncompressed, or `None` if no field holds a plausible number.
    #[must_use]
    pub fn used(&self, size: usize) -> Option<usize> {
        [self.filled, self.saved_offset]
            .into_iter()
            .filter_map(|used| usize::try_from(used).ok())
            .find(|used| (SIZE..=size).contains(used))
    }
}

#[cfg(test)]
mod tests {
    use super::{BufferHeader, SIZE};

    #[test]
    fn every_byte_of_a_header_survives() {
        let mut bytes = [0_u8; SIZE];
        for (value, byte) in (1..).zip(&mut bytes) {
            *byte = value;
        }
        assert_eq!(BufferHeader::parse(&bytes).map(|header| header.to_bytes()), Some(bytes));
        assert_eq!(BufferHeader::parse(&bytes[..SIZE - 1]), None);
    }

    #[test]
    fn the_processor_is_a_byte_in_files_without_the_flag() {
        let old = BufferHeader { processor: 0x4003, ..BufferHeader::default() };
        assert_eq!(old.cpu(), 3);
        assert_eq!(BufferHeader { flags: super::FLAG_PROCESSOR_INDEX, ..old }.cpu(), 0x4003);
    }

    #[test]
    fn the_saved_offset_stands_in_for_a_missing_offset() {
        let header = BufferHeader { saved_offset: 0x60, ..BufferHeader::default() };
        assert_eq!(header.used(0x100), Some(0x60));
        assert_eq!(BufferHeader { filled: 0x80, ..header.clone() }.used(0x100), Some(0x80));
        assert_eq!(header.used(0x50), None);
        assert_eq!(header.used(0x60), Some(0x60));
        assert_eq!(header.used(0x5F), None);
        let used = |filled| BufferHeader { filled, ..BufferHeader::default() }.used(0x100);
        assert_eq!(used(0x48), Some(0x48), "at least the header");
        assert_eq!(used(0x47), None, "at least the header");
        assert!(BufferHeader { flags: super::FLAG_COMPRESSED, ..header.clone() }.is_compressed());
        assert!(!BufferHeader { flags: !super::FLAG_COMPRESSED, ..header }.is_compressed());
    }
}
