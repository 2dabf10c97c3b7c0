//! Code that was written for `tracelogging`, with its `use` line changed: the example and tests from its published
//! sources.
#![allow(
    missing_docs,
    unreachable_pub,
    unused_must_use,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    reason = "the sources are not ours to lint"
)]

use etw_engine::Enable;
use etw_symbols::Host;
use wdk_etw::Guid;
use wdk_etw::compat as tlg;

mod example {
    include!(concat!(env!("OUT_DIR"), "/example.rs"));
}

mod tests {
    mod windows {
        pub use windows_core as core;
    }

    include!(concat!(env!("OUT_DIR"), "/tests.rs"));
}

/// Runs `body` with a session that has the provider fully enabled. Returns the number of events that were written.
fn events_of(provider: &str, body: fn()) -> usize {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("porting");
    session.enable(Guid::from_name(provider), Enable { any: u64::MAX, ..Enable::default() });
    body();
    session.events().len()
}

#[test]
fn the_example_runs_with_another_use_line() {
    assert_eq!(events_of("TestProvider", example::main), 2);
}

#[test]
fn the_test_of_guids_runs_with_another_use_line() {
    tests::guid();
}

#[test]
fn the_test_of_providers_runs_with_another_use_line() {
    let host = Host::new();
    let _here = host.enter();
    tests::define_provider();
}

#[test]
fn the_test_of_every_field_type_runs_with_another_use_line() {
    let count = events_of("TraceLoggingDynamicTest", tests::write_event);
    assert!(count > 20, "{count}");
}

#[test]
fn a_callback_of_its_signature_gets_what_a_session_wants() {
    use std::sync::Mutex;
    static SEEN: Mutex<Vec<(u32, u8, u64, u64, bool, usize)>> = Mutex::new(Vec::new());
    tlg::define_provider!(PROVIDER, "Porting.Callback");
    fn callback(_: &tlg::Guid, code: u32, level: tlg::Level, any: u64, all: u64, filter: usize, context: usize) {
        SEEN.lock().unwrap().push((code, level.as_int(), any, all, filter != 0, context));
    }
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: the provider is unregistered below, by the only thread.
    assert_eq!(unsafe { PROVIDER.register_with_callback(callback, 77) }, 0);
    let session = host.engine().start_session("callback");
    session.enable(*PROVIDER.id(), Enable { level: tlg::Level::Warning, any: 6, all: 2, ..Enable::default() });
    assert!(PROVIDER.enabled(tlg::Level::Error, 6));
    assert_eq!(PROVIDER.unregister(), 0);
    assert_eq!(SEEN.lock().unwrap()[0], (1, 3, 6, 2, false, 77));
}

#[test]
fn guids_offer_what_theirs_do() {
    let (ours, theirs) = (Guid::from_name("MyProvider"), tracelogging::Guid::from_name("MyProvider"));
    assert_eq!(ours.as_bytes_raw(), theirs.as_bytes_raw());
    assert_eq!(ours.to_utf8_bytes(), theirs.to_utf8_bytes());
    assert_eq!(ours.to_fields(), theirs.to_fields());
    assert_eq!(tlg::Provider::guid_from_name("MyProvider").to_u128(), theirs.to_u128());
    assert_eq!(Guid::try_parse("b3864c38-4273-58c5-545b-8b3608343471"), Some(ours));
    assert_eq!(Guid::try_parse_ascii(&theirs.to_utf8_bytes()), Some(ours));
    for wrong in [&b"b3864c38"[..], b"", b"\xFF", b"b3864c38-4273-58c5-545b-8b360834347g"] {
        assert_eq!(Guid::try_parse_ascii(wrong).is_some(), tracelogging::Guid::try_parse_ascii(wrong).is_some());
    }
    assert_eq!(Guid::zero(), Guid::default());
}

#[test]
fn providers_offer_what_theirs_do() {
    tlg::define_provider!(OURS, "Porting.Meta", group_id("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c"));
    tracelogging::define_provider!(THEIRS, "Porting.Meta", group_id("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c"));
    assert_eq!(OURS.raw_meta(), THEIRS.raw_meta());
    assert_eq!(OURS.name(), THEIRS.name());
    assert_eq!(OURS.id().to_u128(), THEIRS.id().to_u128());
    let host = Host::new();
    let _here = host.enter();
    assert_ne!(tlg::Provider::create_activity_id(), tlg::Provider::create_activity_id());
}
