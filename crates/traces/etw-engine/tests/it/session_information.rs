//! The information classes: valid calls, wrong functions, lengths, limits, handles, stopped sessions.

use crate::common::{GROUP, Note, PROVIDER, register};
use etw_engine::{
    Answers, Enable, Engine, EngineOptions, Information, PmcSession, ProfileSource, Properties, QueryError, Rights,
    Session, SessionInformation, SetInformation, Target,
};
use etw_types::session::{
    ClassicEventId, ContextRegisterInfo, GroupMask, HandleKind, KERNEL_LOGGER_NAME, PeriodicCaptureStateInfo,
    PmcSessionInfo, ProfileInterval, StackCachingInfo, TraceInfoClass, mode,
};
use etw_types::{ControlCode, EventInfoClass, Guid, Win32Error};

fn class(number: u32) -> TraceInfoClass {
    TraceInfoClass::from_int(number)
}

fn started(options: EngineOptions) -> (Engine, Session) {
    let engine = Engine::with_options(options);
    let session = engine.start(&Properties { buffer_kib: 4, ..Properties::to_consumers(KERNEL_LOGGER_NAME) }).unwrap();
    (engine, session)
}

fn events(count: usize) -> Vec<ClassicEventId> {
    vec![ClassicEventId { guid: PROVIDER, event_type: 46, ..ClassicEventId::default() }; count]
}

fn event_bytes(count: usize) -> Vec<u8> {
    events(count).iter().flat_map(ClassicEventId::to_bytes).collect()
}

/// Returns valid data of the minimum length for a class that can be set.
fn good(number: u32) -> Vec<u8> {
    match number {
        3 | 8 => event_bytes(1),
        4 | 20 => vec![1, 0, 0, 0],
        5 => ProfileInterval { source: 0, interval: 20_000 }.to_bytes().to_vec(),
        6 | 9 => vec![0; 4],
        10 => GROUP.to_bytes_le().to_vec(),
        16 => {
            let header = PeriodicCaptureStateInfo { seconds: 60, provider_count: 1, reserved: 0 };
            [header.to_bytes().as_slice(), &PROVIDER.to_bytes_le()].concat()
        }
        18 => vec![1],
        21 => vec![2, 0, 0, 0],
        24 | 26 => StackCachingInfo { enabled: 1, ..StackCachingInfo::default() }.to_bytes().to_vec(),
        28 => {
            let header = ContextRegisterInfo { register_types: 3, reserved: 0 };
            [header.to_bytes().as_slice(), &event_bytes(1)].concat()
        }
        other => panic!("{other} cannot be set"),
    }
}

#[test]
fn every_class_goes_with_its_functions_and_its_handle_only() {
    for number in (0..TraceInfoClass::MAX + 2).chain([u32::MAX]) {
        let (engine, session) = started(EngineOptions::default());
        let class = class(number);
        let handle = session.handle();
        let Some(facts) = class.facts() else {
            let unknown = Win32Error::InvalidParameter;
            assert_eq!(engine.set_trace_information_bytes(handle, class, &[]), Err(unknown), "{number}");
            assert_eq!(engine.query_trace_information(handle, class, 0), Err(unknown), "{number}");
            assert_eq!(engine.enumerate_trace_guids(class, None), Err(unknown), "{number}");
            continue;
        };
        let right = if facts.handle == HandleKind::Zero { 0 } else { handle };
        let wrong = if facts.handle == HandleKind::Zero { handle } else { 0 };
        if facts.set {
            assert_eq!(engine.set_trace_information_bytes(right, class, &good(number)), Ok(()), "{number}");
            let set = engine.set_trace_information_bytes(wrong, class, &good(number));
            assert_eq!(set, Err(Win32Error::InvalidParameter), "{number}");
        } else {
            let set = engine.set_trace_information_bytes(right, class, &[]);
            assert_eq!(set, Err(Win32Error::NotSupported), "{number}");
        }
        if facts.query {
            assert!(engine.query_trace_information(right, class, 0).is_ok(), "{number}");
            let query = engine.query_trace_information(wrong, class, 0);
            assert_eq!(query.is_ok(), facts.handle == HandleKind::Unused, "{number}");
        } else {
            assert_eq!(engine.query_trace_information(right, class, 0), Err(Win32Error::NotSupported), "{number}");
        }
        let enumerated = engine.enumerate_trace_guids(class, Some(PROVIDER));
        assert_eq!(enumerated != Err(Win32Error::NotSupported), facts.enumerate, "{number}");
        session.finish().unwrap();
        if matches!(facts.handle, HandleKind::Session | HandleKind::SystemSession) {
            let gone = Err(Win32Error::WmiInstanceNotFound);
            if facts.set {
                assert_eq!(engine.set_trace_information_bytes(handle, class, &good(number)), gone, "{number}");
            } else {
                assert_eq!(engine.query_trace_information(handle, class, 0).map(drop), gone, "{number}");
            }
        }
    }
}

