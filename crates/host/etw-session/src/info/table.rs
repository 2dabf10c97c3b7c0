//! The table of all classes, and the documentation page generated from it.

use std::fmt::Write;

use etw_types::session::TraceInfoClass as Class;

use super::facts::{Facts, Row};

const WIN10: &str = "Windows 10";
const WIN10_1709: &str = "Windows 10 1709";
const WIN10_1903: &str = "Windows 10 1903";
const WIN10_21H2: &str = "Windows 10 21H2";

/// Every class, ordered by number.
pub(super) const CLASSES: &[Facts] = &[
    Row::new(
        Class::GuidQueryList,
        "TraceGuidQueryList",
        "RegisteredProviders",
        "Providers that are registered",
        "Vista",
    )
    .layout("`GUID[]`")
    .note("installed manifests are not among them"),
    Row::new(Class::GuidQueryInfo, "TraceGuidQueryInfo", "ProviderInstances", "Registrations of a provider", "Vista")
        .layout("`TRACE_GUID_INFO`, then a chain of `TRACE_PROVIDER_INSTANCE_INFO` with `TRACE_ENABLE_INFO[]`")
        .note("about a GUID; offsets count from the instance"),
    Row::new(
        Class::GuidQueryProcess,
        "TraceGuidQueryProcess",
        "ProcessProviders",
        "Providers of this process",
        "Vista",
    )
    .layout("`GUID[]`")
    .note(""),
    Row::new(
        Class::StackTracingInfo,
        "TraceStackTracingInfo",
        "StackTracing",
        "System events that get a stack",
        "Windows 7",
    )
    .layout("`CLASSIC_EVENT_ID[]`")
    .sets_list(0, 24)
    .limit("256 events")
    .note("a list replaces the one before, an empty one turns stacks off; a query returns the list according to Learn, from Windows 8 on; `NOT_SUPPORTED` was seen on Windows"),
    Row::new(
        Class::SystemTraceEnableFlagsInfo,
        "TraceSystemTraceEnableFlagsInfo",
        "SystemFlags",
        "System providers of a session",
        "Windows 8",
    )
    .layout("`PERFINFO_GROUPMASK`: eight words")
    .sets_list(4, 4)
    .answers(32)
    .limit("32 bytes")
    .note("replaces the mask; fewer words are taken, as other tools pass them"),
    Row::new(
        Class::SampledProfileIntervalInfo,
        "TraceSampledProfileIntervalInfo",
        "SampleInterval",
        "How often the profiler samples",
        "Windows 8",
    )
    .layout("`TRACE_PROFILE_INTERVAL`")
    .sets(8)
    .answers(8)
    .limit("the interval of the source, class 7")
    .note("needs the profile privilege; a query reads the source from its buffer"),
    Row::new(
        Class::ProfileSourceConfigInfo,
        "TraceProfileSourceConfigInfo",
        "ProfileSourcesInUse",
        "What the profiler samples",
        "Windows 8",
    )
    .layout("`ULONG[]`")
    .sets_list(4, 4)
    .limit("sources of class 7")
    .note("needs the profile privilege; replaces the list"),
    Row::new(
        Class::ProfileSourceListInfo,
        "TraceProfileSourceListInfo",
        "ProfileSources",
        "What the profiler can sample",
        "Windows 8",
    )
    .layout("chain of `PROFILE_SOURCE_INFO`")
    .note("the last entry may be shorter than the structure"),
    Row::new(
        Class::PmcEventListInfo,
        "TracePmcEventListInfo",
        "PmcEvents",
        "System events that get counter values",
        "Windows 8",
    )
    .layout("`CLASSIC_EVENT_ID[]`")
    .sets_list(24, 24)
    .limit("once for a session")
    .note(""),
    Row::new(
        Class::PmcCounterListInfo,
        "TracePmcCounterListInfo",
        "PmcCounters",
        "Counters whose values they get",
        "Windows 8",
    )
    .layout("`ULONG[]`")
    .sets_list(4, 4)
    .limit("once for a session; number of class 22")
    .note("`BUSY` where somebody else owns the counters"),
    Row::new(
        Class::SetDisallowList,
        "TraceSetDisallowList",
        "DisallowList",
        "Providers that a group does not enable",
        WIN10,
    )
    .layout("`GUID[]`")
    .sets_list(0, 16)
    .note("replaces the list"),
    Row::new(Class::VersionInfo, "TraceVersionInfo", "ProcessingVersion", "Version of trace processing", WIN10)
        .layout("`TRACE_VERSION_INFO`")
        .answers(8)
        .note(""),
    Row::new(Class::GroupQueryList, "TraceGroupQueryList", "ProviderGroups", "Provider groups", WIN10)
        .layout("`GUID[]`")
        .note(""),
    Row::new(Class::GroupQueryInfo, "TraceGroupQueryInfo", "GroupInstances", "Members of a group", WIN10)
        .layout("`ULONG`, `TRACE_ENABLE_INFO[]` at byte 4, `ULONG`, `GUID[]`")
        .note("about a GUID; whether the first number is a count or a length is not documented: both are read"),
    Row::new(Class::DisallowListQuery, "TraceDisallowListQuery", "DisallowedProviders", "The list of class 10", WIN10)
        .layout("`GUID[]`")
        .note(""),
    Row::new(Class::InfoReserved15, "TraceInfoReserved15", "Reserved15", "Reserved", "-").note("do not use"),
    Row::new(
        Class::PeriodicCaptureStateListInfo,
        "TracePeriodicCaptureStateListInfo",
        "PeriodicCapture",
        "Providers to ask for their state",
        WIN10_1709,
    )
    .layout("`TRACE_PERIODIC_CAPTURE_STATE_INFO`, `GUID[]`")
    .sets_list(8, 16)
    .or_empty()
    .limit("those of class 17")
    .note("nothing at all clears; providers must be enabled"),
    Row::new(
        Class::PeriodicCaptureStateInfo,
        "TracePeriodicCaptureStateInfo",
        "PeriodicCaptureLimits",
        "Limits of class 16",
        WIN10_1709,
    )
    .layout("`TRACE_PERIODIC_CAPTURE_STATE_INFO`")
    .answers(8)
    .note(""),
    Row::new(
        Class::ProviderBinaryTracking,
        "TraceProviderBinaryTracking",
        "BinaryTracking",
        "Paths of providers' binaries",
        WIN10_1709,
    )
    .layout("`BOOLEAN`, one byte")
    .sets(1)
    .note("also for providers that are registered already"),
    Row::new(
        Class::MaxLoggersQuery,
        "TraceMaxLoggersQuery",
        "MaxSessions",
        "How many sessions there can be",
        WIN10_1709,
    )
    .layout("`ULONG`")
    .answers(4)
    .note("query by the header, enumerate by Learn: both are tried"),
    Row::new(
        Class::LbrConfigurationInfo,
        "TraceLbrConfigurationInfo",
        "LbrConfiguration",
        "Recording of last branches",
        WIN10_1903,
    )
    .layout("`ULONG`: `TRACE_LBR_CONFIGURATION_*`")
    .sets(4)
    .limit("bits 0x1 to 0x400")
    .note("before class 21"),
    Row::new(
        Class::LbrEventListInfo,
        "TraceLbrEventListInfo",
        "LbrEvents",
        "System events that get last branches",
        WIN10_1903,
    )
    .layout("`ULONG[]`: hook ids")
    .sets_list(0, 4)
    .limit("4 events")
    .note(""),
    Row::new(
        Class::MaxPmcCounterQuery,
        "TraceMaxPmcCounterQuery",
        "MaxPmcCounters",
        "How many counters there are",
        WIN10_1903,
    )
    .layout("`ULONG`")
    .answers(4)
    .note(""),
    Row::new(Class::StreamCount, "TraceStreamCount", "StreamCount", "Streams of buffers of a session", WIN10_21H2)
        .layout("`ULONG`")
        .answers(4)
        .note("1 without buffers of each processor"),
    Row::new(
        Class::StackCachingInfo,
        "TraceStackCachingInfo",
        "StackCaching",
        "Caching of system events' stacks",
        WIN10_21H2,
    )
    .layout("`TRACE_STACK_CACHING_INFO`")
    .sets(12)
    .note("sizes of 0 are the system's choice"),
    Row::new(
        Class::PmcCounterOwners,
        "TracePmcCounterOwners",
        "PmcOwners",
        "Who owns a processor's counters",
        WIN10_21H2,
    )
    .layout("`ETW_PMC_COUNTER_OWNERSHIP_STATUS`")
    .limit("an existing processor")
    .note("reads the processor from its buffer"),
    Row::new(
        Class::UnifiedStackCachingInfo,
        "TraceUnifiedStackCachingInfo",
        "UnifiedStackCaching",
        "Caching of all stacks",
        WIN10_21H2,
    )
    .layout("`TRACE_STACK_CACHING_INFO`")
    .sets(12)
    .note("consumers then see keys"),
    Row::new(
        Class::PmcSessionInformation,
        "TracePmcSessionInformation",
        "PmcSessions",
        "Sessions that use counters",
        "Windows 10 22H2",
    )
    .layout("chain of `ETW_PMC_SESSION_INFO`, `ULONG[]`, `USHORT[]`")
    .note(""),
    Row::new(
        Class::ContextRegisterInfo,
        "TraceContextRegisterInfo",
        "ContextRegisters",
        "System events that get registers",
        "Server 23H2",
    )
    .layout("`TRACE_CONTEXT_REGISTER_INFO`, `CLASSIC_EVENT_ID[]`")
    .sets_list(8, 24)
    .limit("control and integer registers together")
    .note("not in windows-sys 0.61"),
];

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
        let answer = facts.answer_length.map_or_else(String::new, |length| length.to_string());
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
            &answer,
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

Every `TRACE_QUERY_INFO_CLASS` and its type in `etw_session::info`. This page is written from the code; a test fails when it is stale.

*Directions*: `set` is `TraceSetInformation`, `query` is `TraceQueryInformation`, `enumerate` is `EnumerateTraceGuidsEx`.
*Handle*: a `system session` is one with the system-logger mode, or the NT Kernel Logger. *Set* and *answer* are lengths in bytes; an
answer without a length is variable, and the buffer grows as needed. What this table says about Windows comes from the public header,
from Learn, and from what other tools do; none of it was run on Windows by this project. Where it is answered by the engine, the tests in
`crates/host/etw-session/tests` exercise it.

| # | class | type | about | directions | handle | since | layout | set | answer | limit | note |
|---|---|---|---|---|---|---|---|---|---|---|---|
";
