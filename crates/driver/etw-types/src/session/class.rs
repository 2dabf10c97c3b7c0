//! `TRACE_QUERY_INFO_CLASS`: the information that can be set, queried and enumerated.

int_newtype! {
    /// `TRACE_QUERY_INFO_CLASS`, also called `TRACE_INFO_CLASS`.
    TraceInfoClass(u32) {
        /// The registered GUIDs.
        #[doc(alias = "TraceGuidQueryList")]
        GuidQueryList = 0,
        /// The registrations of a GUID and the sessions that enabled them.
        #[doc(alias = "TraceGuidQueryInfo")]
        GuidQueryInfo = 1,
        /// The GUIDs that the calling process registered.
        #[doc(alias = "TraceGuidQueryProcess")]
        GuidQueryProcess = 2,
        /// The system events that record a call stack.
        #[doc(alias = "TraceStackTracingInfo")]
        StackTracingInfo = 3,
        /// The system providers of a session.
        #[doc(alias = "TraceSystemTraceEnableFlagsInfo")]
        SystemTraceEnableFlagsInfo = 4,
        /// The sampling interval of the profiler.
        #[doc(alias = "TraceSampledProfileIntervalInfo")]
        SampledProfileIntervalInfo = 5,
        /// The sources that the profiler samples.
        #[doc(alias = "TraceProfileSourceConfigInfo")]
        ProfileSourceConfigInfo = 6,
        /// The available profile sources.
        #[doc(alias = "TraceProfileSourceListInfo")]
        ProfileSourceListInfo = 7,
        /// The system events that record counter values.
        #[doc(alias = "TracePmcEventListInfo")]
        PmcEventListInfo = 8,
        /// The counters whose values these events record.
        #[doc(alias = "TracePmcCounterListInfo")]
        PmcCounterListInfo = 9,
        /// The providers that are not enabled on the session even if their group is.
        #[doc(alias = "TraceSetDisallowList")]
        SetDisallowList = 10,
        /// The version of trace processing.
        #[doc(alias = "TraceVersionInfo")]
        VersionInfo = 11,
        /// Provider groups.
        #[doc(alias = "TraceGroupQueryList")]
        GroupQueryList = 12,
        /// The members of a group and the sessions that enabled it.
        #[doc(alias = "TraceGroupQueryInfo")]
        GroupQueryInfo = 13,
        /// The list that [`SetDisallowList`](Self::SetDisallowList) sets.
        #[doc(alias = "TraceDisallowListQuery")]
        DisallowListQuery = 14,
        /// Reserved.
        #[doc(alias = "TraceInfoReserved15")]
        InfoReserved15 = 15,
        /// The providers that periodically get a capture-state request.
        #[doc(alias = "TracePeriodicCaptureStateListInfo")]
        PeriodicCaptureStateListInfo = 16,
        /// The limits of periodic capture-state requests.
        #[doc(alias = "TracePeriodicCaptureStateInfo")]
        PeriodicCaptureStateInfo = 17,
        /// Whether the session records the paths of providers' binaries.
        #[doc(alias = "TraceProviderBinaryTracking")]
        ProviderBinaryTracking = 18,
        /// The maximum number of sessions.
        #[doc(alias = "TraceMaxLoggersQuery")]
        MaxLoggersQuery = 19,
        /// The configuration of last branch records (LBR).
        #[doc(alias = "TraceLbrConfigurationInfo")]
        LbrConfigurationInfo = 20,
        /// The system events that record last branches.
        #[doc(alias = "TraceLbrEventListInfo")]
        LbrEventListInfo = 21,
        /// The number of performance counters.
        #[doc(alias = "TraceMaxPmcCounterQuery")]
        MaxPmcCounterQuery = 22,
        /// The number of buffer streams of a session.
        #[doc(alias = "TraceStreamCount")]
        StreamCount = 23,
        /// Caching of the stacks of system events.
        #[doc(alias = "TraceStackCachingInfo")]
        StackCachingInfo = 24,
        /// The owners of a processor's counters.
        #[doc(alias = "TracePmcCounterOwners")]
        PmcCounterOwners = 25,
        /// Caching of the stacks of all events.
        #[doc(alias = "TraceUnifiedStackCachingInfo")]
        UnifiedStackCachingInfo = 26,
        /// The sessions that use counters.
        #[doc(alias = "TracePmcSessionInformation")]
        PmcSessionInformation = 27,
        /// The system events that record registers.
        #[doc(alias = "TraceContextRegisterInfo")]
        ContextRegisterInfo = 28,
    }
}

