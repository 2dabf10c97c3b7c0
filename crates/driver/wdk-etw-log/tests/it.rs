//! `log` messages as events: fields, levels, key-value pairs, truncation, and values that log while they are formatted.
//!
//! `log` has one logger and one maximum level per process, so the tests run one at a time.
#![cfg(test)]

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use etw_engine::{CapturedEvent, Enable, Routine};
use etw_symbols::Host;
use etw_types::tracelogging::{Field, Metadata, Value, Visitor, decode};
use log::{LevelFilter, debug, error, info, trace, warn};
use wdk_etw::{Level, NtStatus, define_provider};
use wdk_etw_log::EtwLogger;

define_provider!(PROVIDER, "Log.Messages");
static LOGGER: EtwLogger = EtwLogger::new(&PROVIDER).with_keyword(0x10);

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the logger, runs `body` while a session records at `level`, and unregisters the logger. Returns
/// the events.
fn logged(level: Level, body: impl FnOnce(&Host)) -> Vec<CapturedEvent> {
    let _turn = turn();
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { LOGGER.register() }, NtStatus::Success);
    let session = host.engine().start_session("log");
    session.enable(*PROVIDER.id(), Enable { level, ..Enable::default() });
    body(&host);
    assert_eq!(LOGGER.unregister(), NtStatus::Success);
    assert_eq!(log::max_level(), LevelFilter::Off);
    session.events()
}

/// Returns the fields of an event as `name=value`.
fn fields(event: &CapturedEvent) -> Vec<String> {
    let metadata = event.metadata.as_deref().expect("a TraceLogging event");
    let (metadata, rest) = Metadata::parse(metadata).expect("well formed");
    assert_eq!(metadata.name(), &b"Log"[..]);
    assert_eq!(rest.len(), 0);
    let mut fields = Values(Vec::new());
    let payload = decode(&metadata, &event.payload, &mut fields).expect("the payload fits");
    assert_eq!(payload.len(), 0, "all of the payload is described");
    fields.0
}

struct Values(Vec<String>);

impl<'a> Visitor<'a> for Values {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        self.0.push(format!("{}={value}", String::from_utf8_lossy(field.name)));
    }
}

#[test]
fn a_message_has_its_text_and_its_source_location() {
    let events = logged(Level::Informational, |_| {
        info!("constant");
        let count = 3;
        warn!(target: "elsewhere", "{count} of {}", 4);
    });
    let [constant, formatted] = events.as_slice() else { panic!("two events: {events:?}") };
    let line = line!() - 5;
    let file = file!();
    assert_eq!(
        fields(constant),
        ["message=constant", "target=it", "module=it", &format!("file={file}"), &format!("line={line}")]
    );
    assert_eq!(constant.descriptor.level, Level::Informational);
    assert_eq!(constant.descriptor.keyword.bits(), 0x10);
    assert_eq!(fields(formatted)[..2], ["message=3 of 4", "target=elsewhere"]);
    assert_eq!(formatted.descriptor.level, Level::Warning);
}

#[test]
fn levels_follow_the_session() {
    let all = |_: &Host| {
        error!("2");
        warn!("3");
        info!("4");
        debug!("5");
        trace!("6");
    };
    for (level, filter, count) in [
        (Level::Critical, LevelFilter::Off, 0),
        (Level::Error, LevelFilter::Error, 1),
        (Level::Informational, LevelFilter::Info, 3),
        (Level::Verbose, LevelFilter::Debug, 4),
        (Level::from_int(6), LevelFilter::Trace, 5),
        (Level::from_int(0), LevelFilter::Trace, 5),
        (Level::from_int(255), LevelFilter::Trace, 5),
    ] {
        let events = logged(level, |host| {
            assert_eq!(log::max_level(), filter, "{level:?}");
            all(host);
        });
        let levels: Vec<_> = events.iter().map(|event| event.descriptor.level.as_int()).collect();
        assert_eq!(levels, [2, 3, 4, 5, 6][..count], "{level:?}");
    }
}

#[test]
fn a_disabled_message_evaluates_and_calls_nothing() {
    fn unreachable() -> u32 {
        panic!("evaluated")
    }
    let events = logged(Level::Warning, |host| {
        host.engine().clear_calls();
        info!(value = unreachable(); "{}", unreachable());
        assert!(!log::log_enabled!(log::Level::Info));
        assert!(log::log_enabled!(log::Level::Warn));
        assert_eq!(host.engine().calls().len(), 0);
    });
    assert_eq!(events.len(), 0);
}

#[test]
fn keywords_of_the_session_count() {
    let _turn = turn();
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { LOGGER.register() }, NtStatus::Success);
    let session = host.engine().start_session("log");
    session.enable(*PROVIDER.id(), Enable { level: Level::Verbose, any: 0x20, ..Enable::default() });
    host.engine().clear_calls();
    info!("of another keyword");
    assert_eq!(host.engine().count_calls(Routine::WriteTransfer), 0);
    assert_eq!(LOGGER.unregister(), NtStatus::Success);
}

