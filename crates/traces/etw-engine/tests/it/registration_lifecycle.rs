//! From register to unregister, without a session.

use crate::common::{PROVIDER, descriptor, register, write};
use etw_engine::{Engine, Finding, Routine, SECURITY_PROVIDER};
use etw_types::{EventInfoClass, Keyword, Level, NtStatus};

#[test]
fn the_handle_is_published_before_register_returns_and_is_not_zero() {
    let engine = Engine::new();
    let mut published = 0;
    let handle = engine.register(PROVIDER, None, |handle| published = handle).unwrap();
    assert_ne!(handle, 0);
    assert_eq!(published, handle);
}

#[test]
fn a_guid_can_be_registered_several_times_and_each_has_its_own_handle() {
    let engine = Engine::new();
    let (first, _) = register(&engine, PROVIDER);
    let (second, _) = register(&engine, PROVIDER);
    assert_ne!(first, second);
    let registered: Vec<u64> = engine.registrations().iter().map(|info| info.handle).collect();
    assert_eq!(registered, [first, second]);
    assert_eq!(engine.unregister(first), NtStatus::Success);
    assert_eq!(engine.registrations().len(), 1);
    assert_eq!(engine.registrations()[0].handle, second);
}

#[test]
fn handles_are_never_used_again() {
    let engine = Engine::new();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..100 {
        let (handle, _) = register(&engine, PROVIDER);
        assert!(seen.insert(handle));
        assert_eq!(engine.unregister(handle), NtStatus::Success);
    }
}

#[test]
fn unregistering_nothing_is_an_invalid_handle_and_no_mistake() {
    let engine = Engine::new();
    assert_eq!(engine.unregister(0), NtStatus::InvalidHandle);
    assert_eq!(engine.findings(), []);
}

#[test]
fn unregistering_twice_is_found() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    assert_eq!(engine.unregister(handle), NtStatus::Success);
    assert_eq!(engine.unregister(handle), NtStatus::InvalidHandle);
    assert_eq!(engine.findings(), [Finding::StaleHandle { routine: Routine::Unregister, handle }]);
}

#[test]
fn every_routine_finds_a_stale_handle() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    engine.unregister(handle);
    assert_eq!(write(&engine, handle, Level::Error, 0, b""), NtStatus::InvalidHandle);
    assert_eq!(engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]), NtStatus::InvalidHandle);
    assert!(!engine.provider_enabled(handle, Level::Error, Keyword::NONE));
    assert!(!engine.event_enabled(handle, &descriptor(Level::Error, 0)));
    assert_eq!(engine.write_string(handle, Level::Error, Keyword::NONE, None, &[]), NtStatus::InvalidHandle);
    let routines: Vec<Routine> = engine
        .findings()
        .iter()
        .map(|finding| match finding {
            Finding::StaleHandle { routine, handle: stale } if *stale == handle => *routine,
            other => panic!("not a stale handle: {other:?}"),
        })
        .collect();
    assert_eq!(
        routines,
        [
            Routine::WriteTransfer,
            Routine::SetInformation,
            Routine::ProviderEnabled,
            Routine::EventEnabled,
            Routine::WriteString
        ]
    );
}

#[test]
fn a_handle_of_another_engine_is_unknown() {
    let engine = Engine::new();
    let (_, _) = register(&engine, PROVIDER);
    let (foreign, _) = register(&Engine::new(), PROVIDER);
    for handle in [foreign, u64::MAX, 1] {
        assert_eq!(write(&engine, handle, Level::Error, 0, b""), NtStatus::InvalidHandle);
        let found = Finding::UnknownHandle { routine: Routine::WriteTransfer, handle };
        assert_eq!(engine.findings().last(), Some(&found));
    }
}

#[test]
fn only_the_system_registers_the_security_provider() {
    let engine = Engine::new();
    let mut published = None;
    let refused = engine.register(SECURITY_PROVIDER, None, |handle| published = Some(handle));
    assert_eq!(refused, Err(NtStatus::AccessDenied));
    assert_eq!(published, None);
    assert_eq!(SECURITY_PROVIDER.to_string(), "54849625-5478-4994-a5ba-3e3b0328c30d");
}

#[test]
fn engines_do_not_see_each_other() {
    let one = Engine::new();
    let two = Engine::new();
    let session = two.start_session("s");
    session.enable(PROVIDER, etw_engine::Enable::default());
    let (handle, notes) = register(&one, PROVIDER);
    assert_eq!(notes.take(), []);
    assert_eq!(write(&one, handle, Level::Error, 0, b"x"), NtStatus::Success);
    assert_eq!(session.events(), []);
    assert!(two.registrations().is_empty());
}
