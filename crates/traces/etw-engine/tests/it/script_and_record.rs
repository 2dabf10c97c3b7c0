//! Scripted failures, hidden routines and the record of calls.

use std::sync::Arc;

use crate::common::{PROVIDER, descriptor, register, write};
use etw_engine::{Call, Callback, Enable, Engine, Routine, Subject};
use etw_types::{EventInfoClass, Guid, Keyword, Level, NtStatus};

#[test]
fn a_scripted_registration_fails_once_without_any_effect() {
    let engine = Engine::new();
    engine.fail_next(Routine::Register, NtStatus::NoMemory);
    let failed = engine.register(PROVIDER, None, |_| panic!("no handle"));
    assert_eq!(failed, Err(NtStatus::NoMemory));
    assert!(engine.registrations().is_empty());
    assert!(engine.register(PROVIDER, None, |_| {}).is_ok());
}

#[test]
fn scripted_results_queue_up_per_routine() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable::default());
    engine.fail_next(Routine::WriteTransfer, NtStatus::NoMemory);
    engine.fail_next(Routine::WriteTransfer, NtStatus::BufferOverflow);
    engine.fail_next(Routine::Unregister, NtStatus::Unsuccessful);
    let results: Vec<NtStatus> = (0..3).map(|_| write(&engine, handle, Level::Error, 0, b"x")).collect();
    assert_eq!(results, [NtStatus::NoMemory, NtStatus::BufferOverflow, NtStatus::Success]);
    assert_eq!(session.events().len(), 1);
    assert_eq!(engine.unregister(handle), NtStatus::Unsuccessful);
    assert_eq!(engine.unregister(handle), NtStatus::Success);
}

#[test]
fn a_scripted_failure_of_a_boolean_is_false() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    engine.start_session("s").enable(PROVIDER, Enable::default());
    engine.fail_next(Routine::ProviderEnabled, NtStatus::Unsuccessful);
    assert!(!engine.provider_enabled(handle, Level::Error, Keyword::NONE));
    assert!(engine.provider_enabled(handle, Level::Error, Keyword::NONE));
}

#[test]
fn hidden_names_can_be_shown_again() {
    let engine = Engine::new();
    assert!(!engine.is_hidden("EtwSetInformation"));
    engine.hide_routine("EtwSetInformation");
    engine.hide_routine("advapi32.dll");
    assert!(engine.is_hidden("EtwSetInformation"));
    assert!(engine.is_hidden("ADVAPI32.DLL"));
    engine.show_routine("EtwSetInformation");
    assert!(!engine.is_hidden("EtwSetInformation"));
}

#[test]
fn the_record_has_every_call_in_the_order_in_which_they_began() {
    let engine = Engine::new();
    engine.start_session("s").enable(PROVIDER, Enable::default());
    let callback: Callback = {
        let engine = engine.downgrade();
        Arc::new(move |notification| {
            let engine = engine.upgrade().unwrap();
            assert!(engine.provider_enabled(notification.handle, Level::Error, Keyword::NONE));
        })
    };
    let handle = engine.register(PROVIDER, Some(callback), |_| {}).unwrap();
    engine.set_information(handle, EventInfoClass::SetTraits, b"\x02\x00");
    write(&engine, handle, Level::Error, 3, b"x");
    engine.unregister(handle);

    let call = |routine, subject, status| Call { routine, handle, subject, status };
    assert_eq!(
        engine.calls(),
        [
            call(Routine::Register, Subject::Provider(PROVIDER), NtStatus::Success),
            call(Routine::ProviderEnabled, Subject::Event(descriptor(Level::Error, 0)), NtStatus::Success),
            call(Routine::SetInformation, Subject::Class(EventInfoClass::SetTraits), NtStatus::InvalidParameter),
            call(Routine::WriteTransfer, Subject::Event(descriptor(Level::Error, 3)), NtStatus::Success),
            call(Routine::Unregister, Subject::None, NtStatus::Success),
        ]
    );
    assert_eq!(engine.count_calls(Routine::WriteTransfer), 1);
}

#[test]
fn clearing_the_record_inside_a_call_does_not_disturb_later_entries() {
    let engine = Engine::new();
    engine.start_session("s").enable(PROVIDER, Enable::default());
    let callback: Callback = {
        let engine = engine.downgrade();
        Arc::new(move |_| {
            let engine = engine.upgrade().unwrap();
            engine.clear_calls();
            engine.activity_id_control(3, &mut Guid::default());
        })
    };
    engine.register(PROVIDER, Some(callback), |_| {}).unwrap();
    let calls = engine.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].routine, Routine::ActivityIdControl);
    assert_eq!(calls[0].handle, 0);
}

#[test]
#[cfg_attr(miri, ignore = "too many calls for an interpreter")]
fn the_record_is_bounded() {
    let engine = Engine::new();
    for _ in 0..(1 << 16) + 10 {
        // Handle 1 is unknown, which is a finding.
        engine.unregister(1);
    }
    assert_eq!(engine.calls().len(), 1 << 16);
    assert_eq!(engine.findings().len(), 1 << 16);
    assert_eq!(engine.calls_dropped(), 10);
    engine.clear_calls();
    engine.unregister(1);
    assert_eq!(engine.calls().len(), 1);
    assert_eq!(engine.calls_dropped(), 10);
}
