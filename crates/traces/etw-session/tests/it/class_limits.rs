//! The limits of the classes: detected before the call, and by the system if the call is made anyway.

use crate::common::{PROVIDER, events, machine, machine_with, system_session};
use etw_engine::{Answers, EngineOptions, Rights};
use etw_session::info::{
    ContextRegisters, DisallowList, DisallowedProviders, Information, LbrConfiguration, LbrEvents, MaxPmcCounters,
    MaxSessions, PeriodicCapture, PeriodicCaptureLimits, PmcCounters, PmcEvents, PmcOwners, PmcSessions,
    ProcessingVersion, ProfileSources, ProfileSourcesInUse, SampleInterval, StackCaching, StackTracing, StreamCount,
    SystemFlags, UnifiedStackCaching,
};
use etw_session::{Error, Limit};
use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;

const INVALID: Win32Error = Win32Error::InvalidParameter;

#[test]
fn limits_are_found_before_the_call() {
    let limits = PeriodicCaptureLimits { least_seconds: 60, most_providers: 2 };
    for (limit, message) in [
        (StackTracing::new(events(257)).unwrap_err(), "257 events with stacks: the maximum is 256"),
        (LbrEvents::new(vec![0; 5]).unwrap_err(), "5 events with last branches: the maximum is 4"),
        (LbrConfiguration::new(0x800).unwrap_err(), "the configuration of last branches has bits from 0x1 to 0x400"),
        (PmcEvents::new(vec![]).unwrap_err(), "0 events with counter values: the minimum is 1"),
        (PmcCounters::new(vec![1, 2], MaxPmcCounters(1)).unwrap_err(), "2 counters: the maximum is 1"),
        (ProfileSourcesInUse::new(vec![]).unwrap_err(), "0 profile sources: the minimum is 1"),
        (
            PeriodicCapture::new(59, vec![PROVIDER], limits).unwrap_err(),
            "59 seconds between two captures of state: the minimum is 60",
        ),
        (
            PeriodicCapture::new(60, vec![PROVIDER; 3], limits).unwrap_err(),
            "3 providers for periodic capture of state: the maximum is 2",
        ),
        (
            ContextRegisters::with_types(1, vec![]).unwrap_err(),
            "control and integer registers must be requested together",
        ),
    ] {
        assert_eq!(limit.to_string(), message);
        assert_eq!(Error::from(limit).code(), INVALID);
    }
    assert!(StackTracing::new(events(256)).is_ok());
}

#[test]
fn the_system_rejects_values_beyond_the_limits() {
    let (machine, _engine) = machine();
    let session = system_session(&machine);
    let set = |class: u32, data: &[u8]| {
        let error = session.set_raw(TraceInfoClass::from_int(class), data).unwrap_err();
        assert_eq!(error.code(), INVALID, "class {class}");
    };
    set(3, &StackTracing(events(257)).encode());
    set(9, &[0; 4 * 5]);
    set(16, &[59, 0, 0, 0, 1, 0, 0, 0].into_iter().chain(PROVIDER.to_bytes_le()).collect::<Vec<_>>());
    set(20, &0x800_u32.to_le_bytes());
    set(21, &[0; 4 * 5]);
    set(28, &[1, 0, 0, 0, 0, 0, 0, 0]);
    // Machine-wide classes: a source and a processor that do not exist.
    let unknown = machine.set(&SampleInterval { source: 99, interval: 1 }).unwrap_err();
    assert_eq!(unknown.code(), INVALID);
    assert_eq!(machine.set(&ProfileSourcesInUse(vec![99])).unwrap_err().code(), INVALID);
    assert_eq!(machine.query_for::<SampleInterval>(&99).unwrap_err().code(), INVALID);
    assert_eq!(machine.query_for::<PmcOwners>(&60_000).unwrap_err().code(), INVALID);
}

