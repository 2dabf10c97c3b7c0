//! `EVENT_FILTER_TYPE_*`: the filter types of `EnableTraceEx2`, their limits and layouts.

use core::mem::size_of;

use super::wire::Wire;

/// No filter.
pub const NONE: u32 = 0x0000_0000;
/// Data whose format the session and the provider agreed on.
pub const SCHEMATIZED: u32 = 0x8000_0000;
/// Flags of the system providers.
pub const SYSTEM_FLAGS: u32 = 0x8000_0001;
/// The session for which a rundown is requested.
pub const TRACEHANDLE: u32 = 0x8000_0002;
/// Processes by id.
pub const PID: u32 = 0x8000_0004;
/// Processes by the names of their images.
pub const EXECUTABLE_NAME: u32 = 0x8000_0008;
/// Processes by package.
pub const PACKAGE_ID: u32 = 0x8000_0010;
/// Processes by the application id of a package.
pub const PACKAGE_APP_ID: u32 = 0x8000_0020;
/// Compiled conditions on the fields of events.
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

/// `MAX_EVENT_FILTERS_COUNT`: maximum number of filters in a request.
pub const MAX_FILTERS: usize = 13;
/// `MAX_EVENT_FILTER_PID_COUNT`.
pub const MAX_PIDS: usize = 8;
/// `MAX_EVENT_FILTER_EVENT_ID_COUNT`.
pub const MAX_EVENT_IDS: usize = 64;
/// `MAX_EVENT_FILTER_DATA_SIZE`: maximum size in bytes of filters that have no limit of their own.
pub const MAX_DATA: usize = 1024;
/// `MAX_EVENT_FILTER_PAYLOAD_SIZE`.
pub const MAX_PAYLOAD: usize = 4096;
/// `MAX_EVENT_FILTER_EVENT_NAME_SIZE`.
pub const MAX_NAMES: usize = 4096;

wire_struct! {
    /// The start of `EVENT_FILTER_EVENT_ID`; [`count`](Self::count) ids of two bytes follow.
    EventIdHeader(4) {
        /// 1 if only the listed events pass, 0 if all others pass.
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
        /// An event's keyword must have at least one of these bits.
        match_any: u64 = 0,
        /// An event's keyword must have all of these bits.
        match_all: u64 = 8,
        /// The most verbose level.
        level: u8 = 16,
        /// 1 if only such events pass, 0 if all others pass.
        filter_in: u8 = 17,
        /// Padding.
        reserved: [u8; 6] = 18,
    }
}

/// The start of `EVENT_FILTER_EVENT_NAME`. The names follow at byte 20, although the C structure has 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventNameHeader {
    /// An event's keyword must have at least one of these bits.
    pub match_any: u64,
    /// An event's keyword must have all of these bits.
    pub match_all: u64,
    /// The most verbose level.
    pub level: u8,
    /// 1 if only the listed events pass, 0 if all others pass.
    pub filter_in: u8,
    /// How many NUL-terminated UTF-8 names follow.
    pub count: u16,
}

impl EventNameHeader {
    /// Size of the header, that is, the offset of the first name.
    pub const SIZE: usize = 2 * size_of::<u64>() + 4;

    /// Parses the header at the start of `bytes`. Returns `None` if there are fewer than [`SIZE`](Self::SIZE) bytes.
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

    /// Encodes the header.
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
