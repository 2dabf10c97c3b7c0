//! Runs every information class with the engine: valid calls, the wrong function, a length that is too short, a value
//! beyond the limit, the wrong kind of handle, a stopped session.
//!
//! What is called, with which data, and what is refused follows from the declarations of the classes. Only the values
//! beyond a limit are listed here; a class with a limit needs one.

use crate::common::{GROUP, PROVIDER, events, machine, register};
use etw_engine::{Engine, Origin};
use etw_session::info::{
    self, Facts, HandleKind, Information, PeriodicCapture, PeriodicCaptureLimits, SampleInterval, StackTracing,
};
use etw_session::platform::EngineSystem;
use etw_session::{Call, Error, Machine, Properties, Refusal, Session, System};
use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;

const SUCCESS: Win32Error = Win32Error::Success;
const INVALID: Win32Error = Win32Error::InvalidParameter;

/// A call beyond the limit of a class.
#[derive(Clone, Copy)]
enum Beyond {
    /// Sets this value.
    Set(fn() -> Vec<u8>),
    /// Sets a value a second time.
    SetAgain,
    /// Queries with this buffer.
    Query([u8; 8]),
}

/// A call beyond each limit that a class has.
const BEYOND: &[(TraceInfoClass, Beyond)] = &[
    (TraceInfoClass::StackTracingInfo, Beyond::Set(|| StackTracing(events(257)).encode())),
    (TraceInfoClass::SystemTraceEnableFlagsInfo, Beyond::Set(|| vec![0; 36])),
    (
        TraceInfoClass::SampledProfileIntervalInfo,
        Beyond::Set(|| SampleInterval { source: 99, interval: 10_000 }.encode()),
    ),
    (TraceInfoClass::SampledProfileIntervalInfo, Beyond::Query([99, 0, 0, 0, 0, 0, 0, 0])),
    (TraceInfoClass::ProfileSourceConfigInfo, Beyond::Set(|| vec![99, 0, 0, 0])),
    (TraceInfoClass::PmcEventListInfo, Beyond::SetAgain),
    (TraceInfoClass::PmcCounterListInfo, Beyond::Set(|| vec![0; 4 * 5])),
    (TraceInfoClass::PmcCounterListInfo, Beyond::SetAgain),
    (TraceInfoClass::PeriodicCaptureStateListInfo, Beyond::Set(|| periodic(59, 1))),
    (TraceInfoClass::PeriodicCaptureStateListInfo, Beyond::Set(|| periodic(60, 17))),
    (TraceInfoClass::LbrConfigurationInfo, Beyond::Set(|| vec![0, 8, 0, 0])),
    (TraceInfoClass::LbrEventListInfo, Beyond::Set(|| vec![0; 4 * 5])),
    (TraceInfoClass::PmcCounterOwners, Beyond::Query([0x60, 0xEA, 0, 0, 0, 0, 0, 0])),
    (TraceInfoClass::ContextRegisterInfo, Beyond::Set(|| vec![1, 0, 0, 0, 0, 0, 0, 0])),
];

/// Returns a value of class 16, regardless of its limits.
fn periodic(seconds: u32, providers: u16) -> Vec<u8> {
    let limits = PeriodicCaptureLimits { least_seconds: 0, most_providers: providers };
    PeriodicCapture::new(seconds, vec![PROVIDER; providers.into()], limits).unwrap().encode()
}

/// The data that a class is set to, if it can be set.
fn settable(facts: &Facts) -> Option<Vec<u8>> {
    facts.set.and_then(|_| (facts.examples)().into_iter().next())
}

/// The initial buffer of a query, if the class can be queried.
fn start(facts: &Facts) -> Option<Vec<u8>> {
    facts.query.map(|query| (query.buffer)(0))
}

/// The input of an enumeration, if the class can be enumerated.
fn input(facts: &Facts) -> Option<Vec<u8>> {
    let guid = if facts.class == TraceInfoClass::GroupQueryInfo { GROUP } else { PROVIDER };
    facts.enumerate.map(|enumeration| if enumeration.takes_guid { guid.to_bytes_le().to_vec() } else { Vec::new() })
}

/// A machine on which every class has a result.
struct Bench {
    machine: Machine,
    engine: Engine,
    system: Session,
    plain: Session,
}

impl Bench {
    fn new() -> Self {
        let (machine, engine) = machine();
        register(&engine);
        let here = Origin::user(std::process::id(), "test.exe");
        engine.register_from(here, GROUP, None, |_| {}).unwrap();
        let system = machine.start(&Properties::new("system").real_time().system_logger(0)).unwrap();
        let plain = machine.start(&Properties::new("plain").real_time()).unwrap();
        let other = Properties::new("other").real_time().system_logger(0);
        let mut other = machine.start(&other).unwrap();
        other.set_raw(TraceInfoClass::PmcEventListInfo, &StackTracing(events(1)).encode()).unwrap();
        other.keep();
        system.set_raw(TraceInfoClass::StackTracingInfo, &StackTracing(events(1)).encode()).unwrap();
        for session in [&system, &plain] {
            session.set_raw(TraceInfoClass::SetDisallowList, &PROVIDER.to_bytes_le()).unwrap();
        }
        Self { machine, engine, system, plain }
    }

