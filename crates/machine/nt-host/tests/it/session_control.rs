//! `etw-session` controls the sessions of the engine that the sample driver writes to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::common;
use etw_engine::{Engine, EngineOptions};
use etw_etl::Reader;
use etw_etl::format::buffer::FLAG_FLUSH_MARKER;
use etw_etl::format::stack::HOOK_BINARY_PATH;
use etw_session::info::{
    DisallowList, DisallowedProviders, MaxSessions, ProcessingVersion, ProfileSources, StackCaching,
};
use etw_session::platform::EngineSystem;
use etw_session::{Consumer, Enable, Machine, Properties, Received, Session, System};
use etw_types::session::TraceInfoClass;
use etw_types::{Guid, Level, NtStatus, Win32Error};
use nt_host::{Builder, NtHost, Os};

const ECHO: u32 = 0x0022_E000;
/// The provider of the driver that crashes, from the bytes of the GUID in the driver's memory.
fn broken() -> Guid {
    Guid::from_bytes_le(0x1122_3344_5566_7788_99AA_BBCC_DDEE_FF01_u128.to_le_bytes())
}

/// Offset of the flags in a buffer's header.
const FLAGS: usize = 0x34;
/// Longer than any wait in these tests. A test that waits this long has failed.
const LONG: Duration = Duration::from_secs(30);

/// The provider of the sample's manifest.
const ADMIN: Guid = Guid::from_u128(0x6b8f0f5e_6a0d_4f57_8b0c_9d4c2d1f7a31);

fn provider() -> Guid {
    Guid::from_name("WdkEtw.DriverSample")
}

fn sample() -> Builder {
    NtHost::builder().driver(common::built("driver_sample.sys"))
}

/// A trace file that is deleted when this value is dropped.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("nt-host-{name}-{}.etl", std::process::id())))
    }

    /// The names of the driver's events.
    fn names(&self) -> Vec<String> {
        let reader = Reader::open(&self.0).expect("a trace file");
        let events = reader.filter(etw_etl::Event::is_trace_logging);
        events.filter_map(|event| event.decode().event).collect()
    }

    /// Whether the session closed the file. Closing sets the flush marker in the last buffer.
    fn is_closed(&self) -> bool {
        let bytes = std::fs::read(&self.0).expect("a trace file");
        let size = Reader::open(&self.0).expect("a trace file").header().buffer_size as usize;
        let flags = bytes.len() - size + FLAGS;
        u16::from_le_bytes([bytes[flags], bytes[flags + 1]]) & FLAG_FLUSH_MARKER != 0
    }
}

impl AsRef<Path> for TempFile {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn start(machine: &Machine, properties: &Properties) -> Session {
    let session = machine.start(properties).expect("a session");
    session.provider(provider()).enable(&Enable::new(Level::Verbose)).expect("enabled");
    session
}

fn names_until_end(consumer: &mut Consumer) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        match consumer.receive(LONG) {
            Received::Event(event) if !event.is_trace_logging() => {}
            Received::Event(event) => names.extend(event.decode().event),
            Received::End => return names,
            other => panic!("{other:?} after {names:?}"),
        }
    }
}

