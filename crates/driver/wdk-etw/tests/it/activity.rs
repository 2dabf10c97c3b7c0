//! Activities: ids, scopes, nesting, and scopes that no session enables.

use etw_engine::{CapturedEvent, Enable, Routine};
use etw_symbols::Host;
use wdk_etw::{
    ActivityScope, Guid, HResult, IrpActivity, Kernel, Level, NtStatus, Opcode, Provider, define_provider,
    set_thread_activity_id, start_activity, stop_activity, thread_activity_id, write_event,
};

define_provider!(NESTED, "Activity.Nested");
define_provider!(UNWANTED, "Activity.Unwanted");
define_provider!(HANDED_OVER, "Activity.HandedOver");
define_provider!(STOPPED, "Activity.Stopped");
define_provider!(FIELDS, "Activity.Fields");
define_provider!(LIMITS, "Activity.Limits");
define_provider!(BETWEEN, "Activity.Between");
define_provider!(SHORT, "Activity.Short");
define_provider!(RESULTS, "Activity.Results");
define_provider!(THREADS, "Activity.Threads");
define_provider!(EARLY, "Activity.Early");

fn name(event: &CapturedEvent) -> String {
    let metadata = event.metadata.as_deref().expect("a TraceLogging event");
    let (metadata, _) = etw_types::tracelogging::Metadata::parse(metadata).expect("well formed");
    String::from_utf8(metadata.name().to_vec()).expect("UTF-8")
}

/// Registers the provider, records everything that `body` writes, and unregisters the provider.
fn traced(provider: &'static Provider, body: impl FnOnce(&Host)) -> Vec<CapturedEvent> {
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { provider.register() }, NtStatus::Success);
    let session = host.engine().start_session("activities");
    session.enable(*provider.id(), Enable { level: Level::Informational, ..Enable::default() });
    body(&host);
    assert_eq!(provider.unregister(), NtStatus::Success);
    session.events()
}

#[test]
fn ids_are_created_without_a_registration_and_differ() {
    let host = Host::new();
    let _here = host.enter();
    host.engine().set_system_threads(true);
    let first = NESTED.new_activity_id();
    let second = NESTED.new_activity_id();
    assert!(!first.is_zero(), "the first id");
    assert!(!second.is_zero(), "the second id");
    assert_ne!(first, second);
}

#[test]
fn nested_scopes_pass_their_ids_and_write_start_and_stop() {
    let events = traced(&NESTED, |_| {
        let outer = start_activity!(NESTED, "Outer", level(Informational), keyword(1), u32("Length", &7));
        {
            let inner = start_activity!(NESTED, "Inner", level(Informational), related_id(outer.id()));
            write_event!(NESTED, "Step", level(Informational), activity_id(inner.id()));
        }
        assert!(outer.is_active());
    });
    let seen: Vec<_> = events.iter().map(|event| (name(event), event.descriptor.opcode)).collect();
    let expected = [
        ("Outer", Opcode::Start),
        ("Inner", Opcode::Start),
        ("Step", Opcode::Info),
        ("Inner", Opcode::Stop),
        ("Outer", Opcode::Stop),
    ];
    assert_eq!(seen, expected.map(|(name, opcode)| (name.to_owned(), opcode)));
    let outer = events[0].activity;
    let inner = events[1].activity;
    assert!(!outer.is_zero(), "the outer activity has an id");
    assert!(!inner.is_zero(), "the inner activity has an id");
    assert_ne!(outer, inner);
    assert_eq!(events.iter().map(|event| event.activity).collect::<Vec<_>>(), [outer, inner, inner, inner, outer]);
    assert_eq!(events[0].related, None);
    assert_eq!(events[1].related, Some(outer));
    assert_eq!(events[0].payload, 7_u32.to_le_bytes());
    assert_eq!(events[4].payload, b"", "the stop event has no fields");
    assert_eq!(events[4].descriptor.level, events[0].descriptor.level);
    assert_eq!(events[4].descriptor.keyword, events[0].descriptor.keyword);
}