    /// Returns the handle that a class takes.
    fn handle(&self, facts: &Facts) -> u64 {
        match facts.handle {
            HandleKind::None | HandleKind::Zero | HandleKind::Unused => 0,
            HandleKind::Session => self.plain.handle(),
            HandleKind::SystemSession => self.system.handle(),
        }
    }

    fn set(&self, class: TraceInfoClass, handle: u64, data: &[u8]) -> Win32Error {
        self.machine.set_raw(handle, class, data).map_or_else(|error| error.code(), |()| SUCCESS)
    }

    fn query(&self, class: TraceInfoClass, handle: u64, start: &[u8]) -> Win32Error {
        self.machine.query_raw(handle, class, start).map_or_else(|error| error.code(), |_| SUCCESS)
    }
}

#[test]
fn the_table_is_ordered_and_a_class_with_a_limit_has_a_value_beyond_it() {
    for (number, facts) in (0..).zip(info::all()) {
        let name = facts.c_name;
        assert_eq!(facts.class.as_int(), number, "{name}");
        assert_eq!(info::find(facts.type_name), Some(facts), "{name}");
        assert_eq!(facts.is_reserved(), number == 15, "{name}");
        let is_tried = BEYOND.iter().any(|(class, _)| *class == facts.class);
        assert_eq!(is_tried, !facts.limit.is_empty(), "{name}: its limit and its value in BEYOND");
    }
}

#[test]
fn every_class_can_be_set_queried_or_enumerated_as_it_is_declared() {
    for facts in info::all() {
        let bench = Bench::new();
        let handle = bench.handle(facts);
        let class = facts.class;
        for value in (facts.examples)().iter().filter(|_| facts.set.is_some()) {
            assert!(facts.set.unwrap().length.takes(value.len()), "{}", facts.c_name);
        }
        if let Some(value) = settable(facts) {
            assert_eq!(bench.set(class, handle, &value), SUCCESS, "{}", facts.c_name);
        }
        if let Some(start) = start(facts) {
            let result = bench.machine.query_raw(handle, class, &start).unwrap();
            assert!(!result.is_empty(), "{}", facts.c_name);
            assert!(facts.query.unwrap().length.is_none_or(|length| length == result.len()), "{}", facts.c_name);
            assert!((facts.view)(&result).is_ok(), "{}", facts.c_name);
            // What can be set and queried is kept, except an interval, which is clamped.
            if let Some(value) = settable(facts).filter(|_| class != TraceInfoClass::SampledProfileIntervalInfo) {
                assert_eq!(result, value, "{}", facts.c_name);
            }
        }
        if let Some(input) = input(facts) {
            let result = bench.machine.enumerate_raw(class, &input).unwrap();
            assert!(!result.is_empty(), "{}", facts.c_name);
            assert!((facts.view)(&result).is_ok(), "{}", facts.c_name);
        }
    }
}

#[test]
fn the_wrong_function_is_not_supported_and_a_reserved_or_unknown_class_is_invalid() {
    let bench = Bench::new();
    for facts in info::all() {
        let handle = bench.handle(facts);
        let class = facts.class;
        let refused = if facts.is_reserved() { INVALID } else { Win32Error::NotSupported };
        if facts.set.is_none() {
            assert_eq!(bench.set(class, handle, &[0; 8]), refused, "{}", facts.c_name);
        }
        if facts.query.is_none() {
            let error = bench.machine.query_raw(handle, class, &[0; 8]).unwrap_err();
            assert_eq!(error, Error::from_code(Call::QueryInformation(class), refused));
            assert_eq!(error.is_unsupported(), !facts.is_reserved(), "{}", facts.c_name);
        }
        if facts.enumerate.is_none() {
            assert_eq!(bench.machine.enumerate_raw(class, &[]).unwrap_err().code(), refused, "{}", facts.c_name);
        }
    }
    let unknown = u32::try_from(info::all().len()).unwrap();
    for class in [unknown, u32::MAX].map(TraceInfoClass::from_int) {
        assert_eq!(bench.set(class, 0, &[]), INVALID);
        assert_eq!(bench.query(class, 0, &[]), INVALID);
        assert_eq!(bench.machine.enumerate_raw(class, &[]).unwrap_err().code(), INVALID);
    }
}

