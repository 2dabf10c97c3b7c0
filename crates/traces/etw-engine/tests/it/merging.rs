//! Several sessions on one provider: the requests that its callback receives, and the events that each session
//! captures.

use crate::common::{Note, OTHER, PROVIDER, register, write};
use etw_engine::{Enable, Engine, Filter, Session, property};
use etw_types::{ControlCode, EventDescriptor, Guid, Keyword, Level, NtStatus};

fn asking(level: Level, any: u64, all: u64) -> Enable {
    Enable { level, any, all, ..Enable::default() }
}

fn payloads(session: &Session) -> Vec<Vec<u8>> {
    session.events().into_iter().map(|event| event.payload).collect()
}

#[test]
fn the_callback_sees_the_merged_request_and_what_remains_of_it() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    let one = engine.start_session("one");
    let two = engine.start_session("two");

    assert_eq!(one.enable(PROVIDER, asking(Level::Error, 0b0001, 0b0110)), NtStatus::Success);
    assert_eq!(notes.take(), [Note::enabled(2, 0b0001, 0b0110)]);
    assert_eq!(two.enable(PROVIDER, asking(Level::Informational, 0b1000, 0b0011)), NtStatus::Success);
    assert_eq!(notes.take(), [Note::enabled(4, 0b1001, 0b0010)]);
    assert_eq!(one.disable(PROVIDER), NtStatus::Success);
    assert_eq!(notes.take(), [Note::enabled(4, 0b1000, 0b0011)]);
    assert_eq!(two.disable(PROVIDER), NtStatus::Success);
    assert_eq!(notes.take(), [Note::disabled()]);
}

#[test]
fn a_second_request_replaces_the_first() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, asking(Level::Verbose, 0xF0, 0));
    session.enable(PROVIDER, asking(Level::Error, 0x0F, 0));
    assert_eq!(notes.take(), [Note::enabled(5, 0xF0, 0), Note::enabled(2, 0x0F, 0)]);
}

#[test]
fn zero_level_and_mask_mean_everything() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable::default());
    assert_eq!(notes.take(), [Note::enabled(0xFF, u64::MAX, 0)]);
    for level in [0, 5, 200, 255] {
        write(&engine, handle, Level::from_int(level), 1 << 40, b"");
    }
    assert_eq!(session.events().len(), 4);
}

#[test]
fn a_raw_request_reaches_the_callback_as_it_is() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable_raw(PROVIDER, Enable::default());
    assert_eq!(notes.take(), [Note::enabled(0, 0, 0)]);
    assert!(engine.provider_enabled(handle, Level::from_int(255), Keyword::from_bits(1)));
}

#[test]
fn every_registration_of_the_guid_is_notified() {
    let engine = Engine::new();
    let (_, first) = register(&engine, PROVIDER);
    let (_, second) = register(&engine, PROVIDER);
    let (_, other) = register(&engine, OTHER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, asking(Level::Error, 1, 0));
    assert_eq!(first.take(), [Note::enabled(2, 1, 0)]);
    assert_eq!(second.take(), [Note::enabled(2, 1, 0)]);
    assert_eq!(other.take(), []);
}

#[test]
fn source_and_filter_reach_the_callback() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    let source = Guid::from_u128(0xABCD);
    let filters = vec![Filter::Schematized(vec![1, 2, 3])];
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable { source, filters, ..Enable::default() });
    let note = &notes.take()[0];
    assert_eq!(note.source, source);
    assert_eq!(note.filter, Some((0x8000_0000, vec![1, 2, 3])));
    session.disable(PROVIDER);
    let note = &notes.take()[0];
    assert_eq!(note.control, ControlCode::DisableProvider);
    assert_eq!(note.source, source);
    assert_eq!(note.filter, None);
}

