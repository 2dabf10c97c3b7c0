//! The enable callback: inside `register`, for every control code, with filter data, and calls that are
//! refused inside it.

use std::sync::Mutex;

use etw_engine::{Enable, Filter};
use etw_symbols::Host;
use wdk_etw::{ControlCode, EnableRequest, Guid, Level, NtStatus, Provider, define_provider, write_event};

define_provider!(EARLY, "Callback.Early");
define_provider!(CODES, "Callback.Codes");
define_provider!(FILTERED, "Callback.Filtered");
define_provider!(NOSY, "Callback.Nosy");
define_provider!(WRITER, "Callback.Writer");

/// The arguments of a callback, in a form that outlives the callback.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    source: Guid,
    control: ControlCode,
    level: Level,
    any: u64,
    all: u64,
    filter: Option<(u32, Vec<u8>)>,
}

/// One log per provider whose callback records. The callback's context is the index.
static LOGS: [Mutex<Vec<Seen>>; 3] = [const { Mutex::new(Vec::new()) }; 3];

fn record(request: &EnableRequest<'_>) {
    LOGS[request.context()].lock().unwrap().push(Seen {
        source: *request.source(),
        control: request.control(),
        level: request.level(),
        any: request.match_any().bits(),
        all: request.match_all().bits(),
        filter: request.filter().map(|filter| (filter.kind(), filter.bytes().to_vec())),
    });
}

/// Registers a provider whose callback records to this log.
fn register(provider: &'static Provider, log: usize) -> &'static Mutex<Vec<Seen>> {
    // SAFETY: each test unregisters the provider at its end, when no thread writes events.
    assert_eq!(unsafe { provider.register_with_callback(record, log) }, NtStatus::Success);
    &LOGS[log]
}

#[test]
fn a_session_that_waits_is_reported_inside_register_and_before_the_traits() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("waiting");
    let wanted = Enable { level: Level::Warning, any: 0x6, all: 0x2, ..Enable::default() };
    assert_eq!(session.enable(*EARLY.id(), wanted), NtStatus::Success);
    let log = register(&EARLY, 0);
    assert_eq!(
        *log.lock().unwrap(),
        [Seen {
            source: Guid::ZERO,
            control: ControlCode::EnableProvider,
            level: Level::Warning,
            any: 0x6,
            all: 0x2,
            filter: None
        }]
    );
    assert!(EARLY.enabled(Level::Warning, 0x2));
    assert!(!EARLY.enabled(Level::Informational, 0x2));
    assert_eq!(EARLY.traits_status(), Some(NtStatus::Success));
    assert_eq!(EARLY.unregister(), NtStatus::Success);
    assert!(!EARLY.enabled(Level::Critical, 0));
}

#[test]
fn enable_capture_and_disable_reach_the_callback_and_only_two_of_them_the_state() {
    let host = Host::new();
    let _here = host.enter();
    let log = register(&CODES, 1);
    let session = host.engine().start_session("codes");
    let source = Guid::from_u128(0x77);
    session.enable(*CODES.id(), Enable { level: Level::Error, any: 1, source, ..Enable::default() });
    assert!(CODES.enabled(Level::Error, 1));
    session.capture_state(*CODES.id());
    assert!(CODES.enabled(Level::Error, 1));
    session.disable(*CODES.id());
    assert!(!CODES.enabled(Level::Critical, 1));
    let seen: Vec<_> = log.lock().unwrap().iter().map(|seen| (seen.control, seen.source)).collect();
    assert_eq!(seen[0], (ControlCode::EnableProvider, source));
    assert_eq!(seen[1].0, ControlCode::CaptureState);
    assert_eq!(seen[2].0, ControlCode::DisableProvider);
    assert_eq!(seen.len(), 3);
    CODES.unregister();
}

#[test]
fn filter_data_is_a_view_with_its_type() {
    let host = Host::new();
    let _here = host.enter();
    let log = register(&FILTERED, 2);
    let session = host.engine().start_session("filtered");
    for data in [b"filter".to_vec(), Vec::new()] {
        session.enable(*FILTERED.id(), Enable::default().filter(Filter::Schematized(data.clone())));
        assert_eq!(log.lock().unwrap().last().unwrap().filter, Some((0x8000_0000, data)));
    }
    FILTERED.unregister();
}

fn reregister(request: &EnableRequest<'_>) {
    if request.control() == ControlCode::EnableProvider {
        // SAFETY: the call fails, as this test checks.
        assert_eq!(unsafe { NOSY.register() }, NtStatus::DeviceBusy);
        assert_eq!(NOSY.unregister(), NtStatus::DeviceBusy);
    }
}

/// In the kernel both calls would wait for a lock that the caller of the callback holds.
#[test]
fn registering_or_unregistering_inside_register_is_busy_and_not_a_deadlock() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("nosy");
    session.enable(*NOSY.id(), Enable::default());
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { NOSY.register_with_callback(reregister, 0) }, NtStatus::Success);
    assert_eq!(host.engine().findings(), []);
    assert_eq!(host.engine().registrations().len(), 1);
    assert_eq!(NOSY.unregister(), NtStatus::Success);
}

fn rundown(request: &EnableRequest<'_>) {
    write_event!(WRITER, "Rundown", level(Informational), u32("Control", &request.control().as_int()));
}

/// The handle is stored before the first callback, so an event that is written inside `register` is recorded.
#[test]
fn a_callback_can_write_events_even_inside_register() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("rundown");
    session.enable(*WRITER.id(), Enable::default());
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { WRITER.register_with_callback(rundown, 0) }, NtStatus::Success);
    session.capture_state(*WRITER.id());
    let events = session.events();
    assert_eq!(events.len(), 2);
    // The first event was written before the traits were set, so its descriptors had no types.
    assert_eq!(events[0].metadata, None);
    assert_eq!(events[1].payload, 2_u32.to_le_bytes());
    WRITER.unregister();
}
