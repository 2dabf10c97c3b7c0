//! `EVENT_TRACE_PROPERTIES` and its header.

use crate::Guid;

/// The name of the kernel's own session, whose GUID is [`SYSTEM_TRACE_CONTROL`].
pub const KERNEL_LOGGER_NAME: &str = "NT Kernel Logger";
/// Maximum length of a session's or file's name, in UTF-16 code units (Microsoft's pages about `StartTrace` and
/// `EVENT_TRACE_PROPERTIES`).
pub const MAX_NAME: usize = 1024;
/// Minimum and maximum size of a buffer in KiB.
pub const BUFFER_KIB: core::ops::RangeInclusive<u32> = 4..=16 * 1024;

/// `WNODE_FLAG_TRACED_GUID`: a flag that every properties block has.
pub const WNODE_FLAG_TRACED_GUID: u32 = 0x0002_0000;
/// `WNODE_FLAG_VERSIONED_PROPERTIES`: the block has the fields of version 2.
pub const WNODE_FLAG_VERSIONED_PROPERTIES: u32 = 0x0080_0000;
/// `SystemTraceControlGuid`: the GUID of the session "NT Kernel Logger".
pub const SYSTEM_TRACE_CONTROL: Guid = Guid::from_u128(0x9e81_4aad_3204_11d2_9a82_0060_08a8_6939);

int_newtype! {
    /// The clock of the time stamps. 0 means that the system chooses.
    ClockType(u32) {
        /// The performance counter.
        PerformanceCounter = 1,
        /// The system time, in units of 100 ns.
        SystemTime = 2,
        /// The cycle counter of the processor.
        Cycles = 3,
    }
}

wire_struct! {
    /// `WNODE_HEADER`.
    WnodeHeader(48) {
        /// Size of the whole block in bytes, including the names.
        buffer_size: u32 = 0,
        /// Not used here.
        provider_id: u32 = 4,
        /// The session's handle. The system fills it in.
        historical_context: u64 = 8,
        /// The time at which the block was filled in.
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
    /// `EVENT_TRACE_PROPERTIES`. The names of the session and of the file follow at the two offsets.
    EventTraceProperties(120) {
        /// Size, handle, GUID, clock and flags.
        wnode: WnodeHeader = 0,
        /// Size of a buffer in KiB.
        buffer_size: u32 = 48,
        /// Minimum number of buffers, allocated at the start.
        minimum_buffers: u32 = 52,
        /// Maximum number of buffers.
        maximum_buffers: u32 = 56,
        /// Maximum size of the file, in MiB, or in KiB with `USE_KBYTES_FOR_SIZE`.
        maximum_file_size: u32 = 60,
        /// The modes, `EVENT_TRACE_*_MODE`.
        log_file_mode: u32 = 64,
        /// Time between flushes, in seconds, or in milliseconds with `USE_MS_FLUSH_TIMER`.
        flush_timer: u32 = 68,
        /// Flags of the system providers.
        enable_flags: u32 = 72,
        /// Not used.
        age_limit: i32 = 76,
        /// Number of allocated buffers.
        number_of_buffers: u32 = 80,
        /// Number of buffers without events.
        free_buffers: u32 = 84,
        /// Number of lost events.
        events_lost: u32 = 88,
        /// Number of buffers written.
        buffers_written: u32 = 92,
        /// Number of buffers that could not be written to the file.
        log_buffers_lost: u32 = 96,
        /// Number of buffers that could not be delivered to a consumer.
        real_time_buffers_lost: u32 = 100,
        /// Id of the thread that writes the buffers.
        logger_thread_id: u64 = 104,
        /// Offset of the file's name. 0 means that there is no file.
        log_file_name_offset: u32 = 112,
        /// Offset of the session's name.
        logger_name_offset: u32 = 116,
    }
}

wire_struct! {
    /// `EVENT_TRACE_PROPERTIES_V2`.
    EventTracePropertiesV2(144) {
        /// The fields of version 1.
        base: EventTraceProperties = 0,
        /// The version in its low byte: 2.
        version_number: u32 = 120,
        /// Number of filters.
        filter_count: u32 = 124,
        /// Address of the filters.
        filters: u64 = 128,
        /// Options.
        options: u64 = 136,
    }
}
