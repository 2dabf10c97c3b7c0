//! Data of the information classes about profile sources and performance counters.

wire_struct! {
    /// The fixed part of `PROFILE_SOURCE_INFO`. A NUL-terminated UTF-16 description follows at offset 24.
    ProfileSourceInfo(24) {
        /// Offset of the next entry in bytes. 0 for the last one.
        next_entry_offset: u32 = 0,
        /// The source.
        source: u32 = 4,
        /// Minimum interval.
        min_interval: u32 = 8,
        /// Maximum interval.
        max_interval: u32 = 12,
        /// Zero.
        reserved: u64 = 16,
    }
}

wire_struct! {
    /// `ETW_PMC_COUNTER_OWNER`.
    PmcCounterOwner(12) {
        /// 0 free, 1 owner without a tag, 2 owner with a tag, 3 owner with a tag and a source.
        owner_type: u32 = 0,
        /// The source that the counter counts.
        profile_source: u32 = 4,
        /// Tag of the driver that owns the counter.
        owner_tag: u32 = 8,
    }
}

wire_struct! {
    /// The fixed part of `ETW_PMC_COUNTER_OWNERSHIP_STATUS`; the owners follow.
    PmcOwnershipStatus(8) {
        /// The processor that the query is about.
        processor_number: u32 = 0,
        /// Number of counters of the processor.
        number_of_counters: u32 = 4,
    }
}

wire_struct! {
    /// The fixed part of `ETW_PMC_SESSION_INFO`. Profile sources (four bytes each) and hook ids (two bytes each)
    /// follow.
    PmcSessionInfo(16) {
        /// Offset of the next entry in bytes. 0 for the last one.
        next_entry_offset: u32 = 0,
        /// Id of the session.
        logger_id: u16 = 4,
        /// Zero.
        reserved: u16 = 6,
        /// Number of profile sources that follow.
        profile_source_count: u32 = 8,
        /// Number of hook ids that follow.
        hook_id_count: u32 = 12,
    }
}
