//! The information classes: what the engine does beyond their declarations, and the codes that can be configured. The
//! tests of `etw-session` run every class.

use crate::common::{GROUP, Note, PROVIDER, register};
use etw_engine::info::{
    self, BinaryTracking, ContextRegisters, DisallowList, DisallowedProviders, Facts, Information, LbrConfiguration,
    LbrEvents, MaxPmcCounters, MaxSessions, PeriodicCapture, PeriodicCaptureLimits, PmcCounters, PmcEvents, PmcOwners,
    PmcSession, PmcSessions, ProfileSource, ProfileSources, ProfileSourcesInUse, Queryable, RegisteredProviders,
    SampleInterval, StackCaching, StackTracing, StreamCount, SystemFlags, UnifiedStackCaching,
};
use etw_engine::{Answers, Enable, Engine, EngineOptions, Properties, QueryError, Rights, Session, Target};
use etw_types::session::info::HandleKind;
use etw_types::session::{ClassicEventId, KERNEL_LOGGER_NAME, PmcSessionInfo, TraceInfoClass, mode};
use etw_types::{ControlCode, EventInfoClass, Guid, Win32Error};

fn started(options: EngineOptions) -> (Engine, Session) {
    let engine = Engine::with_options(options);
    let session = engine.start(&Properties { buffer_kib: 4, ..Properties::to_consumers(KERNEL_LOGGER_NAME) }).unwrap();
    (engine, session)
}

fn events(count: usize) -> Vec<ClassicEventId> {
    vec![ClassicEventId { guid: PROVIDER, event_type: 46, ..ClassicEventId::default() }; count]
}

/// A value of class 16, whatever the limits of the machine are.
fn periodic(seconds: u32, providers: Vec<Guid>) -> PeriodicCapture {
    PeriodicCapture::new(seconds, providers, PeriodicCaptureLimits { least_seconds: 0, most_providers: 99 }).unwrap()
}

/// Valid data for a class that can be set.
fn good(facts: &Facts) -> Vec<u8> {
    (facts.examples)().remove(0)
}

#[test]
fn a_class_is_known_from_the_build_that_introduced_it() {
    let answers = Answers { newer_class: Win32Error::Busy, ..Answers::default() };
    for facts in info::all().iter().filter(|facts| !facts.is_reserved()) {
        let is_unknown = |os_build: u32, call: &dyn Fn(&Engine, u64) -> Option<Win32Error>| {
            let (engine, session) = started(EngineOptions { os_build, answers, ..EngineOptions::default() });
            let handle = if facts.handle == HandleKind::Zero { 0 } else { session.handle() };
            call(&engine, handle) == Some(Win32Error::Busy)
        };
        if facts.set.is_some() {
            let set =
                |engine: &Engine, handle| engine.set_trace_information_bytes(handle, facts.class, &good(facts)).err();
            let since = facts.since.build;
            assert!(is_unknown(since - 1, &set), "{}", facts.c_name);
            assert!(!is_unknown(since, &set), "{}", facts.c_name);
        }
        if facts.query.is_some() {
            let query = |engine: &Engine, handle| {
                let result = engine.query_trace_information_bytes(handle, facts.class, &mut [0; 256]);
                result.err().map(|error| error.code)
            };
            let since = facts.query_since();
            assert!(is_unknown(since - 1, &query), "{}", facts.c_name);
            assert!(!is_unknown(since, &query), "{}", facts.c_name);
        }
    }
}

#[test]
fn a_caller_without_rights_can_only_enumerate() {
    let rights = Rights { control: false, profile: true };
    let engine = Engine::with_options(EngineOptions { rights, ..EngineOptions::default() });
    let interval = SampleInterval { source: 0, interval: 20_000 };
    assert_eq!(engine.set_trace_information(0, &interval), Err(Win32Error::AccessDenied));
    assert_eq!(engine.query_trace_information::<ProfileSources>(0, &()), Err(Win32Error::AccessDenied));
    assert!(engine.enumerate_trace_guids::<RegisteredProviders>(&()).is_ok());
}

