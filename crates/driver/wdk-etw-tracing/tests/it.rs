//! Events and spans of `tracing` as ETW events: fields, levels, keywords, activities, truncation, and values that trace
//! while they are formatted.
//!
//! `tracing` has one subscriber and one maximum level per process, so the tests run one at a time.
#![cfg(test)]

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use etw_engine::{CapturedEvent, Enable, Routine};
use etw_symbols::Host;
use etw_types::tracelogging::{Field, Metadata, Value, Visitor, decode};
use tracing::{debug, error, info, info_span, trace, trace_span, warn};
use tracing_core::LevelFilter;
use wdk_etw::{Level, NtStatus, Opcode, define_provider, write_event};
use wdk_etw_tracing::{EtwTracing, SPANS};

define_provider!(PROVIDER, "Tracing.Events");
static TRACING: EtwTracing =
    EtwTracing::new(&PROVIDER).with_targets(&[("io::disk", 0x2), ("io", 0x4)]).with_keyword(0x10);

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the provider, runs `body` while a session records, and unregisters the provider. Returns the events.
fn traced(enable: Enable, body: impl FnOnce(&Host)) -> Vec<CapturedEvent> {
    let _turn = turn();
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { TRACING.register() }, NtStatus::Success);
    let session = host.engine().start_session("tracing");
    session.enable(*PROVIDER.id(), enable);
    body(&host);
    assert_eq!(TRACING.unregister(), NtStatus::Success);
    assert_eq!(LevelFilter::current(), LevelFilter::OFF);
    session.events()
}

fn at(level: Level) -> Enable {
    Enable { level, ..Enable::default() }
}

/// Returns the name of an event, and its fields as `name=value`.
fn decoded(event: &CapturedEvent) -> (String, Vec<String>) {
    struct Values(Vec<String>);
    impl<'a> Visitor<'a> for Values {
        fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
            self.0.push(format!("{}={value}", String::from_utf8_lossy(field.name)));
        }
    }
    let metadata = event.metadata.as_deref().expect("a TraceLogging event");
    let (metadata, rest) = Metadata::parse(metadata).expect("well formed");
    assert_eq!(rest.len(), 0);
    let mut fields = Values(Vec::new());
    let payload = decode(&metadata, &event.payload, &mut fields).expect("the payload fits");
    assert_eq!(payload.len(), 0, "all of the payload is described");
    (String::from_utf8_lossy(metadata.name()).into_owned(), fields.0)
}

fn fields(event: &CapturedEvent) -> Vec<String> {
    decoded(event).1
}

#[test]
fn values_are_fields_of_their_types() {
    #[derive(Debug)]
    struct Point {
        _x: u8,
    }
    let events = traced(at(Level::Verbose), |_| {
        let bytes: &[u8] = &[1, 2];
        info!(name: "Read", bytes = 512_u32, delta = -3_i8, ratio = 0.5, cached = true, file = "a.txt", raw = bytes,
            point = ?Point { _x: 7 }, shown = %4, large = u128::MAX, "read {} of {}", 1, 2);
        debug!("constant");
    });
    let (name, fields_of) = decoded(&events[0]);
    assert_eq!(name, "Read");
    assert_eq!(
        fields_of,
        [
            "message=read 1 of 2",
            "bytes=512",
            "delta=-3",
            "ratio=0.5",
            "cached=1",
            "file=a.txt",
            "raw=0102",
            "point=Point { _x: 7 }",
            "shown=4",
            "large=340282366920938463463374607431768211455",
            "target=it",
        ]
    );
    let (name, fields_of) = decoded(&events[1]);
    assert!(name.starts_with("event "), "{name}");
    assert!(name.contains("tests/it.rs:"), "{name}");
    assert_eq!(fields_of, ["message=constant", "target=it"]);
    assert_eq!(events[0].descriptor.level, Level::Informational);
    assert_eq!(events[1].descriptor.level, Level::Verbose);
    assert_eq!(events[1].descriptor.keyword.bits(), 0x10);
}

#[test]
fn a_call_site_whose_types_change_writes_the_right_types() {
    fn site(value: &dyn tracing_core::field::Value) {
        info!(name: "Any", value = value);
    }
    let events = traced(at(Level::Verbose), |_| {
        for _ in 0..2 {
            site(&1_u64);
            site(&"text");
            site(&tracing_core::field::Empty);
        }
    });
    let seen: Vec<_> = events.iter().map(fields).collect();
    let once = [vec!["value=1", "target=it"], vec!["value=text", "target=it"], vec!["target=it"]];
    assert_eq!(seen[..3], once);
    assert_eq!(seen[3..], once);
}

