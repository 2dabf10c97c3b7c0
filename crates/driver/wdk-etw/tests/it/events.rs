//! Checks the run-time behaviour of the event macros with a session.

use std::cell::Cell;

use etw_engine::{CapturedEvent, Enable, Session};
use etw_symbols::{Entered, Host};
use wdk_etw::{Guid, Level, Mode, NtStatus, Opcode, Provider, define_provider, start_activity, write_event};

/// A provider that is enabled in its own session on its own host. It is unregistered on drop.
struct Traced {
    provider: &'static Provider,
    session: Session,
    host: Host,
    _entered: Entered,
}

impl Traced {
    fn new(provider: &'static Provider, level: Level) -> Self {
        let host = Host::new();
        let entered = host.enter();
        let session = host.engine().start_session("events");
        // SAFETY: unregistered on drop, and a test process is not unloaded before that.
        assert_eq!(unsafe { provider.register() }, NtStatus::Success);
        assert!(session.enable(*provider.id(), Enable { level, any: 0x1, ..Enable::default() }).is_success());
        Self { provider, session, host, _entered: entered }
    }

    fn events(&self) -> Vec<CapturedEvent> {
        self.session.take_events()
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = self.provider.unregister();
        assert_eq!(self.host.engine().findings(), []);
    }
}

#[test]
fn a_disabled_event_evaluates_no_field() {
    define_provider!(PROVIDER, "Events.Disabled");
    let evaluated = Cell::new(0);
    let value = || {
        evaluated.set(evaluated.get() + 1);
        &5_u32
    };
    // Not registered.
    assert_eq!(write_event!(PROVIDER, "Event", u32("Field", value())), NtStatus::Success);
    assert!(!PROVIDER.enabled(Level::Critical, 1));

    let traced = Traced::new(&PROVIDER, Level::Warning);
    // The session enables neither these levels nor keyword 2.
    assert_eq!(write_event!(PROVIDER, "Event", level(Informational), u32("Field", value())), NtStatus::Success);
    assert_eq!(write_event!(PROVIDER, "Event", level(Error), keyword(2), u32("Field", value())), NtStatus::Success);
    let _ = start_activity!(PROVIDER, "Activity", level(Verbose), u32("Field", value()));
    assert_eq!(evaluated.get(), 0);
    assert!(traced.events().is_empty());

    assert_eq!(write_event!(PROVIDER, "Event", level(Error), u32("Field", value())), NtStatus::Success);
    assert!(PROVIDER.enabled(Level::Warning, 1));
    assert_eq!(evaluated.get(), 1);
    assert_eq!(traced.events().len(), 1);
}

#[test]
fn ids_come_first_and_fields_follow_in_their_order() {
    define_provider!(PROVIDER, "Events.Order");
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    let order = Cell::new(0_u8);
    let next = || {
        order.set(order.get() + 1);
        order.get()
    };
    write_event!(
        PROVIDER,
        "Event",
        u8("First", &next()),
        activity_id(&[next(); 16]),
        struct("Struct", { u8_slice("Second", &[next()]), raw_data(&[next()]) }),
        related_id(&[next(); 16]),
    );
    let events = traced.events();
    assert_eq!(events[0].activity.to_bytes_le(), [1; 16]);
    assert_eq!(events[0].related.map(|id| id.to_bytes_le()), Some([2; 16]));
    assert_eq!(events[0].payload, [3, 1, 0, 4, 5]);
}

#[test]
fn the_status_of_the_write_is_returned() {
    define_provider!(PROVIDER, "Events.Status");
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    traced.host.engine().fail_next(etw_engine::Routine::WriteTransfer, NtStatus::NoMemory);
    assert_eq!(write_event!(PROVIDER, "Event", u8("Field", &1)), NtStatus::NoMemory);
    traced.host.engine().fail_next(etw_engine::Routine::WriteTransfer, NtStatus::NoMemory);
    assert_eq!(write_event!(PROVIDER, "Event", related_id(&[1; 16]), u8("Field", &1)), NtStatus::NoMemory);
    assert_eq!(write_event!(PROVIDER, "Event", win_sid("Sid", &[1, 1])), NtStatus::InvalidSid);
    assert_eq!(write_event!(PROVIDER, "Event", win_sid("Sid", &[])), NtStatus::InvalidSid);
    assert!(traced.events().is_empty());
}

#[test]
fn an_activity_has_a_start_and_a_stop_with_one_id() {
    define_provider!(PROVIDER, "Events.Activity");
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    // A reference to a reference is an id, too.
    let parent = &Guid::from_u128(7);
    {
        let scope = start_activity!(
            PROVIDER,
            "Transfer",
            level(Warning),
            task(9),
            tag(0x0FE0_0000),
            id_version(5, 1),
            related_id(&parent),
            u16("Length", &0x1234),
        );
        assert!(scope.is_active());
        write_event!(PROVIDER, "Step", activity_id(scope.id()), u8("Field", &1));
    }
    let events = traced.events();
    assert_eq!(events.len(), 3);
    let opcodes: Vec<Opcode> = events.iter().map(|event| event.descriptor.opcode).collect();
    assert_eq!(opcodes, [Opcode::Start, Opcode::Info, Opcode::Stop]);
    assert_ne!(events[0].activity, Guid::ZERO);
    assert!(events.iter().all(|event| event.activity == events[0].activity));
    assert_eq!(events[0].related, Some(*parent));
    assert_eq!(events[1].related, None);
    assert_eq!(events[2].related, None);
    assert_eq!(events[0].payload, [0x34, 0x12]);
    assert_eq!(events[2].payload, []);
    assert_eq!(events[2].metadata.as_deref(), Some(&b"\x0c\0\x7fTransfer\0"[..]));
    let stop = events[2].descriptor;
    assert_eq!(stop.id, 0);
    assert_eq!(stop.version, 0);
    assert_eq!(stop.task, 9);
    assert_eq!(stop.level, Level::Warning);
}