#[test]
fn each_session_captures_only_what_it_requested() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let errors = engine.start_session("errors");
    let network = engine.start_session("network");
    errors.enable(PROVIDER, asking(Level::Error, 0b01, 0));
    network.enable(PROVIDER, asking(Level::Verbose, 0b10, 0));

    write(&engine, handle, Level::Error, 0b01, b"disk error");
    write(&engine, handle, Level::Verbose, 0b10, b"packet");
    write(&engine, handle, Level::Error, 0b11, b"network disk error");
    // Passes the merged request, which is verbose and has both bits, but not the request of either session.
    assert!(engine.provider_enabled(handle, Level::Verbose, Keyword::from_bits(0b01)));
    write(&engine, handle, Level::Verbose, 0b01, b"disk detail");

    assert_eq!(payloads(&errors), [b"disk error".to_vec(), b"network disk error".to_vec()]);
    assert_eq!(payloads(&network), [b"packet".to_vec(), b"network disk error".to_vec()]);
}

#[test]
fn enabled_follows_the_kernels_test() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let enabled = |level: u8, keyword: u64| {
        let level = Level::from_int(level);
        let keyword = Keyword::from_bits(keyword);
        let result = engine.provider_enabled(handle, level, keyword);
        assert_eq!(result, engine.event_enabled(handle, &EventDescriptor::new(level, keyword)));
        result
    };
    assert!(!enabled(0, 0));
    let session = engine.start_session("s");
    session.enable(PROVIDER, asking(Level::Warning, 0b110, 0b010));
    assert!(enabled(0, 0));
    assert!(enabled(3, 0));
    assert!(!enabled(4, 0));
    assert!(enabled(3, 0b010));
    assert!(enabled(3, 0b110));
    assert!(!enabled(3, 0b100));
    assert!(!enabled(3, 0b001));
    assert!(!engine.provider_enabled(0, Level::LogAlways, Keyword::NONE));
    assert_eq!(engine.findings(), []);
}

#[test]
fn events_without_keyword_can_be_left_out() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable { property: property::IGNORE_KEYWORD_0, ..Enable::default() });
    assert!(!engine.provider_enabled(handle, Level::Error, Keyword::NONE));
    write(&engine, handle, Level::Error, 0, b"without");
    write(&engine, handle, Level::Error, 4, b"with");
    assert_eq!(payloads(&session), [b"with"]);
}

#[test]
fn stopping_disables_everything_and_keeps_what_was_captured() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    let (_, other) = register(&engine, OTHER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, Enable::default());
    session.enable(OTHER, Enable::default());
    write(&engine, handle, Level::Error, 0, b"before");
    notes.take();
    other.take();

    assert_eq!(session.stop(), NtStatus::Success);
    assert_eq!(notes.take(), [Note::disabled()]);
    assert_eq!(other.take(), [Note::disabled()]);
    assert!(session.is_stopped());
    write(&engine, handle, Level::Error, 0, b"after");
    assert_eq!(payloads(&session), [b"before"]);
    assert_eq!(session.enable(PROVIDER, Enable::default()), NtStatus::WmiInstanceNotFound);
    assert_eq!(session.capture_state(PROVIDER), NtStatus::WmiInstanceNotFound);
    assert_eq!(session.stop(), NtStatus::Success);
    assert_eq!(notes.take(), []);
}

#[test]
fn disabling_what_is_not_enabled_has_no_effect() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    assert_eq!(engine.start_session("s").disable(PROVIDER), NtStatus::Success);
    assert_eq!(notes.take(), []);
}

#[test]
fn a_provider_takes_eight_sessions() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    let sessions: Vec<Session> = (0..9).map(|number| engine.start_session(&number.to_string())).collect();
    for session in &sessions[..8] {
        assert_eq!(session.enable(PROVIDER, Enable::default()), NtStatus::Success);
    }
    notes.take();
    assert_eq!(sessions[8].enable(PROVIDER, Enable::default()), NtStatus::InsufficientResources);
    assert_eq!(notes.take(), []);
    assert_eq!(sessions[0].enable(PROVIDER, asking(Level::Error, 0, 0)), NtStatus::Success, "not a new one");
    sessions[0].stop();
    assert_eq!(sessions[8].enable(PROVIDER, Enable::default()), NtStatus::Success);
    write(&engine, handle, Level::Verbose, 0, b"x");
    assert_eq!(sessions.iter().map(|session| session.events().len()).sum::<usize>(), 8);
}
