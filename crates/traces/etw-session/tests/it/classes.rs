//! Tests every information class with the engine, in one table of 29 rows: valid calls, the wrong function, a length
//! that is too short, a value beyond the limit, the wrong kind of handle, a stopped session.
//!
//! The rows repeat what the public header and Microsoft Learn say; they are not derived from the code under test. If
//! one of these cases does not apply to a class, its row says why, and the facts of the type must agree.

use crate::common::{GROUP, PROVIDER, events, machine, register};
use etw_engine::{Engine, Origin};
use etw_session::info::{
    self, ContextRegisters, Information, PeriodicCapture, PeriodicCaptureLimits, SampleInterval, StackCaching,
    StackTracing,
};
use etw_session::platform::EngineSystem;
use etw_session::{Call, Error, Machine, Properties, Refusal, Session, System};
use etw_types::Win32Error;
use etw_types::session::{HandleKind, TraceInfoClass};

const SUCCESS: Win32Error = Win32Error::Success;
const INVALID: Win32Error = Win32Error::InvalidParameter;

/// The kind of handle that a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handle {
    /// The function has no handle.
    None,
    /// The handle must be zero.
    Zero,
    /// The handle is ignored.
    Any,
    /// The handle of a session.
    Session,
    /// The handle of a session of the system providers.
    System,
}