#[test]
fn a_scope_that_no_session_wants_calls_nothing() {
    let events = traced(&UNWANTED, |host| {
        host.engine().clear_calls();
        let scope = start_activity!(UNWANTED, "Detail", level(Verbose));
        assert!(!scope.is_active());
        assert_eq!(scope.id(), &Guid::ZERO);
        assert_eq!(scope.stop(), NtStatus::Success);
        assert_eq!(host.engine().count_calls(Routine::ActivityIdControl), 0);
        assert_eq!(host.engine().calls().len(), 0);
    });
    assert_eq!(events.len(), 0);
}

#[test]
fn an_activity_can_end_in_another_component() {
    let events = traced(&HANDED_OVER, |_| {
        let scope = start_activity!(HANDED_OVER, "Request", level(Informational));
        let shown = format!("ActivityScope {{ id: {}, active: true, result: (), .. }}", scope.id());
        assert_eq!(format!("{scope:?}"), shown);
        let id = scope.into_id().expect("active");
        write_event!(HANDED_OVER, "Request", level(Informational), opcode(Stop), activity_id(&id), u32("Bytes", &9));
        assert_eq!(start_activity!(HANDED_OVER, "Detail", level(Verbose)).into_id(), None);
    });
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].activity, events[1].activity);
    assert_eq!(events[1].payload, 9_u32.to_le_bytes());
}

#[test]
fn stopping_returns_the_status_of_the_write() {
    let events = traced(&STOPPED, |host| {
        let scope = start_activity!(STOPPED, "Request", level(Informational));
        host.engine().fail_next(Routine::WriteTransfer, NtStatus::NoMemory);
        assert_eq!(scope.stop(), NtStatus::NoMemory);
    });
    assert_eq!(events.len(), 1);
}

/// Returns the TraceLogging metadata of an event.
fn metadata(event: &CapturedEvent) -> &[u8] {
    event.metadata.as_deref().expect("a TraceLogging event")
}

#[test]
fn a_stop_with_fields_is_the_event_that_write_event_would_write() {
    let events = traced(&FIELDS, |_| {
        let scope = start_activity!(FIELDS, "Read", level(Warning), keyword(6), task(9), tag(0x12), u32("Length", &7));
        let id = *scope.id();
        let status = stop_activity!(
            scope,
            u32("Bytes", &5),
            str8("File", "a.txt", tag(3)),
            struct("Time", { u64("Start", &1), i64("End", &-1) }),
        );
        assert_eq!(status, NtStatus::Success);
        write_event!(
            FIELDS,
            "Read",
            level(Warning),
            keyword(6),
            task(9),
            tag(0x12),
            opcode(Stop),
            activity_id(&id),
            u32("Bytes", &5),
            str8("File", "a.txt", tag(3)),
            struct("Time", { u64("Start", &1), i64("End", &-1) }),
        );
    });
    let [start, stop, by_hand] = events.as_slice() else { panic!("three events") };
    assert_eq!(metadata(stop), metadata(by_hand));
    assert_eq!(stop.payload, by_hand.payload);
    assert_eq!(stop.descriptor, by_hand.descriptor);
    assert_eq!(stop.activity, by_hand.activity);
    assert_eq!(stop.related, None);
    assert_eq!(start.activity, stop.activity);
}

#[test]
fn a_stop_takes_a_name_and_fields_at_their_limits() {
    let events = traced(&LIMITS, |_| {
        let text = "x".repeat(60_000);
        let scope = start_activity!(
            LIMITS,
            "A name of two hundred and forty bytes, which nobody has, but which is the most that the macro takes: \
             012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678\
             9012345678901234567890123456789012345678",
            tag(0x0FFF_FFFF),
            level(Error)
        );
        stop_activity!(scope, str8("Text", &text), u16_slice("Slice", &[1, 2, 3]));
        let scope = start_activity!(LIMITS, "NoFields", level(Error));
        stop_activity!(scope);
    });
    assert_eq!(name(&events[0]), name(&events[1]));
    assert_eq!(name(&events[0]).len(), 240);
    assert_eq!(events[1].payload.len(), 2 + 60_000 + 2 + 6);
    assert_eq!(events[1].payload[2 + 60_000..], [3, 0, 1, 0, 2, 0, 3, 0]);
    assert_eq!(metadata(&events[2]), metadata(&events[3]));
    assert_eq!(events[3].payload, b"");
}

