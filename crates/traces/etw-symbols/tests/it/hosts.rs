//! Which host handles a call: the one that the thread entered, the one that runs the callback, or the process's host.

use std::ffi::c_void;
use std::ptr::{from_ref, null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::common::{EtwRegister, EtwUnregister, EtwWriteTransfer, PROVIDER, error_event};
use etw_symbols::Host;
use etw_symbols::etw_engine::{Enable, Finding, Routine};
use etw_types::{EventFilterDescriptor, Guid, NtStatus};

fn unregister_calls(host: &Host) -> usize {
    host.engine().count_calls(Routine::Unregister)
}

#[test]
fn calls_go_to_the_host_entered_last_that_is_still_there() {
    let outer = Host::new();
    let inner = Host::new();
    let outside = outer.enter();
    EtwUnregister(0);
    let inside = inner.enter();
    EtwUnregister(0);
    // The outer host is left first. Calls still go to the inner host.
    drop(outside);
    EtwUnregister(0);
    assert_eq!(unregister_calls(&outer), 1);
    assert_eq!(unregister_calls(&inner), 2);
    drop(inside);
    let process = unregister_calls(&Host::process());
    EtwUnregister(0);
    assert_eq!(unregister_calls(&Host::process()), process + 1);
}

#[test]
fn another_thread_enters_by_itself() {
    let host = Host::new();
    let _here = host.enter();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _there = host.enter();
            EtwUnregister(0);
        });
    });
    assert_eq!(unregister_calls(&host), 1);
}

/// Writes an event with the handle that the context points to, and unregisters the handle, which is an error in a
/// callback.
unsafe extern "system" fn writing(
    _: *const Guid,
    _: u32,
    _: u8,
    _: u64,
    _: u64,
    _: *const EventFilterDescriptor,
    context: *mut c_void,
) {
    // SAFETY: the context is the provider's handle, which lives as long as the registration.
    let handle = unsafe { &*context.cast_const().cast::<AtomicU64>() };
    let handle = handle.load(Ordering::Acquire);
    let event = error_event(0);
    // SAFETY: the descriptor is valid and there is no data.
    let status = unsafe { EtwWriteTransfer(handle, &raw const event, null(), null(), 0, null()) };
    assert_eq!(status, NtStatus::Success);
    assert_eq!(EtwUnregister(handle), NtStatus::PossibleDeadlock);
}

#[test]
fn a_callback_runs_on_the_host_that_calls_it_on_whichever_thread() {
    let host = Host::new();
    let handle = AtomicU64::new(0);
    let session = host.engine().start_session("s");
    session.enable(PROVIDER, Enable::default());
    {
        let _here = host.enter();
        let context = from_ref(&handle).cast_mut().cast();
        // SAFETY: the pointers are valid; the handle outlives the registration and is accessed atomically.
        let status = unsafe { EtwRegister(&PROVIDER, Some(writing), context, handle.as_ptr()) };
        assert_eq!(status, NtStatus::Success);
    }
    // The handle was stored before the callback ran inside `EtwRegister`, so the event is captured.
    assert_eq!(session.events().len(), 1);
    // A thread that has not entered any host enables the provider again. The callback still writes to this host.
    thread::scope(|scope| {
        scope.spawn(|| session.enable(PROVIDER, Enable::default()));
    });
    assert_eq!(session.events().len(), 2);
    let handle = handle.load(Ordering::Relaxed);
    let found = Finding::UnregisterInCallback { provider: PROVIDER, handle };
    assert_eq!(host.engine().findings(), [found.clone(), found]);
}

#[test]
fn a_host_that_goes_away_takes_its_registrations_with_it() {
    let host = Host::new();
    let mut handle = 0;
    {
        let _here = host.enter();
        // SAFETY: the pointers are valid.
        let status = unsafe { EtwRegister(&PROVIDER, None, null_mut(), &raw mut handle) };
        assert_eq!(status, NtStatus::Success);
    }
    let engine = host.engine().downgrade();
    drop(host);
    assert!(engine.upgrade().is_none());
    let other = Host::new();
    let _there = other.enter();
    assert_eq!(EtwUnregister(handle), NtStatus::InvalidHandle);
    assert_eq!(other.engine().findings(), [Finding::UnknownHandle { routine: Routine::Unregister, handle }]);
}
