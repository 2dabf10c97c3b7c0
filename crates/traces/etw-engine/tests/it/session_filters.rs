//! Filters of a request: which registrations and which events pass.

use crate::common::{Notes, PROVIDER, descriptor, register, write};
use etw_engine::{Block, Enable, Engine, EventWrite, Filter, Origin, Session, property};
use etw_types::session::{Listed, Selection};
use etw_types::{ControlCode, DataKind, EventInfoClass, Level, NtStatus};

fn one(filter: Filter) -> Enable {
    Enable::default().filter(filter)
}

fn event_ids(listed: Listed, ids: &[u16]) -> Enable {
    one(Filter::EventIds(listed, ids.to_vec()))
}

fn write_id(engine: &Engine, handle: u64, id: u16) {
    let event = EventWrite::new(handle, descriptor(Level::Error, 1).with_id_version(id, 0));
    assert_eq!(engine.write(&event, &[Block::data(b"x")]), NtStatus::Success);
}

fn ids(session: &Session) -> Vec<u16> {
    session.take_events().into_iter().map(|event| event.descriptor.id).collect()
}

#[test]
fn event_ids_are_included_or_excluded_and_a_new_request_replaces_the_filter() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    let write_all = || (1..=4).for_each(|id| write_id(&engine, handle, id));
    session.enable(PROVIDER, event_ids(Listed::Pass, &[4, 2]));
    write_all();
    assert_eq!(ids(&session), [2, 4]);
    session.enable(PROVIDER, event_ids(Listed::Blocked, &[2]));
    write_all();
    assert_eq!(ids(&session), [1, 3, 4]);
    session.enable(PROVIDER, Enable::default());
    write_all();
    assert_eq!(ids(&session), [1, 2, 3, 4]);
}

#[test]
fn a_filter_belongs_to_its_session() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let filtered = engine.start_session("filtered");
    let open = engine.start_session("open");
    filtered.enable(PROVIDER, event_ids(Listed::Pass, &[9]));
    open.enable(PROVIDER, Enable::default());
    write_id(&engine, handle, 1);
    write_id(&engine, handle, 9);
    assert_eq!(ids(&filtered), vec![9]);
    assert_eq!(ids(&open), vec![1, 9]);
}

#[test]
fn names_are_those_of_trace_logging_events() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]);
    let session = engine.start_session("s");
    let names = vec!["Start".into(), "Stop".into()];
    session.enable(PROVIDER, one(Filter::EventNames(Listed::Pass, Selection::default(), names)));
    for metadata in [b"\x09\x00\x00Start\x00".as_slice(), b"\x08\x00\x00Read\x00", b"\x08\x00\x00Stop\x00", b"junk"] {
        let blocks = [Block::with_kind(metadata, DataKind::EventMetadata)];
        engine.write(&EventWrite::new(handle, descriptor(Level::Error, 0)), &blocks);
    }
    write(&engine, handle, Level::Error, 0, b"no name");
    let metadata: Vec<_> = session.events().into_iter().filter_map(|event| event.metadata).collect();
    assert_eq!(metadata, [b"\x09\x00\x00Start\x00".as_slice(), b"\x08\x00\x00Stop\x00"]);
}

#[test]
fn processes_are_filtered_by_number_image_and_package_but_the_kernel_is_not() {
    let engine = Engine::new();
    let packaged = |app: &str, process_id| Origin {
        package: Some("Pack_1".into()),
        package_app: Some(app.into()),
        ..Origin::user(process_id, "c.exe")
    };
    let origins = [
        Origin::user(1, "a.exe"),
        Origin::user(2, "b.exe"),
        packaged("App_1", 3),
        packaged("App_2", 4),
        Origin::kernel(),
    ];
    let registered: Vec<(u64, Notes)> = origins
        .into_iter()
        .map(|origin| {
            let notes = Notes::default();
            (engine.register_from(origin, PROVIDER, Some(notes.callback()), |_| {}).unwrap(), notes)
        })
        .collect();
    let session = engine.start_session("s");
    for (filter, reached) in [
        (one(Filter::ProcessIds(vec![2, 1])), [true, true, false, false, true]),
        (one(Filter::Executables(vec!["x.exe".into(), "B.exe".into()])), [false, true, false, false, true]),
        (one(Filter::PackageIds(vec!["pack_1".into()])), [false, false, true, true, true]),
        (one(Filter::PackageAppIds(vec!["app_2".into()])), [false, false, false, true, true]),
        (one(Filter::Container(String::new())), [true; 5]),
    ] {
        session.enable(PROVIDER, filter);
        for ((handle, notes), reached) in registered.iter().zip(reached) {
            let is_enabled = notes.take().pop().is_some_and(|note| note.control == ControlCode::EnableProvider);
            assert_eq!(is_enabled, reached);
            write(&engine, *handle, Level::Error, 0, b"x");
            assert_eq!(session.take_events().len(), usize::from(reached));
        }
    }
}

#[test]
fn data_for_the_provider_reaches_its_callback() {
    let engine = Engine::new();
    let (_, notes) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    let data = b"for you".to_vec();
    for filter in [Filter::Schematized(data.clone()), Filter::Payload(data.clone()), Filter::Other(7, data.clone())] {
        let kind = filter.kind();
        session.enable(PROVIDER, event_ids(Listed::Pass, &[]).filter(filter));
        assert_eq!(notes.take()[0].filter, Some((kind, data.clone())));
    }
    session.enable(PROVIDER, event_ids(Listed::Pass, &[]));
    assert_eq!(notes.take()[0].filter, None, "the engine filters ids, so the provider does not get them");
}

#[test]
fn events_of_private_browsing_can_be_excluded() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let all = engine.start_session("all");
    let some = engine.start_session("some");
    all.enable(PROVIDER, Enable::default());
    some.enable(PROVIDER, Enable { property: property::EXCLUDE_INPRIVATE, ..Enable::default() });
    for flags in [0, 2] {
        let event = EventWrite { flags, ..EventWrite::new(handle, descriptor(Level::Error, 0)) };
        engine.write(&event, &[Block::data(b"x")]);
    }
    let flags = |session: &Session| session.events().iter().map(|event| event.flags).collect::<Vec<_>>();
    assert_eq!(flags(&all), vec![0, 2]);
    assert_eq!(flags(&some), vec![0]);
}

#[test]
fn a_bad_filter_changes_nothing() {
    let engine = Engine::new();
    let (handle, notes) = register(&engine, PROVIDER);
    let session = engine.start_session("s");
    session.enable(PROVIDER, event_ids(Listed::Pass, &[5]));
    notes.take();
    assert_eq!(session.enable(PROVIDER, event_ids(Listed::Pass, &[0; 65])), NtStatus::InvalidParameter);
    assert_eq!(notes.take(), []);
    write_id(&engine, handle, 5);
    write_id(&engine, handle, 6);
    assert_eq!(ids(&session), [5]);
}
