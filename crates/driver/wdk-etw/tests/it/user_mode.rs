//! User mode: the same provider with the `Event*` functions, which return HRESULTs.

use etw_engine::{Enable, Routine};
use etw_symbols::Host;
use wdk_etw::{
    EventInfoClass, HResult, Keyword, Level, NtStatus, Provider, Status, User, Win32Error, define_provider, write_event,
};

define_provider!(LOOKUP, "UserMode.Lookup", mode(User));
define_provider!(DIRECT, "UserMode.Direct", mode(User), set_information(Direct));
define_provider!(OFF, "UserMode.Off", mode(User), set_information(Off));
define_provider!(MISSING, "UserMode.Missing", mode(User), target_version(0x0601));
define_provider!(FALLBACK, "UserMode.Fallback", mode(User));
define_provider!(EVENTS, "UserMode.Events", mode(User));
define_provider!(TWICE, "UserMode.Twice", mode(User));

const NOT_SUPPORTED: HResult = HResult::from_win32(Win32Error::NotSupported);

fn registered(provider: &'static Provider<User>, host: &Host, body: impl FnOnce()) {
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { provider.register() }, HResult::Ok);
    body();
    assert_eq!(provider.unregister(), HResult::Ok);
}

/// Checks that exactly the modules that were found are released. Returns their number.
fn modules_released(host: &Host) -> usize {
    let calls = host.engine().calls();
    let modules = |routine, only_found: bool| {
        let calls = calls.iter().filter(move |call| call.routine == routine);
        calls.filter(|call| !only_found || call.status.is_success()).map(|call| &call.subject).collect::<Vec<_>>()
    };
    let found = modules(Routine::FindModule, true);
    assert_eq!(modules(Routine::FreeModule, false), found);
    found.len()
}

#[test]
fn lookup_and_direct_set_the_traits() {
    for (provider, modules) in [(&LOOKUP, 1), (&DIRECT, 0)] {
        let host = Host::new();
        registered(provider, &host, || {
            assert_eq!(provider.traits_status(), Some(HResult::Ok));
            assert_eq!(host.engine().registrations()[0].traits.as_deref(), Some(provider.traits()));
        });
        assert_eq!(modules_released(&host), modules);
    }
}

#[test]
fn off_and_a_missing_function_are_not_supported() {
    let host = Host::new();
    registered(&OFF, &host, || assert_eq!(OFF.traits_status(), Some(NOT_SUPPORTED)));
    assert_eq!(host.engine().count_calls(Routine::SetInformation), 0);
    host.engine().hide_routine("EventSetInformation");
    registered(&MISSING, &host, || {
        assert_eq!(MISSING.traits_status(), Some(NOT_SUPPORTED));
        assert_eq!(MISSING.use_descriptor_type(true), NOT_SUPPORTED);
    });
}

#[test]
fn advapi32_is_used_if_the_api_set_is_missing() {
    let host = Host::new();
    host.engine().hide_routine("api-ms-win-eventing-provider-l1-1-0.dll");
    registered(&FALLBACK, &host, || assert_eq!(FALLBACK.traits_status(), Some(HResult::Ok)));
    host.engine().hide_routine("advapi32.dll");
    registered(&FALLBACK, &host, || assert_eq!(FALLBACK.traits_status(), Some(NOT_SUPPORTED)));
    assert_eq!(modules_released(&host), 1, "nothing is released for a module that was not found");
}

#[test]
fn statuses_are_wrapped_win32_errors() {
    let host = Host::new();
    assert_eq!(TWICE.use_descriptor_type(true), HResult::from_win32(Win32Error::InvalidHandle));
    registered(&TWICE, &host, || {
        // SAFETY: the call fails and registers nothing.
        assert_eq!(unsafe { TWICE.register() }, HResult::from_win32(Win32Error::AlreadyRegistered));
        let status = TWICE.set_information(EventInfoClass::UseDescriptorType, b"\x02");
        assert_eq!(status, HResult::from_win32(Win32Error::InvalidParameter));
        assert!(!Status::is_success(status));
    });
    host.engine().fail_next(Routine::Register, NtStatus::AccessDenied);
    let _here = host.enter();
    // SAFETY: the call fails and registers nothing.
    assert_eq!(unsafe { TWICE.register() }, HResult::from_win32(Win32Error::AccessDenied));
}

#[test]
fn events_activities_and_strings_work_as_in_the_kernel() {
    let host = Host::new();
    let session = host.engine().start_session("user");
    session.enable(*EVENTS.id(), Enable { level: Level::LogAlways, ..Enable::default() });
    registered(&EVENTS, &host, || {
        let id = EVENTS.new_activity_id();
        assert!(!id.is_zero());
        assert_eq!(write_event!(EVENTS, "User", activity_id(&id), str8("Text", "hello")), HResult::Ok);
        let text = [u16::from(b'a'), 0];
        assert_eq!(EVENTS.write_string(Level::Warning, Keyword::NONE, None, &text), HResult::Ok);
        assert!(EVENTS.query_enabled(Level::Verbose, 1));
        assert_eq!(session.events()[0].activity, id);
        assert_eq!(session.events()[0].payload, b"\x05\0hello");
        assert_eq!(session.events().len(), 2);
    });
}
