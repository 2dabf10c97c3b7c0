//! What `EnumerateTraceGuidsEx` returns about a provider.

wire_struct! {
    /// `TRACE_GUID_INFO`: the start of class 1.
    TraceGuidInfo(8) {
        /// How many instances follow.
        instance_count: u32 = 0,
        /// Zero.
        reserved: u32 = 4,
    }
}

wire_struct! {
    /// `TRACE_PROVIDER_INSTANCE_INFO`: one registration; [`TraceEnableInfo`]s follow.
    TraceProviderInstanceInfo(16) {
        /// Bytes from this instance to the next; 0 at the last one.
        next_offset: u32 = 0,
        /// How many sessions enabled it.
        enable_count: u32 = 4,
        /// The process that registered.
        process_id: u32 = 8,
        /// `TRACE_PROVIDER_FLAG_*`: 1 legacy, 2 pre-enabled (sessions without a registration).
        flags: u32 = 12,
    }
}

wire_struct! {
    /// `TRACE_ENABLE_INFO`: one session's request.
    TraceEnableInfo(32) {
        /// 1 where it is enabled.
        is_enabled: u32 = 0,
        /// The most verbose level.
        level: u8 = 4,
        /// Zero.
        reserved1: u8 = 5,
        /// The session.
        logger_id: u16 = 6,
        /// `EVENT_ENABLE_PROPERTY_*`.
        enable_property: u32 = 8,
        /// Zero.
        reserved2: u32 = 12,
        /// The mask of which an event needs one bit.
        match_any: u64 = 16,
        /// The mask of which an event needs all bits.
        match_all: u64 = 24,
    }
}