/// A call beyond the limit of a class.
#[derive(Clone, Copy)]
enum Beyond {
    /// The class has no limit, for this reason.
    Nothing(&'static str),
    /// Sets this value.
    Set(fn() -> Vec<u8>),
    /// Sets a value a second time.
    SetAgain,
    /// Queries with this buffer.
    Query([u8; 8]),
}

/// A class: the data for each function that supports it.
struct Row {
    set: Option<fn() -> Vec<u8>>,
    query: Option<&'static [u8]>,
    enumerate: Option<fn() -> Vec<u8>>,
    handle: Handle,
    beyond: Beyond,
}

fn nothing() -> Vec<u8> {
    Vec::new()
}

const fn set(handle: Handle, value: fn() -> Vec<u8>, beyond: Beyond) -> Row {
    Row { set: Some(value), query: None, enumerate: None, handle, beyond }
}

const fn query(handle: Handle, beyond: Beyond) -> Row {
    Row { set: None, query: Some(&[]), enumerate: None, handle, beyond }
}

const fn enumerate(input: fn() -> Vec<u8>) -> Row {
    let beyond = Beyond::Nothing("an enumeration takes no data");
    Row { set: None, query: None, enumerate: Some(input), handle: Handle::None, beyond }
}

const RESULT: Beyond = Beyond::Nothing("a result has a fixed length");

/// The classes, ordered by number.
const ROWS: [Row; 29] = [
    enumerate(nothing),
    enumerate(|| PROVIDER.to_bytes_le().to_vec()),
    enumerate(nothing),
    Row {
        query: Some(&[]),
        ..set(Handle::System, || StackTracing(events(1)).encode(), Beyond::Set(|| StackTracing(events(257)).encode()))
    },
    Row { query: Some(&[]), ..set(Handle::System, || vec![0; 32], Beyond::Set(|| vec![0; 36])) },
    Row {
        query: Some(&[0; 8]),
        ..set(
            Handle::Zero,
            || SampleInterval { source: 0, interval: 10_000 }.encode(),
            Beyond::Set(|| SampleInterval { source: 99, interval: 10_000 }.encode()),
        )
    },
    set(Handle::Zero, || vec![0; 4], Beyond::Set(|| vec![99, 0, 0, 0])),
    query(Handle::Zero, RESULT),
    set(Handle::System, || StackTracing(events(1)).encode(), Beyond::SetAgain),
    set(Handle::System, || vec![0; 4], Beyond::Set(|| vec![0; 4 * 5])),
    set(Handle::Session, || GROUP.to_bytes_le().to_vec(), Beyond::Nothing("no document limits the list")),
    query(Handle::Zero, RESULT),
    enumerate(nothing),
    enumerate(|| GROUP.to_bytes_le().to_vec()),
    query(Handle::Session, RESULT),
    Row {
        set: None,
        query: None,
        enumerate: None,
        handle: Handle::None,
        beyond: Beyond::Nothing("a reserved class takes nothing"),
    },
    set(Handle::Session, || periodic(60, 1), Beyond::Set(|| periodic(59, 1))),
    query(Handle::Any, RESULT),
    set(Handle::Session, || vec![1], Beyond::Nothing("on and off are all there is")),
    Row { enumerate: Some(nothing), ..query(Handle::Any, RESULT) },
    set(Handle::Session, || vec![1, 2, 0, 0], Beyond::Set(|| vec![0, 8, 0, 0])),
    set(Handle::Session, || vec![0; 4], Beyond::Set(|| vec![0; 4 * 5])),
    query(Handle::Any, RESULT),
    query(Handle::Session, RESULT),
    set(Handle::Session, || StackCaching::ON.encode(), Beyond::Nothing("no document limits the sizes")),
    Row { query: Some(&[0; 8]), ..query(Handle::Zero, Beyond::Query([0x60, 0xEA, 0, 0, 0, 0, 0, 0])) },
    set(Handle::Session, || StackCaching::ON.encode(), Beyond::Nothing("no document limits the sizes")),
    query(Handle::Zero, RESULT),
    set(Handle::System, || ContextRegisters::new(events(1)).encode(), Beyond::Set(|| vec![1, 0, 0, 0, 0, 0, 0, 0])),
];

/// Returns a value of class 16, regardless of its limits.
fn periodic(seconds: u32, providers: u16) -> Vec<u8> {
    let limits = PeriodicCaptureLimits { least_seconds: 0, most_providers: providers };
    PeriodicCapture::new(seconds, vec![PROVIDER; providers.into()], limits).unwrap().encode()
}

fn rows() -> impl Iterator<Item = (TraceInfoClass, &'static Row)> {
    (0..).map(TraceInfoClass::from_int).zip(&ROWS)
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
    fn handle(&self, row: &Row) -> u64 {
        match row.handle {
            Handle::None | Handle::Zero | Handle::Any => 0,
            Handle::Session => self.plain.handle(),
            Handle::System => self.system.handle(),
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
fn the_rows_and_the_types_facts_say_the_same() {
    assert_eq!(info::all().len(), ROWS.len());
    for ((class, row), facts) in rows().zip(info::all()) {
        let name = facts.c_name;
        assert_eq!(facts.class, class, "{name}");
        assert_eq!(info::find(facts.type_name), Some(facts), "{name}");
        let uses = [("set", row.set.is_some()), ("query", row.query.is_some()), ("enumerate", row.enumerate.is_some())];
        let uses: Vec<&str> = uses.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
        assert_eq!(facts.directions(), uses, "{name}");
        assert_eq!(facts.set_length.is_some(), row.set.is_some(), "{name}");
        let handle = facts.of_class().map_or(Handle::None, |facts| match facts.handle {
            HandleKind::None => Handle::None,
            HandleKind::Zero => Handle::Zero,
            HandleKind::Unused => Handle::Any,
            HandleKind::Session => Handle::Session,
            HandleKind::SystemSession => Handle::System,
        });
        assert_eq!(handle, row.handle, "{name}");
        match row.beyond {
            Beyond::Nothing(why) => assert!(facts.limit.is_empty() && !why.is_empty(), "{name} has a limit"),
            _ => assert!(!facts.limit.is_empty(), "{name} has no limit"),
        }
    }
}

#[test]
fn every_class_can_be_set_queried_or_enumerated_as_its_row_says() {
    for (class, row) in rows() {
        let bench = Bench::new();
        let handle = bench.handle(row);
        let name = class.as_int();
        if let Some(value) = row.set {
            assert!(info::facts(class).unwrap().set_length.unwrap().takes(value().len()), "class {name}");
            assert_eq!(bench.set(class, handle, &value()), SUCCESS, "class {name}");
        }
        if let Some(start) = row.query {
            let result = bench.machine.query_raw(handle, class, start).unwrap();
            assert!(!result.is_empty(), "class {name}");
            let length = info::facts(class).unwrap().answer_length;
            assert!(length.is_none_or(|length| length == result.len()), "class {name}");
        }
        if let Some(input) = row.enumerate {
            assert!(!bench.machine.enumerate_raw(class, &input()).unwrap().is_empty(), "class {name}");
        }
    }
}

#[test]
fn the_wrong_function_is_not_supported_and_a_reserved_or_unknown_class_is_invalid() {
    let bench = Bench::new();
    for (class, row) in rows() {
        let handle = bench.handle(row);
        let name = class.as_int();
        let refused = if name == 15 { INVALID } else { Win32Error::NotSupported };
        if row.set.is_none() {
            assert_eq!(bench.set(class, handle, &[0; 8]), refused, "class {name}");
        }
        if row.query.is_none() {
            let error = bench.machine.query_raw(handle, class, &[0; 8]).unwrap_err();
            assert_eq!(error, Error::from_code(Call::QueryInformation(class), refused));
            assert_eq!(error.is_unsupported(), name != 15);
        }
        if row.enumerate.is_none() {
            assert_eq!(bench.machine.enumerate_raw(class, &[]).unwrap_err().code(), refused, "class {name}");
        }
    }
    for class in [29, u32::MAX].map(TraceInfoClass::from_int) {
        assert_eq!(bench.set(class, 0, &[]), INVALID);
        assert_eq!(bench.query(class, 0, &[]), INVALID);
        assert_eq!(bench.machine.enumerate_raw(class, &[]).unwrap_err().code(), INVALID);
    }
}

#[test]
fn a_short_length_is_refused_with_the_length_that_is_needed() {
    let bench = Bench::new();
    let system = EngineSystem::new(bench.engine.clone());
    for (class, row) in rows() {
        let handle = bench.handle(row);
        let name = class.as_int();
        if let Some(value) = row.set {
            let value = value();
            let short = &value[..value.len() - 1];
            assert_eq!(bench.set(class, handle, short), Win32Error::BadLength, "class {name}");
            // The same for every other length that the facts of the type do not accept.
            let takes = info::facts(class).unwrap().set_length.unwrap();
            for size in (0..=33).filter(|size| !takes.takes(*size)) {
                let result = bench.set(class, handle, &vec![0; size]);
                assert_eq!(result, Win32Error::BadLength, "class {name} with {size} bytes");
            }
        }
        if let Some(start) = row.query {
            let needed = bench.machine.query_raw(handle, class, start).unwrap().len();
            let mut short = vec![0; needed - 1];
            let code = match info::facts(class).unwrap().answer_length {
                Some(_) => Win32Error::BadLength,
                None => Win32Error::InsufficientBuffer,
            };
            let refusal = system.query_information(handle, class, &mut short).unwrap_err();
            assert_eq!(refusal, Refusal { code, needed }, "class {name}");
        }
        if let Some(input) = row.enumerate {
            let needed = bench.machine.enumerate_raw(class, &input()).unwrap().len();
            let mut short = vec![0; needed - 1];
            let refusal = system.enumerate(class, &input(), &mut short).unwrap_err();
            assert_eq!(refusal, Refusal { code: Win32Error::InsufficientBuffer, needed }, "class {name}");
        }
    }
    // Two classes read their input from the buffer, and two enumerations need a GUID.
    for class in [5, 25].map(TraceInfoClass::from_int) {
        let refusal = system.query_information(0, class, &mut [0; 7]).unwrap_err();
        assert_eq!(refusal, Refusal { code: Win32Error::BadLength, needed: 8 });
    }
    for class in [1, 13].map(TraceInfoClass::from_int) {
        assert_eq!(bench.machine.enumerate_raw(class, &[0; 15]).unwrap_err().code(), INVALID);
    }
}

#[test]
fn values_beyond_the_limit_are_rejected() {
    for (class, row) in rows() {
        let bench = Bench::new();
        let handle = bench.handle(row);
        let name = class.as_int();
        match row.beyond {
            Beyond::Nothing(_) => {}
            // A mask that is too long is a length error.
            Beyond::Set(value) if name == 4 => {
                assert_eq!(bench.set(class, handle, &value()), Win32Error::BadLength);
            }
            Beyond::Set(value) => assert_eq!(bench.set(class, handle, &value()), INVALID, "class {name}"),
            Beyond::SetAgain => {
                let value = row.set.unwrap()();
                assert_eq!(bench.set(class, handle, &value), SUCCESS, "class {name}");
                assert_eq!(bench.set(class, handle, &value), INVALID, "class {name}");
            }
            Beyond::Query(start) => assert_eq!(bench.query(class, handle, &start), INVALID, "class {name}"),
        }
    }
    // Classes with more than one limit.
    let bench = Bench::new();
    let [counters, list] = [9, 16].map(TraceInfoClass::from_int);
    assert_eq!(bench.set(counters, bench.system.handle(), &[0; 4]), SUCCESS);
    assert_eq!(bench.set(counters, bench.system.handle(), &[0; 4]), INVALID, "once for a session");
    assert_eq!(bench.set(list, bench.plain.handle(), &periodic(60, 17)), INVALID, "seventeen providers");
    assert_eq!(bench.query(TraceInfoClass::from_int(5), 0, &[99, 0, 0, 0, 0, 0, 0, 0]), INVALID, "no such source");
}

#[test]
fn the_wrong_kind_of_handle_is_invalid() {
    let bench = Bench::new();
    for (class, row) in rows() {
        let name = class.as_int();
        let (wrong, expected): (&[u64], _) = match row.handle {
            Handle::None => continue,
            Handle::Any => (&[bench.plain.handle(), bench.system.handle(), u64::MAX][..], SUCCESS),
            Handle::Zero => (&[bench.plain.handle(), bench.system.handle(), u64::MAX][..], INVALID),
            Handle::Session => (&[0][..], INVALID),
            Handle::System => (&[0, bench.plain.handle()][..], INVALID),
        };
        for handle in wrong {
            if let Some(value) = row.set {
                assert_eq!(bench.set(class, *handle, &value()), expected, "class {name}, handle {handle:#x}");
            }
            if let Some(start) = row.query {
                assert_eq!(bench.query(class, *handle, start), expected, "class {name}, handle {handle:#x}");
            }
        }
    }
}

#[test]
fn a_stopped_session_is_not_found() {
    for (class, row) in rows() {
        let Bench { machine, engine, system, plain } = Bench::new();
        let stopped_system = system.handle();
        let stopped_plain = plain.handle();
        system.stop().unwrap();
        plain.stop().unwrap();
        let (handle, expected) = match row.handle {
            Handle::System => (stopped_system, Win32Error::WmiInstanceNotFound),
            Handle::Session => (stopped_plain, Win32Error::WmiInstanceNotFound),
            // The handle of a session is never valid, whether it is running or not.
            Handle::Zero => (stopped_plain, INVALID),
            // These return a result regardless of the sessions.
            Handle::Any | Handle::None => (stopped_plain, SUCCESS),
        };
        let name = class.as_int();
        let code = |result: Result<(), Error>| result.map_or_else(|error| error.code(), |()| SUCCESS);
        if let Some(value) = row.set {
            assert_eq!(code(machine.set_raw(handle, class, &value())), expected, "class {name}");
        }
        if let Some(start) = row.query {
            assert_eq!(code(machine.query_raw(handle, class, start).map(drop)), expected, "class {name}");
        }
        if let Some(input) = row.enumerate {
            assert_eq!(code(machine.enumerate_raw(class, &input()).map(drop)), SUCCESS, "class {name}");
        }
        drop(engine);
    }
}