#[test]
fn a_session_that_comes_between_start_and_stop_sees_neither() {
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { BETWEEN.register() }, NtStatus::Success);
    let scope = start_activity!(BETWEEN, "Request", level(Informational));
    let implicit = start_activity!(BETWEEN, "Implicit", level(Informational), result(ntstatus("Status")));
    let session = host.engine().start_session("late");
    session.enable(*BETWEEN.id(), Enable { level: Level::Informational, ..Enable::default() });
    let status = stop_activity!(scope, u32("Bytes", &unreachable_value()));
    assert_eq!(status, NtStatus::Success);
    drop(implicit);
    let scope = start_activity!(BETWEEN, "Whole", level(Informational));
    stop_activity!(scope, u32("Bytes", &1));
    assert_eq!(BETWEEN.unregister(), NtStatus::Success);
    let events = session.events();
    assert_eq!(events.iter().map(name).collect::<Vec<_>>(), ["Whole", "Whole"]);
    assert!(events.iter().all(|event| !event.activity.is_zero()));
}

fn unreachable_value() -> u32 {
    panic!("the field of a stop that is not written is not evaluated")
}

#[test]
fn a_session_that_goes_between_start_and_stop_ends_quietly() {
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { SHORT.register() }, NtStatus::Success);
    let session = host.engine().start_session("short");
    session.enable(*SHORT.id(), Enable { level: Level::Informational, ..Enable::default() });
    let scope = start_activity!(SHORT, "Request", level(Informational));
    session.disable(*SHORT.id());
    host.engine().clear_calls();
    assert_eq!(stop_activity!(scope, u32("Bytes", &unreachable_value())), NtStatus::Success);
    assert_eq!(host.engine().calls().len(), 0, "and the scope's end wrote nothing either");
    assert_eq!(SHORT.unregister(), NtStatus::Success);
    assert_eq!(session.events().len(), 1);
}

#[test]
fn a_scope_carries_its_result_to_the_stop() {
    fn read(length: u32) -> Result<u32, NtStatus> {
        let mut scope: ActivityScope<Kernel, NtStatus> =
            start_activity!(RESULTS, "Read", level(Informational), result(ntstatus("Status")));
        if length == 0 {
            scope.set_result(NtStatus::InvalidParameter);
            return Err(scope.result());
        }
        if length == 1 {
            return Ok(1);
        }
        scope.finish(if length == 2 { Err(NtStatus::NoMemory) } else { Ok(length) })
    }
    let events = traced(&RESULTS, |_| {
        let results: Vec<_> = (0..4).map(read).collect();
        assert_eq!(results, [Err(NtStatus::InvalidParameter), Ok(1), Err(NtStatus::NoMemory), Ok(3)]);
        let scope = start_activity!(RESULTS, "Count", level(Informational), result(u64("Count")));
        assert_eq!(scope.stop_with(77), NtStatus::Success);
        let scope = start_activity!(RESULTS, "Code", level(Informational), result(hresult("Code")));
        assert_eq!(scope.result(), HResult::Fail);
        stop_activity!(scope, u8("More", &5));
        write_event!(RESULTS, "Read", opcode(Stop), level(Informational), ntstatus("Status", &NtStatus::Success));
        write_event!(RESULTS, "Code", opcode(Stop), level(Informational), hresult("Code", &-1), u8("More", &5));
    });
    let stops: Vec<_> = events.iter().filter(|event| event.descriptor.opcode == Opcode::Stop).collect();
    let codes = [NtStatus::InvalidParameter, NtStatus::Unsuccessful, NtStatus::NoMemory, NtStatus::Success];
    for (stop, code) in stops.iter().zip(codes) {
        assert_eq!(stop.payload, code.as_int().to_le_bytes());
        assert_eq!(metadata(stop), metadata(stops[6]));
    }
    assert_eq!(stops[4].payload, 77_u64.to_le_bytes());
    assert_eq!(stops[5].payload, [0x05, 0x40, 0, 0x80, 5]);
    assert_eq!(metadata(stops[5]), metadata(stops[7]));
}

