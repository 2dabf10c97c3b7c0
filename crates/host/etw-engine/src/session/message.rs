//! Messages: what WPP writes with `TraceMessage` and `WmiTraceMessage`, straight to one session.

use etw_etl::format::message::MessageHeader;
use etw_types::session::KERNEL_LOGGER_NAME;
use etw_types::{Guid, NtStatus, Win32Error};

use super::core::SessionCore;
use crate::Session;
use crate::buffers::Pieces;

/// `TRACE_MESSAGE_*`: what a message's header says.
pub mod message_flag {
    /// A sequence number, where the session has them.
    pub const SEQUENCE: u32 = 0x01;
    /// The message's GUID.
    pub const GUID: u32 = 0x02;
    /// A component id in place of the GUID.
    pub const COMPONENT_ID: u32 = 0x04;
    /// The time.
    pub const TIMESTAMP: u32 = 0x08;
    /// Thread and process.
    pub const SYSTEM_INFO: u32 = 0x20;
}

/// All of [`message_flag`].
const KNOWN: u32 = 0x2F;

/// A message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// See [`message_flag`].
    pub flags: u32,
    /// The message's GUID; the component id is its first member.
    pub guid: Guid,
    /// Number of the message under its GUID.
    pub number: u16,
    /// The arguments, one behind the other.
    pub data: &'a [u8],
}

impl Session {
    /// `TraceMessage`: writes a message to this session.
    ///
    /// A message with [`message_flag::SEQUENCE`] gets a sequence number where the session was started with one of the two
    /// modes; elsewhere the flag has no effect (our choice: the page says only that the mode is needed).
    ///
    /// # Errors
    ///
    /// `InvalidHandle` where the session has stopped or is the kernel's; `InvalidParameter` for unknown flags, or GUID and
    /// component id together; `NotEnoughMemory` where no buffer is free; `MoreData` for a message larger than a buffer, and for
    /// a session that captures events for a test (our choice: it has no place for messages) `NotSupported`.
    pub fn trace_message(&self, message: &Message<'_>) -> Result<(), Win32Error> {
        let core = &self.core;
        if core.is_stopped() || core.name().eq_ignore_ascii_case(KERNEL_LOGGER_NAME) {
            return Err(Win32Error::InvalidHandle);
        }
        let has = |flag: u32| message.flags & flag != 0;
        if message.flags & !KNOWN != 0 || (has(message_flag::GUID) && has(message_flag::COMPONENT_ID)) {
            return Err(Win32Error::InvalidParameter);
        }
        let buffers = core.buffers().ok_or(Win32Error::NotSupported)?;
        let environment = &*self.engine.options().environment;
        let when = |flag: u32, value: u32| has(flag).then_some(value);
        let header = MessageHeader {
            number: message.number,
            sequence: if has(message_flag::SEQUENCE) { core.sequence.next() } else { None },
            guid: has(message_flag::GUID).then_some(message.guid),
            component: when(message_flag::COMPONENT_ID, message.guid.data1),
            timestamp: has(message_flag::TIMESTAMP).then(|| core.stamp(self.engine.now())),
            thread_id: when(message_flag::SYSTEM_INFO, environment.thread_id()),
            process_id: when(message_flag::SYSTEM_INFO, environment.process_id()),
            ..MessageHeader::default()
        };
        let mut record = Vec::new();
        let fits = header.push(message.data.len(), &mut record);
        record.extend_from_slice(message.data);
        let whole = [record.as_slice()];
        let pieces = fits.map(|()| Pieces::whole(&whole));
        match SessionCore::put(core, buffers, environment.processor(), pieces.as_ref()) {
            NtStatus::Success => Ok(()),
            NtStatus::NoMemory => Err(Win32Error::NotEnoughMemory),
            _ => Err(Win32Error::MoreData),
        }
    }
}
