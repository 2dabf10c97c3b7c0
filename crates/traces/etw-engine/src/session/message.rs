//! Messages that WPP writes directly to one session with `TraceMessage` and `WmiTraceMessage`.

use etw_etl::format::message::MessageHeader;
use etw_types::session::KERNEL_LOGGER_NAME;
use etw_types::{Guid, NtStatus, Win32Error};
use windows_constants::tracing::{
    TRACE_MESSAGE_COMPONENTID, TRACE_MESSAGE_GUID, TRACE_MESSAGE_SEQUENCE, TRACE_MESSAGE_SYSTEMINFO,
    TRACE_MESSAGE_TIMESTAMP,
};

use super::core::SessionCore;
use crate::Session;
use crate::buffers::Encoded;

/// The flags that a caller may set.
const KNOWN: u32 = TRACE_MESSAGE_SEQUENCE
    | TRACE_MESSAGE_GUID
    | TRACE_MESSAGE_COMPONENTID
    | TRACE_MESSAGE_TIMESTAMP
    | TRACE_MESSAGE_SYSTEMINFO;

/// A message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// `TRACE_MESSAGE_*`: what the header has.
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
    /// A message with `TRACE_MESSAGE_SEQUENCE` gets a sequence number if the session was started with one of the two
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
        if message.flags & !KNOWN != 0 || (has(TRACE_MESSAGE_GUID) && has(TRACE_MESSAGE_COMPONENTID)) {
            return Err(Win32Error::InvalidParameter);
        }
        let buffers = core.buffers().ok_or(Win32Error::NotSupported)?;
        let environment = &*self.engine.options().environment;
        let when = |flag: u32, value: u32| has(flag).then_some(value);
        let header = MessageHeader {
            number: message.number,
            sequence: if has(TRACE_MESSAGE_SEQUENCE) { core.sequence.next() } else { None },
            guid: has(TRACE_MESSAGE_GUID).then_some(message.guid),
            component: when(TRACE_MESSAGE_COMPONENTID, message.guid.data1),
            timestamp: has(TRACE_MESSAGE_TIMESTAMP).then(|| core.stamp(self.engine.now())),
            thread_id: when(TRACE_MESSAGE_SYSTEMINFO, environment.thread_id()),
            process_id: when(TRACE_MESSAGE_SYSTEMINFO, environment.process_id()),
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
