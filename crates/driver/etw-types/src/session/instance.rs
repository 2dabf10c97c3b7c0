//! What `EnumerateTraceGuidsEx` returns about a provider.

wire_struct! {
    /// `TRACE_GUID_INFO`: the header of the data of class 1.
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
        /// Offset from this instance to the next one, in bytes. 0 for the last one.
        next_offset: u32 = 0,
        /// Number of sessions that enabled it.
        enable_count: u32 = 4,
        /// Id of the process that registered the provider.
        process_id: u32 = 8,
        /// `TRACE_PROVIDER_FLAG_*`: 1 legacy, 2 pre-enabled (enabled by sessions, but not registered).
        flags: u32 = 12,
    }
}

/// The provider uses the classic API.
pub const TRACE_PROVIDER_FLAG_LEGACY: u32 = 0x1;
/// Sessions enabled the provider, and it is not registered.
pub const TRACE_PROVIDER_FLAG_PRE_ENABLE: u32 = 0x2;

wire_struct! {
    /// `TRACE_ENABLE_INFO`: the parameters with which one session enabled the provider.
    TraceEnableInfo(32) {
        /// 1 if the provider is enabled.
        is_enabled: u32 = 0,
        /// The most verbose level.
        level: u8 = 4,
        /// Zero.
        reserved1: u8 = 5,
        /// Id of the session.
        logger_id: u16 = 6,
        /// `EVENT_ENABLE_PROPERTY_*`.
        enable_property: u32 = 8,
        /// Zero.
        reserved2: u32 = 12,
        /// An event's keyword must have at least one of these bits.
        match_any: u64 = 16,
        /// An event's keyword must have all of these bits.
        match_all: u64 = 24,
    }
}
