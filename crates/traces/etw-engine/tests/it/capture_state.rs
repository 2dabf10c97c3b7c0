//! Capture state: requests the state of providers.

use crate::common::{Note, PROVIDER, register};
use etw_engine::{Enable, Engine, Filter};
use etw_types::{ControlCode, Guid, Level, NtStatus};

#[test]
fn every_registration_is_called_with_the_values_of_the_requesting_session() {
    let engine = Engine::new();
    let (_, first) = register(&engine, PROVIDER);
    let (_, second) = register(&engine, PROVIDER);
    let asking = engine.start_session("asking");
    let other = engine.start_session("other");
    let source = Guid::from_u128(9);
    asking.enable(PROVIDER, Enable { level: Level::Error, any: 0b01, all: 0b01, source, ..Enable::default() });
    other.enable(PROVIDER, Enable { level: Level::Verbose, any: 0b10, ..Enable::default() });
    first.take();
    second.take();

    assert_eq!(asking.capture_state(PROVIDER), NtStatus::Success);
    let expected = Note { control: ControlCode::CaptureState, source, ..Note::enabled(2, 0b01, 0b01) };
    for notes in [first, second] {
        assert_eq!(notes.take(), std::slice::from_ref(&expected));
    }
}

#[test]
fn a_request_of_a_controller_has_its_own_level_masks_source_and_filter() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable { level: Level::Error, any: 0b01, ..Enable::default() });
    notes.take();

    let source = Guid::from_u128(9);
    let filters = vec![Filter::Schematized(vec![7])];
    let request = Enable { level: Level::Verbose, any: 0b110, all: 0b100, source, filters, ..Enable::default() };
    assert_eq!(session.capture_trace(PROVIDER, &request), Ok(()));
    assert_eq!(session.capture_trace(PROVIDER, &Enable::default()), Ok(()));
    let captured = |note| Note { control: ControlCode::CaptureState, ..note };
    let filter = Some((0x8000_0000, vec![7]));
    assert_eq!(
        notes.take(),
        [
            captured(Note { source, filter, ..Note::enabled(5, 0b110, 0b100) }),
            captured(Note::enabled(0xFF, u64::MAX, 0)),
        ]
    );
    let (_, late) = register(&engine, PROVIDER);
    assert_eq!(late.take(), [Note::enabled(2, 0b01, 0)], "the session still wants the same");
}

#[test]
fn a_session_that_did_not_enable_the_provider_captures_no_state() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    engine.start_session("other").enable(PROVIDER, Enable::default());
    notes.take();
    assert_eq!(engine.start_session("s").capture_state(PROVIDER), NtStatus::Success);
    assert_eq!(notes.take(), []);
}

#[test]
fn capturing_state_does_not_change_what_is_enabled() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable { level: Level::Error, any: 3, ..Enable::default() });
    session.capture_state(PROVIDER);
    notes.take();
    let (_, late) = register(&engine, PROVIDER);
    assert_eq!(late.take(), [Note::enabled(2, 3, 0)]);
}