#[test]
fn typed_values_arrive_and_empty_lists_turn_off() {
    let (machine, engine) = machine();
    let session = system_session(&machine);
    let of_engine = || engine.session(session.handle()).unwrap().information();

    session.set(&StackTracing::new(events(3)).unwrap()).unwrap();
    assert_eq!(session.get::<StackTracing>().unwrap().0, events(3));
    session.set(&StackTracing::new(events(2)).unwrap()).unwrap();
    assert_eq!(session.get::<StackTracing>().unwrap().0, events(2), "a list replaces the one before");
    session.set(&StackTracing::off()).unwrap();
    assert_eq!(session.get::<StackTracing>().unwrap().0, []);

    session.set(&DisallowList(vec![PROVIDER])).unwrap();
    assert_eq!(session.get::<DisallowedProviders>().unwrap().0, [PROVIDER]);
    session.set(&DisallowList::default()).unwrap();
    assert_eq!(session.get::<DisallowedProviders>().unwrap().0, []);

    let limits = machine.query::<PeriodicCaptureLimits>().unwrap();
    session.set(&PeriodicCapture::new(limits.least_seconds, vec![PROVIDER], limits).unwrap()).unwrap();
    assert!(of_engine().get::<PeriodicCapture>().is_some());
    session.set(&PeriodicCapture::off()).unwrap();
    assert_eq!(of_engine().get::<PeriodicCapture>(), None);

    session.set(&SystemFlags::from_groups(&[1, 0x2000_0002])).unwrap();
    assert_eq!(session.get::<SystemFlags>().unwrap().names(), ["process", "perf-profile"]);

    session.set(&LbrConfiguration::new(0x201).unwrap()).unwrap();
    session.set(&LbrEvents::new(vec![0xF2E]).unwrap()).unwrap();
    assert_eq!(of_engine().get(), Some(LbrConfiguration::new(0x201).unwrap()));
    assert_eq!(of_engine().get(), Some(LbrEvents(vec![0xF2E])));

    session.set(&StackCaching::ON).unwrap();
    session.set(&UnifiedStackCaching { enabled: true, cache_size: 4096, bucket_count: 16 }).unwrap();
    assert_eq!(of_engine().get::<UnifiedStackCaching>().unwrap().cache_size, 4096);
    session.set(&ContextRegisters::new(events(1))).unwrap();
    assert!(of_engine().get::<ContextRegisters>().is_some());
    assert!(session.get::<StreamCount>().unwrap().0 >= 1);
}

/// Microsoft Learn documents this query, but a Windows that does not support it was observed.
#[test]
fn a_system_that_cannot_return_the_stack_tracing_list_is_supported() {
    let answers = Answers { stack_tracing_query: Win32Error::NotSupported, ..Answers::default() };
    let (machine, _engine) = machine_with(EngineOptions { answers, ..EngineOptions::default() });
    let session = system_session(&machine);
    session.set(&StackTracing::new(events(1)).unwrap()).unwrap();
    let error = session.get::<StackTracing>().unwrap_err();
    assert!(error.is_unsupported(), "{error}");
    assert!(error.to_string().starts_with("TraceQueryInformation(class 3): 50 NOT_SUPPORTED"), "{error}");
}

#[test]
fn values_of_the_machine_are_set_and_queried() {
    let (machine, _engine) = machine();
    machine.set(&SampleInterval { source: 0, interval: 20_000 }).unwrap();
    assert_eq!(machine.query_for::<SampleInterval>(&0).unwrap().interval, 20_000);
    assert_eq!(machine.query::<ProfileSources>().unwrap().0[0].description, "Timer");
    assert_eq!(machine.max_sessions().unwrap(), 64);
    assert_eq!(machine.enumerate::<MaxSessions>(&()).unwrap(), MaxSessions(64));
    assert!(machine.query::<ProcessingVersion>().is_ok());
}

#[test]
fn counters_are_set_once_and_owners_are_seen() {
    let (machine, _engine) = machine();
    let session = system_session(&machine);
    let most = machine.query::<MaxPmcCounters>().unwrap();
    session.set(&PmcEvents::new(events(2)).unwrap()).unwrap();
    session.set(&PmcCounters::new(vec![0], most).unwrap()).unwrap();
    assert_eq!(session.set(&PmcEvents::new(events(1)).unwrap()).unwrap_err().code(), INVALID);
    assert_eq!(machine.query::<PmcSessions>().unwrap().0[0].hook_ids, [0, 1]);
    let owners = machine.query_for::<PmcOwners>(&0).unwrap();
    assert_eq!(owners.processor, 0);
    assert_eq!(owners.counters.len(), usize::try_from(most.0).unwrap());
    assert_eq!(owners.counters[0].owner_type, 3);
}

#[test]
fn owned_counters_are_busy_and_a_missing_privilege_is_named() {
    let rights = Rights { profile: false, ..Rights::default() };
    let (machine, _engine) = machine_with(EngineOptions { pmc_taken: true, rights, ..EngineOptions::default() });
    let session = system_session(&machine);
    let busy = session.set(&PmcEvents::new(events(1)).unwrap()).unwrap_err();
    assert!(busy.to_string().contains("170 BUSY"), "{busy}");
    let refused = machine.set(&SampleInterval { source: 0, interval: 1 }).unwrap_err();
    assert!(refused.to_string().contains("SeSystemProfilePrivilege"), "{refused}");
}

#[test]
fn classes_of_a_later_windows_are_unknown_to_an_earlier_one() {
    let (machine, _engine) = machine_with(EngineOptions { os_build: 17_763, ..EngineOptions::default() });
    let session = system_session(&machine);
    assert_eq!(session.set(&StackCaching::ON).unwrap_err().code(), INVALID);
    assert!(machine.query::<PeriodicCaptureLimits>().is_ok());
    assert!(matches!(StackTracing::new(events(300)), Err(Limit::TooMany { given: 300, most: 256, .. })));
}
