//! Data of the information classes that stand for themselves.

use crate::Guid;

/// Most events of class 3 (the Learn pages of `TraceSetInformation` and `TraceQueryInformation`).
pub const MAX_STACK_TRACING_EVENTS: usize = 256;
/// `TRACE_LBR_MAXIMUM_EVENTS`: most events of class 21.
pub const LBR_MAXIMUM_EVENTS: usize = 4;

wire_struct! {
    /// `CLASSIC_EVENT_ID`: an event of the system providers.
    ClassicEventId(24) {
        /// The class of events.
        guid: Guid = 0,
        /// The type within the class.
        event_type: u8 = 16,
        /// Zero.
        reserved: [u8; 7] = 17,
    }
}

wire_struct! {
    /// `PERFINFO_GROUPMASK`: the system providers of a session. Not in a public header; the first word is that of
    /// `EVENT_TRACE_FLAG_*`.
    GroupMask(32) {
        /// The masks.
        masks: [u32; 8] = 0,
    }
}

impl GroupMask {
    /// Adds a group: its top three bits choose the mask, the others are added to it.
    pub fn add(&mut self, group: u32) {
        if let Some(mask) = usize::try_from(group >> 29).ok().and_then(|index| self.masks.get_mut(index)) {
            *mask |= group & 0x1FFF_FFFF;
        }
    }
}

wire_struct! {
    /// `TRACE_PROFILE_INTERVAL`.
    ProfileInterval(8) {
        /// The profile source; 0 is the timer.
        source: u32 = 0,
        /// 100 ns for the timer, counts for the others.
        interval: u32 = 4,
    }
}

wire_struct! {
    /// `TRACE_VERSION_INFO`.
    TraceVersionInfo(8) {
        /// Version of trace processing.
        processing_version: u32 = 0,
        /// Zero.
        reserved: u32 = 4,
    }
}

wire_struct! {
    /// `TRACE_PERIODIC_CAPTURE_STATE_INFO`; as data of class 16 the GUIDs of the providers follow.
    PeriodicCaptureStateInfo(8) {
        /// Seconds between two requests.
        seconds: u32 = 0,
        /// How many providers.
        provider_count: u16 = 4,
        /// Zero.
        reserved: u16 = 6,
    }
}

wire_struct! {
    /// `TRACE_STACK_CACHING_INFO`.
    StackCachingInfo(12) {
        /// Whether stacks are cached.
        enabled: u8 = 0,
        /// Padding.
        reserved: [u8; 3] = 1,
        /// Bytes of the cache; 0 for the system's choice.
        cache_size: u32 = 4,
        /// Buckets of the cache; 0 for the system's choice.
        bucket_count: u32 = 8,
    }
}

wire_struct! {
    /// `TRACE_CONTEXT_REGISTER_INFO`; the events follow as [`ClassicEventId`].
    ContextRegisterInfo(8) {
        /// Control 1, integer 2; today both.
        register_types: u32 = 0,
        /// Zero.
        reserved: u32 = 4,
    }
}