#[test]
fn a_short_length_is_refused_with_the_length_that_is_needed() {
    let bench = Bench::new();
    let system = EngineSystem::new(bench.engine.clone());
    for facts in info::all() {
        let handle = bench.handle(facts);
        let class = facts.class;
        if let (Some(value), Some(setting)) = (settable(facts), facts.set) {
            let short = &value[..value.len() - 1];
            // A list that may be empty is not too short without its only byte.
            let expected = if setting.length.takes(short.len()) { SUCCESS } else { Win32Error::BadLength };
            assert_eq!(bench.set(class, handle, short), expected, "{}", facts.c_name);
            // So that a query of the class has a result that can be cut.
            assert_eq!(bench.set(class, handle, &value), SUCCESS, "{}", facts.c_name);
            // The same for every other length that the declaration does not accept.
            for size in (0..=33).filter(|size| !setting.length.takes(*size)) {
                let result = bench.set(class, handle, &vec![0; size]);
                assert_eq!(result, Win32Error::BadLength, "{} with {size} bytes", facts.c_name);
            }
        }
        if let (Some(start), Some(query)) = (start(facts), facts.query) {
            let needed = bench.machine.query_raw(handle, class, &start).unwrap().len();
            let mut short = vec![0; needed - 1];
            let code = match query.length {
                Some(_) => Win32Error::BadLength,
                None => Win32Error::InsufficientBuffer,
            };
            let refusal = system.query_information(handle, class, &mut short).unwrap_err();
            assert_eq!(refusal, Refusal { code, needed }, "{}", facts.c_name);
            if query.takes_number {
                let refusal = system.query_information(handle, class, &mut [0; 7]).unwrap_err();
                assert_eq!(refusal, Refusal { code: Win32Error::BadLength, needed: 8 }, "{}", facts.c_name);
            }
        }
        if let (Some(input), Some(enumeration)) = (input(facts), facts.enumerate) {
            let needed = bench.machine.enumerate_raw(class, &input).unwrap().len();
            let mut short = vec![0; needed - 1];
            let refusal = system.enumerate(class, &input, &mut short).unwrap_err();
            assert_eq!(refusal, Refusal { code: Win32Error::InsufficientBuffer, needed }, "{}", facts.c_name);
            if enumeration.takes_guid {
                let refused = bench.machine.enumerate_raw(class, &[0; 15]).unwrap_err().code();
                assert_eq!(refused, INVALID, "{}", facts.c_name);
            }
        }
    }
}

#[test]
fn values_beyond_the_limit_are_rejected() {
    for (class, beyond) in BEYOND {
        let bench = Bench::new();
        let facts = info::facts(*class).unwrap();
        let handle = bench.handle(facts);
        let name = facts.c_name;
        match beyond {
            // A mask that is too long is a length error.
            Beyond::Set(value) if *class == TraceInfoClass::SystemTraceEnableFlagsInfo => {
                assert_eq!(bench.set(*class, handle, &value()), Win32Error::BadLength, "{name}");
            }
            Beyond::Set(value) => assert_eq!(bench.set(*class, handle, &value()), INVALID, "{name}"),
            Beyond::SetAgain => {
                let value = settable(facts).unwrap();
                assert_eq!(bench.set(*class, handle, &value), SUCCESS, "{name}");
                assert_eq!(bench.set(*class, handle, &value), INVALID, "{name}: once for a session");
            }
            Beyond::Query(start) => assert_eq!(bench.query(*class, handle, start), INVALID, "{name}"),
        }
    }
}

#[test]
fn the_wrong_kind_of_handle_is_invalid() {
    let bench = Bench::new();
    for facts in info::all() {
        let name = facts.c_name;
        let sessions = [bench.plain.handle(), bench.system.handle(), u64::MAX];
        let (wrong, expected): (&[u64], _) = match facts.handle {
            HandleKind::None => continue,
            HandleKind::Unused => (&sessions, SUCCESS),
            HandleKind::Zero => (&sessions, INVALID),
            HandleKind::Session => (&[0], INVALID),
            HandleKind::SystemSession => (&[0, bench.plain.handle()], INVALID),
        };
        for handle in wrong {
            if let Some(value) = settable(facts) {
                assert_eq!(bench.set(facts.class, *handle, &value), expected, "{name}, handle {handle:#x}");
            }
            if let Some(start) = start(facts) {
                assert_eq!(bench.query(facts.class, *handle, &start), expected, "{name}, handle {handle:#x}");
            }
        }
    }
}

#[test]
fn a_stopped_session_is_not_found() {
    for facts in info::all() {
        let Bench { machine, engine, system, plain } = Bench::new();
        let stopped_system = system.handle();
        let stopped_plain = plain.handle();
        system.stop().unwrap();
        plain.stop().unwrap();
        let (handle, expected) = match facts.handle {
            HandleKind::SystemSession => (stopped_system, Win32Error::WmiInstanceNotFound),
            HandleKind::Session => (stopped_plain, Win32Error::WmiInstanceNotFound),
            // The handle of a session is never valid, whether it is running or not.
            HandleKind::Zero => (stopped_plain, INVALID),
            // These return a result regardless of the sessions.
            HandleKind::Unused | HandleKind::None => (stopped_plain, SUCCESS),
        };
        let name = facts.c_name;
        let class = facts.class;
        let code = |result: Result<(), Error>| result.map_or_else(|error| error.code(), |()| SUCCESS);
        if let Some(value) = settable(facts) {
            assert_eq!(code(machine.set_raw(handle, class, &value)), expected, "{name}");
        }
        if let Some(start) = start(facts) {
            assert_eq!(code(machine.query_raw(handle, class, &start).map(drop)), expected, "{name}");
        }
        if let Some(input) = input(facts) {
            assert_eq!(code(machine.enumerate_raw(class, &input).map(drop)), SUCCESS, "{name}");
        }
        drop(engine);
    }
}
