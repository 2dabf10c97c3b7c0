//! Session control: the calls of `etw_session::System` as messages, over the bytes that they have anyway.

use etw_etl::{Clock, ClockKind, FileTime};
use etw_types::Guid;

use super::Wire;
use super::messages::messages;

messages! {
    /// A call of session control.
    Control {
        /// `StartTrace`. A relative file is in the caller's folder.
        Start { folder: Vec<u8>, name: String, block: Vec<u8> } = 1,
        /// `ControlTrace`, by name where there is one.
        Trace { folder: Vec<u8>, handle: u64, name: Option<String>, code: u32, block: Vec<u8> } = 2,
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
        /// What a consumer has not seen yet, one buffer at a time. Never waits.
        Receive { consumer: u64 } = 9,
        /// Disconnect it.
        Disconnect { consumer: u64 } = 10,
        /// Turn the profile privilege on.
        Privilege {} = 11,
    }
}

messages! {
    /// What came of it.
    Answer {
        /// A Win32 code, a number (handle, length or consumer), and the block or buffer as it is now.
        Code { code: u32, number: u64, data: Vec<u8> } = 1,
        /// A block for every session.
        Blocks { blocks: Vec<Vec<u8>> } = 2,
        /// A consumer, and what the time stamps of its session mean.
        Consumer { consumer: u64, clock: Clock } = 3,
        /// Records of a buffer of this processor.
        Records { processor: u16, records: Vec<Vec<u8>> } = 4,
        /// The session has stopped and everything was delivered.
        End {} = 5,
    }
}

impl Control {
    /// Whether the driver may be called back: then the thread that runs the driver does it, one call after the other. The
    /// rest is answered at any time, also while the driver is at work.
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
