//! `TRACE_QUERY_INFO_CLASS`: what can be set, queried and enumerated.

int_newtype! {
    /// `TRACE_QUERY_INFO_CLASS`, also called `TRACE_INFO_CLASS`.
    TraceInfoClass(u32) {
        /// GUIDs that are registered.
        GuidQueryList = 0,
        /// Registrations of a GUID and who enabled them.
        GuidQueryInfo = 1,
        /// GUIDs that the calling process registered.
        GuidQueryProcess = 2,
        /// System events that get a stack.
        StackTracingInfo = 3,
        /// The system providers of a session.
        SystemTraceEnableFlagsInfo = 4,
        /// How often the profiler samples.
        SampledProfileIntervalInfo = 5,
        /// Which sources the profiler samples.
        ProfileSourceConfigInfo = 6,
        /// Which sources there are.
        ProfileSourceListInfo = 7,
        /// System events that get counter values.
        PmcEventListInfo = 8,
        /// Counters whose values they get.
        PmcCounterListInfo = 9,
        /// Providers that a group does not enable on a session.
        SetDisallowList = 10,
        /// Version of trace processing.
        VersionInfo = 11,
        /// Provider groups.
        GroupQueryList = 12,
        /// Members of a group and who enabled it.
        GroupQueryInfo = 13,
        /// The list of [`SetDisallowList`](Self::SetDisallowList).
        DisallowListQuery = 14,
        /// Reserved.
        InfoReserved15 = 15,
        /// Providers that are asked for their state now and then.
        PeriodicCaptureStateListInfo = 16,
        /// The limits of that.
        PeriodicCaptureStateInfo = 17,
        /// Whether the session records where providers' binaries are.
        ProviderBinaryTracking = 18,
        /// How many sessions there can be.
        MaxLoggersQuery = 19,
        /// Recording of last branches.
        LbrConfigurationInfo = 20,
        /// System events that get last branches.
        LbrEventListInfo = 21,
        /// How many counters there are.
        MaxPmcCounterQuery = 22,
        /// How many streams of buffers a session has.
        StreamCount = 23,
        /// Caching of the stacks of system events.
        StackCachingInfo = 24,
        /// Who owns the counters of a processor.
        PmcCounterOwners = 25,
        /// Caching of the stacks of all events.
        UnifiedStackCachingInfo = 26,
        /// Which sessions use counters.
        PmcSessionInformation = 27,
        /// System events that get registers.
        ContextRegisterInfo = 28,
    }
}

/// Which handle a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// None: the class belongs to `EnumerateTraceGuidsEx`.
    None,
    /// Zero.
    Zero,
    /// Anything; it is not looked at.
    Unused,
    /// A session's.
    Session,
    /// A session's that takes events of the system providers.
    SystemSession,
}

/// What is known about a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassFacts {
    /// Whether `TraceSetInformation` takes it.
    pub set: bool,
    /// Whether `TraceQueryInformation` takes it.
    pub query: bool,
    /// Whether `EnumerateTraceGuidsEx` takes it.
    pub enumerate: bool,
    /// Which handle.
    pub handle: HandleKind,
    /// The first build of Windows that has it.
    pub since: u32,
}

impl ClassFacts {
    /// The first build of Windows on which the class can be queried: `TraceQueryInformation` came with Windows 8.
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
    /// The first value that is not a class. A later SDK may move it.
    pub const MAX: u32 = 29;

    /// What is known about the class; `None` for reserved and unknown ones.
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
            // The header says query, Learn says enumerate: both are answered.
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