#[test]
fn a_class_is_known_from_the_build_that_introduced_it() {
    let answers = Answers { newer_class: Win32Error::Busy, ..Answers::default() };
    for number in 0..TraceInfoClass::MAX {
        let Some(facts) = class(number).facts() else { continue };
        let known = |since: u32, call: &dyn Fn(&Engine, u64) -> Option<Win32Error>| {
            [since.saturating_sub(1), since].map(|os_build| {
                let (engine, session) = started(EngineOptions { os_build, answers, ..EngineOptions::default() });
                let handle = if facts.handle == HandleKind::Zero { 0 } else { session.handle() };
                call(&engine, handle) != Some(Win32Error::Busy)
            })
        };
        let expected = |since: u32| [since == 0, true];
        if facts.set {
            let set = known(facts.since, &|engine, handle| {
                engine.set_trace_information_bytes(handle, class(number), &good(number)).err()
            });
            assert_eq!(set, expected(facts.since), "{number}");
        }
        if facts.query {
            let since = facts.query_since();
            let query = known(since, &|engine, handle| engine.query_trace_information(handle, class(number), 0).err());
            assert_eq!(query, expected(since), "{number}");
        }
    }
}

#[test]
fn a_caller_without_rights_can_only_enumerate() {
    let rights = Rights { control: false, profile: true };
    let engine = Engine::with_options(EngineOptions { rights, ..EngineOptions::default() });
    assert_eq!(engine.set_trace_information_bytes(0, class(5), &good(5)), Err(Win32Error::AccessDenied));
    assert_eq!(engine.query_trace_information(0, class(7), 0), Err(Win32Error::AccessDenied));
    assert!(engine.enumerate_trace_guids(class(0), None).is_ok());
}

#[test]
fn lengths_are_checked() {
    let (engine, session) = started(EngineOptions::default());
    for number in [3, 4, 5, 6, 8, 9, 10, 16, 18, 20, 21, 24, 26, 28] {
        let class = class(number);
        let handle = if matches!(number, 5 | 6) { 0 } else { session.handle() };
        let data = good(number);
        let long = [data.as_slice(), &[0]].concat();
        for wrong in [&data[..data.len() - 1], &long] {
            // For a class whose list may be empty, no data is a valid list without elements.
            let is_empty_list = wrong.is_empty() && matches!(number, 3 | 10 | 16 | 21);
            if !is_empty_list {
                let set = engine.set_trace_information_bytes(handle, class, wrong);
                assert_eq!(set, Err(Win32Error::BadLength), "{number} with {}", wrong.len());
            }
        }
        let empty = engine.set_trace_information_bytes(handle, class, &[]);
        let expected = if matches!(number, 3 | 10 | 16 | 21) { Ok(()) } else { Err(Win32Error::BadLength) };
        assert_eq!(empty, expected, "{number}");
    }
}

#[test]
fn limits_are_checked() {
    let (engine, session) = started(EngineOptions::default());
    let over = Err(Win32Error::InvalidParameter);
    assert_eq!(session.set_information(SetInformation::StackTracing(events(256))), Ok(()));
    assert_eq!(session.set_information(SetInformation::StackTracing(events(257))), over);
    assert_eq!(session.information().stack_tracing.len(), 256, "a failure changes nothing");
    assert_eq!(session.set_information(SetInformation::LbrEvents(vec![1; 4])), Ok(()));
    assert_eq!(session.set_information(SetInformation::LbrEvents(vec![1; 5])), over);
    assert_eq!(session.set_information(SetInformation::LbrConfiguration(0x800)), over);
    assert_eq!(session.set_information(SetInformation::PeriodicCapture(59, vec![PROVIDER])), over);
    assert_eq!(session.set_information(SetInformation::PeriodicCapture(60, vec![PROVIDER; 17])), over);
    assert_eq!(session.set_information(SetInformation::PmcCounters(vec![0; 5])), over);
    let half = ContextRegisterInfo { register_types: 1, reserved: 0 };
    assert_eq!(session.set_information(SetInformation::ContextRegisters(half, events(1))), over);
    let unknown = ProfileInterval { source: 99, interval: 1 };
    assert_eq!(engine.set_trace_information(0, SetInformation::ProfileInterval(unknown)), over);
    assert_eq!(engine.set_trace_information(0, SetInformation::ProfileSources(vec![99])), over);
    assert_eq!(engine.query_trace_information(0, class(25), 9999).map(drop), over);
}

