//! Messages that WPP writes directly to one session with `TraceMessage` and `WmiTraceMessage`.

use etw_etl::format::message::MessageHeader;
use etw_types::session::KERNEL_LOGGER_NAME;
use etw_types::{Guid, NtStatus, Win32Error};

use super::core::SessionCore;
use crate::Session;
use crate::buffers::Encoded;

/// `TRACE_MESSAGE_*`: the fields of a message's header.
pub mod message_flag {
    /// A sequence number, if the session has sequence numbers.
    pub const SEQUENCE: u32 = 0x01;
    /// The message's GUID.
    pub const GUID: u32 = 0x02;
    /// A component id instead of the GUID.
    pub const COMPONENT_ID: u32 = 0x04;
    /// The time.
    pub const TIMESTAMP: u32 = 0x08;
    /// Thread id and process id.
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
    /// The arguments, concatenated.
    pub data: &'a [u8],
}

impl Session {
    /// `TraceMessage`: writes a message to this session.
    ///
    /// A message with [`message_flag::SEQUENCE`] gets a sequence number if the session was started with one of the two
    /// sequence modes. Otherwise the flag has no effect (our choice: the documentation only says that the mode is
    /// required).
    ///
    /// # Errors
    ///
    /// `InvalidHandle` if the session is stopped or is the kernel logger; `InvalidParameter` for unknown flags, or for
    /// a GUID together with a component id; `NotEnoughMemory` if no buffer is free; `MoreData` for a message larger
    /// than a buffer; `NotSupported` for a session that captures events for a test, which cannot store messages (our
    /// choice).
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
        let record = fits.map(|()| Encoded::event(&record));
        match SessionCore::put(core, buffers, environment.processor(), record.as_ref()) {
            NtStatus::Success => Ok(()),
            NtStatus::NoMemory => Err(Win32Error::NotEnoughMemory),
            _ => Err(Win32Error::MoreData),
        }
    }
}
