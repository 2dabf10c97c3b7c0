//! Every information class against the engine: what works, the wrong function, short data, the limit, the wrong handle, a
//! stopped session.
#![cfg(not(windows))]

mod common;

use common::{GROUP, PROVIDER, events, machine, plain_session, register, system_session};
use etw_session::info::{self, Facts};
use etw_session::{Call, Error, Machine};
use etw_types::Win32Error;
use etw_types::session::{HandleKind, TraceInfoClass};

fn code(result: Result<impl Sized, Error>) -> Win32Error {
    result.err().map_or(Win32Error::Success, |error| error.code())
}

/// A value that can be set, as bytes.
fn valid(class: TraceInfoClass) -> Vec<u8> {
    use etw_session::info::Information;
    let event = info::StackTracing(events(1)).encode();
    match class.as_int() {
        3 | 8 => event,
        4 => vec![0; 32],
        5 => info::SampleInterval { source: 0, interval: 10_000 }.encode(),
        6 | 9 | 21 => vec![0; 4],
        10 => GROUP.to_bytes_le().to_vec(),
        16 => [60, 0, 0, 0, 1, 0, 0, 0].into_iter().chain(PROVIDER.to_bytes_le()).collect(),
        18 => vec![1],
        20 => vec![1, 2, 0, 0],
        24 | 26 => vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        28 => [3, 0, 0, 0, 0, 0, 0, 0].into_iter().chain(event).collect(),
        other => panic!("class {other} cannot be set"),
    }
}

fn facts_of(which: impl Fn(etw_types::session::ClassFacts) -> bool) -> Vec<&'static Facts> {
    info::all().iter().filter(|facts| facts.of_class().is_some_and(&which)).collect()
}

fn belongs_to_session(facts: &Facts) -> bool {
    matches!(facts.of_class().unwrap().handle, HandleKind::Session | HandleKind::SystemSession)
}

/// The handle that a class takes on a machine with a session of the system providers.
fn right_handle(facts: &Facts, session: u64) -> u64 {
    if belongs_to_session(facts) { session } else { 0 }
}

/// The buffer that a query starts with.
fn question(class: TraceInfoClass) -> Vec<u8> {
    if matches!(class.as_int(), 5 | 25) { vec![0; 8] } else { Vec::new() }
}

fn query(machine: &Machine, handle: u64, class: TraceInfoClass) -> Result<Vec<u8>, Error> {
    machine.query_raw(handle, class, &question(class))
}

#[test]
fn there_are_twenty_nine_classes_and_each_has_a_type() {
    assert_eq!(info::all().len(), 29);
    for (number, facts) in (0..).zip(info::all()) {
        assert_eq!(facts.class.as_int(), number, "{}", facts.c_name);
        assert_eq!(info::find(facts.type_name), Some(facts));
        let can_be_set = facts.of_class().is_some_and(|facts| facts.set);
        assert_eq!(facts.set_length.is_some(), can_be_set, "{}", facts.c_name);
    }
}

#[test]
fn what_can_be_set_is_set() {
    for facts in facts_of(|facts| facts.set) {
        let (machine, _engine) = machine();
        let session = system_session(&machine);
        let handle = right_handle(facts, session.handle());
        assert!(facts.set_length.unwrap().takes(valid(facts.class).len()), "{}", facts.c_name);
        assert_eq!(
            code(machine.set_raw(handle, facts.class, &valid(facts.class))),
            Win32Error::Success,
            "{}",
            facts.c_name
        );
    }
}

#[test]
fn what_can_be_queried_answers_with_the_length_it_says() {
    for facts in facts_of(|facts| facts.query) {
        let (machine, _engine) = machine();
        let session = system_session(&machine);
        let answer = query(&machine, right_handle(facts, session.handle()), facts.class).unwrap();
        if let Some(length) = facts.answer_length {
            assert_eq!(answer.len(), length, "{}", facts.c_name);
        }
    }
}

#[test]
fn what_can_be_enumerated_is() {
    let (machine, engine) = machine();
    register(&engine);
    for facts in facts_of(|facts| facts.enumerate) {
        let input = match facts.class.as_int() {
            1 => PROVIDER.to_bytes_le().to_vec(),
            13 => GROUP.to_bytes_le().to_vec(),
            _ => Vec::new(),
        };
        assert!(!machine.enumerate_raw(facts.class, &input).unwrap().is_empty() || facts.class.as_int() == 2);
    }
}