#[test]
fn values_at_their_limits_are_kept() {
    let (engine, session) = started(EngineOptions::default());
    let registers = ContextRegisterInfo { register_types: 3, reserved: 0 };
    let caching = StackCachingInfo { enabled: 1, cache_size: 2, bucket_count: 3, ..StackCachingInfo::default() };
    for value in [
        SetInformation::StackTracing(events(2)),
        SetInformation::PmcEvents(events(1)),
        SetInformation::PmcCounters(vec![0; 4]),
        SetInformation::PeriodicCapture(60, vec![PROVIDER; 16]),
        SetInformation::BinaryTracking(true),
        SetInformation::LbrConfiguration(0x7FF),
        SetInformation::LbrEvents(vec![1; 4]),
        SetInformation::StackCaching(caching),
        SetInformation::UnifiedStackCaching(caching),
        SetInformation::ContextRegisters(registers, events(3)),
    ] {
        assert_eq!(session.set_information(value.clone()), Ok(()), "{value:?}");
    }
    let periodic = PeriodicCaptureStateInfo { seconds: 60, provider_count: 16, reserved: 0 };
    let expected = SessionInformation {
        stack_tracing: events(2),
        pmc_events: events(1),
        pmc_counters: vec![0; 4],
        periodic_capture: Some((periodic, vec![PROVIDER; 16])),
        binary_tracking: true,
        lbr_configuration: Some(0x7FF),
        lbr_events: vec![1; 4],
        stack_caching: Some(caching),
        unified_stack_caching: Some(caching),
        context_registers: Some((registers, events(3))),
        ..SessionInformation::default()
    };
    assert_eq!(session.information(), expected);
    for (value, is_tracking) in [(&[0][..], false), (&[2], true)] {
        engine.set_trace_information_bytes(session.handle(), class(18), value).unwrap();
        assert_eq!(session.information().binary_tracking, is_tracking);
    }
}

#[test]
fn data_is_parsed_as_its_class_says() {
    let parsed = |number: u32, data: &[u8]| {
        let value = SetInformation::parse(class(number), data, Win32Error::Busy);
        value.inspect(|value| assert_eq!(value.class(), class(number)))
    };
    let caching = StackCachingInfo { enabled: 1, ..StackCachingInfo::default() };
    let registers = ContextRegisterInfo { register_types: 3, reserved: 0 };
    let mask = GroupMask { masks: [1; 8] };
    for (number, data, value) in [
        (3, good(3), SetInformation::StackTracing(events(1))),
        (4, 1_u32.to_le_bytes().repeat(8), SetInformation::SystemFlags(mask)),
        (5, good(5), SetInformation::ProfileInterval(ProfileInterval { source: 0, interval: 20_000 })),
        (6, good(6), SetInformation::ProfileSources(vec![0])),
        (8, good(8), SetInformation::PmcEvents(events(1))),
        (9, good(9), SetInformation::PmcCounters(vec![0])),
        (10, good(10), SetInformation::DisallowList(vec![GROUP])),
        (16, good(16), SetInformation::PeriodicCapture(60, vec![PROVIDER])),
        (16, Vec::new(), SetInformation::PeriodicCapture(0, Vec::new())),
        (18, good(18), SetInformation::BinaryTracking(true)),
        (20, good(20), SetInformation::LbrConfiguration(1)),
        (21, good(21), SetInformation::LbrEvents(vec![2])),
        (24, good(24), SetInformation::StackCaching(caching)),
        (26, good(26), SetInformation::UnifiedStackCaching(caching)),
        (28, good(28), SetInformation::ContextRegisters(registers, events(1))),
    ] {
        assert_eq!(parsed(number, &data), Ok(value), "{number}");
    }
    assert_eq!(parsed(4, &[0; 36]), Err(Win32Error::Busy), "there are eight masks");
    assert_eq!(parsed(16, &[good(16), vec![0; 16]].concat()), Err(Win32Error::Busy), "one provider too many");
    assert_eq!(parsed(5, &[0; 9]), Err(Win32Error::Busy));
    assert_eq!(parsed(5, &[0; 7]), Err(Win32Error::BadLength));
    assert_eq!(parsed(19, &[0; 4]), Err(Win32Error::NotSupported));
}

