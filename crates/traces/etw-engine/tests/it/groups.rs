//! Provider groups: one GUID enables many providers.

use crate::common::{GROUP, Note, OTHER, PROVIDER, register, write};
use etw_engine::{Enable, Engine, Target, property};
use etw_types::{ControlCode, EventInfoClass, Level, NtStatus};

/// The traits of a provider "P" in the test group.
fn traits() -> Vec<u8> {
    let mut blob = b"\x17\x00P\x00\x13\x00\x01".to_vec();
    blob.extend_from_slice(&GROUP.to_bytes_le());
    blob
}

fn join(engine: &Engine, handle: u64) -> NtStatus {
    engine.set_information(handle, EventInfoClass::SetTraits, traits().as_slice())
}

#[test]
fn a_session_that_enabled_the_group_is_reported_when_a_provider_joins() {
    let engine = Engine::new();
    let session = engine.start_session("s");
    session.enable(Target::Group(GROUP), Enable { level: Level::Warning, any: 6, ..Enable::default() });
    let (handle, notes) = register(&engine, PROVIDER);
    assert_eq!(notes.take(), [], "not in the group yet");
    write(&engine, handle, Level::Error, 2, b"early");

    assert_eq!(join(&engine, handle), NtStatus::Success);
    assert_eq!(notes.take(), [Note::enabled(3, 6, 0)]);
    write(&engine, handle, Level::Error, 2, b"joined");
    write(&engine, handle, Level::Verbose, 2, b"too verbose");
    let payloads: Vec<_> = session.events().into_iter().map(|event| event.payload).collect();
    assert_eq!(payloads, [b"joined"]);
}

#[test]
fn joining_a_group_that_is_not_enabled_calls_no_callback() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    engine.start_session("s").enable(PROVIDER, Enable::default());
    notes.take();
    assert_eq!(join(&engine, handle), NtStatus::Success);
    assert_eq!(notes.take(), []);
}

#[test]
fn enabling_and_disabling_a_group_reaches_its_members_only() {
    let engine = Engine::new();
    let (first, first_notes) = register(&engine, PROVIDER);
    let (second, second_notes) = register(&engine, OTHER);
    let (_, outsider) = register(&engine, PROVIDER);
    join(&engine, first);
    join(&engine, second);
    let session = engine.start_session("s");
    // The property has the same effect as `Target::Group`.
    session.enable(GROUP, Enable { property: property::PROVIDER_GROUP, any: 1, ..Enable::default() });
    assert_eq!(first_notes.take(), [Note::enabled(0xFF, 1, 0)]);
    assert_eq!(second_notes.take(), [Note::enabled(0xFF, 1, 0)]);
    assert_eq!(session.capture_state(Target::Group(GROUP)), NtStatus::Success);
    assert_eq!(first_notes.take()[0].control, ControlCode::CaptureState);
    second_notes.take();
    session.stop();
    assert_eq!(first_notes.take(), [Note::disabled()]);
    assert_eq!(second_notes.take(), [Note::disabled()]);
    assert_eq!(outsider.take(), []);
}

#[test]
fn requests_to_the_provider_and_to_its_group_merge_and_capture_once() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    join(&engine, handle);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable { level: Level::Error, any: 1, ..Enable::default() });
    notes.take();
    session.enable(Target::Group(GROUP), Enable { level: Level::Verbose, any: 2, ..Enable::default() });
    assert_eq!(notes.take(), [Note::enabled(5, 3, 0)]);
    write(&engine, handle, Level::Error, 3, b"once");
    assert_eq!(session.events().len(), 1);
    session.disable(PROVIDER);
    assert_eq!(notes.take(), [Note::enabled(5, 2, 0)]);
}

#[test]
fn a_groups_guid_is_not_a_providers_guid() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    join(&engine, handle);
    engine.start_session("s").enable(GROUP, Enable::default());
    assert_eq!(notes.take(), []);
}

#[test]
fn a_refused_join_drops_the_traits() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    engine.fail_next(etw_engine::Routine::SetInformation, NtStatus::InsufficientResources);
    assert_eq!(join(&engine, handle), NtStatus::InsufficientResources);
    assert_eq!(engine.registrations()[0].traits, None);
    assert_eq!(join(&engine, handle), NtStatus::Success);
}