#[test]
fn the_wrong_function_is_not_supported() {
    let (machine, _engine) = machine();
    let session = system_session(&machine);
    for facts in facts_of(|_| true) {
        let of_class = facts.of_class().unwrap();
        let handle = right_handle(facts, session.handle());
        if !of_class.set {
            assert_eq!(
                code(machine.set_raw(handle, facts.class, &[0; 8])),
                Win32Error::NotSupported,
                "{}",
                facts.c_name
            );
        }
        if !of_class.query {
            let error = query(&machine, handle, facts.class).unwrap_err();
            assert_eq!(error, Error::of(Call::QueryInformation(facts.class), Win32Error::NotSupported));
            assert!(error.is_unsupported());
        }
        if !of_class.enumerate {
            assert_eq!(code(machine.enumerate_raw(facts.class, &[])), Win32Error::NotSupported, "{}", facts.c_name);
        }
    }
}

#[test]
fn reserved_and_unknown_classes_are_invalid() {
    let (machine, _engine) = machine();
    for class in [15, 29, u32::MAX].map(TraceInfoClass::from_int) {
        assert_eq!(code(machine.set_raw(0, class, &[])), Win32Error::InvalidParameter);
        assert_eq!(code(machine.query_raw(0, class, &[])), Win32Error::InvalidParameter);
        assert_eq!(code(machine.enumerate_raw(class, &[])), Win32Error::InvalidParameter);
    }
}

#[test]
fn every_length_that_the_facts_do_not_take_is_a_bad_length() {
    let (machine, _engine) = machine();
    let session = system_session(&machine);
    for facts in facts_of(|facts| facts.set) {
        let handle = right_handle(facts, session.handle());
        let length = facts.set_length.unwrap();
        for size in (0..=33).filter(|size| !length.takes(*size)) {
            let answer = code(machine.set_raw(handle, facts.class, &vec![0; size]));
            assert_eq!(answer, Win32Error::BadLength, "{} with {size} bytes", facts.c_name);
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_is_told_how_much_is_needed() {
    use etw_session::System;
    let (machine, engine) = machine();
    let system = etw_session::platform::EngineSystem::new(engine);
    let session = system_session(&machine);
    for facts in facts_of(|facts| facts.query) {
        let handle = right_handle(facts, session.handle());
        let Some(length) = facts.answer_length else { continue };
        let refusal = system.query_information(handle, facts.class, &mut vec![0; length - 1]).unwrap_err();
        assert_eq!((refusal.code, refusal.needed), (Win32Error::BadLength, length), "{}", facts.c_name);
    }
}

#[test]
fn the_wrong_kind_of_handle_is_invalid() {
    let (machine, _engine) = machine();
    let (system, plain) = (system_session(&machine), plain_session(&machine));
    for facts in facts_of(|facts| !facts.enumerate) {
        let of_class = facts.of_class().unwrap();
        let wrong = match of_class.handle {
            HandleKind::Zero => system.handle(),
            HandleKind::Session => 0,
            HandleKind::SystemSession => plain.handle(),
            HandleKind::None | HandleKind::Unused => continue,
        };
        if of_class.set {
            let answer = code(machine.set_raw(wrong, facts.class, &valid(facts.class)));
            assert_eq!(answer, Win32Error::InvalidParameter, "{}", facts.c_name);
        }
        if of_class.query {
            assert_eq!(code(query(&machine, wrong, facts.class)), Win32Error::InvalidParameter, "{}", facts.c_name);
        }
    }
}

#[test]
fn a_stopped_session_is_not_found() {
    let (machine, _engine) = machine();
    let session = system_session(&machine);
    let handle = session.handle();
    session.stop().unwrap();
    for facts in facts_of(|_| true).into_iter().filter(|facts| belongs_to_session(facts)) {
        let of_class = facts.of_class().unwrap();
        if of_class.set {
            let answer = code(machine.set_raw(handle, facts.class, &valid(facts.class)));
            assert_eq!(answer, Win32Error::WmiInstanceNotFound, "{}", facts.c_name);
        }
        if of_class.query {
            assert_eq!(code(query(&machine, handle, facts.class)), Win32Error::WmiInstanceNotFound, "{}", facts.c_name);
        }
    }
}
