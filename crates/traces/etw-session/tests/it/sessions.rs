//! Sessions: start, find, query, update, flush and stop, and how errors are reported.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs, process};

use crate::common::{machine, machine_with, plain_session};
use etw_engine::{EngineOptions, Rights};
use etw_session::{
    Control, EnableRequest, Error, EventSource, Machine, Properties, Refusal, SessionStatus, System, Target, Update,
};
use etw_types::session::{TraceInfoClass, mode};
use etw_types::{Guid, Win32Error};

#[test]
fn a_session_is_started_found_and_stopped() {
    let (machine, _engine) = machine();
    let guid = Guid::from_name("A-Session");
    let properties =
        Properties::new("Mine").real_time().guid(guid).buffers(16, 4, 9).flush_every(Duration::from_millis(50));
    let session = machine.start(&properties).unwrap();
    let status = session.query().unwrap();
    assert_eq!(status.properties.name.as_str(), "Mine");
    assert_eq!(status.properties.guid, guid);
    assert_eq!(status.handle, session.handle());
    assert_eq!(status.properties.buffer_kib, 16);
    assert_eq!(status.properties.flush_timer, 50);
    assert!(status.is_real_time());
    assert!(!status.is_system());
    assert!(!status.has_losses());
    assert_eq!(status.mode_names(), ["ms-flush-timer", "real-time", "independent"]);

    let found = machine.attach("mine").unwrap();
    assert_eq!(found.handle(), session.handle(), "names are compared without case");
    drop(found);
    assert_eq!(machine.sessions().unwrap().len(), 1, "an attached session goes on");
    session.stop().unwrap();
    assert_eq!(machine.sessions().unwrap(), []);
    assert_eq!(machine.attach("Mine").unwrap_err().code(), Win32Error::WmiInstanceNotFound);
}

#[test]
fn dropping_stops_unless_the_session_is_kept() {
    let (machine, _engine) = machine();
    drop(plain_session(&machine));
    assert_eq!(machine.sessions().unwrap(), []);
    let mut kept = plain_session(&machine);
    kept.keep();
    drop(kept);
    let mut again = machine.attach("plain").unwrap();
    again.stop_when_dropped();
    drop(again);
    assert_eq!(machine.sessions().unwrap(), []);
    assert_eq!(machine.unstopped(), []);
}

#[test]
fn a_stop_that_fails_while_dropping_is_not_lost() {
    let (machine, engine) = machine();
    let session = plain_session(&machine);
    engine.session(session.handle()).unwrap().stop();
    drop(session);
    let unstopped = machine.unstopped();
    assert_eq!(unstopped[0].session, "plain");
    assert_eq!(unstopped[0].error.code(), Win32Error::WmiInstanceNotFound);
    assert_eq!(machine.unstopped(), [], "they are taken");
}

#[test]
fn an_update_changes_what_it_names_and_keeps_the_rest() {
    let (machine, _engine) = machine();
    let first = env::temp_dir().join(format!("etw-session-update-{}-1.etl", process::id()));
    let second = env::temp_dir().join(format!("etw-session-update-{}-2.etl", process::id()));
    let session = machine.start(&Properties::new("Changing").file(&first).system_logger(5)).unwrap();
    let status =
        session.update(&Update { flush_timer: Some(7), maximum_buffers: Some(99), ..Update::default() }).unwrap();
    assert_eq!(status.properties.flush_timer, 7);
    assert_eq!(status.properties.maximum_buffers, 99);
    assert_eq!(status.properties.enable_flags, 5);
    assert_eq!(status.properties.log_file.as_deref(), Some(first.as_path()));
    let update =
        Update { enable_flags: Some(0), log_file: Some(second.clone()), real_time: Some(true), ..Update::default() };
    let status = session.update(&update).unwrap();
    assert_eq!(status.properties.enable_flags, 0);
    assert_eq!(status.properties.log_file.as_deref(), Some(second.as_path()));
    assert!(status.is_real_time());
    assert_eq!(session.update(&update).unwrap_err().code(), Win32Error::BadPathname, "the file is written already");
    session.flush().unwrap();
    session.stop().unwrap();
    assert!(fs::remove_file(first).is_ok());
    assert!(fs::remove_file(second).is_ok());
}

#[test]
fn rules_are_found_before_the_call_and_errors_after_it_are_explained() {
    let (machine, _engine) = machine();
    let twice = machine.start(&Properties::new("s").file("x").circular(1).mode(mode::SEQUENTIAL)).unwrap_err();
    assert_eq!(twice.to_string(), "a sequential file cannot be circular or numbered");
    assert_eq!(machine.start(&Properties::new("s")).unwrap_err().code(), Win32Error::BadPathname);
    assert_eq!(
        machine.start(&Properties::new(&"x".repeat(1025)).real_time()).unwrap_err().code(),
        Win32Error::BadLength
    );
    let _session = plain_session(&machine);
    let again = machine.start(&Properties::new("PLAIN").real_time()).unwrap_err();
    assert!(again.to_string().starts_with("StartTrace: 183 ALREADY_EXISTS: a session of that name"), "{again}");
}

