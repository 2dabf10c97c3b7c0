//! User mode on Windows: the functions of the system's advapi32.dll accept a provider and its events.

use wdk_etw::{HResult, Win32Error, define_provider, write_event};

define_provider!(LOOKUP, "System.Lookup", mode(User));
define_provider!(DIRECT, "System.Direct", mode(User), set_information(Direct));

#[test]
fn a_provider_in_user_mode_registers_and_sets_its_traits() {
    for provider in [&LOOKUP, &DIRECT] {
        // SAFETY: unregistered below, by the only thread.
        let first = unsafe { provider.register() };
        assert_eq!(first, HResult::Ok);
        assert_eq!(provider.traits_status(), Some(HResult::Ok));
        // SAFETY: the call fails and registers nothing.
        let second = unsafe { provider.register() };
        assert_eq!(second, HResult::from_win32(Win32Error::AlreadyRegistered));
        assert_eq!(provider.unregister(), HResult::Ok);
    }
}

#[test]
fn an_event_of_a_provider_that_nothing_enabled_is_a_success() {
    define_provider!(PROVIDER, "System.Events", mode(User));
    // SAFETY: unregistered below, by the only thread.
    let registered = unsafe { PROVIDER.register() };
    assert_eq!(registered, HResult::Ok);
    assert_eq!(write_event!(PROVIDER, "Unseen", u32("Number", &1)), HResult::Ok);
    assert_eq!(PROVIDER.unregister(), HResult::Ok);
}
