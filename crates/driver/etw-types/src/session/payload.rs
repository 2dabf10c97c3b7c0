//! The data of information classes that belong to no larger group.

use crate::Guid;

/// Maximum number of events for class 3 (Microsoft's pages about `TraceSetInformation` and `TraceQueryInformation`).
pub const MAX_STACK_TRACING_EVENTS: usize = 256;
/// `TRACE_LBR_MAXIMUM_EVENTS`: maximum number of events for class 21.
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
    /// `PERFINFO_GROUPMASK`: the system providers of a session. It is not in a public header. The first word has the
    /// `EVENT_TRACE_FLAG_*` bits.
    GroupMask(32) {
        /// The masks.
        masks: [u32; 8] = 0,
    }
}

impl GroupMask {
    /// Adds a group. Its top three bits select the mask, the others are set in it.
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
        /// Units of 100 ns for the timer, event counts for the other sources.
        interval: u32 = 4,
    }
}

wire_struct! {
    /// `TRACE_VERSION_INFO`.
    TraceVersionInfo(8) {
        /// The version of trace processing.
        processing_version: u32 = 0,
        /// Zero.
        reserved: u32 = 4,
    }
}

wire_struct! {
    /// `TRACE_PERIODIC_CAPTURE_STATE_INFO`. In the data of class 16, the GUIDs of the providers follow.
    PeriodicCaptureStateInfo(8) {
        /// Time between two requests, in seconds.
        seconds: u32 = 0,
        /// Number of providers.
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
        /// Size of the cache in bytes. 0 means that the system chooses.
        cache_size: u32 = 4,
        /// Number of buckets of the cache. 0 means that the system chooses.
        bucket_count: u32 = 8,
    }
}

wire_struct! {
    /// `TRACE_CONTEXT_REGISTER_INFO`; the events follow as [`ClassicEventId`].
    ContextRegisterInfo(8) {
        /// 1 for control registers, 2 for integer registers. Currently both are needed.
        register_types: u32 = 0,
        /// Zero.
        reserved: u32 = 4,
    }
}