#[test]
fn levels_follow_the_session() {
    for (level, filter, count) in [
        (Level::Critical, LevelFilter::OFF, 0),
        (Level::Error, LevelFilter::ERROR, 1),
        (Level::Informational, LevelFilter::INFO, 3),
        (Level::Verbose, LevelFilter::DEBUG, 4),
        (Level::from_int(6), LevelFilter::TRACE, 5),
        (Level::from_int(0), LevelFilter::TRACE, 5),
        (Level::from_int(255), LevelFilter::TRACE, 5),
    ] {
        let events = traced(at(level), |_| {
            assert_eq!(LevelFilter::current(), filter, "{level:?}");
            error!("2");
            warn!("3");
            info!("4");
            debug!("5");
            trace!("6");
        });
        let levels: Vec<_> = events.iter().map(|event| event.descriptor.level.as_int()).collect();
        assert_eq!(levels, [2, 3, 4, 5, 6][..count], "{level:?}");
    }
}

#[test]
fn a_disabled_event_evaluates_and_calls_nothing() {
    fn unreachable() -> u32 {
        panic!("evaluated")
    }
    let events = traced(at(Level::Warning), |host| {
        host.engine().clear_calls();
        info!(value = unreachable(), "{}", unreachable());
        let span = info_span!("unwanted", value = unreachable());
        assert!(span.is_disabled());
        assert_eq!(host.engine().calls().len(), 0);
    });
    assert_eq!(events.len(), 0);
}

#[test]
fn targets_have_keywords() {
    let enable = Enable { level: Level::Verbose, any: 0x6, ..Enable::default() };
    let events = traced(enable, |host| {
        info!(target: "io::disk::queue", "2");
        info!(target: "io::network", "4");
        info!(target: "io", "4");
        host.engine().clear_calls();
        info!(target: "iota", "not wanted");
        assert_eq!(host.engine().count_calls(Routine::WriteTransfer), 0);
    });
    let keywords: Vec<_> = events.iter().map(|event| event.descriptor.keyword.bits()).collect();
    assert_eq!(keywords, [2, 4, 4]);
}

#[test]
fn spans_are_activities_that_are_passed_explicitly() {
    let events = traced(at(Level::Informational), |_| {
        let outer = info_span!("outer", file = "a.txt", late = tracing_core::field::Empty);
        let inner = info_span!(parent: &outer, "inner");
        info!(parent: &inner, "step");
        info!("of no span");
        let second = outer.clone();
        drop(outer);
        second.record("late", 5);
        let id = second.id().and_then(|id| TRACING.activity(&id)).expect("open");
        write_event!(PROVIDER, "Direct", level(Informational), keyword(0x10), activity_id(&id));
        drop(inner);
        drop(second);
        assert!(trace_span!("not enabled").is_disabled());
    });
    let seen: Vec<_> = events.iter().map(|event| (decoded(event).0, event.descriptor.opcode)).collect();
    let names: Vec<_> =
        seen.iter().map(|(name, opcode)| (name.split(' ').next().unwrap_or_default(), *opcode)).collect();
    let start = Opcode::Start;
    let stop = Opcode::Stop;
    let info = Opcode::Info;
    assert_eq!(
        names,
        [
            ("outer", start),
            ("inner", start),
            ("event", info),
            ("event", info),
            ("outer", info),
            ("Direct", info),
            ("inner", stop),
            ("outer", stop)
        ]
    );
    let outer = events[0].activity;
    let inner = events[1].activity;
    assert!(!outer.is_zero(), "the outer span has an id");
    assert!(!inner.is_zero(), "the inner span has an id");
    assert_ne!(outer, inner);
    assert_eq!(events[1].related, Some(outer));
    let activities: Vec<_> = events.iter().map(|event| event.activity).collect();
    assert_eq!(activities[2..], [inner, wdk_etw::Guid::ZERO, outer, outer, inner, outer]);
    assert_eq!(fields(&events[0]), ["file=a.txt", "target=it"]);
    assert_eq!(fields(&events[4]), ["late=5", "target=it"]);
}

