//! Activity ids: created, stored per thread, rejected on system threads.

use std::collections::HashSet;
use std::thread;

use etw_engine::Engine;
use etw_types::{Guid, NtStatus};

const GET: u32 = 1;
const SET: u32 = 2;
const CREATE: u32 = 3;
const GET_SET: u32 = 4;
const CREATE_SET: u32 = 5;

fn control(engine: &Engine, code: u32, id: Guid) -> (NtStatus, Guid) {
    let mut id = id;
    let status = engine.activity_id_control(code, &mut id);
    (status, id)
}

#[test]
fn created_ids_are_new_and_never_zero() {
    let one = Engine::new();
    let two = Engine::new();
    let mut seen = HashSet::from([Guid::ZERO]);
    for engine in [&one, &two, &one, &two] {
        let (status, id) = control(engine, CREATE, Guid::ZERO);
        assert_eq!(status, NtStatus::Success);
        assert!(seen.insert(id), "{id} came twice");
    }
}

#[test]
fn a_thread_carries_its_id() {
    let engine = Engine::new();
    let mine = Guid::from_u128(1);
    let next = Guid::from_u128(2);
    assert_eq!(control(&engine, GET, mine), (NtStatus::Success, Guid::ZERO));
    assert_eq!(control(&engine, SET, mine), (NtStatus::Success, mine));
    assert_eq!(control(&engine, GET, Guid::ZERO), (NtStatus::Success, mine));
    assert_eq!(control(&engine, GET_SET, next), (NtStatus::Success, mine));
    let (status, old) = control(&engine, CREATE_SET, Guid::ZERO);
    assert_eq!(status, NtStatus::Success);
    assert_eq!(old, next);
    assert!(![Guid::ZERO, mine, next].contains(&engine.thread_activity()));
    let elsewhere = thread::scope(|scope| scope.spawn(|| engine.thread_activity()).join().unwrap());
    assert_eq!(elsewhere, Guid::ZERO);
}

#[test]
fn system_threads_can_only_create() {
    let engine = Engine::new();
    engine.set_system_threads(true);
    let untouched = Guid::from_u128(5);
    for code in [GET, SET, GET_SET, CREATE_SET] {
        assert_eq!(control(&engine, code, untouched), (NtStatus::NotSupported, untouched));
    }
    assert_eq!(control(&engine, CREATE, untouched).0, NtStatus::Success);
    // In user mode a thread can always store an id.
    let mut id = untouched;
    assert_eq!(engine.user_activity_id_control(SET, &mut id), NtStatus::Success);
    assert_eq!(engine.thread_activity(), untouched);
}

#[test]
fn unknown_codes_are_an_invalid_parameter() {
    let engine = Engine::new();
    for system in [false, true] {
        engine.set_system_threads(system);
        for code in [0, 6, u32::MAX] {
            let untouched = Guid::from_u128(5);
            assert_eq!(control(&engine, code, untouched), (NtStatus::InvalidParameter, untouched));
        }
    }
}
