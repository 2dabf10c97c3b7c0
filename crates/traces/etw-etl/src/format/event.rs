//! `EVENT_HEADER`: the header of TraceLogging and manifest events.

pub use windows_constants::tracing::{
    EVENT_HEADER_FLAG_32_BIT_HEADER, EVENT_HEADER_FLAG_64_BIT_HEADER, EVENT_HEADER_FLAG_CLASSIC_HEADER,
    EVENT_HEADER_FLAG_EXTENDED_INFO, EVENT_HEADER_FLAG_NO_CPUTIME, EVENT_HEADER_FLAG_STRING_ONLY,
    EVENT_HEADER_FLAG_TRACE_MESSAGE,
};

use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};

use super::bytes::{guid_at, u8_at, u16_at, u32_at, u64_at};

/// Size of the header in bytes.
pub const SIZE: usize = 0x50;
/// Header type of 64-bit systems, including the marker.
pub const TYPE_64: u16 = 0xC013;
/// Header type of 32-bit systems, including the marker.
pub const TYPE_32: u16 = 0xC012;

/// The header of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// Size of header, extended items and data in bytes, not rounded up.
    pub size: u16,
    /// [`TYPE_64`] or [`TYPE_32`].
    pub header_type: u16,
    /// Flags.
    pub flags: u16,
    /// `EVENT_HEADER_PROPERTY_*`.
    pub property: u16,
    /// The thread that wrote the event.
    pub thread_id: u32,
    /// The process that wrote the event.
    pub process_id: u32,
    /// Time stamp in the session's clock.
    pub timestamp: u64,
    /// GUID of the provider.
    pub provider: Guid,
    /// Id, version, channel, level, opcode, task, keyword.
    pub descriptor: EventDescriptor,
    /// Kernel-mode time of the thread.
    pub kernel_time: u32,
    /// User-mode time of the thread.
    pub user_time: u32,
    /// The activity id; all zeros if there is none.
    pub activity: Guid,
}

impl EventHeader {
    /// Parses a header. Returns `None` if there are fewer than [`SIZE`] bytes.
    #[inline]
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIZE] = bytes.first_chunk()?;
        Some(Self {
            size: u16_at(bytes, 0x00)?,
            header_type: u16_at(bytes, 0x02)?,
            flags: u16_at(bytes, 0x04)?,
            property: u16_at(bytes, 0x06)?,
            thread_id: u32_at(bytes, 0x08)?,
            process_id: u32_at(bytes, 0x0C)?,
            timestamp: u64_at(bytes, 0x10)?,
            provider: guid_at(bytes, 0x18)?,
            descriptor: EventDescriptor {
                id: u16_at(bytes, 0x28)?,
                version: u8_at(bytes, 0x2A)?,
                channel: Channel::from_int(u8_at(bytes, 0x2B)?),
                level: Level::from_int(u8_at(bytes, 0x2C)?),
                opcode: Opcode::from_int(u8_at(bytes, 0x2D)?),
                task: u16_at(bytes, 0x2E)?,
                keyword: Keyword::from_bits(u64_at(bytes, 0x30)?),
            },
            kernel_time: u32_at(bytes, 0x38)?,
            user_time: u32_at(bytes, 0x3C)?,
            activity: guid_at(bytes, 0x40)?,
        })
    }

    /// Returns the header as it is stored in a file.
    #[inline]
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.to_words()) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    /// Returns the header as it is stored in a file, as little-endian words of eight bytes. The words are assembled with shifts
    /// because this runs for every event: a word load from bytes that were just stored one by one cannot be forwarded from the
    /// store buffer.
    #[inline]
    #[must_use]
    pub fn to_words(&self) -> [u64; SIZE / 8] {
        let descriptor = &self.descriptor;
        let shorts = |a: u16, b: u16, c: u16, d: u16| {
            u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
        };
        let longs = |a: u32, b: u32| u64::from(a) | u64::from(b) << 32;
        let guid = |id: &Guid| {
            let start = u64::from(id.data1) | u64::from(id.data2) << 32 | u64::from(id.data3) << 48;
            [start, u64::from_le_bytes(id.data4)]
        };
        let [provider_low, provider_high] = guid(&self.provider);
        let [activity_low, activity_high] = guid(&self.activity);
        let version = u16::from_le_bytes([descriptor.version, descriptor.channel.as_int()]);
        let level = u16::from_le_bytes([descriptor.level.as_int(), descriptor.opcode.as_int()]);
        [
            shorts(self.size, self.header_type, self.flags, self.property),
            longs(self.thread_id, self.process_id),
            self.timestamp,
            provider_low,
            provider_high,
            shorts(descriptor.id, version, level, descriptor.task),
            descriptor.keyword.bits(),
            longs(self.kernel_time, self.user_time),
            activity_low,
            activity_high,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{EventHeader, SIZE};

    #[test]
    fn every_byte_of_a_header_survives() {
        let mut bytes = [0_u8; SIZE];
        for (value, byte) in (1..).zip(&mut bytes) {
            *byte = value;
        }
        assert_eq!(EventHeader::parse(&bytes).map(|header| header.to_bytes()), Some(bytes));
        assert_eq!(EventHeader::parse(&bytes[..SIZE - 1]), None);
    }
}