#[test]
fn key_values_are_fields_of_their_types() {
    let events = logged(Level::Informational, |_| {
        let address = [1_u8, 2];
        info!(bytes = 512_u32, delta = -3_i8, ratio = 0.5, cached = true, file = "a.txt", letter = 'x',
            address:? = address, large = u128::MAX; "read");
    });
    assert_eq!(
        fields(&events[0])[5..],
        [
            "bytes=512",
            "delta=-3",
            "ratio=0.5",
            "cached=1",
            "file=a.txt",
            "letter=x",
            "address=[1, 2]",
            "large=340282366920938463463374607431768211455"
        ]
    );
}

#[test]
fn long_text_is_truncated_and_marked() {
    let events = logged(Level::Informational, |_| {
        let long = "é".repeat(2000);
        info!("{long}");
        info!(first = long.as_str(), second = 1, third = long.as_str(), fourth = long.as_str(), fifth = 2; "{}", 1);
    });
    let message = fields(&events[0]).swap_remove(0);
    let text = message.strip_prefix("message=").and_then(|text| text.strip_suffix('…')).expect("marked");
    assert!(text.chars().all(|character| character == 'é'), "{text}");
    assert!(text.len() > wdk_etw_log::MESSAGE_SIZE - 6, "no more is cut than necessary");
    let values = fields(&events[1]);
    assert!(values[5].starts_with("first=é"), "{values:?}");
    assert!(values[5].ends_with('…'), "{values:?}");
    assert_eq!(values[6], "second=1");
    assert_eq!(values.last().map(String::as_str), Some("cut=2"), "{values:?}");
    assert!(values.iter().any(|value| value == "fifth=2"));
}

#[test]
fn a_key_that_does_not_fit_is_counted() {
    let _turn = turn();
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { LOGGER.register() }, NtStatus::Success);
    let session = host.engine().start_session("log");
    session.enable(*PROVIDER.id(), Enable { level: Level::Verbose, ..Enable::default() });
    let names: Vec<String> = (0..100).map(|index| format!("key number {index}")).collect();
    let pairs: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 7)).collect();
    let with_nul = [("a\0b", 1)];
    for source in [&pairs.as_slice() as &dyn log::kv::Source, &with_nul] {
        let record = log::Record::builder().args(format_args!("many")).key_values(source).build();
        log::logger().log(&record);
    }
    assert_eq!(LOGGER.unregister(), NtStatus::Success);
    let events = session.events();
    let many = fields(&events[0]);
    let kept = many.iter().filter(|field| field.starts_with("key number")).count();
    assert!(kept > 10, "{kept}");
    assert_eq!(many.last(), Some(&format!("cut={}", 100 - kept)));
    assert_eq!(fields(&events[1])[5..], ["cut=1"]);
}

/// Logs a message each time it is formatted.
struct Recursive;

impl fmt::Display for Recursive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        info!("inside {Recursive}");
        f.write_str("recursive")
    }
}

#[test]
fn a_message_that_logs_itself_does_not_recurse_forever() {
    let events = logged(Level::Informational, |_| {
        info!("outside {Recursive}");
        info!("and again {Recursive}");
    });
    let messages: Vec<String> = events.iter().map(|event| fields(event).swap_remove(0)).collect();
    let inside = "message=inside recursive";
    let first = ["message=…", inside, inside, inside, "message=outside recursive"];
    assert_eq!(messages[..5], first);
    assert_eq!(messages[5..9], first[..4]);
    assert_eq!(messages[9], "message=and again recursive");
}

#[test]
fn a_second_logger_is_rejected_and_not_registered() {
    define_provider!(OTHER, "Log.Other");
    static SECOND: EtwLogger = EtwLogger::new(&OTHER);
    logged(Level::Informational, |_| {
        // SAFETY: the call fails and registers nothing.
        assert_eq!(unsafe { SECOND.register() }, NtStatus::AlreadyRegistered);
        assert!(!OTHER.is_registered());
        assert!(SECOND.install().is_err());
    });
}

#[test]
fn three_lines_write_messages_that_a_session_receives() {
    // `log` has one logger for the whole process, so this runs in a process of its own.
    const CHILD: &str = "WDK_ETW_LOG_TEST_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let name = "three_lines_write_messages_that_a_session_receives";
        let program = std::env::current_exe().expect("the path of this program");
        let child = std::process::Command::new(program).args(["--exact", name]).env(CHILD, "1").output();
        let child = child.expect("a process");
        let output = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{output}");
        assert!(output.contains("1 passed"), "{output}");
        return;
    }
    let host = Host::new();
    let _here = host.enter();
    assert_eq!(wdk_etw_log::stop(), NtStatus::Success, "nothing is registered");
    let session = host.engine().start_session("three lines");
    session.enable(wdk_etw::Guid::from_name("Log.Three.Lines"), Enable { level: Level::Verbose, ..Enable::default() });

    assert_eq!(wdk_etw_log::init!("Log.Three.Lines", set_information(Lookup)), NtStatus::Success);
    info!("started");
    error!("failed with {:#x}", 5);
    assert_eq!(wdk_etw_log::stop(), NtStatus::Success);
    warn!("too late");

    let messages: Vec<_> = session.events().iter().map(|event| fields(event).swap_remove(0)).collect();
    assert_eq!(messages, ["message=started", "message=failed with 0x5"]);
    assert_eq!(host.engine().registrations().len(), 0);
}
