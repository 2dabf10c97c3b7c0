//! Compares layouts and values of session control with Microsoft's metadata (the windows-sys crate).

use core::mem::{align_of, size_of};

use etw_types::session::{
    ClassicEventId, EventTraceProperties, EventTracePropertiesV2, GroupMask, PeriodicCaptureStateInfo, PmcCounterOwner,
    PmcSessionInfo, ProfileInterval, StackCachingInfo, TRACE_PROVIDER_FLAG_LEGACY, TRACE_PROVIDER_FLAG_PRE_ENABLE,
    TraceEnableInfo, TraceGuidInfo, TraceInfoClass, TraceProviderInstanceInfo, TraceVersionInfo, WnodeHeader, enable,
    filter, mode,
};
use windows_sys::Win32::System::Diagnostics::Etw as etw;

macro_rules! same_layout {
    ($($ours:ty = $theirs:ty),* $(,)?) => {$(
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($theirs));
        assert_eq!(align_of::<$ours>(), align_of::<$theirs>(), stringify!($theirs));
        assert_eq!(<$ours>::SIZE, size_of::<$theirs>(), stringify!($theirs));
    )*};
}

#[test]
fn structures_have_the_size_and_alignment_of_the_metadata() {
    same_layout!(
        WnodeHeader = etw::WNODE_HEADER,
        EventTraceProperties = etw::EVENT_TRACE_PROPERTIES,
        EventTracePropertiesV2 = etw::EVENT_TRACE_PROPERTIES_V2,
        ClassicEventId = etw::CLASSIC_EVENT_ID,
        ProfileInterval = etw::TRACE_PROFILE_INTERVAL,
        TraceVersionInfo = etw::TRACE_VERSION_INFO,
        PeriodicCaptureStateInfo = etw::TRACE_PERIODIC_CAPTURE_STATE_INFO,
        StackCachingInfo = etw::TRACE_STACK_CACHING_INFO,
        PmcCounterOwner = etw::ETW_PMC_COUNTER_OWNER,
        PmcSessionInfo = etw::ETW_PMC_SESSION_INFO,
        TraceGuidInfo = etw::TRACE_GUID_INFO,
        TraceProviderInstanceInfo = etw::TRACE_PROVIDER_INSTANCE_INFO,
        TraceEnableInfo = etw::TRACE_ENABLE_INFO,
        filter::LevelKeyword = etw::EVENT_FILTER_LEVEL_KW,
    );
}

