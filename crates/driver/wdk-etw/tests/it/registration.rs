//! Registering and unregistering: pairs, repetition, scopes, failures and races.

use etw_engine::Routine;
use etw_symbols::Host;
use wdk_etw::{NtStatus, define_provider};

define_provider!(PAIRED, "Registration.Paired");
define_provider!(SCOPED, "Registration.Scoped");
define_provider!(FAILING, "Registration.Failing");
define_provider!(STUCK, "Registration.Stuck");
define_provider!(RACED, "Registration.Raced");
define_provider!(SHARED, "Registration.Shared");

#[test]
fn register_and_unregister_are_a_pair_that_can_be_repeated() {
    let host = Host::new();
    let _here = host.enter();
    for _ in 0..3 {
        // SAFETY: unregistered below, by the only thread.
        assert_eq!(unsafe { PAIRED.register() }, NtStatus::Success);
        assert!(PAIRED.is_registered());
        assert_eq!(host.engine().registrations().len(), 1);
        assert_eq!(host.engine().registrations()[0].provider, *PAIRED.id());
        assert_eq!(PAIRED.unregister(), NtStatus::Success);
        assert!(!PAIRED.is_registered());
        assert_eq!(host.engine().registrations().len(), 0);
    }
}

#[test]
fn a_second_registration_is_a_status_and_a_second_unregistration_does_nothing() {
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { SHARED.register() }, NtStatus::Success);
    // SAFETY: as above.
    assert_eq!(unsafe { SHARED.register() }, NtStatus::AlreadyRegistered);
    // SAFETY: as above.
    assert_eq!(unsafe { SHARED.register_scoped() }.err(), Some(NtStatus::AlreadyRegistered));
    assert_eq!(host.engine().registrations().len(), 1);
    assert_eq!(SHARED.unregister(), NtStatus::Success);
    assert_eq!(SHARED.unregister(), NtStatus::Success);
    assert_eq!(host.engine().count_calls(Routine::Unregister), 1);
}

#[test]
fn a_scoped_registration_ends_with_its_scope() {
    let host = Host::new();
    let _here = host.enter();
    {
        // SAFETY: dropped at the end of this block, by the only thread.
        let registration = unsafe { SCOPED.register_scoped() }.unwrap();
        assert_eq!(registration.provider().id(), SCOPED.id());
        assert_eq!(format!("{registration:?}"), format!("Registration({SCOPED:?})"));
        assert_eq!(host.engine().registrations().len(), 1);
    }
    assert_eq!(host.engine().registrations().len(), 0);
    // SAFETY: ended on the next line.
    let registration = unsafe { SCOPED.register_scoped() }.unwrap();
    host.engine().fail_next(Routine::Unregister, NtStatus::Unsuccessful);
    let (status, registration) = registration.end().unwrap_err();
    assert_eq!(status, NtStatus::Unsuccessful, "it can be repeated");
    assert_eq!(host.engine().registrations().len(), 1, "the first registration stays");
    assert!(registration.end().is_ok());
    assert_eq!(host.engine().registrations().len(), 0);
}

#[test]
fn a_failed_registration_leaves_the_provider_unregistered() {
    let host = Host::new();
    let _here = host.enter();
    host.engine().fail_next(Routine::Register, NtStatus::NoMemory);
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { FAILING.register() }, NtStatus::NoMemory);
    assert!(!FAILING.is_registered());
    assert_eq!(FAILING.traits_status(), None);
    // SAFETY: as above.
    assert_eq!(unsafe { FAILING.register() }, NtStatus::Success);
    assert_eq!(FAILING.unregister(), NtStatus::Success);
}

#[test]
fn a_failed_unregistration_can_be_repeated_and_leaks_no_handle() {
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { STUCK.register() }, NtStatus::Success);
    host.engine().fail_next(Routine::Unregister, NtStatus::Unsuccessful);
    assert_eq!(STUCK.unregister(), NtStatus::Unsuccessful);
    assert!(STUCK.is_registered());
    assert_eq!(STUCK.unregister(), NtStatus::Success);
    assert_eq!(host.engine().registrations().len(), 0);
}

/// Two threads register and unregister at the same time, many times. Every call returns one of the documented statuses,
/// and no registration is left.
#[test]
fn racing_threads_get_statuses_and_leak_nothing() {
    let rounds = if cfg!(miri) { 20 } else { 2000 };
    let host = Host::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _here = host.enter();
                for _ in 0..rounds {
                    // SAFETY: no thread writes events with this provider, and it is unregistered at the end.
                    let registered = unsafe { RACED.register() };
                    let allowed = [NtStatus::Success, NtStatus::AlreadyRegistered, NtStatus::DeviceBusy];
                    assert!(allowed.contains(&registered), "{registered}");
                    let unregistered = RACED.unregister();
                    assert!([NtStatus::Success, NtStatus::DeviceBusy].contains(&unregistered), "{unregistered}");
                    assert!(host.engine().registrations().len() <= 1);
                }
            });
        }
    });
    let _here = host.enter();
    assert_eq!(RACED.unregister(), NtStatus::Success);
    assert_eq!(host.engine().registrations().len(), 0);
    assert_eq!(host.engine().findings(), []);
    let calls = host.engine().calls();
    let count = |routine| calls.iter().filter(|call| call.routine == routine && call.status.is_success()).count();
    assert_eq!(count(Routine::Register), count(Routine::Unregister));
}
