//! `MESSAGE_TRACE_HEADER`: WPP messages. Flags say which members follow the header.

pub use windows_constants::tracing::{
    TRACE_MESSAGE_COMPONENTID, TRACE_MESSAGE_GUID, TRACE_MESSAGE_POINTER32, TRACE_MESSAGE_SEQUENCE,
    TRACE_MESSAGE_SYSTEMINFO, TRACE_MESSAGE_TIMESTAMP,
};

use etw_types::Guid;

use super::bytes::{guid_at, u16_at, u32_at, u64_at};

/// Marker of a header that `TraceMessage` wrote.
const MARKER: u8 = 0x90;
/// Size of the header in bytes with all of its members.
pub const MAX_SIZE: usize = SIZE + 4 + 16 + 8 + 8;

/// Size of the header in bytes without the optional members.
pub const SIZE: usize = 8;

/// The header of a WPP message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageHeader {
    /// Number of the message within its GUID.
    pub number: u16,
    /// Options.
    pub options: u16,
    /// Sequence number.
    pub sequence: Option<u32>,
    /// The message's GUID.
    pub guid: Option<Guid>,
    /// Component id.
    pub component: Option<u32>,
    /// Time stamp in the session's clock.
    pub timestamp: Option<u64>,
    /// The thread that wrote the message.
    pub thread_id: Option<u32>,
    /// The process that wrote the message.
    pub process_id: Option<u32>,
    /// Size of the header in bytes including its members, which is the offset of the arguments.
    pub size: usize,
}

impl MessageHeader {
    /// Parses a header. Returns `None` if a member does not fit.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let options = u16_at(bytes, 6)?;
        let flags = u32::from(options);
        let mut header = Self { number: u16_at(bytes, 4)?, options, size: SIZE, ..Self::default() };
        if flags & TRACE_MESSAGE_SEQUENCE != 0 {
            header.sequence = Some(u32_at(bytes, header.size)?);
            header.size += 4;
        }
        if flags & TRACE_MESSAGE_GUID != 0 {
            header.guid = Some(guid_at(bytes, header.size)?);
            header.size += 16;
        } else if flags & TRACE_MESSAGE_COMPONENTID != 0 {
            header.component = Some(u32_at(bytes, header.size)?);
            header.size += 4;
        }
        if flags & TRACE_MESSAGE_TIMESTAMP != 0 {
            header.timestamp = Some(u64_at(bytes, header.size)?);
            header.size += 8;
        }
        if flags & TRACE_MESSAGE_SYSTEMINFO != 0 {
            header.thread_id = Some(u32_at(bytes, header.size)?);
            header.process_id = Some(u32_at(bytes, header.size + 4)?);
            header.size += 8;
        }
        Some(header)
    }

    /// Appends the header of a record with `data` bytes of arguments. The members that are present follow in the order that the
    /// documentation of `TraceMessage` specifies. Returns `None` without appending anything if the record has more than 65535
    /// bytes. `options` and `size` are ignored.
    pub fn push(&self, data: usize, out: &mut Vec<u8>) -> Option<()> {
        let mut options = 0_u32;
        let mut members = Vec::with_capacity(MAX_SIZE);
        let mut add = |option: u32, bytes: &[u8]| {
            options |= option;
            members.extend_from_slice(bytes);
        };
        if let Some(sequence) = self.sequence {
            add(TRACE_MESSAGE_SEQUENCE, &sequence.to_le_bytes());
        }
        if let Some(guid) = self.guid {
            add(TRACE_MESSAGE_GUID, &guid.to_bytes_le());
        } else if let Some(component) = self.component {
            add(TRACE_MESSAGE_COMPONENTID, &component.to_le_bytes());
        }
        if let Some(timestamp) = self.timestamp {
            add(TRACE_MESSAGE_TIMESTAMP, &timestamp.to_le_bytes());
        }
        if let (Some(thread), Some(process)) = (self.thread_id, self.process_id) {
            add(TRACE_MESSAGE_SYSTEMINFO, &thread.to_le_bytes());
            add(TRACE_MESSAGE_SYSTEMINFO, &process.to_le_bytes());
        }
        let size = u16::try_from(SIZE + members.len() + data).ok()?;
        let options = u16::try_from(options).ok()?;
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&[0, MARKER]);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&options.to_le_bytes());
        out.extend_from_slice(&members);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        MAX_SIZE, MessageHeader, TRACE_MESSAGE_COMPONENTID, TRACE_MESSAGE_GUID, TRACE_MESSAGE_SEQUENCE,
        TRACE_MESSAGE_SYSTEMINFO, TRACE_MESSAGE_TIMESTAMP,
    };
    use etw_types::Guid;

    #[test]
    fn members_follow_in_the_order_of_their_flags() {
        let mut bytes = vec![0x34, 0, 0, 0x90, 0x2B, 0, 0x2B, 0];
        bytes.extend(7_u32.to_le_bytes());
        bytes.extend([0x11; 16]);
        bytes.extend(0x1234_5678_9ABC_u64.to_le_bytes());
        bytes.extend(5_u32.to_le_bytes());
        bytes.extend(4_u32.to_le_bytes());
        let header = MessageHeader::parse(&bytes).unwrap();
        assert_eq!(header.number, 0x2B);
        assert_eq!(header.sequence, Some(7));
        assert_eq!(header.timestamp, Some(0x1234_5678_9ABC));
        assert_eq!(header.thread_id, Some(5));
        assert_eq!(header.process_id, Some(4));
        assert_eq!(header.size, bytes.len());
        assert!((0..bytes.len()).all(|length| MessageHeader::parse(&bytes[..length]).is_none()));
        let mut pushed = Vec::new();
        header.push(0x34 - bytes.len(), &mut pushed).unwrap();
        assert_eq!(pushed, bytes);
        assert_eq!(header.push(0xFFFF, &mut pushed), None);
        assert_eq!(header.options, 0x2B);
        assert_eq!(bytes.len(), MAX_SIZE);
    }

    #[test]
    fn each_member_is_there_only_if_its_flag_is_set() {
        let none = MessageHeader { number: 5, size: 8, ..MessageHeader::default() };
        let guid = Some(Guid::from_u128(7));
        let ids = MessageHeader { thread_id: Some(1), process_id: Some(2), size: 16, ..none };
        for (header, options) in [
            (none, 0),
            (MessageHeader { sequence: Some(1), size: 12, ..none }, TRACE_MESSAGE_SEQUENCE),
            (MessageHeader { guid, size: 24, ..none }, TRACE_MESSAGE_GUID),
            (MessageHeader { component: Some(9), size: 12, ..none }, TRACE_MESSAGE_COMPONENTID),
            (MessageHeader { timestamp: Some(3), size: 16, ..none }, TRACE_MESSAGE_TIMESTAMP),
            (ids, TRACE_MESSAGE_SYSTEMINFO),
            (MessageHeader { component: Some(9), timestamp: Some(4), size: 28, ..ids }, 0x2C),
        ] {
            let mut bytes = Vec::new();
            header.push(3, &mut bytes).unwrap();
            assert_eq!(bytes.len(), header.size);
            assert_eq!(usize::from(bytes[0]), header.size + 3);
            assert_eq!(
                MessageHeader::parse(&bytes),
                Some(MessageHeader { options: u16::try_from(options).unwrap(), ..header })
            );
        }
    }
}
