//! The table of all classes, and the documentation page generated from it.

use std::fmt::Write;

use etw_types::session::{HandleKind, TraceInfoClass as Class};

use super::facts::{Facts, Row};
use super::{
    BinaryTracking, ContextRegisters, DisallowList, DisallowedProviders, Enumerable, GroupInstances, Information,
    LbrConfiguration, LbrEvents, MaxPmcCounters, MaxSessions, PeriodicCapture, PeriodicCaptureLimits, PmcCounters,
    PmcEvents, PmcOwners, PmcSessions, ProcessProviders, ProcessingVersion, ProfileSources, ProfileSourcesInUse,
    ProviderGroups, ProviderInstances, Queryable, RegisteredProviders, Reserved15, SampleInterval, Scope, Settable,
    StackCaching, StackTracing, StreamCount, SystemFlags, UnifiedStackCaching,
};

const WIN10: &str = "Windows 10";
const WIN10_1709: &str = "Windows 10 1709";
const WIN10_1903: &str = "Windows 10 1903";
const WIN10_21H2: &str = "Windows 10 21H2";

/// The functions of Windows that accept a class, as bits.
const SET: u8 = 1;
const QUERY: u8 = 2;
const ENUMERATE: u8 = 4;

/// A row: the class, its type with the directions that it implements, what it is for, and the first Windows. The compiler refuses a row
/// that contradicts its type or the class's facts.
macro_rules! row {
    ($class:ident: $type:ident [$($direction:ident)*], $purpose:expr, $since:expr) => {{
        $(row!(@implements $direction $type);)*
        const { check::<$type>(Class::$class, 0 $(| row!(@bit $direction))*) };
        Row::new(Class::$class, concat!("Trace", stringify!($class)), stringify!($type), $purpose, $since)
    }};
    (@implements set $type:ident) => { let _: fn() = implements_set::<$type>; };
    (@implements query $type:ident) => { let _: fn() = implements_query::<$type>; };
    (@implements enumerate $type:ident) => { let _: fn() = implements_enumerate::<$type>; };
    (@bit set) => { SET };
    (@bit query) => { QUERY };
    (@bit enumerate) => { ENUMERATE };
}

const fn implements_set<T: Settable>() {}
const fn implements_query<T: Queryable>() {}
const fn implements_enumerate<T: Enumerable>() {}

/// Compares a row with its type and with the facts about its class.
const fn check<T: Information>(class: Class, directions: u8) {
    assert!(T::CLASS.as_int() == class.as_int(), "the type is that of another class");
    let Some(facts) = class.facts() else {
        assert!(directions == 0, "a reserved class has no directions");
        return;
    };
    assert!(facts.set == (directions & SET != 0), "set: the row and the class differ");
    assert!(facts.query == (directions & QUERY != 0), "query: the row and the class differ");
    assert!(facts.enumerate == (directions & ENUMERATE != 0), "enumerate: the row and the class differ");
    let is_of_session = matches!(facts.handle, HandleKind::Session | HandleKind::SystemSession);
    assert!(is_of_session == T::Scope::IS_SESSION, "the type belongs to the wrong scope");
}