#[test]
fn sessions_with_counters_are_listed_with_their_events_and_sources() {
    let (engine, kernel) = started(EngineOptions::default());
    let listed = || match engine.query_trace_information(0, class(27), 0) {
        Ok(Information::PmcSessions(sessions)) => sessions,
        other => panic!("{other:?}"),
    };
    assert_eq!(listed(), []);
    let system = Properties { mode: mode::REAL_TIME | mode::SYSTEM_LOGGER, ..Properties::to_consumers("system") };
    let system = engine.start(&system).unwrap();
    kernel.set_information(SetInformation::PmcEvents(events(1))).unwrap();
    system.set_information(SetInformation::PmcCounters(vec![0, 0])).unwrap();
    let id = system.status().logger_id;
    let expected = [
        PmcSession { logger_id: 0, sources: vec![], hook_ids: vec![46] },
        PmcSession { logger_id: id, sources: vec![0, 0], hook_ids: vec![] },
    ];
    assert_eq!(listed(), expected);
    // Each entry: its offset, id and two counts, then its sources and hooks. The first is padded to eight bytes.
    let bytes = Information::PmcSessions(expected.to_vec()).to_bytes();
    let second = PmcSessionInfo::parse(&bytes[24..]).unwrap();
    assert_eq!(
        PmcSessionInfo::parse(&bytes).map(|first| (first.next_entry_offset, first.hook_id_count)),
        Some((24, 1))
    );
    assert_eq!(bytes[PmcSessionInfo::SIZE..][..2], 46_u16.to_le_bytes());
    assert_eq!(second.next_entry_offset, 0);
    assert_eq!(second.logger_id, id);
    assert_eq!(second.profile_source_count, 2);
    assert_eq!(bytes.len(), 24 + PmcSessionInfo::SIZE + 8);
}

