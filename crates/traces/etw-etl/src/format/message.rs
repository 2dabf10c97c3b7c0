//! `MESSAGE_TRACE_HEADER`: WPP messages. Flags say which members follow the header.

use etw_types::Guid;

use super::bytes::{guid_at, u16_at, u32_at, u64_at};

/// Marker of a header that `TraceMessage` wrote.
const MARKER: u8 = 0x90;
/// Size of the header in bytes with all of its members.
pub const MAX_SIZE: usize = SIZE + 4 + 16 + 8 + 8;

/// Size of the header in bytes without the optional members.
pub const SIZE: usize = 8;
/// Option: a sequence number.
pub const OPTION_SEQUENCE: u16 = 0x01;
/// Option: the GUID of the message's source file or provider.
pub const OPTION_GUID: u16 = 0x02;
/// Option: a component id instead of the GUID.
pub const OPTION_COMPONENT_ID: u16 = 0x04;
/// Option: a time stamp.
pub const OPTION_TIMESTAMP: u16 = 0x08;
/// Option: thread and process ids.
pub const OPTION_SYSTEM_INFO: u16 = 0x20;

/// Option: pointer arguments have 32 bits.
pub const OPTION_POINTER32: u16 = 0x40;

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
        let mut header = Self { number: u16_at(bytes, 4)?, options, size: SIZE, ..Self::default() };
        if options & OPTION_SEQUENCE != 0 {
            header.sequence = Some(u32_at(bytes, header.size)?);
            header.size += 4;
        }
        if options & OPTION_GUID != 0 {
            header.guid = Some(guid_at(bytes, header.size)?);
            header.size += 16;
        } else if options & OPTION_COMPONENT_ID != 0 {
            header.component = Some(u32_at(bytes, header.size)?);
            header.size += 4;
        }
        if options & OPTION_TIMESTAMP != 0 {
            header.timestamp = Some(u64_at(bytes, header.size)?);
            header.size += 8;
        }
        if options & OPTION_SYSTEM_INFO != 0 {
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
        let mut options = 0;
        let mut members = Vec::with_capacity(MAX_SIZE);
        let mut add = |option: u16, bytes: &[u8]| {
            options |= option;
            members.extend_from_slice(bytes);
        };
        if let Some(sequence) = self.sequence {
            add(OPTION_SEQUENCE, &sequence.to_le_bytes());
        }
        if let Some(guid) = self.guid {
            add(OPTION_GUID, &guid.to_bytes_le());
        } else if let Some(component) = self.component {
            add(OPTION_COMPONENT_ID, &component.to_le_bytes());
        }
        if let Some(timestamp) = self.timestamp {
            add(OPTION_TIMESTAMP, &timestamp.to_le_bytes());
        }
        if let (Some(thread), Some(process)) = (self.thread_id, self.process_id) {
            add(OPTION_SYSTEM_INFO, &thread.to_le_bytes());
            add(OPTION_SYSTEM_INFO, &process.to_le_bytes());
        }
        let size = u16::try_from(SIZE + members.len() + data).ok()?;
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
        MAX_SIZE, MessageHeader, OPTION_COMPONENT_ID, OPTION_GUID, OPTION_SEQUENCE, OPTION_SYSTEM_INFO,
        OPTION_TIMESTAMP,
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
            (MessageHeader { sequence: Some(1), size: 12, ..none }, OPTION_SEQUENCE),
            (MessageHeader { guid, size: 24, ..none }, OPTION_GUID),
            (MessageHeader { component: Some(9), size: 12, ..none }, OPTION_COMPONENT_ID),
            (MessageHeader { timestamp: Some(3), size: 16, ..none }, OPTION_TIMESTAMP),
            (ids, OPTION_SYSTEM_INFO),
            (MessageHeader { component: Some(9), timestamp: Some(4), size: 28, ..ids }, 0x2C),
        ] {
            let mut bytes = Vec::new();
            header.push(3, &mut bytes).unwrap();
            assert_eq!(bytes.len(), header.size);
            assert_eq!(usize::from(bytes[0]), header.size + 3);
            assert_eq!(MessageHeader::parse(&bytes), Some(MessageHeader { options, ..header }));
        }
    }
}