/// Every class, ordered by number.
const CLASSES: &[Facts] = &[
    row!(GuidQueryList: RegisteredProviders [enumerate], "Providers that are registered", "Vista")
        .layout("`GUID[]`")
        .note("does not include installed manifests"),
    row!(GuidQueryInfo: ProviderInstances [enumerate], "Registrations of a provider", "Vista")
        .layout("`TRACE_GUID_INFO`, then a chain of `TRACE_PROVIDER_INSTANCE_INFO` with `TRACE_ENABLE_INFO[]`")
        .note("the input is a GUID; offsets are relative to the instance"),
    row!(GuidQueryProcess: ProcessProviders [enumerate], "Providers of this process", "Vista")
        .layout("`GUID[]`")
        .note(""),
    row!(StackTracingInfo: StackTracing [set query], "System events that carry a call stack", "Windows 7")
        .layout("`CLASSIC_EVENT_ID[]`")
        .sets_list(0, 24)
        .limit("256 events")
        .note("replaces the list; an empty list turns stacks off; according to Learn a query returns the list, since Windows 8, but Windows was also seen to return `NOT_SUPPORTED`"),
    row!(SystemTraceEnableFlagsInfo: SystemFlags [set query], "System providers of a session", "Windows 8")
        .layout("`PERFINFO_GROUPMASK`: eight words")
        .sets_list(4, 4)
        .returns(32)
        .limit("32 bytes")
        .note("replaces the mask; fewer than eight words are accepted, because other tools pass fewer"),
    row!(SampledProfileIntervalInfo: SampleInterval [set query], "Sampling interval of the profiler", "Windows 8")
        .layout("`TRACE_PROFILE_INTERVAL`")
        .sets(8)
        .returns(8)
        .limit("between the minimum and the maximum of the source (class 7)")
        .note("needs the profile privilege; a query reads the source from its buffer"),
    row!(ProfileSourceConfigInfo: ProfileSourcesInUse [set], "Profile sources in use", "Windows 8")
        .layout("`ULONG[]`")
        .sets_list(4, 4)
        .limit("sources of class 7")
        .note("needs the profile privilege; replaces the list"),
    row!(ProfileSourceListInfo: ProfileSources [query], "Available profile sources", "Windows 8")
        .layout("chain of `PROFILE_SOURCE_INFO`")
        .note("the last entry may be shorter than the structure"),
    row!(PmcEventListInfo: PmcEvents [set], "System events that carry counter values", "Windows 8")
        .layout("`CLASSIC_EVENT_ID[]`")
        .sets_list(24, 24)
        .limit("once per session")
        .note(""),
    row!(PmcCounterListInfo: PmcCounters [set], "Counters whose values the events of class 8 carry", "Windows 8")
        .layout("`ULONG[]`")
        .sets_list(4, 4)
        .limit("once per session; the maximum is class 22")
        .note("`BUSY` if another component owns the counters"),
    row!(SetDisallowList: DisallowList [set], "Providers that a group does not enable", WIN10)
        .layout("`GUID[]`")
        .sets_list(0, 16)
        .note("replaces the list"),
    row!(VersionInfo: ProcessingVersion [query], "Version of trace processing", WIN10)
        .layout("`TRACE_VERSION_INFO`")
        .returns(8)
        .note(""),
    row!(GroupQueryList: ProviderGroups [enumerate], "Provider groups", WIN10)
        .layout("`GUID[]`")
        .note(""),
    row!(GroupQueryInfo: GroupInstances [enumerate], "Members of a group", WIN10)
        .layout("`ULONG`, `TRACE_ENABLE_INFO[]` at byte 4, `ULONG`, `GUID[]`")
        .note("the input is a GUID; it is not documented whether the first number is a count or a length, so both are read"),
    row!(DisallowListQuery: DisallowedProviders [query], "The list of class 10", WIN10)
        .layout("`GUID[]`")
        .note(""),
    row!(InfoReserved15: Reserved15 [], "Reserved", "-").note("do not use"),
    row!(PeriodicCaptureStateListInfo: PeriodicCapture [set], "Providers that log their state periodically", WIN10_1709)
        .layout("`TRACE_PERIODIC_CAPTURE_STATE_INFO`, `GUID[]`")
        .sets_list(8, 16)
        .or_empty()
        .limit("the values of class 17")
        .note("an empty buffer clears the list; the providers must be enabled"),
    row!(PeriodicCaptureStateInfo: PeriodicCaptureLimits [query], "Limits of class 16", WIN10_1709)
        .layout("`TRACE_PERIODIC_CAPTURE_STATE_INFO`")
        .returns(8)
        .note(""),
    row!(ProviderBinaryTracking: BinaryTracking [set], "Paths of providers' binaries", WIN10_1709)
        .layout("`BOOLEAN`, one byte")
        .sets(1)
        .note("also for providers that are already registered"),
    row!(MaxLoggersQuery: MaxSessions [query enumerate], "Maximum number of sessions", WIN10_1709)
        .layout("`ULONG`")
        .returns(4)
        .note("the header lists it as a query, Learn for enumeration: both are tried"),
    row!(LbrConfigurationInfo: LbrConfiguration [set], "Recording of last branches", WIN10_1903)
        .layout("`ULONG`: `TRACE_LBR_CONFIGURATION_*`")
        .sets(4)
        .limit("bits 0x1 to 0x400")
        .note("set it before class 21"),
    row!(LbrEventListInfo: LbrEvents [set], "System events that carry last branches", WIN10_1903)
        .layout("`ULONG[]`: hook ids")
        .sets_list(0, 4)
        .limit("4 events")
        .note(""),
    row!(MaxPmcCounterQuery: MaxPmcCounters [query], "Maximum number of counters", WIN10_1903)
        .layout("`ULONG`")
        .returns(4)
        .note(""),
    row!(StreamCount: StreamCount [query], "Number of buffer streams of a session", WIN10_21H2)
        .layout("`ULONG`")
        .returns(4)
        .note("1 without per-processor buffers"),
    row!(StackCachingInfo: StackCaching [set], "Caching of system events' stacks", WIN10_21H2)
        .layout("`TRACE_STACK_CACHING_INFO`")
        .sets(12)
        .note("a size of 0 means the system's default"),
    row!(PmcCounterOwners: PmcOwners [query], "Owners of a processor's counters", WIN10_21H2)
        .layout("`ETW_PMC_COUNTER_OWNERSHIP_STATUS`")
        .limit("the processor must exist")
        .note("reads the processor from its buffer"),
    row!(UnifiedStackCachingInfo: UnifiedStackCaching [set], "Caching of all stacks", WIN10_21H2)
        .layout("`TRACE_STACK_CACHING_INFO`")
        .sets(12)
        .note("consumers then get stack keys"),
    row!(PmcSessionInformation: PmcSessions [query], "Sessions that use counters", "Windows 10 22H2")
        .layout("chain of `ETW_PMC_SESSION_INFO`, `ULONG[]`, `USHORT[]`")
        .note(""),
    row!(ContextRegisterInfo: ContextRegisters [set], "System events that carry registers", "Server 23H2")
        .layout("`TRACE_CONTEXT_REGISTER_INFO`, `CLASSIC_EVENT_ID[]`")
        .sets_list(8, 24)
        .limit("control and integer registers together")
        .note("not in windows-sys 0.61"),
];

