//! `TRACE_QUERY_INFO_CLASS`: the information that can be set, queried and enumerated. Every class is declared here, once.
//!
//! A declaration has the number and the name of the class, its type with the functions of Windows that accept it, the
//! handle that they take, the first Windows that has it, and what a reader needs to know. The type has the layout of
//! the data, the limits, and how a command line writes and shows a value ([`info`](super::info)). The checks of an
//! implementation, the command line of a controller, the documentation and the tests follow from both.

/// Declares the classes: the newtype, and with the feature `std` the table of [`info::all`](super::info::all). The
/// compiler refuses a declaration that contradicts its type.
macro_rules! classes {
    ($(
        $(#[$meta:meta])*
        $name:ident = $number:literal: $type:ident [$($function:ident)*] $handle:ident, $since:ident, $purpose:literal
            { $($property:ident: $text:literal,)* }
    )*) => {
        int_newtype! {
            /// `TRACE_QUERY_INFO_CLASS`, also called `TRACE_INFO_CLASS`.
            TraceInfoClass(u32) {
                $( $(#[$meta])* $name = $number, )*
            }
        }

        /// The classes, ordered by number.
        #[cfg(feature = "std")]
        pub(super) const CLASSES: &[super::info::Facts] = {
            use super::info::{self, Facts, HandleKind, windows};
            &[$(Facts {
                $($function: Some(info::$function::<info::$type>()),)*
                $($property: $text,)*
                ..Facts::new::<info::$type>(
                    TraceInfoClass::$name,
                    [concat!("Trace", stringify!($name)), stringify!($type)],
                    HandleKind::$handle,
                    windows::$since,
                    $purpose,
                )
            }),*]
        };
    };
}

classes! {
    /// The registered GUIDs.
    #[doc(alias = "TraceGuidQueryList")]
    GuidQueryList = 0: RegisteredProviders [enumerate] None, VISTA, "Providers that are registered" {
        layout: "`GUID[]`",
        note: "does not include installed manifests",
    }
    /// The registrations of a GUID and the sessions that enabled them.
    #[doc(alias = "TraceGuidQueryInfo")]
    GuidQueryInfo = 1: ProviderInstances [enumerate] None, VISTA, "Registrations of a provider" {
        layout: "`TRACE_GUID_INFO`, then a chain of `TRACE_PROVIDER_INSTANCE_INFO` with `TRACE_ENABLE_INFO[]`",
        note: "the input is a GUID; offsets are relative to the instance",
    }
    /// The GUIDs that the calling process registered.
    #[doc(alias = "TraceGuidQueryProcess")]
    GuidQueryProcess = 2: ProcessProviders [enumerate] None, VISTA, "Providers of this process" {
        layout: "`GUID[]`",
    }
    /// The system events that record a call stack.
    #[doc(alias = "TraceStackTracingInfo")]
    StackTracingInfo = 3: StackTracing [set query] SystemSession, WIN7, "System events that carry a call stack" {
        layout: "`CLASSIC_EVENT_ID[]`",
        limit: "256 events",
        note: "replaces the list; an empty list turns stacks off; according to Learn a query returns the list, since Windows 8, but Windows was also seen to return `NOT_SUPPORTED`",
    }
    /// The system providers of a session.
    #[doc(alias = "TraceSystemTraceEnableFlagsInfo")]
    SystemTraceEnableFlagsInfo = 4: SystemFlags [set query] SystemSession, WIN8, "System providers of a session" {
        layout: "`PERFINFO_GROUPMASK`: eight words",
        limit: "32 bytes",
        note: "replaces the mask; fewer than eight words are accepted, because other tools pass fewer",
    }
    /// The sampling interval of the profiler.
    #[doc(alias = "TraceSampledProfileIntervalInfo")]
    SampledProfileIntervalInfo = 5: SampleInterval [set query] Zero, WIN8, "Sampling interval of the profiler" {
        layout: "`TRACE_PROFILE_INTERVAL`",
        limit: "between the minimum and the maximum of the source (class 7)",
        note: "needs the profile privilege; a query reads the source from its buffer",
    }
    /// The sources that the profiler samples.
    #[doc(alias = "TraceProfileSourceConfigInfo")]
    ProfileSourceConfigInfo = 6: ProfileSourcesInUse [set] Zero, WIN8, "Profile sources in use" {
        layout: "`ULONG[]`",
        limit: "sources of class 7",
        note: "needs the profile privilege; replaces the list",
    }
    /// The available profile sources.
    #[doc(alias = "TraceProfileSourceListInfo")]
    ProfileSourceListInfo = 7: ProfileSources [query] Zero, WIN8, "Available profile sources" {
        layout: "chain of `PROFILE_SOURCE_INFO`",
        note: "the last entry may be shorter than the structure",
    }
    /// The system events that record counter values.
    #[doc(alias = "TracePmcEventListInfo")]
    PmcEventListInfo = 8: PmcEvents [set] SystemSession, WIN8, "System events that carry counter values" {
        layout: "`CLASSIC_EVENT_ID[]`",
        limit: "once per session",
    }
    /// The counters whose values these events record.
    #[doc(alias = "TracePmcCounterListInfo")]
    PmcCounterListInfo = 9: PmcCounters [set] SystemSession, WIN8, "Counters whose values the events of class 8 carry" {
        layout: "`ULONG[]`",
        limit: "once per session; the maximum is class 22",
        note: "`BUSY` if another component owns the counters",
    }
    /// The providers that are not enabled on the session even if their group is.
    #[doc(alias = "TraceSetDisallowList")]
    SetDisallowList = 10: DisallowList [set] Session, WIN10, "Providers that a group does not enable" {
        layout: "`GUID[]`",
        note: "replaces the list",
    }
    /// The version of trace processing.
    #[doc(alias = "TraceVersionInfo")]
    VersionInfo = 11: ProcessingVersion [query] Zero, WIN10, "Version of trace processing" {
        layout: "`TRACE_VERSION_INFO`",
    }
    /// Provider groups.
    #[doc(alias = "TraceGroupQueryList")]
    GroupQueryList = 12: ProviderGroups [enumerate] None, WIN10, "Provider groups" {
        layout: "`GUID[]`",
    }
    /// The members of a group and the sessions that enabled it.
    #[doc(alias = "TraceGroupQueryInfo")]
    GroupQueryInfo = 13: GroupInstances [enumerate] None, WIN10, "Members of a group" {
        layout: "`ULONG`, `TRACE_ENABLE_INFO[]` at byte 4, `ULONG`, `GUID[]`",
        note: "the input is a GUID; it is not documented whether the first number is a count or a length, so both are read",
    }
    /// The list that [`SetDisallowList`](Self::SetDisallowList) sets.
    #[doc(alias = "TraceDisallowListQuery")]
    DisallowListQuery = 14: DisallowedProviders [query] Session, WIN10, "The list of class 10" {
        layout: "`GUID[]`",
    }
    /// Reserved.
    #[doc(alias = "TraceInfoReserved15")]
    InfoReserved15 = 15: Reserved15 [] None, NEVER, "Reserved" {
        note: "do not use",
    }
    /// The providers that periodically get a capture-state request.
    #[doc(alias = "TracePeriodicCaptureStateListInfo")]
    PeriodicCaptureStateListInfo = 16: PeriodicCapture [set] Session, WIN10_1709, "Providers that log their state periodically" {
        layout: "`TRACE_PERIODIC_CAPTURE_STATE_INFO`, `GUID[]`",
        limit: "the values of class 17",
        note: "an empty buffer clears the list; the providers must be enabled",
    }
    /// The limits of periodic capture-state requests.
    #[doc(alias = "TracePeriodicCaptureStateInfo")]
    PeriodicCaptureStateInfo = 17: PeriodicCaptureLimits [query] Unused, WIN10_1709, "Limits of class 16" {
        layout: "`TRACE_PERIODIC_CAPTURE_STATE_INFO`",
    }
    /// Whether the session records the paths of providers' binaries.
    #[doc(alias = "TraceProviderBinaryTracking")]
    ProviderBinaryTracking = 18: BinaryTracking [set] Session, WIN10_1709, "Paths of providers' binaries" {
        layout: "`BOOLEAN`, one byte",
        note: "also for providers that are already registered",
    }
    /// The maximum number of sessions.
    #[doc(alias = "TraceMaxLoggersQuery")]
    MaxLoggersQuery = 19: MaxSessions [query enumerate] Unused, WIN10_1709, "Maximum number of sessions" {
        layout: "`ULONG`",
        note: "the header lists it as a query, Learn for enumeration: both are tried",
    }
    /// The configuration of last branch records (LBR).
    #[doc(alias = "TraceLbrConfigurationInfo")]
    LbrConfigurationInfo = 20: LbrConfiguration [set] Session, WIN10_1903, "Recording of last branches" {
        layout: "`ULONG`: `TRACE_LBR_CONFIGURATION_*`",
        limit: "bits 0x1 to 0x400",
        note: "set it before class 21",
    }
    /// The system events that record last branches.
    #[doc(alias = "TraceLbrEventListInfo")]
    LbrEventListInfo = 21: LbrEvents [set] Session, WIN10_1903, "System events that carry last branches" {
        layout: "`ULONG[]`: hook ids",
        limit: "4 events",
    }
    /// The number of performance counters.
    #[doc(alias = "TraceMaxPmcCounterQuery")]
    MaxPmcCounterQuery = 22: MaxPmcCounters [query] Unused, WIN10_1903, "Maximum number of counters" {
        layout: "`ULONG`",
    }
    /// The number of buffer streams of a session.
    #[doc(alias = "TraceStreamCount")]
    StreamCount = 23: StreamCount [query] Session, WIN10_21H2, "Number of buffer streams of a session" {
        layout: "`ULONG`",
        note: "1 without per-processor buffers",
    }
    /// Caching of the stacks of system events.
    #[doc(alias = "TraceStackCachingInfo")]
    StackCachingInfo = 24: StackCaching [set] Session, WIN10_21H2, "Caching of system events' stacks" {
        layout: "`TRACE_STACK_CACHING_INFO`",
        note: "a size of 0 means the system's default",
    }
    /// The owners of a processor's counters.
    #[doc(alias = "TracePmcCounterOwners")]
    PmcCounterOwners = 25: PmcOwners [query] Zero, WIN10_21H2, "Owners of a processor's counters" {
        layout: "`ETW_PMC_COUNTER_OWNERSHIP_STATUS`",
        limit: "the processor must exist",
        note: "reads the processor from its buffer",
    }
    /// Caching of the stacks of all events.
    #[doc(alias = "TraceUnifiedStackCachingInfo")]
    UnifiedStackCachingInfo = 26: UnifiedStackCaching [set] Session, WIN10_21H2, "Caching of all stacks" {
        layout: "`TRACE_STACK_CACHING_INFO`",
        note: "consumers then get stack keys",
    }
    /// The sessions that use counters.
    #[doc(alias = "TracePmcSessionInformation")]
    PmcSessionInformation = 27: PmcSessions [query] Zero, WIN10_22H2, "Sessions that use counters" {
        layout: "chain of `ETW_PMC_SESSION_INFO`, `ULONG[]`, `USHORT[]`",
    }
    /// The system events that record registers.
    #[doc(alias = "TraceContextRegisterInfo")]
    ContextRegisterInfo = 28: ContextRegisters [set] SystemSession, SERVER_23H2, "System events that carry registers" {
        layout: "`TRACE_CONTEXT_REGISTER_INFO`, `CLASSIC_EVENT_ID[]`",
        limit: "control and integer registers together",
        note: "not in windows-sys 0.61",
    }
}