/// What an event belongs to. An id is the index of the span that has it, in the order of the starts.
#[derive(Debug, PartialEq)]
struct Relation {
    name: String,
    opcode: Opcode,
    activity: Option<usize>,
    related: Option<usize>,
}

fn relation(name: &str, opcode: Opcode, activity: Option<usize>, related: Option<usize>) -> Relation {
    Relation { name: name.to_owned(), opcode, activity, related }
}

fn relations(events: &[CapturedEvent]) -> Vec<Relation> {
    let starts: Vec<_> =
        events.iter().filter(|event| event.descriptor.opcode == Opcode::Start).map(|event| event.activity).collect();
    let index = |id: wdk_etw::Guid| {
        (!id.is_zero()).then(|| starts.iter().position(|start| *start == id).expect("the activity of a span"))
    };
    let of = |event: &CapturedEvent| Relation {
        name: decoded(event).0,
        opcode: event.descriptor.opcode,
        activity: index(event.activity),
        related: event.related.map(|related| index(related).expect("not zero")),
    };
    events.iter().map(of).collect()
}

#[test]
fn events_and_spans_belong_to_the_current_span() {
    let events = traced(at(Level::Informational), |_| {
        info!(name: "before", "");
        let outer = info_span!("outer");
        outer.in_scope(|| {
            info!(name: "in outer", "");
            let inner = info_span!("inner").entered();
            info!(name: "in inner", "");
            info!(name: "named", parent: &outer, "");
            info!(name: "of none", parent: None, "");
            assert_eq!(tracing::Span::current().id(), inner.id());
            drop(info_span!(parent: None, "root"));
            drop(inner);
            info!(name: "in outer again", "");
        });
        assert!(tracing::Span::current().is_none());
        info!(name: "after", "");
    });
    let (info, start, stop) = (Opcode::Info, Opcode::Start, Opcode::Stop);
    let expected = [
        relation("before", info, None, None),
        relation("outer", start, Some(0), None),
        relation("in outer", info, Some(0), None),
        relation("inner", start, Some(1), Some(0)),
        relation("in inner", info, Some(1), None),
        relation("named", info, Some(0), None),
        relation("of none", info, None, None),
        relation("root", start, Some(2), None),
        relation("root", stop, Some(2), None),
        relation("inner", stop, Some(1), None),
        relation("in outer again", info, Some(0), None),
        relation("after", info, None, None),
        relation("outer", stop, Some(0), None),
    ];
    assert_eq!(relations(&events), expected);
}

#[test]
fn a_span_may_be_entered_on_one_thread_and_left_on_another() {
    let events = traced(at(Level::Informational), |host| {
        let span = info_span!("moved");
        let id = span.id().expect("enabled");
        tracing_core::dispatcher::get_default(|dispatch| dispatch.enter(&id));
        info!(name: "here", "");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _there = host.enter();
                info!(name: "there, not entered", "");
                span.in_scope(|| info!(name: "there", ""));
                tracing_core::dispatcher::get_default(|dispatch| dispatch.exit(&id));
            });
            other.join().expect("no panic");
        });
        info!(name: "here, left there", "");
    });
    let activities: Vec<_> = relations(&events).into_iter().map(|event| (event.name, event.activity)).collect();
    let expected = [
        ("moved", Some(0)),
        ("here", Some(0)),
        ("there, not entered", None),
        ("there", Some(0)),
        ("here, left there", None),
        ("moved", Some(0)),
    ];
    assert_eq!(activities, expected.map(|(name, activity)| (name.to_owned(), activity)));
}

#[test]
fn a_span_that_is_entered_again_stays_current_until_it_is_left_as_often() {
    let events = traced(at(Level::Informational), |_| {
        let span = info_span!("again");
        let first = span.enter();
        span.in_scope(|| info!(name: "twice", ""));
        info!(name: "once", "");
        drop(first);
        info!(name: "left", "");
    });
    let activities: Vec<_> = relations(&events).into_iter().map(|event| event.activity).collect();
    assert_eq!(activities, [Some(0), Some(0), Some(0), None, Some(0)]);
}

