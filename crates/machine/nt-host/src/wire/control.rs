//! Session control: the calls of `etw_session::System` as messages. Most of their arguments are bytes.

use etw_etl::{Clock, ClockKind, FileTime};
use etw_types::Guid;

use super::Wire;
use super::declare::messages;

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

/// The arguments of `EnableTraceEx2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enablement {
    pub(crate) provider: Guid,
    pub(crate) source: Guid,
    pub(crate) control: u32,
    pub(crate) level: u8,
    pub(crate) any: u64,
    pub(crate) all: u64,
    pub(crate) timeout: u32,
    pub(crate) property: u32,
    pub(crate) filters: Vec<(u32, Vec<u8>)>,
}

impl Wire for Enablement {
    fn put(&self, out: &mut Vec<u8>) {
        self.provider.put(out);
        self.source.put(out);
        self.control.put(out);
        self.level.put(out);
        self.any.put(out);
        self.all.put(out);
        self.timeout.put(out);
        self.property.put(out);
        self.filters.put(out);
    }

    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            provider: Wire::get(from)?,
            source: Wire::get(from)?,
            control: Wire::get(from)?,
            level: Wire::get(from)?,
            any: Wire::get(from)?,
            all: Wire::get(from)?,
            timeout: Wire::get(from)?,
            property: Wire::get(from)?,
            filters: Wire::get(from)?,
        })
    }
}

impl Wire for Clock {
    fn put(&self, out: &mut Vec<u8>) {
        self.kind.as_int().put(out);
        self.frequency.put(out);
        self.start.0.cast_unsigned().put(out);
        self.start_stamp.put(out);
    }

    fn get(from: &mut &[u8]) -> Option<Self> {
        let kind = match u32::get(from)? {
            1 => ClockKind::PerformanceCounter,
            2 => ClockKind::SystemTime,
            3 => ClockKind::Cycles,
            _ => return None,
        };
        let frequency = u64::get(from)?;
        let start = FileTime(u64::get(from)?.cast_signed());
        Some(Self { kind, frequency, start, start_stamp: u64::get(from)? })
    }
}
