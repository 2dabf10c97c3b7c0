//! The API of `tracelogging`: registration, its callback, and what the provider shows of itself.

use std::sync::Mutex;

use etw_engine::Enable;
use etw_symbols::Host;
use wdk_etw::compat as tlg;
use wdk_etw::{Guid, Level, NtStatus};

tlg::define_provider!(PROVIDER, "Compat.Provider");

/// A call of the callback.
#[derive(Debug, PartialEq)]
struct Call {
    control: u32,
    level: Level,
    any: u64,
    all: u64,
    has_filter: bool,
    context: usize,
}

tlg::define_provider!(REFUSED, "Compat.Refused");

#[derive(Debug, PartialEq)]
struct RefusedCall {
    callback: &'static str,
    control: u32,
    context: usize,
}

static REFUSED_CALLS: Mutex<Vec<RefusedCall>> = Mutex::new(Vec::new());

static CALLS: Mutex<Vec<Call>> = Mutex::new(Vec::new());

fn on_enable(_: &Guid, control: u32, level: Level, any: u64, all: u64, filter: usize, context: usize) {
    CALLS.lock().unwrap().push(Call { control, level, any, all, has_filter: filter != 0, context });
}

#[test]
fn the_callback_gets_the_request_and_its_context() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("compat");
    session.enable(*PROVIDER.id(), Enable { level: Level::Warning, any: 6, all: 2, ..Enable::default() });
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { PROVIDER.register_with_callback(on_enable, 77) }, 0);
    assert_eq!(
        *CALLS.lock().unwrap(),
        [Call { control: 1, level: Level::Warning, any: 6, all: 2, has_filter: false, context: 77 }]
    );
    assert!(PROVIDER.enabled(Level::Warning, 2), "the state is that of the provider");
    assert!(format!("{PROVIDER:?}").starts_with("Provider { name: \"Compat.Provider\", id: "), "{PROVIDER:?}");
    assert_ne!(tlg::Provider::create_activity_id(), Guid::ZERO);
    assert_eq!(PROVIDER.unregister(), 0);
    assert_eq!(host.engine().registrations().len(), 0);
}

#[test]
fn a_registration_that_is_refused_keeps_the_callback_of_the_first() {
    fn first(_: &Guid, control: u32, _: Level, _: u64, _: u64, _: usize, context: usize) {
        REFUSED_CALLS.lock().unwrap().push(RefusedCall { callback: "first", control, context });
    }
    fn second(_: &Guid, control: u32, _: Level, _: u64, _: u64, _: usize, context: usize) {
        REFUSED_CALLS.lock().unwrap().push(RefusedCall { callback: "second", control, context });
    }
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("refused");
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { REFUSED.register_with_callback(first, 1) }, 0);
    // SAFETY: as above.
    let again = unsafe { REFUSED.register_with_callback(second, 2) };
    assert_eq!(again, NtStatus::AlreadyRegistered.as_int());
    session.enable(*REFUSED.id(), Enable::default());
    let of_first = || RefusedCall { callback: "first", control: 1, context: 1 };
    assert_eq!(*REFUSED_CALLS.lock().unwrap(), [of_first()]);
    assert_eq!(REFUSED.unregister(), 0);
    // SAFETY: as above.
    assert_eq!(unsafe { REFUSED.register_with_callback(second, 2) }, 0);
    assert_eq!(
        *REFUSED_CALLS.lock().unwrap(),
        [of_first(), RefusedCall { callback: "second", control: 1, context: 2 }]
    );
    assert_eq!(REFUSED.unregister(), 0);
}

#[test]
fn ids_and_traits_are_those_of_the_name() {
    assert_eq!(tlg::Provider::guid_from_name("Compat.Provider"), *PROVIDER.id());
    assert_eq!(PROVIDER.raw_meta(), b"\x12\0Compat.Provider\0");
}
