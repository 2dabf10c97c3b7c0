//! Calls that a callback may make, and calls that would hang the kernel.

use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use crate::common::{GROUP, Note, OTHER, PROVIDER, register};
use etw_engine::{Callback, Enable, Engine, Finding, Notification, Target};
use etw_types::{EventInfoClass, Guid, NtStatus};

/// Registers `provider` with a callback that runs `body` and collects its results.
fn with_callback<T: Send + 'static>(
    engine: &Engine,
    provider: Guid,
    body: impl Fn(&Engine, &Notification<'_>) -> T + Send + Sync + 'static,
) -> (u64, Arc<Mutex<Vec<T>>>) {
    let results = Arc::new(Mutex::new(Vec::new()));
    let callback: Callback = {
        let engine = engine.downgrade();
        let results = results.clone();
        Arc::new(move |notification| {
            let result = body(&engine.upgrade().unwrap(), notification);
            results.lock().unwrap().push(result);
        })
    };
    (engine.register(provider, Some(callback), |_| {}).unwrap(), results)
}

#[test]
fn registering_the_same_guid_in_its_callback_is_found() {
    let engine = Engine::new();
    engine.start_session("s").enable(PROVIDER, Enable::default());
    let (_, results) =
        with_callback(&engine, PROVIDER, |engine, _| engine.register(PROVIDER, None, |_| panic!("no handle")));
    assert_eq!(*results.lock().unwrap(), [Err(NtStatus::PossibleDeadlock)]);
    assert_eq!(engine.findings(), [Finding::RegisterInCallback { provider: PROVIDER }]);
    assert_eq!(engine.registrations().len(), 1);
}

#[test]
fn unregistering_in_the_callback_is_found_and_the_registration_stays() {
    let engine = Engine::new();
    let (handle, results) =
        with_callback(&engine, PROVIDER, |engine, notification| engine.unregister(notification.handle));
    let session = engine.start_session("s");
    assert_eq!(session.enable(PROVIDER, Enable::default()), NtStatus::Success);
    assert_eq!(*results.lock().unwrap(), [NtStatus::PossibleDeadlock]);
    assert_eq!(engine.findings(), [Finding::UnregisterInCallback { provider: PROVIDER, handle }]);
    assert_eq!(engine.registrations().len(), 1);
    session.stop();
    assert_eq!(engine.unregister(handle), NtStatus::Success, "outside the callback it works");
}

#[test]
fn unregistering_a_sibling_registration_in_the_callback_is_found_too() {
    let engine = Engine::new();
    let (sibling, _) = register(&engine, PROVIDER);
    let (_, results) = with_callback(&engine, PROVIDER, move |engine, _| engine.unregister(sibling));
    engine.start_session("s").enable(PROVIDER, Enable::default());
    assert_eq!(*results.lock().unwrap(), [NtStatus::PossibleDeadlock]);
}

#[test]
fn another_guid_can_be_registered_and_unregistered_in_a_callback() {
    let engine = Engine::new();
    let (_, results) = with_callback(&engine, PROVIDER, |engine, _| {
        let handle = engine.register(OTHER, None, |_| {}).unwrap();
        engine.unregister(handle)
    });
    engine.start_session("s").enable(PROVIDER, Enable::default());
    assert_eq!(*results.lock().unwrap(), [NtStatus::Success]);
    assert_eq!(engine.findings(), []);
}

#[test]
fn controlling_the_session_of_the_running_callback_is_found_and_changes_nothing() {
    let engine = Engine::new();
    let session: Arc<OnceLock<etw_engine::Session>> = Arc::default();
    let (handle, results) = {
        let session = session.clone();
        with_callback(&engine, PROVIDER, move |_, _| {
            let session = session.get().unwrap();
            [session.disable(PROVIDER), session.enable(PROVIDER, Enable::default()), session.capture_state(PROVIDER)]
        })
    };
    let session = session.get_or_init(|| engine.start_session("s"));
    session.enable(PROVIDER, Enable::default());
    assert_eq!(*results.lock().unwrap(), [[NtStatus::PossibleDeadlock; 3]]);
    assert_eq!(engine.findings(), vec![Finding::ControlInCallback { provider: PROVIDER }; 3]);
    // The session was not disabled, so a new registration still receives its request.
    let (_, notes) = register(&engine, PROVIDER);
    assert_eq!(notes.take(), [Note::enabled(0xFF, u64::MAX, 0)]);
    session.stop();
    assert_eq!(engine.unregister(handle), NtStatus::Success);
}

