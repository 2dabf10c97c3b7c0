//! Files of a running session: the next numbered file, and the end of a file.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

use crate::common::{PROVIDER, machine, machine_with, register, write};
use etw_engine::EngineOptions;
use etw_etl::{Event, Reader};
use etw_session::{Enable, Machine, Properties, Received, Session};
use etw_types::{Level, Win32Error};

fn path(name: &str) -> PathBuf {
    env::temp_dir().join(format!("etw-session-{name}-{}.etl", process::id()))
}

fn start(machine: &Machine, properties: &Properties) -> Session {
    let session = machine.start(properties).unwrap();
    session.provider(PROVIDER).enable(&Enable::new(Level::Verbose)).unwrap();
    session
}

/// Returns the names of the events in a file, and removes the file.
fn take_names(path: &Path) -> Vec<String> {
    let reader = Reader::open(path).unwrap();
    let names = reader.filter(Event::is_trace_logging).filter_map(|event| event.decode().event).collect();
    fs::remove_file(path).unwrap();
    names
}

#[test]
fn the_next_of_numbered_files_is_begun_on_request() {
    let (machine, engine) = machine();
    let provider = register(&engine);
    let numbered = path("numbered-%d");
    let session = start(&machine, &Properties::new("numbered").file(&numbered).numbered_files(1));
    write(&engine, provider, 1, "One");
    let file = |number: u32| PathBuf::from(numbered.to_str().unwrap().replace("%d", &number.to_string()));
    assert_eq!(session.increment_file().unwrap().properties.log_file, Some(file(2)));
    write(&engine, provider, 2, "Two");
    session.stop().unwrap();
    assert_eq!(take_names(&file(1)), vec!["One".to_owned()]);
    assert_eq!(take_names(&file(2)), vec!["Two".to_owned()]);
}

#[test]
fn a_session_whose_files_are_not_numbered_says_why_it_has_no_next_one() {
    let (machine, _engine) = machine();
    let single = path("single");
    let session = start(&machine, &Properties::new("single").file(&single));
    let refused = session.increment_file().unwrap_err();
    assert_eq!(refused.code(), Win32Error::InvalidParameter);
    assert!(refused.to_string().contains("87 INVALID_PARAMETER: the session does not number its files"), "{refused}");
    session.stop().unwrap();
    fs::remove_file(single).unwrap();
}

#[test]
fn a_session_goes_on_in_real_time_when_its_file_is_finished() {
    let (machine, engine) = machine();
    let provider = register(&engine);
    let finished = path("finished");
    let session = start(&machine, &Properties::new("finished").file(&finished));
    write(&engine, provider, 1, "Filed");
    let status = session.convert_to_real_time().unwrap();
    assert_eq!(status.mode_names(), ["real-time", "independent"]);
    assert_eq!(take_names(&finished), ["Filed"], "while the session runs");
    let mut consumer = machine.consume(&session).unwrap();
    write(&engine, provider, 2, "Live");
    session.stop().unwrap();
    let Received::Event(event) = consumer.receive(Duration::from_secs(30)) else { panic!("nothing came") };
    assert_eq!(event.decode().event.as_deref(), Some("Live"));
    assert_eq!(consumer.receive(Duration::ZERO), Received::End);
}

#[test]
fn an_older_windows_has_neither() {
    let (machine, _engine) = machine_with(EngineOptions { os_build: 17_134, ..EngineOptions::default() });
    let older = path("older-%d");
    let session = start(&machine, &Properties::new("older").file(&older).numbered_files(1));
    let refused = session.increment_file().unwrap_err();
    assert!(refused.to_string().contains("or this Windows is older than version 1809"), "{refused}");
    let refused = session.convert_to_real_time().unwrap_err();
    assert!(refused.to_string().contains("or this Windows is older than version 2004"), "{refused}");
    session.stop().unwrap();
    fs::remove_file(PathBuf::from(older.to_str().unwrap().replace("%d", "1"))).unwrap();
}