/// Loads the driver, sends a request to its device, and unloads it.
fn run(host: &NtHost) {
    host.load().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    assert_eq!(device.ioctl(ECHO, b"hello", 64).expect("a reply").output, b"hello");
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_file_a_consumer_and_the_hosts_own_session_see_the_same_events() {
    let host = sample().prepare().expect("the sample");
    let file = TempFile::new("same");
    let machine = host.machine();
    let to_file = start(&machine, &Properties::new("to-file").file(&file));
    let live = start(&machine, &Properties::new("live").real_time());
    let mut consumer = machine.consume(&live).expect("a consumer");
    let trace = host.session("own").expect("a session").enable(provider(), Level::Verbose, !0).expect("enabled");
    let names: Vec<String> =
        machine.sessions().expect("sessions").into_iter().map(|session| session.properties.name).collect();
    assert_eq!(names, ["to-file", "live", "own"]);
    run(&host);

    let status = live.stop().expect("stopped");
    assert_eq!(status.events_lost, 0);
    assert_eq!(status.real_time_buffers_lost, 0);
    let received = names_until_end(&mut consumer);
    assert_eq!(to_file.stop().expect("stopped").events_lost, 0);
    let recorded = file.names();
    let own: Vec<String> = trace.events().expect("a trace").iter().filter_map(|event| event.decode().event).collect();
    assert!(file.is_closed());
    assert!(own.iter().any(|name| name == "DriverEntry"), "{own:?}");
    assert!(own.iter().any(|name| name == "Request"), "{own:?}");
    assert_eq!(recorded, own);
    assert_eq!(received, own);
}

#[test]
fn a_relative_file_is_in_the_callers_folder() {
    let host = sample().prepare().expect("the sample");
    let machine = host.machine();
    let name = format!("nt-host-relative-{}.etl", std::process::id());
    let here = std::env::current_dir().expect("a folder");
    let file = TempFile(here.join(&name));
    let session = start(&machine, &Properties::new("relative").file(&name));
    assert_eq!(session.query().expect("status").properties.log_file.as_deref(), Some(file.as_ref()));
    run(&host);
    session.stop().expect("stopped");
    assert!(file.names().iter().any(|name| name == "DriverUnload"));
}

#[test]
fn a_consumer_that_waits_does_not_keep_requests_from_the_driver() {
    let host = sample().start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let machine = host.machine();
    let session = start(&machine, &Properties::new("waiting").real_time());
    let mut consumer = machine.consume(&session).expect("a consumer");
    // Read all events so far, so that the other thread waits for the event of the request.
    session.flush().expect("flushed");
    while matches!(consumer.receive(Duration::ZERO), Received::Event(_)) {}
    let waiting = std::thread::spawn(move || consumer.receive(LONG));
    let mut received = None;
    while received.is_none() {
        assert_eq!(device.ioctl(ECHO, b"x", 8).expect("a reply").status, NtStatus::Success);
        session.flush().expect("flushed");
        received = waiting.is_finished().then_some(());
    }
    let Ok(Received::Event(event)) = waiting.join() else { panic!("nothing came") };
    assert_eq!(event.decode().event.as_deref(), Some("Request"));
    host.unload().expect("unload").assert_clean();
}

#[test]
fn enabling_late_disabling_and_asking_for_state_reach_the_driver() {
    let host = sample().start().expect("DriverEntry");
    let _device = host.add_device().expect("a device");
    let machine = host.machine();
    let session = machine.start(&Properties::new("late").real_time()).expect("a session");
    let mut consumer = machine.consume(&session).expect("a consumer");
    let driver = session.provider(provider());
    driver.enable(&Enable::new(Level::Informational)).expect("enabled");
    driver.capture().expect("state");
    driver.disable().expect("disabled");
    assert_eq!(machine.providers().expect("providers"), [provider(), ADMIN]);
    host.unload().expect("unload").assert_clean();
    session.stop().expect("stopped");
    let names = names_until_end(&mut consumer);
    assert!(names.iter().any(|name| name == "Enable"), "{names:?}");
    assert!(!names.iter().any(|name| name == "DriverUnload"), "disabled before: {names:?}");
}

#[test]
fn information_classes_are_those_of_the_windows_that_is_imitated() {
    let host = sample().os(Os::NEWEST).prepare().expect("the sample");
    let machine = host.machine();
    assert!(!machine.query::<ProfileSources>().expect("sources").0.is_empty());
    assert_eq!(machine.query::<MaxSessions>().expect("a number"), MaxSessions(64));
    let session = machine.start(&Properties::new("classes").real_time()).expect("a session");
    session.set(&DisallowList(vec![provider()])).expect("set");
    assert_eq!(session.get::<DisallowedProviders>().expect("a list").0, [provider()]);
    session.set(&StackCaching::default()).expect("set");

    let old = sample().os(Os::Win7).prepare().expect("the sample").machine();
    assert!(old.query::<ProcessingVersion>().is_err(), "came with Windows 10");
}

/// For every class, every kind of handle and several lengths, the host returns the same result as an engine in this
/// process.
#[test]
fn the_host_returns_the_same_results_as_an_engine() {
    let host = sample().prepare().expect("the sample");
    let remote = host.system();
    let machine = host.machine();
    let options = EngineOptions { os_build: Os::default().build(), ..EngineOptions::default() };
    let local: Arc<dyn System> = Arc::new(EngineSystem::new(Engine::with_options(options)));
    let beside = Machine::with(Arc::clone(&local));
    let properties = Properties::new("classes").real_time().system_logger(1);
    let sessions = [&machine, &beside].map(|machine| machine.start(&properties).expect("a session"));
    let handles = [0, sessions[0].handle(), u64::MAX];
    assert_eq!(sessions[0].handle(), sessions[1].handle());
    for class in (0..31).map(TraceInfoClass::from_int) {
        for length in [0, 1, 4, 7, 8, 12, 16, 24, 32, 33, 36, 4096] {
            for handle in handles {
                let set = |system: &Arc<dyn System>| system.set_information(handle, class, &vec![0; length]);
                assert_eq!(set(&remote), set(&local), "set {class:?}, {length} bytes, handle {handle}");
                let query = |system: &Arc<dyn System>| {
                    let mut buffer = vec![0; length];
                    (system.query_information(handle, class, &mut buffer), buffer)
                };
                assert_eq!(query(&remote), query(&local), "query {class:?}, {length} bytes, handle {handle}");
            }
            let enumerate = |system: &Arc<dyn System>| {
                let mut buffer = vec![0; length];
                (system.enumerate(class, &provider().to_bytes_le(), &mut buffer), buffer)
            };
            assert_eq!(enumerate(&remote), enumerate(&local), "enumerate {class:?}, {length} bytes");
        }
    }
}

#[test]
fn errors_of_the_child_arrive_with_their_codes() {
    let host = sample().prepare().expect("the sample");
    let machine = host.machine();
    let session = machine.start(&Properties::new("one").real_time()).expect("a session");
    let again = machine.start(&Properties::new("ONE").real_time()).expect_err("taken");
    assert_eq!(again.code(), Win32Error::AlreadyExists);
    assert_eq!(machine.attach("two").expect_err("not there").code(), Win32Error::WmiInstanceNotFound);
    let nowhere = Properties::new("nowhere").file("/nowhere/at/all.etl");
    assert_eq!(machine.start(&nowhere).expect_err("no folder").code(), Win32Error::PathNotFound);
    drop(session);
    assert!(machine.unstopped().is_empty());
    assert!(machine.attach("one").is_err(), "dropping stops");
}

#[test]
fn a_session_outlives_its_driver_and_is_finished_with_the_host() {
    let file = TempFile::new("outlives");
    let host = sample().prepare().expect("the sample");
    let machine = host.machine();
    let mut session = start(&machine, &Properties::new("kept").file(&file));
    session.keep();
    run(&host);
    run(&host);
    assert!(session.query().expect("still there").buffers_written == 0, "nothing is flushed by itself");
    drop((session, machine, host));
    let names = file.names();
    assert!(file.is_closed(), "the last one who goes has the files finished");
    assert_eq!(names.iter().filter(|name| *name == "DriverUnload").count(), 2);
}

#[test]
fn a_machine_that_the_driver_stopped_says_so_and_its_trace_ends_there() {
    let host = NtHost::builder().driver(common::broken("traced_crash")).prepare().expect("a driver");
    let file = TempFile::new("stopped");
    let machine = host.machine();
    let session = machine.start(&Properties::new("stopped").file(&file).real_time()).expect("a session");
    let mut consumer = machine.consume(&session).expect("a consumer");
    session.provider(broken()).enable(&Enable::new(Level::Verbose)).expect("enabled");
    host.load().expect_err("it crashes");
    let error = session.stop().expect_err("there is no machine any more");
    assert_eq!(error.code(), Win32Error::from_int(591));
    assert!(error.to_string().contains("591 SYSTEM_PROCESS_TERMINATED: the driver under test"), "{error}");
    assert!(machine.sessions().is_err());
    let Received::Event(event) = consumer.receive(LONG) else { panic!("the event before the crash") };
    assert_eq!(event.header.provider, Some(broken()));
    assert_eq!(consumer.receive(LONG), Received::End);
    let reader = Reader::open(&file).expect("a trace file");
    assert_eq!(reader.filter(|event| event.header.provider == Some(broken())).count(), 1);
    assert!(file.is_closed());
}

#[test]
fn a_process_that_is_gone_says_so_and_its_file_is_readable() {
    let host = sample().start().expect("DriverEntry");
    let file = TempFile::new("gone");
    let machine = host.machine();
    let session = start(&machine, &Properties::new("gone").file(&file).real_time());
    let mut consumer = machine.consume(&session).expect("a consumer");
    let device = host.add_device().expect("a device");
    session.flush().expect("flushed");
    let kill = std::process::Command::new("kill").args(["-9", &host.process_id().to_string()]).status();
    assert!(kill.expect("kill").success());
    assert!(device.ioctl(ECHO, b"x", 8).is_err());
    let gone = Win32Error::from_int(1067);
    let error = session.query().expect_err("the process has ended");
    assert_eq!(error.code(), gone);
    assert!(error.to_string().contains("1067 PROCESS_ABORTED: the process that runs the driver is gone"), "{error}");
    assert_eq!(consumer.receive(Duration::ZERO), Received::Failed(gone));
    drop(session);
    let unstopped = machine.unstopped();
    assert_eq!(unstopped.len(), 1);
    assert_eq!(unstopped[0].error.code(), gone);
    let names = file.names();
    assert!(names.iter().any(|name| name == "DeviceAdd"), "{names:?}");
    assert!(!file.is_closed(), "the process was killed before it could close the file");
}

#[test]
fn an_interrupt_is_not_for_the_process_that_runs_the_driver() {
    let host = sample().start().expect("DriverEntry");
    let kill = std::process::Command::new("kill").args(["-INT", &host.process_id().to_string()]).status();
    assert!(kill.expect("kill").success());
    assert_eq!(host.machine().providers().expect("providers"), [provider(), ADMIN]);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_driver_that_has_its_binary_tracked_is_named_in_the_file() {
    let host = sample().prepare().expect("the sample");
    let file = TempFile::new("binary");
    let session = start(&host.machine(), &Properties::new("binary").file(&file));
    run(&host);
    session.stop().expect("stopped");
    let mut events = Reader::open(&file).expect("a trace file");
    let record =
        events.find(|event| event.header.descriptor.id == HOOK_BINARY_PATH).expect("a record about the binary");
    let name: Vec<u8> = "driver_sample.sys\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    // One GUID, and the path of the binary.
    assert_eq!(record.payload(), [&1_u32.to_le_bytes()[..], &provider().to_bytes_le(), &name].concat());
}
