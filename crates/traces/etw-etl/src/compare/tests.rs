use etw_types::tracelogging::EventBuilder;
use etw_types::{EventDescriptor, Guid, InType, Level, Opcode, OutType};

use super::{Comparison, Difference, Entry, Part, compare};
use crate::testing::{TRAITS, descriptor, read, trace_logging};
use crate::{Decoded, Event, EventData, ExtendedItem};

fn entry(event: &Event) -> Entry {
    Entry::new(&event.as_ref(), &event.decode(), &[])
}

fn named(name: &str) -> Entry {
    entry(&trace_logging(name, |builder| builder))
}

fn part(name: &str, first: Option<&str>, second: Option<&str>) -> Part {
    Part { name: name.into(), first: first.map(Into::into), second: second.map(Into::into) }
}

/// The parts of the only event of two traces that differ.
fn parts(first: &Event, second: &Event) -> Vec<Part> {
    match compare(&[entry(first)], &[entry(second)]).differences.as_slice() {
        [] => Vec::new(),
        [Difference::Changed { positions: (1, 1), parts, .. }] => parts.clone(),
        others => panic!("{others:?}"),
    }
}

/// An event with an activity, and what differs between two runs of one driver.
fn event(name: &str, opcode: Opcode, activity: u128, run: u32) -> Event {
    let mut metadata = [0; 256];
    let mut payload = [0; 256];
    let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0);
    let (metadata, payload) = builder.finish().unwrap();
    read(&EventData {
        provider: Guid::from_name("TestProvider"),
        descriptor: descriptor().with_opcode(opcode),
        thread_id: run,
        process_id: run + 1,
        timestamp: u64::from(run) * 1000,
        activity: Guid::from_u128(activity),
        items: &ExtendedItem::trace_logging(TRAITS, metadata),
        payload,
        ..EventData::default()
    })
}

#[test]
fn times_processes_threads_and_the_values_of_activities_are_left_out() {
    let run = |base: u128, run: u32| {
        [(Opcode::Start, 1), (Opcode::Start, 2), (Opcode::Stop, 2), (Opcode::Stop, 1)]
            .map(|(opcode, activity)| entry(&event("Request", opcode, base + activity, run)))
    };
    let same = compare(&run(0x10, 1), &run(0x50, 77));
    assert_eq!(same, Comparison { common: 4, differences: Vec::new() });
    // The second request stops first in one trace, and last in the other.
    let mut swapped = run(0x50, 77);
    swapped.swap(2, 3);
    let differences = compare(&run(0x10, 1), &swapped).differences;
    assert_eq!(differences.len(), 2, "{differences:?}");
    let Difference::Changed { positions: (3, 3), event, parts } = &differences[0] else { panic!("{differences:?}") };
    assert_eq!(event.as_str(), "TestProvider/Request (stop)");
    assert_eq!(parts[0].name.as_str(), "(activity)");
}

#[test]
fn an_event_of_one_trace_is_named_with_its_position() {
    let [a, b, c] = ["A", "B", "C"].map(named);
    let comparison = compare(&[a.clone(), b, c.clone()], &[a, c.clone(), c]);
    assert_eq!(comparison.common, 2);
    assert_eq!(
        comparison.differences,
        [
            Difference::OnlyFirst { position: 2, event: "TestProvider/B".into() },
            Difference::OnlySecond { position: 3, event: "TestProvider/C".into() },
        ]
    );
}

#[test]
fn fields_differ_by_name_type_value_and_order() {
    let read = |build: fn(EventBuilder<'_>) -> EventBuilder<'_>| trace_logging("Read", build);
    let base = read(|builder| builder.u32("Length", 512).u32("Code", 7));
    assert_eq!(parts(&base, &base), []);
    assert_eq!(
        parts(&base, &read(|builder| builder.u32("Length", 4096).u32("Code", 7))),
        [part("Length", Some("512"), Some("4096"))]
    );
    assert_eq!(parts(&base, &read(|builder| builder.u32("Length", 512))), [part("Code", Some("7"), None)]);
    assert_eq!(parts(&read(|builder| builder.u32("Length", 512)), &base), [part("Code", None, Some("7"))]);
    assert_eq!(
        parts(&base, &read(|builder| builder.u32("Code", 7).u32("Length", 512))),
        [part("(order)", Some("Length Code"), Some("Code Length"))]
    );
    let wider = parts(&base, &read(|builder| builder.u64("Length", 512).u32("Code", 7)));
    assert_eq!(wider.len(), 1);
    assert!(wider[0].first.as_ref().is_some_and(|text| text.starts_with("512 (")), "{wider:?}");
}

#[test]
fn levels_and_keywords_are_compared() {
    let mut metadata = [0; 64];
    let mut payload = [0; 64];
    let (metadata, payload) = EventBuilder::new(&mut metadata, &mut payload, "E", 0).finish().unwrap();
    let at = |level: Level| {
        let mut descriptor = descriptor();
        descriptor.level = level;
        let items = ExtendedItem::trace_logging(TRAITS, metadata);
        read(&EventData { descriptor, items: &items, payload, ..EventData::default() })
    };
    assert_eq!(parts(&at(Level::Warning), &at(Level::Error)), [part("(level)", Some("0x3"), Some("0x2"))]);
}

#[test]
fn named_fields_are_left_out_also_in_structs() {
    let read = |ticks: u64| {
        trace_logging("State", |builder| builder.structure("Statistics", 2, 0).u64("Requests", 3).u64("Ticks", ticks))
    };
    let with = |event: &Event, ignored: &[&str]| {
        let ignored: Vec<String> = ignored.iter().map(|name| (*name).to_owned()).collect();
        Entry::new(&event.as_ref(), &event.decode(), &ignored)
    };
    let differs = |ignored: &[&str]| !compare(&[with(&read(1), ignored)], &[with(&read(2), ignored)]).is_same();
    assert!(differs(&[]));
    assert!(differs(&["Ticks"]));
    assert!(!differs(&["Statistics.Ticks"]));
    assert!(!differs(&["Statistics"]));
}

#[test]
fn fields_that_hold_times_and_processes_are_left_out() {
    let read = |stamp: i64, pid: u32| {
        trace_logging("Created", |builder| {
            let builder = builder.field("At", InType::FileTime, OutType::Default, 0, &stamp.to_le_bytes());
            builder.field("Process", InType::U32, OutType::Pid, 0, &pid.to_le_bytes())
        })
    };
    assert_eq!(parts(&read(1, 4), &read(2, 8)), []);
}

#[test]
fn what_a_schema_calls_an_event_makes_no_difference() {
    let descriptor = |id| EventDescriptor { id, ..EventDescriptor::default() };
    let named = |id, provider: &str, name: &str| {
        let event = read(&EventData { descriptor: descriptor(id), ..EventData::default() });
        let decoded = Decoded { provider: Some(provider.into()), event: Some(name.into()), ..Decoded::default() };
        Entry::new(&event.as_ref(), &decoded, &[])
    };
    assert!(compare(&[named(1, "A", "Read")], &[named(1, "B", "Fetch")]).is_same());
    let unnamed = read(&EventData { descriptor: descriptor(1), ..EventData::default() });
    let unnamed = Entry::new(&unnamed.as_ref(), &Decoded::default(), &[]);
    assert!(compare(&[named(1, "A", "Read")], &[unnamed]).is_same(), "a schema that is known for one of them");
    assert!(!compare(&[named(1, "A", "Read")], &[named(2, "A", "Read")]).is_same(), "another event");
}
