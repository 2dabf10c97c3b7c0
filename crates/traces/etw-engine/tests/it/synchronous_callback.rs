//! If a session has enabled the provider before it registers, the callback runs inside `register`.

use std::sync::{Arc, Mutex};

use crate::common::{Note, Notes, PROVIDER, register, write};
use etw_engine::{Callback, Enable, Engine, EventWrite, Filter};
use etw_types::{EventDescriptor, Guid, Keyword, Level, NtStatus};

#[test]
fn an_earlier_session_is_reported_with_a_zero_source() {
    let engine = Engine::new();
    let session = engine.start_session("early");
    let asked = Enable {
        level: Level::Warning,
        any: 0x5,
        all: 0x4,
        source: Guid::from_u128(7),
        filters: vec![Filter::Other(1, vec![1])],
        ..Enable::default()
    };
    assert_eq!(session.enable(PROVIDER, asked), NtStatus::Success);
    let (_, notes) = register(&engine, PROVIDER);
    assert_eq!(notes.take(), [Note::enabled(3, 0x5, 0x4)]);
}

#[test]
fn without_a_session_register_does_not_call_back() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    assert_eq!(notes.take(), []);
}

#[test]
fn a_session_that_left_is_not_reported() {
    let engine = Engine::new();
    let session = engine.start_session("early");
    session.enable(PROVIDER, Enable::default());
    session.disable(PROVIDER);
    let (_, notes) = register(&engine, PROVIDER);
    assert_eq!(notes.take(), []);
}

#[test]
fn the_callback_inside_register_sees_the_handle_and_can_write_but_has_no_traits_yet() {
    let engine = Engine::new();
    let session = engine.start_session("early");
    session.enable(PROVIDER, Enable::default());

    let published = Arc::new(Mutex::new(0));
    let traits_inside = Arc::new(Mutex::new(None));
    let callback: Callback = {
        let engine = engine.downgrade();
        let published = published.clone();
        let traits_inside = traits_inside.clone();
        Arc::new(move |notification| {
            let engine = engine.upgrade().unwrap();
            let handle = *published.lock().unwrap();
            assert_eq!(handle, notification.handle);
            *traits_inside.lock().unwrap() = Some(engine.registrations()[0].traits.is_some());
            let event = EventWrite::new(handle, EventDescriptor::new(Level::Error, Keyword::NONE));
            assert_eq!(engine.write(&event, &[]), NtStatus::Success);
            assert!(engine.provider_enabled(handle, Level::Verbose, Keyword::NONE));
        })
    };
    let handle = engine.register(PROVIDER, Some(callback), |handle| *published.lock().unwrap() = handle).unwrap();
    assert_eq!(handle, *published.lock().unwrap());
    assert_eq!(*traits_inside.lock().unwrap(), Some(false));
    assert_eq!(session.events().len(), 1);
    assert_eq!(engine.findings(), []);
}

#[test]
fn a_provider_without_callback_is_enabled_all_the_same() {
    let engine = Engine::new();
    let session = engine.start_session("early");
    session.enable(PROVIDER, Enable::default());
    let handle = engine.register(PROVIDER, None, |_| {}).unwrap();
    assert_eq!(write(&engine, handle, Level::Verbose, 1, b"x"), NtStatus::Success);
    assert_eq!(session.events().len(), 1);
}

#[test]
fn a_callback_that_panics_leaves_the_engine_usable() {
    let engine = Engine::new();
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable::default());
    let bad: Callback = Arc::new(|_| panic!("a mistake in a test's callback"));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        engine.register(PROVIDER, Some(bad), |_| {}).ok();
    }));
    assert!(panicked.is_err());
    let notes = Notes::default();
    let handle = engine.register(PROVIDER, Some(notes.callback()), |_| {}).unwrap();
    assert_eq!(notes.take().len(), 1);
    assert_eq!(engine.unregister(handle), NtStatus::Success);
}