#[test]
fn a_caller_without_rights_learns_what_to_do() {
    let rights = Rights { control: false, ..Rights::default() };
    let (machine, _engine) = machine_with(EngineOptions { rights, ..EngineOptions::default() });
    let refused = machine.start(&Properties::new("s").real_time()).unwrap_err();
    assert_eq!(refused.code(), Win32Error::AccessDenied);
    assert!(refused.to_string().contains("run elevated or join Performance Log Users"), "{refused}");
}

/// A system that returns a fixed result for every control call, and records the control codes.
struct Scripted {
    result: Win32Error,
    calls: Mutex<Vec<Control>>,
}

impl Scripted {
    fn new(result: Win32Error) -> Arc<Self> {
        Arc::new(Self { result, calls: Mutex::default() })
    }
}

impl System for Scripted {
    fn start_trace(&self, _name: &str, _block: &mut [u8]) -> Result<u64, Win32Error> {
        Ok(7)
    }

    fn control_trace(&self, target: Target<'_>, control: Control, _block: &mut [u8]) -> Result<(), Win32Error> {
        assert_eq!(target, Target::Handle(7));
        self.calls.lock().unwrap().push(control);
        self.result.ok()
    }

    fn query_all_traces(&self, _template: &[u8]) -> Result<Vec<Vec<u8>>, Win32Error> {
        Ok(vec![vec![1, 2, 3]])
    }

    fn enable_trace(&self, _session: u64, _request: &EnableRequest<'_>) -> Result<(), Win32Error> {
        Err(Win32Error::Timeout)
    }

    fn set_information(&self, _session: u64, _class: TraceInfoClass, _data: &[u8]) -> Result<(), Win32Error> {
        Err(Win32Error::CallNotImplemented)
    }

    fn query_information(&self, _session: u64, _class: TraceInfoClass, _buffer: &mut [u8]) -> Result<usize, Refusal> {
        Err(Win32Error::CallNotImplemented.into())
    }

    fn enumerate(&self, _class: TraceInfoClass, _input: &[u8], _buffer: &mut [u8]) -> Result<usize, Refusal> {
        Err(Win32Error::CallNotImplemented.into())
    }

    fn consume(&self, _name: &str) -> Result<Box<dyn EventSource>, Win32Error> {
        Err(Win32Error::AccessDenied)
    }

    fn enable_profile_privilege(&self) -> Result<(), Win32Error> {
        Ok(())
    }

    fn description(&self) -> &'static str {
        "a script"
    }
}

fn stop_that_returns(code: Win32Error) -> (Result<SessionStatus, Error>, Vec<Control>) {
    let system = Scripted::new(code);
    let machine = Machine::with(Arc::clone(&system) as Arc<dyn System>);
    let result = machine.start(&Properties::new("s").real_time()).unwrap().stop();
    let calls = system.calls.lock().unwrap().clone();
    (result, calls)
}

#[test]
fn every_control_code_is_sent_as_it_is() {
    let system = Scripted::new(Win32Error::Success);
    let machine = Machine::with(Arc::clone(&system) as Arc<dyn System>);
    let session = machine.start(&Properties::new("s").real_time()).unwrap();
    session.query().unwrap();
    session.update(&Update::default()).unwrap();
    session.flush().unwrap();
    session.increment_file().unwrap();
    session.convert_to_real_time().unwrap();
    session.stop().unwrap();
    let codes: Vec<u32> = system.calls.lock().unwrap().iter().map(|control| *control as u32).collect();
    // An update queries before and after, because the block contains all properties.
    assert_eq!(codes, [0, 0, 2, 0, 3, 4, 5, 1]);
}

#[test]
fn more_data_on_stop_means_stopped_and_no_stop_is_tried_twice() {
    let (stopped, calls) = stop_that_returns(Win32Error::MoreData);
    assert_eq!(stopped.unwrap().properties.name.as_str(), "s");
    assert_eq!(calls, vec![Control::Stop]);
    let (refused, calls) = stop_that_returns(Win32Error::ActiveConnections);
    assert_eq!(refused.unwrap_err().code(), Win32Error::ActiveConnections);
    assert_eq!(calls, vec![Control::Stop]);
}

#[test]
fn a_system_without_a_function_says_not_supported_here() {
    let machine = Machine::with(Scripted::new(Win32Error::Success));
    let error = machine.max_sessions().unwrap_err();
    assert!(error.is_unsupported());
    assert!(error.to_string().contains("120 CALL_NOT_IMPLEMENTED: not supported here"), "{error}");
    assert_eq!(machine.sessions().unwrap(), [], "a block that is too short is left out");
}