#[test]
fn a_span_entered_beyond_the_limit_is_reported() {
    fn nested(depth: usize) {
        if depth > 0 {
            info_span!("deep").in_scope(|| nested(depth - 1));
        } else {
            info!(name: "innermost", "");
        }
    }
    let events = traced(at(Level::Informational), |_| nested(17));
    let mut named = relations(&events);
    named.retain(|event| event.name == "SpanContextLost" || event.name == "innermost");
    let expected = [
        relation("SpanContextLost", Opcode::Info, Some(16), None),
        // It belongs to the last span that was recorded.
        relation("innermost", Opcode::Info, Some(15), None),
    ];
    assert_eq!(named, expected);
}

#[test]
fn a_span_beyond_the_limit_is_reported_and_a_later_one_fits_again() {
    let events = traced(at(Level::Informational), |_| {
        let open: Vec<_> = (0..SPANS).map(|_| info_span!("one of many")).collect();
        let lost = info_span!("too many");
        info!(parent: &lost, "of a lost span");
        drop(lost.clone());
        drop(lost);
        drop(open);
        drop(info_span!("again"));
    });
    let names: Vec<_> = events.iter().map(|event| decoded(event).0).collect();
    assert_eq!(names.len(), 2 * SPANS + 2 + 2);
    assert_eq!(names[SPANS], "SpanLost");
    assert_eq!(fields(&events[SPANS]), ["name=too many"]);
    assert!(events[SPANS + 1].activity.is_zero());
    assert_eq!(names[2 * SPANS + 2..], ["again", "again"]);
    let mut ids: Vec<_> =
        events.iter().filter(|event| event.descriptor.opcode == Opcode::Start).map(|e| e.activity).collect();
    ids.sort_by_key(wdk_etw::Guid::to_u128);
    ids.dedup();
    assert_eq!(ids.len(), SPANS + 1, "no id is used twice");
}

#[test]
fn long_text_is_truncated_and_marked() {
    let events = traced(at(Level::Informational), |_| {
        let long = "é".repeat(2000);
        info!(name: "Long", first = long.as_str(), second = 1_u64, third = ?long, fourth = long.as_str(), fifth = 2_u64);
    });
    let values = fields(&events[0]);
    assert!(values[0].starts_with("first=é"), "{values:?}");
    assert!(values[0].ends_with('…'), "{values:?}");
    assert_eq!(values[1], "second=1");
    // This value gets the rest of the buffer. The values after it have no room.
    assert!(values[2].starts_with("third=\"é"), "{values:?}");
    assert!(values[2].ends_with('…'), "{values:?}");
    assert_eq!(values.last().map(String::as_str), Some("cut=2"), "{values:?}");
}

/// Traces an event each time it is formatted.
struct Recursive;

impl fmt::Debug for Recursive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        info!("inside {Recursive:?}");
        f.write_str("recursive")
    }
}

#[test]
fn a_value_that_traces_itself_does_not_recurse_forever() {
    let events = traced(at(Level::Informational), |_| info!("outside {Recursive:?}"));
    let messages: Vec<String> = events.iter().map(|event| fields(event).swap_remove(0)).collect();
    let inside = "message=inside recursive";
    assert_eq!(messages, ["message=…", inside, inside, inside, "message=outside recursive"]);
}

#[test]
fn call_sites_that_do_not_fit_into_the_table_are_traced() {
    macro_rules! eight {
        ($text:literal) => {
            info!($text);
            info!($text);
            info!($text);
            info!($text);
            info!($text);
            info!($text);
            info!($text);
            info!($text);
        };
    }
    let events = traced(at(Level::Informational), |_| {
        for _ in 0..2 {
            eight!("a");
            eight!("b");
            eight!("c");
            eight!("d");
            eight!("e");
            eight!("f");
            eight!("g");
            eight!("h");
            eight!("i");
            eight!("j");
        }
    });
    let messages: Vec<String> = events.iter().map(|event| fields(event).swap_remove(0)).collect();
    assert_eq!(messages.len(), 160);
    assert!(
        messages
            .chunks(8)
            .zip("abcdefghijabcdefghij".chars())
            .all(|(eight, letter)| { eight.iter().all(|message| *message == format!("message={letter}")) })
    );
}

#[test]
fn a_second_subscriber_is_rejected_and_not_registered() {
    define_provider!(OTHER, "Tracing.Other");
    static SECOND: EtwTracing = EtwTracing::new(&OTHER);
    traced(at(Level::Informational), |_| {
        // SAFETY: the call fails and registers nothing.
        assert_eq!(unsafe { SECOND.register() }, NtStatus::AlreadyRegistered);
        assert!(!OTHER.is_registered());
    });
}
