//! Query, update, flush and stop, and `EnableTraceEx2` with its error codes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::common::{PROVIDER, TempFile, read_events, register, write};
use etw_engine::info::SystemFlags;
use etw_engine::{Answers, Enable, Engine, EngineOptions, Filter, Properties, Session, Update};
use etw_etl::Event;
use etw_types::session::mode;
use etw_types::{Guid, Level, Win32Error};

const GONE: Win32Error = Win32Error::WmiInstanceNotFound;

#[test]
fn a_stopped_session_is_not_found() {
    let engine = Engine::new();
    let session = engine.start(&Properties::to_consumers("s")).unwrap();
    assert_eq!(engine.session(session.handle()).unwrap().name(), "s");
    assert!(session.query().is_ok());
    session.finish().unwrap();
    assert_eq!(session.finish().unwrap_err(), GONE);
    assert_eq!(session.query().unwrap_err(), GONE);
    assert_eq!(session.flush().unwrap_err(), GONE);
    assert_eq!(session.update(&Update::default()).unwrap_err(), GONE);
    assert_eq!(session.consume().unwrap_err(), GONE);
    assert_eq!(session.enable_trace(PROVIDER, Enable::default()), Err(GONE));
    assert_eq!(session.disable_trace(PROVIDER), Err(GONE));
    assert_eq!(session.capture_trace(PROVIDER, &Enable::default()), Err(GONE));
    assert_eq!(engine.find_session("s").unwrap_err(), GONE);
    assert_eq!(engine.session(session.handle()).unwrap_err(), GONE);
    assert_eq!(session.status().status.handle, session.handle(), "its last state can still be seen");
}

#[test]
fn an_update_changes_what_can_be_changed_and_keeps_the_rules() {
    let answers = Answers { same_file: Win32Error::Busy, ..Answers::default() };
    let engine = Engine::with_options(EngineOptions { answers, ..EngineOptions::default() });
    let (handle, _) = register(&engine, PROVIDER);
    let files = [TempFile::new("update-1"), TempFile::new("update-2")];
    let session = engine.start(&Properties::to_file("s", files[0].path())).unwrap();
    session.enable(PROVIDER, Enable::default());
    write(&engine, handle, Level::Error, 0, b"first");
    let same = Update { log_file: Some(files[0].path().into()), ..Update::default() };
    assert_eq!(session.update(&same).unwrap_err(), Win32Error::Busy);
    let update = Update {
        log_file: Some(files[1].path().into()),
        real_time: Some(true),
        maximum_buffers: Some(100),
        flush_timer: Some(7),
        enable_flags: Some(3),
    };
    let now = session.update(&update).unwrap().status.properties;
    assert_eq!(now.maximum_buffers, 100);
    assert_eq!(now.flush_timer, 7);
    assert_eq!(now.enable_flags, 3);
    assert_ne!(now.mode & mode::REAL_TIME, 0);
    let SystemFlags(mask) = session.information().get().unwrap();
    assert_eq!(mask.masks, [3, 0, 0, 0, 0, 0, 0, 0]);
    assert!(session.consume().is_ok());
    write(&engine, handle, Level::Error, 0, b"second");
    session.finish().unwrap();
    for (file, payload) in files.iter().zip([b"first".as_slice(), b"second"]) {
        let events = read_events(file.path());
        assert_eq!(events.iter().map(Event::payload).collect::<Vec<_>>(), [payload]);
    }
    let live = engine.start(&Properties::to_consumers("live")).unwrap();
    let off = Update { real_time: Some(false), ..Update::default() };
    assert_eq!(live.update(&off).unwrap_err(), Win32Error::BadPathname, "nothing would be left");
}

#[test]
fn a_session_with_a_file_can_go_on_in_real_time() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let file = TempFile::new("convert");
    let session = engine.start(&Properties::to_file("s", file.path())).unwrap();
    session.enable(PROVIDER, Enable::default());
    write(&engine, handle, Level::Error, 0, b"to the file");
    let status = session.convert_to_real_time().unwrap();
    assert_eq!(status.status.properties.mode, mode::REAL_TIME);
    assert_eq!(status.status.properties.log_file, None);
    assert_eq!(read_events(file.path()).len(), 1);
    let consumer = session.consume().unwrap();
    write(&engine, handle, Level::Error, 0, b"to the consumer");
    assert_eq!(session.finish().unwrap().statistics.recorded, 2);
    assert_eq!(consumer.next_buffer().map(|buffer| buffer.events), Some(1));
    let both = Properties { mode: mode::SEQUENTIAL | mode::REAL_TIME, ..Properties::to_file("both", file.path()) };
    let status = engine.start(&both).unwrap().convert_to_real_time().unwrap();
    assert_eq!(status.status.properties.mode, mode::REAL_TIME);
    assert_eq!(status.status.properties.log_file, None);
    let memory = engine.start(&Properties::in_memory("m")).unwrap();
    assert_eq!(memory.convert_to_real_time().unwrap_err(), Win32Error::InvalidParameter);
}

