//! `EVENT_TRACE_PROPERTIES` and its header.

use crate::Guid;

/// The name of the kernel's own session, to which [`SYSTEM_TRACE_CONTROL`] belongs.
pub const KERNEL_LOGGER_NAME: &str = "NT Kernel Logger";
/// Most UTF-16 units of a session's and of a file's name (the pages of `StartTrace` and `EVENT_TRACE_PROPERTIES`).
pub const MAX_NAME: usize = 1024;
/// KiB of a buffer, least and most.
pub const BUFFER_KIB: core::ops::RangeInclusive<u32> = 4..=16 * 1024;

/// `WNODE_FLAG_TRACED_GUID`: what every block of properties says.
pub const WNODE_FLAG_TRACED_GUID: u32 = 0x0002_0000;
/// `WNODE_FLAG_VERSIONED_PROPERTIES`: the block has the fields of version 2.
pub const WNODE_FLAG_VERSIONED_PROPERTIES: u32 = 0x0080_0000;
/// `SystemTraceControlGuid`: the session "NT Kernel Logger".
pub const SYSTEM_TRACE_CONTROL: Guid = Guid::from_u128(0x9e81_4aad_3204_11d2_9a82_0060_08a8_6939);

int_newtype! {
    /// What time stamps count; 0 leaves it to the system.
    ClockType(u32) {
        /// The performance counter.
        PerformanceCounter = 1,
        /// The system's time, 100 ns.
        SystemTime = 2,
        /// Cycles of the processor.
        Cycles = 3,
    }
}

wire_struct! {
    /// `WNODE_HEADER`.
    WnodeHeader(48) {
        /// Bytes of the whole block, names included.
        buffer_size: u32 = 0,
        /// Not used here.
        provider_id: u32 = 4,
        /// The session's handle, as an answer.
        historical_context: u64 = 8,
        /// When the block was filled.
        time_stamp: i64 = 16,
        /// The session's GUID.
        guid: Guid = 24,
        /// The clock: 1 performance counter, 2 system time, 3 cycles.
        client_context: u32 = 40,
        /// `WNODE_FLAG_*`.
        flags: u32 = 44,
    }
}

wire_struct! {
    /// `EVENT_TRACE_PROPERTIES`. The session's name and the file's name follow at the two offsets.
    EventTraceProperties(120) {
        /// Size, handle, GUID, clock and flags.
        wnode: WnodeHeader = 0,
        /// KiB of a buffer.
        buffer_size: u32 = 48,
        /// Buffers at the start.
        minimum_buffers: u32 = 52,
        /// Most buffers.
        maximum_buffers: u32 = 56,
        /// Largest file in MiB, or in KiB with that mode.
        maximum_file_size: u32 = 60,
        /// The modes.
        log_file_mode: u32 = 64,
        /// Seconds, or milliseconds with that mode, between two flushes.
        flush_timer: u32 = 68,
        /// Flags of the system providers.
        enable_flags: u32 = 72,
        /// Not used.
        age_limit: i32 = 76,
        /// Buffers allocated.
        number_of_buffers: u32 = 80,
        /// Buffers without events.
        free_buffers: u32 = 84,
        /// Events lost.
        events_lost: u32 = 88,
        /// Buffers written.
        buffers_written: u32 = 92,
        /// Buffers that could not be written to the file.
        log_buffers_lost: u32 = 96,
        /// Buffers that no consumer got.
        real_time_buffers_lost: u32 = 100,
        /// Thread that writes the buffers.
        logger_thread_id: u64 = 104,
        /// Offset of the file's name; 0 for none.
        log_file_name_offset: u32 = 112,
        /// Offset of the session's name.
        logger_name_offset: u32 = 116,
    }
}

wire_struct! {
    /// `EVENT_TRACE_PROPERTIES_V2`.
    EventTracePropertiesV2(144) {
        /// What version 1 has.
        base: EventTraceProperties = 0,
        /// The version in its low byte: 2.
        version_number: u32 = 120,
        /// How many filters there are.
        filter_count: u32 = 124,
        /// Address of the filters.
        filters: u64 = 128,
        /// Options.
        options: u64 = 136,
    }
}