/// Returns every class, ordered by number.
#[must_use]
pub const fn all() -> &'static [Facts] {
    CLASSES
}

/// Returns the facts about a class.
#[must_use]
pub fn facts(class: Class) -> Option<&'static Facts> {
    all().iter().find(|facts| facts.class == class)
}

/// Finds a class by number, C name, type name or short name. The comparison ignores case.
///
/// ```
/// use etw_session::info::find;
///
/// for name in ["3", "TraceStackTracingInfo", "StackTracing", "stack-tracing"] {
///     assert_eq!(find(name).map(|facts| facts.class.as_int()), Some(3));
/// }
/// assert!(find("29").is_none());
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static Facts> {
    let number = name.parse::<u32>().ok();
    all().iter().find(|facts| {
        number == Some(facts.class.as_int())
            || facts.c_name.eq_ignore_ascii_case(name)
            || facts.type_name.eq_ignore_ascii_case(name)
            || facts.short_name().eq_ignore_ascii_case(name)
    })
}

/// Returns the documentation page: a table of all classes.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    for facts in CLASSES {
        let set = facts.set_length.map_or_else(String::new, |length| {
            let first = if length.may_be_empty && length.least != 0 { "0 or ".to_owned() } else { String::new() };
            let more = if length.step == 0 { String::new() } else { format!(" + {}·n", length.step) };
            format!("{first}{}{more}", length.least)
        });
        let result = facts.answer_length.map_or_else(String::new, |length| length.to_string());
        let cells = [
            &facts.class.as_int().to_string(),
            &format!("`{}`", facts.c_name),
            &format!("`{}`", facts.type_name),
            facts.purpose,
            &facts.directions().join(", "),
            facts.handle(),
            facts.since,
            facts.layout,
            &set,
            &result,
            facts.limit,
            facts.note,
        ];
        // Writing to a `String` cannot fail.
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page
}

const INTRODUCTION: &str = "\
# Information classes of trace sessions

Every `TRACE_QUERY_INFO_CLASS` and its type in `etw_session::info`. This page is generated from the code; a test fails if it is stale.

*Directions*: `set` is `TraceSetInformation`, `query` is `TraceQueryInformation`, `enumerate` is `EnumerateTraceGuidsEx`.
*Handle*: a `system session` is a session with the system-logger mode, or the NT Kernel Logger. *Set* and *result* are lengths in bytes;
`n` is the number of list elements beyond the minimum. A result without a length is variable, and the buffer grows as needed. The sources
are the public header, Learn, and the behaviour of other tools; this project has run none of it on Windows. The engine implements every class
except the reserved one, and the tests in `crates/traces/etw-session/tests` exercise them.

| # | class | type | about | directions | handle | since | layout | set | result | limit | note |
|---|---|---|---|---|---|---|---|---|---|---|---|
";
