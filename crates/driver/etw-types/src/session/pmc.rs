//! Data of the information classes about profile sources and performance counters.

wire_struct! {
    /// The fixed part of `PROFILE_SOURCE_INFO`; a NUL-terminated UTF-16 description follows at byte 24.
    ProfileSourceInfo(24) {
        /// Bytes to the next entry; 0 at the last one.
        next_entry_offset: u32 = 0,
        /// The source.
        source: u32 = 4,
        /// Smallest interval.
        min_interval: u32 = 8,
        /// Largest interval.
        max_interval: u32 = 12,
        /// Zero.
        reserved: u64 = 16,
    }
}

wire_struct! {
    /// `ETW_PMC_COUNTER_OWNER`.
    PmcCounterOwner(12) {
        /// 0 free, 1 without a tag, 2 with a tag, 3 with a tag and a source.
        owner_type: u32 = 0,
        /// The source it counts.
        profile_source: u32 = 4,
        /// Tag of the driver that owns it.
        owner_tag: u32 = 8,
    }
}

wire_struct! {
    /// The fixed part of `ETW_PMC_COUNTER_OWNERSHIP_STATUS`; the owners follow.
    PmcOwnershipStatus(8) {
        /// The processor that is asked about.
        processor_number: u32 = 0,
        /// How many counters it has.
        number_of_counters: u32 = 4,
    }
}

wire_struct! {
    /// The fixed part of `ETW_PMC_SESSION_INFO`; sources of four bytes and hook ids of two bytes follow.
    PmcSessionInfo(16) {
        /// Bytes to the next entry; 0 at the last one.
        next_entry_offset: u32 = 0,
        /// The session.
        logger_id: u16 = 4,
        /// Zero.
        reserved: u16 = 6,
        /// How many sources follow.
        profile_source_count: u32 = 8,
        /// How many hook ids follow.
        hook_id_count: u32 = 12,
    }
}
