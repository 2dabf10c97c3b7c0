//! Session control: the calls of `etw_session::System` as messages. Most of their arguments are bytes.

use etw_etl::Clock;
use etw_types::Guid;

use crate::codec::{messages, records};

messages! {
    /// A session control call.
    pub(crate) Control {
        /// `StartTrace`. A relative file name is relative to the caller's directory.
        Start { dir: Vec<u8>, name: String, block: Vec<u8> } = 1,
        /// `ControlTrace`, by name if there is one, otherwise by handle.
        Trace { dir: Vec<u8>, handle: u64, name: Option<String>, code: u32, block: Vec<u8> } = 2,
        /// `QueryAllTraces`.
        QueryAll { template: Vec<u8> } = 3,
        /// `EnableTraceEx2`.
        Enable { session: u64, request: Enablement } = 4,
        /// `TraceSetInformation`.
        Set { session: u64, class: u32, data: Vec<u8> } = 5,
        /// `TraceQueryInformation`.
        Query { session: u64, class: u32, buffer: Vec<u8> } = 6,
        /// `EnumerateTraceGuidsEx`.
        Enumerate { class: u32, input: Vec<u8>, buffer: Vec<u8> } = 7,
        /// Connect a consumer.
        Consume { name: String } = 8,
        /// Return the next buffer that a consumer has not received yet. Never waits.
        Receive { consumer: u64 } = 9,
        /// Disconnect a consumer.
        Disconnect { consumer: u64 } = 10,
        /// Enable the profile privilege.
        Privilege {} = 11,
        /// Return the last error of a session's file.
        FileError { session: u64 } = 12,
    }
}

messages! {
    /// The result of a session control call.
    pub(crate) Answer {
        /// A Win32 error code, a number (handle or length), and the updated block or buffer.
        Code { code: u32, number: u64, data: Vec<u8> } = 1,
        /// A block for each session.
        Blocks { blocks: Vec<Vec<u8>> } = 2,
        /// A consumer, and the clock of its session's time stamps.
        Consumer { consumer: u64, clock: Clock } = 3,
        /// The records of a buffer of this processor.
        Records { processor: u16, records: Vec<Vec<u8>> } = 4,
        /// The session has stopped, and all of its events were delivered.
        End {} = 5,
    }
}

impl Control {
    /// Returns whether the call may call the driver back. If so, the thread that runs the driver makes it, one call
    /// after the other. All other calls can be made at any time, even while the driver is running.
    pub(crate) const fn calls_back(&self) -> bool {
        const STOP: u32 = etw_session::Control::Stop as u32;
        matches!(self, Self::Trace { code: STOP, .. } | Self::Enable { .. } | Self::Set { .. })
    }
}

records! {
    /// The arguments of `EnableTraceEx2`.
    Enablement {
        provider: Guid,
        source: Guid,
        control: u32,
        level: u8,
        any: u64,
        all: u64,
        timeout: u32,
        property: u32,
        filters: Vec<(u32, Vec<u8>)>,
    }
}