#[test]
fn limits_are_checked() {
    let (engine, session) = started(EngineOptions::default());
    let over = Err(Win32Error::InvalidParameter);
    assert_eq!(session.set_information(&StackTracing(events(256))), Ok(()));
    assert_eq!(session.set_information(&StackTracing(events(257))), over);
    let StackTracing(kept) = session.information().get().unwrap();
    assert_eq!(kept.len(), 256, "a failure changes nothing");
    assert_eq!(session.set_information(&LbrEvents(vec![1; 4])), Ok(()));
    assert_eq!(session.set_information(&LbrEvents(vec![1; 5])), over);
    let beyond = LbrConfiguration::decode(&0x800_u32.to_le_bytes()).unwrap();
    assert_eq!(session.set_information(&beyond), over);
    assert_eq!(session.set_information(&periodic(59, vec![PROVIDER])), over);
    assert_eq!(session.set_information(&periodic(60, vec![PROVIDER; 17])), over);
    assert_eq!(session.set_information(&PmcCounters(vec![0; 5])), over);
    let half = ContextRegisters::decode(&[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(session.set_information(&half), over);
    assert_eq!(engine.set_trace_information(0, &SampleInterval { source: 99, interval: 1 }), over);
    assert_eq!(engine.set_trace_information(0, &ProfileSourcesInUse(vec![99])), over);
    assert_eq!(engine.query_trace_information::<PmcOwners>(0, &9999).map(drop), over);
}

#[test]
fn values_at_their_limits_are_kept() {
    fn keeps<T: info::Settable + PartialEq + std::fmt::Debug>(session: &Session, value: T) {
        assert_eq!(session.set_information(&value), Ok(()), "{value:?}");
        assert_eq!(session.information().get::<T>(), Some(value));
    }
    let (engine, session) = started(EngineOptions::default());
    keeps(&session, StackTracing(events(2)));
    keeps(&session, PmcEvents(events(1)));
    keeps(&session, PmcCounters(vec![0; 4]));
    keeps(&session, periodic(60, vec![PROVIDER; 16]));
    keeps(&session, BinaryTracking(true));
    keeps(&session, LbrConfiguration::new(0x7FF).unwrap());
    keeps(&session, LbrEvents(vec![1; 4]));
    keeps(&session, StackCaching { enabled: true, cache_size: 2, bucket_count: 3 });
    keeps(&session, UnifiedStackCaching { enabled: true, cache_size: 2, bucket_count: 3 });
    keeps(&session, ContextRegisters::new(events(3)));
    for (value, is_tracking) in [(&[0][..], false), (&[2], true)] {
        engine.set_trace_information_bytes(session.handle(), TraceInfoClass::ProviderBinaryTracking, value).unwrap();
        assert_eq!(session.information().get(), Some(BinaryTracking(is_tracking)));
    }
}

#[test]
fn sessions_with_counters_are_listed_with_their_events_and_sources() {
    let (engine, kernel) = started(EngineOptions::default());
    let listed = || engine.query_trace_information::<PmcSessions>(0, &()).unwrap().0;
    assert_eq!(listed(), []);
    let system = Properties { mode: mode::REAL_TIME | mode::SYSTEM_LOGGER, ..Properties::to_consumers("system") };
    let system = engine.start(&system).unwrap();
    kernel.set_information(&PmcEvents(events(1))).unwrap();
    system.set_information(&PmcCounters(vec![0, 0])).unwrap();
    let id = system.status().logger_id;
    let expected = [
        PmcSession { logger_id: 0, sources: vec![], hook_ids: vec![46] },
        PmcSession { logger_id: id, sources: vec![0, 0], hook_ids: vec![] },
    ];
    assert_eq!(listed(), expected);
    // Each entry: its offset, id and two counts, then its sources and hooks. The first is padded to eight bytes.
    let mut bytes = [0; 24 + PmcSessionInfo::SIZE + 8];
    let length = engine.query_trace_information_bytes(0, TraceInfoClass::PmcSessionInformation, &mut bytes);
    assert_eq!(length, Ok(bytes.len()));
    let first = PmcSessionInfo::parse(&bytes).unwrap();
    let second = PmcSessionInfo::parse(&bytes[24..]).unwrap();
    assert_eq!(first.next_entry_offset, 24);
    assert_eq!(first.hook_id_count, 1);
    assert_eq!(bytes[PmcSessionInfo::SIZE..][..2], 46_u16.to_le_bytes());
    assert_eq!(second.next_entry_offset, 0);
    assert_eq!(second.logger_id, id);
    assert_eq!(second.profile_source_count, 2);
}

#[test]
fn counters_have_owners_on_each_processor() {
    let owners = |pmc_taken| {
        let (engine, _) = started(EngineOptions { processors: 2, pmc_taken, ..EngineOptions::default() });
        let missing = engine.query_trace_information::<PmcOwners>(0, &2);
        assert_eq!(missing, Err(Win32Error::InvalidParameter));
        let owners: PmcOwners = engine.query_trace_information(0, &1).unwrap();
        assert_eq!(owners.processor, 1);
        owners.counters.iter().map(|owner| owner.owner_type).collect::<Vec<_>>()
    };
    assert_eq!(owners(false), vec![0; 4]);
    assert_eq!(owners(true), vec![1; 4]);
}

#[test]
fn values_that_were_set_are_queried() {
    let (engine, session) = started(EngineOptions::default());
    let handle = session.handle();
    let flags = TraceInfoClass::SystemTraceEnableFlagsInfo;
    engine.set_trace_information_bytes(handle, flags, &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    let mut buffer = [0xEE; 40];
    assert_eq!(engine.query_trace_information_bytes(handle, flags, &mut buffer), Ok(32));
    assert_eq!(buffer[0], 1);
    assert_eq!(buffer[4], 2);
    assert_eq!(buffer[31], 0);
    assert_eq!(buffer[32], 0xEE);

    let interval = || engine.query_trace_information::<SampleInterval>(0, &0).unwrap().interval;
    assert_eq!(interval(), 10_000, "one millisecond");
    engine.set_trace_information(0, &SampleInterval { source: 0, interval: u32::MAX }).unwrap();
    assert_eq!(interval(), 10_000_000, "the maximum of the source");

    session.set_information(&DisallowList(vec![PROVIDER, GROUP])).unwrap();
    let disallowed: DisallowedProviders = engine.query_trace_information(handle, &()).unwrap();
    assert_eq!(disallowed.0.len(), 2);

    let processors = u32::from(engine.options().processors);
    assert_eq!(engine.query_trace_information(handle, &()), Ok(MaxSessions(64)));
    assert_eq!(engine.query_trace_information(handle, &()), Ok(MaxPmcCounters(4)));
    assert_eq!(engine.query_trace_information(handle, &()), Ok(StreamCount(processors)));
    let short = engine.query_trace_information_bytes(handle, MaxSessions::CLASS, &mut [0; 3]);
    assert_eq!(short, Err(QueryError { code: Win32Error::BadLength, needed: 4 }));
    assert_eq!(SystemFlags::buffer(&()).len(), 32);
}

#[test]
fn chains_lead_from_entry_to_entry() {
    let source = |source, description: &str| ProfileSource {
        source,
        min_interval: 1,
        max_interval: 2,
        description: description.into(),
    };
    let profile_sources = vec![source(0, "Timer"), source(19, "Instructions")];
    let (engine, session) = started(EngineOptions { profile_sources, ..EngineOptions::default() });
    let mut buffer = [0; 256];
    let length = engine.query_trace_information_bytes(0, TraceInfoClass::ProfileSourceListInfo, &mut buffer).unwrap();
    let next = u32::from_le_bytes(*buffer.first_chunk().unwrap()) as usize;
    assert_eq!(next % 8, 0);
    assert_eq!(buffer[next + 4], 19);
    assert_eq!(buffer[next..next + 4], [0; 4], "the last entry");
    assert_eq!(&buffer[24..28], b"T\0i\0");
    assert_eq!(length, next + 24 + 2 * "Instructions\0".len());

    session.set_information(&PmcEvents(events(1))).unwrap();
    session.set_information(&PmcCounters(vec![19])).unwrap();
    let expected = PmcSession { logger_id: 0, sources: vec![19], hook_ids: vec![46] };
    assert_eq!(engine.query_trace_information(0, &()), Ok(PmcSessions(vec![expected])));
    let owners = engine.query_trace_information::<PmcOwners>(0, &0).unwrap().encode();
    assert_eq!(owners.len(), 8 + 12 * 4);
    assert_eq!(owners[4], 4);
    assert_eq!(owners[8], 3);
    assert_eq!(owners[12], 19);
    assert_eq!(owners[20], 0);
}

#[test]
fn undocumented_results_can_be_configured() {
    let answers = Answers {
        second_pmc_list: Win32Error::Busy,
        newer_class: Win32Error::NotSupported,
        odd_length: Win32Error::InvalidParameter,
        ..Answers::default()
    };
    let (engine, session) = started(EngineOptions { answers, os_build: 19_045, ..EngineOptions::default() });
    session.set_information(&PmcEvents(events(1))).unwrap();
    assert_eq!(session.set_information(&PmcEvents(events(1))), Err(Win32Error::Busy));
    let newer = session.set_information(&ContextRegisters::new(events(1)));
    assert_eq!(newer, Err(Win32Error::NotSupported));
    for (class, length) in [
        (TraceInfoClass::SystemTraceEnableFlagsInfo, 36),
        (TraceInfoClass::PeriodicCaptureStateListInfo, 24),
        (TraceInfoClass::SampledProfileIntervalInfo, 9),
    ] {
        let handle = if class == TraceInfoClass::SampledProfileIntervalInfo { 0 } else { session.handle() };
        let odd = engine.set_trace_information_bytes(handle, class, &vec![0; length]);
        assert_eq!(odd, Err(Win32Error::InvalidParameter), "{class}: {length} bytes");
    }
    let odd = engine.set_trace_information_bytes(session.handle(), TraceInfoClass::StackTracingInfo, &[0; 25]);
    assert_eq!(odd, Err(Win32Error::InvalidParameter));
}

#[test]
fn rights_and_owners_are_checked() {
    let options =
        EngineOptions { rights: Rights { control: true, profile: false }, pmc_taken: true, ..EngineOptions::default() };
    let (engine, session) = started(options);
    let refused = Err(Win32Error::PrivilegeNotHeld);
    assert_eq!(engine.set_trace_information(0, &SampleInterval { source: 0, interval: 20_000 }), refused);
    assert_eq!(engine.set_trace_information(0, &ProfileSourcesInUse(vec![0])), refused);
    assert_eq!(session.set_information(&PmcCounters(vec![0])), Err(Win32Error::Busy));
}

#[test]
fn a_disallowed_provider_is_not_enabled_by_its_group() {
    let (engine, session) = started(EngineOptions::default());
    let (handle, notes) = register(&engine, PROVIDER);
    let mut traits = b"\x17\x00P\x00\x13\x00\x01".to_vec();
    traits.extend_from_slice(&GROUP.to_bytes_le());
    engine.set_information(handle, EventInfoClass::SetTraits, traits.as_slice());
    session.enable(Target::Group(GROUP), Enable::default());
    notes.take();
    session.set_information(&DisallowList(vec![PROVIDER])).unwrap();
    assert_eq!(notes.take(), [Note::disabled()]);
    session.set_information(&DisallowList(vec![PROVIDER, Guid::from_u128(1)])).unwrap();
    assert_eq!(notes.take(), [], "nothing changed for it");
    session.set_information(&DisallowList(Vec::new())).unwrap();
    assert_eq!(notes.take(), [Note::enabled(0xFF, u64::MAX, 0)]);
}

#[test]
fn periodic_requests_reach_enabled_providers() {
    let (engine, session) = started(EngineOptions::default());
    let (_, notes) = register(&engine, PROVIDER);
    session.set_information(&periodic(60, vec![PROVIDER])).unwrap();
    session.capture_periodic();
    assert_eq!(notes.take(), [], "not enabled");
    session.enable(PROVIDER, Enable::default());
    notes.take();
    session.capture_periodic();
    assert_eq!(notes.take().pop().map(|note| note.control), Some(ControlCode::CaptureState));
    engine.set_trace_information_bytes(session.handle(), TraceInfoClass::PeriodicCaptureStateListInfo, &[]).unwrap();
    session.capture_periodic();
    assert_eq!(notes.take(), []);
}