#[test]
fn an_activity_whose_start_was_not_written_has_no_stop() {
    define_provider!(PROVIDER, "Events.Inactive");
    let before = start_activity!(PROVIDER, "Activity");
    assert!(!before.is_active());
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    drop(before);
    assert!(traced.events().is_empty());
}

#[test]
fn a_user_mode_provider_returns_an_hresult() {
    define_provider!(PROVIDER, "Events.User", mode(User));
    let status: wdk_etw::HResult = write_event!(PROVIDER, "Event", win_sid("Sid", &[]));
    assert!(status.is_success());
    let scope: wdk_etw::ActivityScope<wdk_etw::User> = start_activity!(PROVIDER, "Event");
    assert!(!scope.is_active());
}

#[test]
fn a_provider_may_be_a_variable_of_any_mode() {
    fn log<M: Mode>(provider: &Provider<M>, value: u16) -> M::Status {
        write_event!(provider, "Event", u16("Field", &value))
    }
    define_provider!(PROVIDER, "Events.Variable");
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    assert_eq!(log(&PROVIDER, 7), NtStatus::Success);
    assert_eq!(traced.events()[0].payload, [7, 0]);
}

#[test]
fn filetimes_of_system_times() {
    use std::time::{Duration, SystemTime};
    let one_second = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    assert_eq!(wdk_etw::win_filetime_from_systemtime!(one_second), 116_444_736_010_000_000);
    // On Windows there is no time before 1601.
    if let Some(early) = SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(20_000_000_000)) {
        assert_eq!(wdk_etw::win_filetime_from_systemtime!(early), 0);
    }
}

#[test]
fn a_tag_that_is_a_constant_has_the_bytes_of_its_value() {
    const TAG: u32 = 0x0FE0_0000;
    define_provider!(PROVIDER, "Events.Tag");
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    assert_eq!(write_event!(PROVIDER, "Named", tag(TAG), u32("a", &1)), NtStatus::Success);
    assert_eq!(write_event!(PROVIDER, "Named", tag(0x0FE0_0000), u32("a", &1)), NtStatus::Success);
    let metadata: Vec<_> = traced.events().into_iter().map(|event| event.metadata).collect();
    assert_eq!(metadata, [(); 2].map(|()| Some(b"\x0c\0\x7fNamed\0a\0\x08".to_vec())));
}

#[test]
fn statuses_and_pointers_have_the_bytes_of_their_values() {
    define_provider!(PROVIDER, "Events.Values");
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    let denied = NtStatus::AccessDenied;
    let code = -2_i32;
    assert_eq!(write_event!(PROVIDER, "Status", ntstatus("a", &denied), ntstatus("b", &code)), NtStatus::Success);
    let mut place = 5_u32;
    let shared = std::ptr::from_ref(&place);
    let address = shared.addr().to_le_bytes();
    assert_eq!(write_event!(PROVIDER, "Shared", kernel_ptr("p", shared)), NtStatus::Success);
    assert_eq!(write_event!(PROVIDER, "Unique", kernel_ptr("p", &raw mut place)), NtStatus::Success);
    let non_null = std::ptr::NonNull::from(&mut place);
    assert_eq!(write_event!(PROVIDER, "NonNull", kernel_ptr("p", non_null)), NtStatus::Success);
    let payloads: Vec<_> = traced.events().into_iter().map(|event| event.payload).collect();
    let statuses = [0x22, 0, 0, 0xC0, 0xFE, 0xFF, 0xFF, 0xFF];
    assert_eq!(payloads, [statuses, address, address, address]);
}

/// These payloads are written by functions of the library: see `event/send.rs`.
#[test]
fn values_and_one_text_or_array_after_them_have_their_bytes_and_no_ids() {
    define_provider!(PROVIDER, "Events.Library");
    let traced = Traced::new(&PROVIDER, Level::Verbose);
    let wide = [0x41_u16, 0xD83D, 0xDE97];
    let elements = [1_u16, 0x0203];
    write_event!(PROVIDER, "Values", u8("a", &1), u16("b", &2), u8("c", &3), u16("d", &4));
    write_event!(PROVIDER, "Utf8", u8("a", &1), u16("b", &2), str8("c", "text"));
    write_event!(PROVIDER, "Utf16", u8("a", &1), u16("b", &2), str16("c", &wide));
    write_event!(PROVIDER, "Array", u8("a", &1), u16("b", &2), u16_slice("c", &elements));
    let payloads: [&[u8]; 4] = [
        &[1, 2, 0, 3, 4, 0],
        b"\x01\x02\0\x04\0text",
        b"\x01\x02\0\x06\0A\0\x3D\xD8\x97\xDE",
        &[1, 2, 0, 2, 0, 1, 0, 3, 2],
    ];
    let events = traced.events();
    assert_eq!(events.len(), payloads.len());
    for (event, payload) in events.iter().zip(payloads) {
        assert_eq!(event.payload, payload, "{event:?}");
        assert_eq!(event.activity, Guid::ZERO, "{event:?}");
        assert_eq!(event.related, None, "{event:?}");
    }
}
