//! `MESSAGE_TRACE_HEADER`: WPP messages. Which members follow the header is a set of flags.

use etw_types::Guid;

use super::bytes::{guid_at, u16_at, u32_at, u64_at};

/// Marker of a message: a header, written by `TraceMessage`.
const MARKER: u8 = 0x90;
/// Bytes of the header with all of its members.
pub const MAX_SIZE: usize = SIZE + 4 + 16 + 8 + 8;

/// Bytes of the header without the members that flags add.
pub const SIZE: usize = 8;
/// Option: a sequence number.
pub const OPTION_SEQUENCE: u16 = 0x01;
/// Option: the GUID of the message's source file or provider.
pub const OPTION_GUID: u16 = 0x02;
/// Option: a component id in place of the GUID.
pub const OPTION_COMPONENT_ID: u16 = 0x04;
/// Option: a time.
pub const OPTION_TIMESTAMP: u16 = 0x08;
/// Option: thread and process.
pub const OPTION_SYSTEM_INFO: u16 = 0x20;

/// Option: pointers among the arguments have 32 bits.
pub const OPTION_POINTER32: u16 = 0x40;

/// A WPP message's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageHeader {
    /// Number of the message under its GUID.
    pub number: u16,
    /// Options.
    pub options: u16,
    /// Sequence number.
    pub sequence: Option<u32>,
    /// The message's GUID.
    pub guid: Option<Guid>,
    /// Component id.
    pub component: Option<u32>,
    /// When, in the clock of the session.
    pub timestamp: Option<u64>,
    /// The writing thread.
    pub thread_id: Option<u32>,
    /// The writing process.
    pub process_id: Option<u32>,
    /// Bytes of the header with its members: where the arguments start.
    pub size: usize,
}

impl MessageHeader {
    /// Takes a header apart. `None` where a member does not fit.
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

    /// Appends the header with the members that are there, in the order of the page about `TraceMessage`, for a record with
    /// `data` bytes of arguments. `None`, and nothing is appended, where the record has more than 65535 bytes. `options` and
    /// `size` are not looked at.
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
    use super::MessageHeader;

    #[test]
    fn members_follow_in_the_order_of_their_flags() {
        let mut bytes = vec![0x34, 0, 0, 0x90, 0x2B, 0, 0x2B, 0];
        bytes.extend(7_u32.to_le_bytes());
        bytes.extend([0x11; 16]);
        bytes.extend(0x1234_5678_9ABC_u64.to_le_bytes());
        bytes.extend(5_u32.to_le_bytes());
        bytes.extend(4_u32.to_le_bytes());
        let header = MessageHeader::parse(&bytes).unwrap();
        assert_eq!((header.number, header.sequence, header.timestamp), (0x2B, Some(7), Some(0x1234_5678_9ABC)));
        assert_eq!((header.thread_id, header.process_id, header.size), (Some(5), Some(4), bytes.len()));
        assert!((0..bytes.len()).all(|length| MessageHeader::parse(&bytes[..length]).is_none()));
        let mut pushed = Vec::new();
        header.push(0x34 - bytes.len(), &mut pushed).unwrap();
        assert_eq!(pushed, bytes);
        assert_eq!(header.push(0xFFFF, &mut pushed), None);
    }
}