/// The handle that a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// None. The class belongs to `EnumerateTraceGuidsEx`, which takes no handle.
    None,
    /// Zero.
    Zero,
    /// Any value. It is ignored.
    Unused,
    /// The handle of a session.
    Session,
    /// The handle of a session that collects events of the system providers.
    SystemSession,
}

/// What is known about a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassFacts {
    /// Whether `TraceSetInformation` accepts the class.
    pub set: bool,
    /// Whether `TraceQueryInformation` accepts the class.
    pub query: bool,
    /// Whether `EnumerateTraceGuidsEx` accepts the class.
    pub enumerate: bool,
    /// The handle that the class takes.
    pub handle: HandleKind,
    /// The first build of Windows that supports the class.
    pub since: u32,
}

impl ClassFacts {
    /// Returns the first build of Windows on which the class can be queried. `TraceQueryInformation` needs Windows 8.
    #[must_use]
    pub const fn query_since(&self) -> u32 {
        if self.since < WIN8 { WIN8 } else { self.since }
    }
}

const VISTA: u32 = 6000;
const WIN7: u32 = 7600;
const WIN8: u32 = 9200;
const WIN10: u32 = 10240;
const WIN10_1709: u32 = 16299;
const WIN10_1903: u32 = 18362;
const WIN10_21H2: u32 = 19044;
const WIN10_22H2: u32 = 19045;
const SERVER_23H2: u32 = 25398;

impl TraceInfoClass {
    /// The first value that is not a class. It may be higher in a later SDK.
    pub const MAX: u32 = 29;

    /// Returns what is known about the class, or `None` if it is reserved or unknown.
    #[must_use]
    pub const fn facts(self) -> Option<ClassFacts> {
        use HandleKind::{None as NoHandle, Session, SystemSession, Unused, Zero};
        let (set, query, enumerate, handle, since) = match self.as_int() {
            0..=2 => (false, false, true, NoHandle, VISTA),
            3 => (true, true, false, SystemSession, WIN7),
            4 => (true, true, false, SystemSession, WIN8),
            5 => (true, true, false, Zero, WIN8),
            6 => (true, false, false, Zero, WIN8),
            7 => (false, true, false, Zero, WIN8),
            8 | 9 => (true, false, false, SystemSession, WIN8),
            10 => (true, false, false, Session, WIN10),
            11 => (false, true, false, Zero, WIN10),
            12 | 13 => (false, false, true, NoHandle, WIN10),
            14 => (false, true, false, Session, WIN10),
            16 | 18 => (true, false, false, Session, WIN10_1709),
            17 => (false, true, false, Unused, WIN10_1709),
            // The header says query, Microsoft Learn says enumerate. Both are accepted.
            19 => (false, true, true, Unused, WIN10_1709),
            20 | 21 => (true, false, false, Session, WIN10_1903),
            22 => (false, true, false, Unused, WIN10_1903),
            23 => (false, true, false, Session, WIN10_21H2),
            24 | 26 => (true, false, false, Session, WIN10_21H2),
            25 => (false, true, false, Zero, WIN10_21H2),
            27 => (false, true, false, Zero, WIN10_22H2),
            28 => (true, false, false, SystemSession, SERVER_23H2),
            _ => return None,
        };
        Some(ClassFacts { set, query, enumerate, handle, since })
    }
}