#[test]
fn stopping_in_a_callback_ends_capture_and_can_be_repeated_outside() {
    let engine = Engine::new();
    let session = engine.start_session("s");
    let stop = session.clone();
    let (handle, results) = with_callback(&engine, PROVIDER, move |_, _| stop.stop());
    session.enable(PROVIDER, Enable::default());
    assert_eq!(*results.lock().unwrap(), [NtStatus::PossibleDeadlock]);
    assert!(session.is_stopped());
    assert_eq!(engine.findings().len(), 1);
    assert_eq!(session.stop(), NtStatus::Success);
    assert_eq!(results.lock().unwrap().len(), 2, "told that it is disabled");
    assert_eq!(engine.unregister(handle), NtStatus::Success);
    let (_, notes) = register(&engine, PROVIDER);
    assert_eq!(notes.take(), []);
}

#[test]
fn joining_a_group_in_the_callback_is_found_and_the_traits_are_dropped() {
    let engine = Engine::new();
    let (handle, results) = with_callback(&engine, PROVIDER, |engine, notification| {
        let mut traits = b"\x17\x00P\x00\x13\x00\x01".to_vec();
        traits.extend_from_slice(&GROUP.to_bytes_le());
        let set = |blob: &[u8]| engine.set_information(notification.handle, EventInfoClass::SetTraits, blob);
        (set(&traits), engine.registrations()[0].traits.is_some(), set(b"\x04\x00P\x00"))
    });
    engine.start_session("s").enable(PROVIDER, Enable::default());
    assert_eq!(*results.lock().unwrap(), [(NtStatus::PossibleDeadlock, false, NtStatus::Success)]);
    assert_eq!(engine.findings(), [Finding::JoinGroupInCallback { provider: PROVIDER, handle }]);
}

#[test]
fn enabling_the_group_of_the_running_callback_is_found() {
    let engine = Engine::new();
    let (handle, results) = with_callback(&engine, PROVIDER, |engine, _| {
        engine.start_session("inner").enable(Target::Group(GROUP), Enable::default())
    });
    let mut traits = b"\x17\x00P\x00\x13\x00\x01".to_vec();
    traits.extend_from_slice(&GROUP.to_bytes_le());
    engine.set_information(handle, EventInfoClass::SetTraits, traits.as_slice());
    engine.start_session("s").enable(PROVIDER, Enable::default());
    assert_eq!(*results.lock().unwrap(), [NtStatus::PossibleDeadlock]);
    assert_eq!(engine.findings(), [Finding::ControlInCallback { provider: PROVIDER }]);
}

#[test]
fn callbacks_that_register_each_others_guid_do_not_hang() {
    let engine = Engine::new();
    let session = engine.start_session("s");
    let both_inside = Arc::new(Barrier::new(2));
    let crossing = |provider: Guid, other: Guid| {
        let both_inside = both_inside.clone();
        with_callback(&engine, provider, move |engine, _| {
            both_inside.wait();
            engine.register(other, None, |_| {}).err()
        })
        .1
    };
    let first = crossing(PROVIDER, OTHER);
    let second = crossing(OTHER, PROVIDER);
    thread::scope(|scope| {
        scope.spawn(|| session.enable(PROVIDER, Enable::default()));
        session.enable(OTHER, Enable::default());
    });
    let results = [first.lock().unwrap()[0], second.lock().unwrap()[0]];
    assert!(matches!(results, [Some(NtStatus::PossibleDeadlock), None] | [None, Some(NtStatus::PossibleDeadlock)]));
    assert!(matches!(engine.findings()[..], [Finding::LockCycle { .. }]));
}