#[test]
fn bytes_are_those_of_the_structures_both_ways() {
    let mut bytes = [0_u8; EventTracePropertiesV2::SIZE];
    for (value, byte) in (1..).zip(&mut bytes) {
        *byte = value;
    }
    let properties = EventTracePropertiesV2::parse(&bytes).unwrap();
    assert_eq!(properties.to_bytes(), bytes, "there is no padding");
    assert_eq!(properties.base.wnode.guid.to_bytes_le(), bytes[24..40]);
    assert_eq!(EventTracePropertiesV2::parse(&bytes[1..]), None);
    let caching = StackCachingInfo { enabled: 1, cache_size: 2, bucket_count: 3, ..StackCachingInfo::default() };
    assert_eq!(caching.to_bytes(), [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    let mut groups = [0_u8; GroupMask::SIZE];
    groups.copy_from_slice(&bytes[..GroupMask::SIZE]);
    let mask = GroupMask::parse(&groups).unwrap();
    assert_eq!(mask.masks[0], 0x0403_0201);
    assert_eq!(mask.masks[7], 0x201F_1E1D);
    assert_eq!(mask.to_bytes(), groups);
    let names = filter::EventNameHeader { match_any: 1, match_all: 2, level: 3, filter_in: 4, count: 5 };
    assert_eq!(filter::EventNameHeader::parse(&names.to_bytes()), Some(names));
    assert_eq!(names.to_bytes().len(), core::mem::offset_of!(etw::EVENT_FILTER_EVENT_NAME, Names));
}

#[test]
fn modes_properties_and_filters_have_the_values_of_the_metadata() {
    for (ours, theirs) in [
        (mode::SEQUENTIAL, etw::EVENT_TRACE_FILE_MODE_SEQUENTIAL),
        (mode::CIRCULAR, etw::EVENT_TRACE_FILE_MODE_CIRCULAR),
        (mode::APPEND, etw::EVENT_TRACE_FILE_MODE_APPEND),
        (mode::NEWFILE, etw::EVENT_TRACE_FILE_MODE_NEWFILE),
        (mode::PREALLOCATE, etw::EVENT_TRACE_FILE_MODE_PREALLOCATE),
        (mode::NONSTOPPABLE, etw::EVENT_TRACE_NONSTOPPABLE_MODE),
        (mode::SECURE, etw::EVENT_TRACE_SECURE_MODE),
        (mode::REAL_TIME, etw::EVENT_TRACE_REAL_TIME_MODE),
        (mode::DELAY_OPEN_FILE, etw::EVENT_TRACE_DELAY_OPEN_FILE_MODE),
        (mode::BUFFERING, etw::EVENT_TRACE_BUFFERING_MODE),
        (mode::PRIVATE_LOGGER, etw::EVENT_TRACE_PRIVATE_LOGGER_MODE),
        (mode::ADD_HEADER, etw::EVENT_TRACE_ADD_HEADER_MODE),
        (mode::USE_KBYTES_FOR_SIZE, etw::EVENT_TRACE_USE_KBYTES_FOR_SIZE),
        (mode::USE_GLOBAL_SEQUENCE, etw::EVENT_TRACE_USE_GLOBAL_SEQUENCE),
        (mode::USE_LOCAL_SEQUENCE, etw::EVENT_TRACE_USE_LOCAL_SEQUENCE),
        (mode::RELOG, etw::EVENT_TRACE_RELOG_MODE),
        (mode::PRIVATE_IN_PROC, etw::EVENT_TRACE_PRIVATE_IN_PROC),
        (mode::STOP_ON_HYBRID_SHUTDOWN, etw::EVENT_TRACE_STOP_ON_HYBRID_SHUTDOWN),
        (mode::PERSIST_ON_HYBRID_SHUTDOWN, etw::EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN),
        (mode::USE_PAGED_MEMORY, etw::EVENT_TRACE_USE_PAGED_MEMORY),
        (mode::SYSTEM_LOGGER, etw::EVENT_TRACE_SYSTEM_LOGGER_MODE),
        (mode::COMPRESSED, etw::EVENT_TRACE_COMPRESSED_MODE),
        (mode::INDEPENDENT_SESSION, etw::EVENT_TRACE_INDEPENDENT_SESSION_MODE),
        (mode::NO_PER_PROCESSOR_BUFFERING, etw::EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING),
        (enable::SID, etw::EVENT_ENABLE_PROPERTY_SID),
        (enable::TS_ID, etw::EVENT_ENABLE_PROPERTY_TS_ID),
        (enable::STACK_TRACE, etw::EVENT_ENABLE_PROPERTY_STACK_TRACE),
        (enable::PSM_KEY, etw::EVENT_ENABLE_PROPERTY_PSM_KEY),
        (enable::IGNORE_KEYWORD_0, etw::EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0),
        (enable::PROVIDER_GROUP, etw::EVENT_ENABLE_PROPERTY_PROVIDER_GROUP),
        (enable::ENABLE_KEYWORD_0, etw::EVENT_ENABLE_PROPERTY_ENABLE_KEYWORD_0),
        (enable::PROCESS_START_KEY, etw::EVENT_ENABLE_PROPERTY_PROCESS_START_KEY),
        (enable::EVENT_KEY, etw::EVENT_ENABLE_PROPERTY_EVENT_KEY),
        (enable::EXCLUDE_INPRIVATE, etw::EVENT_ENABLE_PROPERTY_EXCLUDE_INPRIVATE),
        (enable::ENABLE_SILOS, etw::EVENT_ENABLE_PROPERTY_ENABLE_SILOS),
        (enable::SOURCE_CONTAINER_TRACKING, etw::EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING),
        (filter::SCHEMATIZED, etw::EVENT_FILTER_TYPE_SCHEMATIZED),
        (filter::SYSTEM_FLAGS, etw::EVENT_FILTER_TYPE_SYSTEM_FLAGS),
        (filter::TRACEHANDLE, etw::EVENT_FILTER_TYPE_TRACEHANDLE),
        (filter::PID, etw::EVENT_FILTER_TYPE_PID),
        (filter::EXECUTABLE_NAME, etw::EVENT_FILTER_TYPE_EXECUTABLE_NAME),
        (filter::PACKAGE_ID, etw::EVENT_FILTER_TYPE_PACKAGE_ID),
        (filter::PACKAGE_APP_ID, etw::EVENT_FILTER_TYPE_PACKAGE_APP_ID),
        (filter::PAYLOAD, etw::EVENT_FILTER_TYPE_PAYLOAD),
        (filter::EVENT_ID, etw::EVENT_FILTER_TYPE_EVENT_ID),
        (filter::EVENT_NAME, etw::EVENT_FILTER_TYPE_EVENT_NAME),
        (filter::STACKWALK, etw::EVENT_FILTER_TYPE_STACKWALK),
        (filter::STACKWALK_NAME, etw::EVENT_FILTER_TYPE_STACKWALK_NAME),
        (filter::STACKWALK_LEVEL_KW, etw::EVENT_FILTER_TYPE_STACKWALK_LEVEL_KW),
        (filter::CONTAINER, etw::EVENT_FILTER_TYPE_CONTAINER),
    ] {
        assert_eq!(ours, theirs);
    }
    for (ours, theirs) in [
        (filter::MAX_FILTERS, etw::MAX_EVENT_FILTERS_COUNT),
        (filter::MAX_PIDS, etw::MAX_EVENT_FILTER_PID_COUNT),
        (filter::MAX_EVENT_IDS, etw::MAX_EVENT_FILTER_EVENT_ID_COUNT),
        (filter::MAX_DATA, etw::MAX_EVENT_FILTER_DATA_SIZE),
        (filter::MAX_PAYLOAD, etw::MAX_EVENT_FILTER_PAYLOAD_SIZE),
        (filter::MAX_NAMES, etw::MAX_EVENT_FILTER_EVENT_NAME_SIZE),
    ] {
        assert_eq!(u32::try_from(ours), Ok(theirs));
    }
}

#[test]
fn classes_have_the_values_of_the_metadata() {
    for (ours, theirs) in [
        (TraceInfoClass::GuidQueryList, etw::TraceGuidQueryList),
        (TraceInfoClass::GuidQueryProcess, etw::TraceGuidQueryProcess),
        (TraceInfoClass::StackTracingInfo, etw::TraceStackTracingInfo),
        (TraceInfoClass::SystemTraceEnableFlagsInfo, etw::TraceSystemTraceEnableFlagsInfo),
        (TraceInfoClass::SampledProfileIntervalInfo, etw::TraceSampledProfileIntervalInfo),
        (TraceInfoClass::ProfileSourceListInfo, etw::TraceProfileSourceListInfo),
        (TraceInfoClass::PmcCounterListInfo, etw::TracePmcCounterListInfo),
        (TraceInfoClass::SetDisallowList, etw::TraceSetDisallowList),
        (TraceInfoClass::VersionInfo, etw::TraceVersionInfo),
        (TraceInfoClass::GroupQueryInfo, etw::TraceGroupQueryInfo),
        (TraceInfoClass::DisallowListQuery, etw::TraceDisallowListQuery),
        (TraceInfoClass::PeriodicCaptureStateInfo, etw::TracePeriodicCaptureStateInfo),
        (TraceInfoClass::ProviderBinaryTracking, etw::TraceProviderBinaryTracking),
        (TraceInfoClass::MaxLoggersQuery, etw::TraceMaxLoggersQuery),
        (TraceInfoClass::LbrEventListInfo, etw::TraceLbrEventListInfo),
        (TraceInfoClass::StreamCount, etw::TraceStreamCount),
        (TraceInfoClass::PmcCounterOwners, etw::TracePmcCounterOwners),
        (TraceInfoClass::UnifiedStackCachingInfo, etw::TraceUnifiedStackCachingInfo),
        (TraceInfoClass::PmcSessionInformation, etw::TracePmcSessionInformation),
    ] {
        assert_eq!(i64::from(ours.as_int()), i64::from(theirs), "{ours}");
    }
    assert_eq!(TRACE_PROVIDER_FLAG_LEGACY, etw::TRACE_PROVIDER_FLAG_LEGACY);
    assert_eq!(TRACE_PROVIDER_FLAG_PRE_ENABLE, etw::TRACE_PROVIDER_FLAG_PRE_ENABLE);
}

#[cfg(feature = "std")]
#[test]
fn nothing_can_be_queried_before_windows_8() {
    for (class, since, query_since) in [
        (TraceInfoClass::StackTracingInfo, 7600, 9200),
        (TraceInfoClass::SampledProfileIntervalInfo, 9200, 9200),
        (TraceInfoClass::VersionInfo, 10240, 10240),
    ] {
        let facts = etw_types::session::info::facts(class).unwrap();
        assert_eq!(facts.since.build, since, "{class}");
        assert_eq!(facts.query_since(), query_since, "{class}");
    }
}