#[test]
fn counters_have_owners_on_each_processor() {
    let owners = |pmc_taken| {
        let (engine, _) = started(EngineOptions { processors: 2, pmc_taken, ..EngineOptions::default() });
        assert_eq!(engine.query_trace_information(0, class(25), 2).map(drop), Err(Win32Error::InvalidParameter));
        match engine.query_trace_information(0, class(25), 1) {
            Ok(Information::PmcOwners(1, owners)) => owners.iter().map(|owner| owner.owner_type).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(owners(false), vec![0; 4]);
    assert_eq!(owners(true), vec![1; 4]);
    let (engine, _) = started(EngineOptions::default());
    let interval = ProfileInterval { source: 0, interval: 10_000 };
    assert_eq!(engine.query_trace_information(0, class(5), 0), Ok(Information::ProfileInterval(interval)));
    for number in [5, 25] {
        let short = engine.query_trace_information_bytes(0, class(number), &mut [0; 7]);
        assert_eq!(short, Err(QueryError { code: Win32Error::BadLength, needed: 8 }), "{number}");
    }
    assert_eq!(engine.query_trace_information_bytes(0, class(5), &mut [0; 8]), Ok(8));
}

#[test]
fn system_classes_need_a_session_of_the_system_providers() {
    let (engine, _) = started(EngineOptions::default());
    let plain = engine.start(&Properties::to_consumers("plain")).unwrap();
    for number in [3, 4, 8, 9, 28] {
        let set = engine.set_trace_information_bytes(plain.handle(), class(number), &good(number));
        assert_eq!(set, Err(Win32Error::InvalidParameter), "{number}");
    }
}

#[test]
fn values_that_were_set_are_queried() {
    let (engine, session) = started(EngineOptions::default());
    let handle = session.handle();
    engine.set_trace_information_bytes(handle, class(4), &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    let mut buffer = [0xEE; 40];
    assert_eq!(engine.query_trace_information_bytes(handle, class(4), &mut buffer), Ok(32));
    assert_eq!(buffer[0], 1);
    assert_eq!(buffer[4], 2);
    assert_eq!(buffer[31], 0);
    assert_eq!(buffer[32], 0xEE);

    let wanted = ProfileInterval { source: 0, interval: u32::MAX };
    engine.set_trace_information(0, SetInformation::ProfileInterval(wanted)).unwrap();
    let interval = ProfileInterval { source: 0, interval: 10_000_000 };
    assert_eq!(engine.query_trace_information(0, class(5), 0), Ok(Information::ProfileInterval(interval)));

    session.set_information(SetInformation::DisallowList(vec![PROVIDER, GROUP])).unwrap();
    let mut buffer = [0; 32];
    let short = engine.query_trace_information_bytes(handle, class(14), &mut buffer[..31]);
    assert_eq!(short, Err(QueryError { code: Win32Error::InsufficientBuffer, needed: 32 }));
    assert_eq!(engine.query_trace_information_bytes(handle, class(14), &mut buffer), Ok(32));

    for (number, value) in [(19, 64), (22, 4), (23, u32::from(engine.options().processors))] {
        assert_eq!(engine.query_trace_information(handle, class(number), 0), Ok(Information::Number(value)));
        let short = engine.query_trace_information_bytes(handle, class(number), &mut [0; 3]);
        assert_eq!(short, Err(QueryError { code: Win32Error::BadLength, needed: 4 }));
    }
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
    let length = engine.query_trace_information_bytes(0, class(7), &mut buffer).unwrap();
    let next = u32::from_le_bytes(*buffer.first_chunk().unwrap()) as usize;
    assert_eq!(next % 8, 0);
    assert_eq!(buffer[next + 4], 19);
    assert_eq!(buffer[next..next + 4], [0; 4], "the last entry");
    assert_eq!(&buffer[24..28], b"T\0i\0");
    assert_eq!(length, next + 24 + 2 * "Instructions\0".len());

    session.set_information(SetInformation::PmcEvents(events(1))).unwrap();
    session.set_information(SetInformation::PmcCounters(vec![19])).unwrap();
    let expected = PmcSession { logger_id: 0, sources: vec![19], hook_ids: vec![46] };
    assert_eq!(engine.query_trace_information(0, class(27), 0), Ok(Information::PmcSessions(vec![expected])));
    let owners = engine.query_trace_information(0, class(25), 0).unwrap().to_bytes();
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
    session.set_information(SetInformation::PmcEvents(events(1))).unwrap();
    assert_eq!(session.set_information(SetInformation::PmcEvents(events(1))), Err(Win32Error::Busy));
    let newer = engine.set_trace_information_bytes(session.handle(), class(28), &good(28));
    assert_eq!(newer, Err(Win32Error::NotSupported));
    let odd = engine.set_trace_information_bytes(session.handle(), class(3), &[0; 25]);
    assert_eq!(odd, Err(Win32Error::InvalidParameter));
}

#[test]
fn rights_and_owners_are_checked() {
    let options =
        EngineOptions { rights: Rights { control: true, profile: false }, pmc_taken: true, ..EngineOptions::default() };
    let (engine, session) = started(options);
    for number in [5, 6] {
        let set = engine.set_trace_information_bytes(0, class(number), &good(number));
        assert_eq!(set, Err(Win32Error::PrivilegeNotHeld), "{number}");
    }
    assert_eq!(session.set_information(SetInformation::PmcCounters(vec![0])), Err(Win32Error::Busy));
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
    session.set_information(SetInformation::DisallowList(vec![PROVIDER])).unwrap();
    assert_eq!(notes.take(), [Note::disabled()]);
    session.set_information(SetInformation::DisallowList(vec![PROVIDER, Guid::from_u128(1)])).unwrap();
    assert_eq!(notes.take(), [], "nothing changed for it");
    session.set_information(SetInformation::DisallowList(Vec::new())).unwrap();
    assert_eq!(notes.take(), [Note::enabled(0xFF, u64::MAX, 0)]);
}

#[test]
fn periodic_requests_reach_enabled_providers() {
    let (engine, session) = started(EngineOptions::default());
    let (_, notes) = register(&engine, PROVIDER);
    session.set_information(SetInformation::PeriodicCapture(60, vec![PROVIDER])).unwrap();
    session.capture_periodic();
    assert_eq!(notes.take(), [], "not enabled");
    session.enable(PROVIDER, Enable::default());
    notes.take();
    session.capture_periodic();
    assert_eq!(notes.take().pop().map(|note| note.control), Some(ControlCode::CaptureState));
    engine.set_trace_information_bytes(session.handle(), class(16), &[]).unwrap();
    session.capture_periodic();
    assert_eq!(notes.take(), []);
}