#[test]
fn an_activity_ends_on_another_thread() {
    fn moved<T: Send + Sync + 'static>(value: T) -> T {
        value
    }
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, after the other thread has ended.
    assert_eq!(unsafe { THREADS.register() }, NtStatus::Success);
    let session = host.engine().start_session("threads");
    session.enable(*THREADS.id(), Enable { level: Level::Informational, ..Enable::default() });
    let scope = moved(start_activity!(THREADS, "Request", level(Informational)));
    let there = host.clone();
    std::thread::spawn(move || {
        let _here = there.enter();
        stop_activity!(scope, u64("Bytes", &512));
    })
    .join()
    .expect("the thread ends");
    assert_eq!(THREADS.unregister(), NtStatus::Success);
    let events = session.events();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].activity, events[1].activity);
    assert_eq!(events[1].payload, 512_u64.to_le_bytes());
}

#[test]
fn a_field_that_returns_early_leaves_the_stop_of_the_scope() {
    fn fails() -> Result<(), NtStatus> {
        let scope = start_activity!(EARLY, "Request", level(Informational));
        let value: Result<u32, NtStatus> = Err(NtStatus::NoMemory);
        stop_activity!(scope, u32("Value", &value?));
        Ok(())
    }
    let events = traced(&EARLY, |_| assert_eq!(fails(), Err(NtStatus::NoMemory)));
    assert_eq!(events.len(), 2);
    assert_eq!(events[1].descriptor.opcode, Opcode::Stop);
    assert_eq!(events[1].payload.len(), 0);
}

#[test]
fn the_activity_of_a_thread_is_set_restored_and_refused_on_a_system_thread() {
    let host = Host::new();
    let _here = host.enter();
    let id = Guid::from_u128(7);
    assert_eq!(thread_activity_id(), Ok(Guid::ZERO));
    assert_eq!(set_thread_activity_id(&id), Ok(Guid::ZERO));
    assert_eq!(thread_activity_id(), Ok(id));
    assert_eq!(set_thread_activity_id(&Guid::ZERO), Ok(id));
    host.engine().set_system_threads(true);
    assert_eq!(thread_activity_id(), Err(NtStatus::NotSupported));
    assert_eq!(set_thread_activity_id(&id), Err(NtStatus::NotSupported));
    assert_eq!(wdk_etw::compat::Provider::current_thread_activity_id(), Guid::ZERO);
    assert_eq!(wdk_etw::compat::Provider::set_current_thread_activity_id(&id), id);
}

#[test]
fn the_activity_of_a_request_needs_the_routines_of_windows_8() {
    let host = Host::new();
    let _here = host.enter();
    let requests = IrpActivity::new();
    let id = Guid::from_u128(8);
    let mut irp = 0_u64;
    let irp = (&raw mut irp).cast();
    // SAFETY: the routines of the host use only the address.
    let get = || unsafe { requests.get(irp) };
    // SAFETY: as above.
    let set = || unsafe { requests.set(irp, &id) };
    assert_eq!(get(), Err(NtStatus::NotSupported), "not looked up");
    assert_eq!(set(), Err(NtStatus::NotSupported), "not looked up");
    assert_eq!(requests.look_up(), NtStatus::Success);
    assert_eq!(get(), Err(NtStatus::NotFound));
    assert_eq!(set(), Ok(()));
    assert_eq!(get(), Ok(id));
    for name in ["IoGetActivityIdIrp", "IoSetActivityIdIrp"] {
        host.engine().hide_routine(name);
    }
    assert_eq!(requests.look_up(), NtStatus::NotSupported);
    assert_eq!(get(), Err(NtStatus::NotSupported), "an older Windows");
    assert_eq!(set(), Err(NtStatus::NotSupported), "an older Windows");
    assert_eq!(format!("{requests:?}"), "IrpActivity { get: false, set: false }");
}
