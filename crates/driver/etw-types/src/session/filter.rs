//! `EVENT_FILTER_TYPE_*`: the kinds of filters of `EnableTraceEx2`, their limits and layouts.

use core::mem::size_of;

use super::wire::Wire;

/// No filter.
pub const NONE: u32 = 0x0000_0000;
/// Data that session and provider agreed on.
pub const SCHEMATIZED: u32 = 0x8000_0000;
/// Flags of the system providers.
pub const SYSTEM_FLAGS: u32 = 0x8000_0001;
/// The session whose rundown is asked for.
pub const TRACEHANDLE: u32 = 0x8000_0002;
/// Processes by number.
pub const PID: u32 = 0x8000_0004;
/// Processes by the names of their images.
pub const EXECUTABLE_NAME: u32 = 0x8000_0008;
/// Processes by package.
pub const PACKAGE_ID: u32 = 0x8000_0010;
/// Processes by the application of a package.
pub const PACKAGE_APP_ID: u32 = 0x8000_0020;
/// Fields of events, compiled.
pub const PAYLOAD: u32 = 0x8000_0100;
/// Events by id.
pub const EVENT_ID: u32 = 0x8000_0200;
/// TraceLogging events by name.
pub const EVENT_NAME: u32 = 0x8000_0400;
/// Which events get a stack, by id.
pub const STACKWALK: u32 = 0x8000_1000;
/// Which events get a stack, by name.
pub const STACKWALK_NAME: u32 = 0x8000_2000;
/// Which events get a stack, by level and keyword.
pub const STACKWALK_LEVEL_KW: u32 = 0x8000_4000;
/// Containers.
pub const CONTAINER: u32 = 0x8000_8000;

/// `MAX_EVENT_FILTERS_COUNT`: filters of one request.
pub const MAX_FILTERS: usize = 13;
/// `MAX_EVENT_FILTER_PID_COUNT`.
pub const MAX_PIDS: usize = 8;
/// `MAX_EVENT_FILTER_EVENT_ID_COUNT`.
pub const MAX_EVENT_IDS: usize = 64;
/// `MAX_EVENT_FILTER_DATA_SIZE`: bytes of a filter that has no limit of its own.
pub const MAX_DATA: usize = 1024;
/// `MAX_EVENT_FILTER_PAYLOAD_SIZE`.
pub const MAX_PAYLOAD: usize = 4096;
/// `MAX_EVENT_FILTER_EVENT_NAME_SIZE`.
pub const MAX_NAMES: usize = 4096;

wire_struct! {
    /// The start of `EVENT_FILTER_EVENT_ID`; [`count`](Self::count) ids of two bytes follow.
    EventIdHeader(4) {
        /// Whether the listed events pass, and not the others.
        filter_in: u8 = 0,
        /// Zero.
        reserved: u8 = 1,
        /// How many ids follow.
        count: u16 = 2,
    }
}

wire_struct! {
    /// `EVENT_FILTER_LEVEL_KW`.
    LevelKeyword(24) {
        /// An event's keyword needs one of these bits.
        match_any: u64 = 0,
        /// An event's keyword needs all of these bits.
        match_all: u64 = 8,
        /// The most verbose level.
        level: u8 = 16,
        /// Whether such events pass, and not the others.
        filter_in: u8 = 17,
        /// Padding.
        reserved: [u8; 6] = 18,
    }
}

/// The start of `EVENT_FILTER_EVENT_NAME`. The names follow at byte 20, although the C structure has 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventNameHeader {
    /// An event's keyword needs one of these bits.
    pub match_any: u64,
    /// An event's keyword needs all of these bits.
    pub match_all: u64,
    /// The most verbose level.
    pub level: u8,
    /// Whether the listed events pass, and not the others.
    pub filter_in: u8,
    /// How many NUL-terminated UTF-8 names follow.
    pub count: u16,
}

impl EventNameHeader {
    /// Bytes before the first name.
    pub const SIZE: usize = 2 * size_of::<u64>() + 4;

    /// The header at the start of `bytes`; `None` where there are fewer than [`SIZE`](Self::SIZE).
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            match_any: Wire::get(bytes, 0)?,
            match_all: Wire::get(bytes, 8)?,
            level: Wire::get(bytes, 16)?,
            filter_in: Wire::get(bytes, 17)?,
            count: Wire::get(bytes, 18)?,
        })
    }

    /// The bytes before the first name.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        self.match_any.put(&mut bytes, 0);
        self.match_all.put(&mut bytes, 8);
        self.level.put(&mut bytes, 16);
        self.filter_in.put(&mut bytes, 17);
        self.count.put(&mut bytes, 18);
        bytes
    }
}
