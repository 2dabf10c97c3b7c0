//! Activities: ids, scopes, nesting, and scopes that nobody wants.

use etw_engine::{CapturedEvent, Enable, Routine};
use etw_symbols::Host;
use wdk_etw::{Guid, Level, NtStatus, Opcode, Provider, define_provider, start_activity, write_event};

define_provider!(NESTED, "Activity.Nested");
define_provider!(UNWANTED, "Activity.Unwanted");
define_provider!(HANDED_OVER, "Activity.HandedOver");
define_provider!(STOPPED, "Activity.Stopped");

fn name(event: &CapturedEvent) -> String {
    let metadata = event.metadata.as_deref().expect("a TraceLogging event");
    let (metadata, _) = wdk_etw::tracelogging::Metadata::parse(metadata).expect("well formed");
    String::from_utf8(metadata.name().to_vec()).expect("UTF-8")
}

/// Registers, records everything that `body` writes, unregisters.
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
    let (first, second) = (Provider::create_activity_id(), NESTED.new_activity_id());
    assert!(!first.is_zero() && !second.is_zero());
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
    let (outer, inner) = (events[0].activity, events[1].activity);
    assert!(!outer.is_zero() && !inner.is_zero() && outer != inner);
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
fn an_activity_can_end_elsewhere() {
    let events = traced(&HANDED_OVER, |_| {
        let id = start_activity!(HANDED_OVER, "Request", level(Informational)).into_id();
        write_event!(HANDED_OVER, "Request", level(Informational), opcode(Stop), activity_id(&id), u32("Bytes", &9));
    });
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].activity, events[1].activity);
    assert_eq!(events[1].payload, 9_u32.to_le_bytes());
}

#[test]
fn stopping_answers_the_status_of_the_write() {
    let events = traced(&STOPPED, |host| {
        let scope = start_activity!(STOPPED, "Request", level(Informational));
        host.engine().fail_next(Routine::WriteTransfer, NtStatus::NoMemory);
        assert_eq!(scope.stop(), NtStatus::NoMemory);
    });
    assert_eq!(events.len(), 1);
}