#[test]
fn a_flush_puts_what_was_written_into_the_file() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let file = TempFile::new("flush");
    let session = engine.start(&Properties::to_file("s", file.path())).unwrap();
    session.enable(PROVIDER, Enable::default());
    for number in 1..=3 {
        write(&engine, handle, Level::Error, 0, b"event");
        let status = session.flush().unwrap();
        assert_eq!(read_events(file.path()).len(), number);
        assert_eq!(status.statistics.recorded, number as u64);
        assert_eq!(status.statistics.pending, 0);
        assert_eq!(u64::from(status.status.buffers_written), number as u64);
        assert_eq!(status.status.log_buffers_lost, 0);
        assert_eq!(status.status.real_time_buffers_lost, 0);
    }
    session.flush().unwrap();
    assert_eq!(session.finish().unwrap().status.buffers_written, 3, "an empty buffer is not written");
}

#[test]
fn enabling_has_the_errors_of_its_function() {
    let engine = Engine::new();
    let session = engine.start(&Properties::to_consumers("s")).unwrap();
    assert_eq!(session.enable_trace(Guid::ZERO, Enable::default()), Err(Win32Error::InvalidParameter));
    let bad = Enable { filters: vec![Filter::ProcessIds(Vec::new())], ..Enable::default() };
    assert_eq!(session.enable_trace(PROVIDER, bad), Err(Win32Error::InvalidParameter));
    let sessions: Vec<_> = (0..9).map(|number| engine.start_session(&number.to_string())).collect();
    for session in &sessions[..8] {
        session.enable_trace(PROVIDER, Enable::default()).unwrap();
    }
    assert_eq!(sessions[8].enable_trace(PROVIDER, Enable::default()), Err(Win32Error::NoSystemResources));
    assert_eq!(sessions[0].enable_trace(PROVIDER, Enable::default()), Ok(()), "again");
    sessions[0].disable_trace(PROVIDER).unwrap();
    assert_eq!(sessions[8].enable_trace(PROVIDER, Enable::default()), Ok(()));
}

#[test]
fn an_unregistered_provider_can_be_refused() {
    let answers = Answers { unregistered: Win32Error::InvalidFunction, ..Answers::default() };
    let engine = Engine::with_options(EngineOptions { answers, ..EngineOptions::default() });
    let session = engine.start_session("s");
    assert_eq!(session.enable_trace(PROVIDER, Enable::default()), Err(Win32Error::InvalidFunction));
    register(&engine, PROVIDER);
    assert_eq!(session.enable_trace(PROVIDER, Enable::default()), Ok(()));
}

#[test]
fn an_engine_that_goes_away_closes_its_files() {
    let file = TempFile::new("dropped");
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start(&Properties::to_file("s", file.path())).unwrap();
    session.enable(PROVIDER, Enable::default());
    write(&engine, handle, Level::Error, 0, b"last");
    drop((session, engine));
    assert_eq!(read_events(file.path()).len(), 1);
}

#[test]
fn a_session_that_is_stopping_cannot_be_stopped_again() {
    let engine = Engine::new();
    let session = engine.start(&Properties::in_memory("s")).unwrap();
    let again = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&again);
    let weak = engine.downgrade();
    // The last buffers get the time of the engine's clock, while the session is stopping.
    engine.set_clock(move || {
        let session = weak.upgrade().and_then(|engine| engine.find_session("s").ok());
        seen.lock().unwrap().extend(session.map(|session| (session.is_stopped(), session.finish().err())));
        0
    });
    session.finish().unwrap();
    assert_eq!(*again.lock().unwrap(), [(true, Some(Win32Error::ActiveConnections))]);
}

#[test]
fn sessions_that_capture_get_names_and_guids_of_their_own() {
    let engines = [Engine::new(), Engine::new()];
    let sessions: Vec<_> = engines.iter().flat_map(|engine| [(); 3].map(|()| engine.start_session("s"))).collect();
    let names: Vec<&str> = sessions.iter().map(Session::name).collect();
    assert_eq!(names, ["s", "s (2)", "s (3)", "s", "s (2)", "s (3)"]);
    let guids: BTreeSet<Guid> = sessions.iter().map(|session| session.status().status.properties.guid).collect();
    assert_eq!(guids.len(), 6);
    let ids: Vec<u16> = sessions[..3].iter().map(|session| session.status().logger_id).collect();
    assert_eq!(ids, [2, 3, 4]);
    for (session, id) in sessions.iter().zip(ids) {
        assert_eq!(session.handle() & 0xFFFF, u64::from(id), "the low bits of a handle");
    }
}

#[test]
fn a_session_and_its_consumer_can_be_printed() {
    let session = Engine::new().start(&Properties::to_consumers("Printed")).unwrap();
    let shown = format!("{session:?}");
    assert!(shown.contains("Printed"), "{shown}");
    assert!(shown.contains(&session.handle().to_string()), "{shown}");
    assert!(format!("{:?}", session.consume().unwrap()).contains(&shown), "{shown}");
}
