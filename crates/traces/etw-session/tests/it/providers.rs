//! Providers: enabled with filters, enumerated, and consumed while the session is running.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::common::{GROUP, PROVIDER, machine, plain_session, register, write};
use etw_engine::Callback;
use etw_session::{Consumer, Enable, Filter, Listed, Properties, Received, Selection};
use etw_types::session::enable as property;
use etw_types::{ControlCode, Guid, Level, Win32Error};

/// Returns the names of the events until the session ends.
fn names(consumer: &mut Consumer) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        match consumer.receive(Duration::from_secs(20)) {
            Received::Event(event) => names.extend(event.decode().event),
            Received::End => return names,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn events_arrive_while_the_session_runs() {
    let (machine, engine) = machine();
    let handle = register(&engine);
    let session = plain_session(&machine);
    let mut consumer = machine.consume(&session).unwrap();
    session.provider(PROVIDER).enable(&Enable::new(Level::Verbose).any(0x1)).unwrap();
    write(&engine, handle, 1, "First");
    session.flush().unwrap();
    let Received::Event(event) = consumer.receive(Duration::from_secs(20)) else { panic!("nothing came") };
    assert_eq!(event.decode().to_string(), "Session-Test/First");
    assert_eq!(event.header.provider, Some(PROVIDER));
    assert_eq!(consumer.receive(Duration::ZERO), Received::Nothing);
    write(&engine, handle, 2, "Second");
    session.provider(PROVIDER).disable().unwrap();
    write(&engine, handle, 3, "Third");
    session.stop().unwrap();
    assert_eq!(names(&mut consumer), ["Second"]);
    assert_eq!(consumer.receive(Duration::ZERO), Received::End);
}

#[test]
fn a_session_without_real_time_has_no_consumers() {
    let (machine, _engine) = machine();
    let session = machine.start(&Properties::new("memory").buffering()).unwrap();
    assert_eq!(machine.consume(&session).unwrap_err().code(), Win32Error::InvalidParameter);
}

#[test]
fn filters_reach_the_engine_and_each_request_replaces_them() {
    let (machine, engine) = machine();
    let handle = register(&engine);
    let session = plain_session(&machine);
    let mut consumer = machine.consume(&session).unwrap();
    let provider = session.provider(PROVIDER);
    let write_all = || {
        write(&engine, handle, 1, "One");
        write(&engine, handle, 2, "Two");
    };
    provider.enable(&Enable::default().filter(Filter::EventIds(Listed::Pass, vec![1]))).unwrap();
    write_all();
    let named = Filter::EventNames(Listed::Pass, Selection::default(), vec!["Two".into()]);
    provider.enable(&Enable::default().filter(named)).unwrap();
    write_all();
    provider.enable(&Enable::default().filter(Filter::EventIds(Listed::Blocked, vec![1, 2]))).unwrap();
    write_all();
    // A filter by process does not apply to registrations of the kernel.
    provider.enable(&Enable::default().filter(Filter::ProcessIds(vec![1]))).unwrap();
    write_all();
    session.stop().unwrap();
    assert_eq!(names(&mut consumer), ["One", "Two", "One", "Two"]);
}

#[test]
fn registrations_and_the_sessions_that_enabled_them_are_enumerated() {
    let (machine, engine) = machine();
    register(&engine);
    let session = plain_session(&machine);
    session.provider(PROVIDER).enable(&Enable::new(Level::Warning).all(0x4)).unwrap();
    session.group(GROUP).enable(&Enable::new(Level::Error)).unwrap();
    assert_eq!(machine.providers().unwrap(), [PROVIDER]);
    assert_eq!(machine.groups().unwrap(), [GROUP]);
    let instances = machine.provider(PROVIDER).unwrap().0;
    assert_eq!(instances.len(), 1);
    let request = instances[0].enabled[0];
    assert_eq!(request.level, 3);
    assert_eq!(request.match_all, 4);
    let group = machine.group(GROUP).unwrap();
    assert_eq!(group.members.as_slice(), [PROVIDER].as_slice());
    assert_eq!(group.enabled.len(), 1);
    assert_eq!(group.enabled[0].enable_property & property::PROVIDER_GROUP, property::PROVIDER_GROUP);
    let unknown = machine.provider(Guid::from_name("Nobody")).unwrap_err();
    assert_eq!(unknown.code(), Win32Error::WmiInstanceNotFound);
    assert!(machine.providers_of_this_process().is_ok());
}

#[test]
fn capture_state_and_wrong_targets() {
    let (machine, engine) = machine();
    register(&engine);
    let session = plain_session(&machine);
    session.provider(PROVIDER).enable(&Enable::default()).unwrap();
    session.provider(PROVIDER).capture().unwrap();
    let zero = session.provider(Guid::ZERO).enable(&Enable::default()).unwrap_err();
    assert_eq!(zero.code(), Win32Error::InvalidParameter);
    let handle = session.handle();
    engine.session(handle).unwrap().stop();
    assert_eq!(session.provider(PROVIDER).capture().unwrap_err().code(), Win32Error::WmiInstanceNotFound);
}

#[test]
fn the_callback_receives_the_values_of_a_capture_request() {
    let (machine, engine) = machine();
    let (sender, received) = mpsc::channel();
    let callback: Callback = Arc::new(move |request| {
        sender.send((request.control, request.level, request.any, request.all)).unwrap();
    });
    engine.register(PROVIDER, Some(callback), |_| {}).unwrap();
    let session = plain_session(&machine);
    let provider = session.provider(PROVIDER);
    provider.enable(&Enable::new(Level::Error).any(0x1)).unwrap();
    provider.capture_with(&Enable::new(Level::Verbose).any(0x6).all(0x4)).unwrap();
    provider.capture().unwrap();
    let expected = [
        (ControlCode::EnableProvider, Level::Error, 0x1, 0),
        (ControlCode::CaptureState, Level::Verbose, 0x6, 0x4),
        (ControlCode::CaptureState, Level::from_int(0xFF), u64::MAX, 0),
    ];
    assert_eq!(received.try_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_ninth_session_cannot_enable_a_provider() {
    let (machine, _engine) = machine();
    let session = |number: usize| machine.start(&Properties::new(&format!("s{number}")).real_time()).unwrap();
    let sessions: Vec<_> = (0..9).map(session).collect();
    for session in &sessions[..8] {
        session.provider(PROVIDER).enable(&Enable::default()).unwrap();
    }
    let error = sessions[8].provider(PROVIDER).enable(&Enable::default()).unwrap_err();
    assert!(error.to_string().contains("eight sessions have enabled this provider"), "{error}");
}
