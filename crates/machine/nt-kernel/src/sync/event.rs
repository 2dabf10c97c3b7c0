//! Dispatcher objects: events, mutexes, semaphores, and waiting for them. Their state is in the driver's memory.

use std::cell::Cell;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{KEVENT, KMUTANT, KSEMAPHORE};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, APC, DISPATCH, Ignored, Out, Outcome, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::object::{MAXIMUM_WAIT_OBJECTS, MutantObject, SemaphoreObject, WaitAll};

use super::waiters::Waitable;
use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::{kernel, request_rules};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn KeInitializeEvent(event: GuestPtr<KEVENT>, kind: i32, state: bool) -> Result<(), Fault> {
        event.Header().initialize(kind.cast_unsigned() as u8, i32::from(state))
    }

    #[irql(DISPATCH)]
    fn KeSetEvent(event: GuestPtr<KEVENT>, _increment: Ignored<i32>, wait: bool) -> Result<i32, Fault> {
        let irql = thread::irql();
        if wait && irql > APC {
            verify::find(Rule::IrqlTooHigh, format_args!("called at IRQL {irql} with Wait, allowed up to 1"));
        }
        SIGNALS.set(SIGNALS.get().wrapping_add(1));
        request_rules::sets_event(event.address());
        signal(event.Header(), 1)
    }

    #[irql(DISPATCH)]
    fn KeResetEvent(event: GuestPtr<KEVENT>) -> Result<i32, Fault> {
        signal(event.Header(), 0)
    }

    #[irql(DISPATCH)]
    fn KeClearEvent(event: GuestPtr<KEVENT>) -> Result<(), Fault> {
        signal(event.Header(), 0).map(drop)
    }

    #[irql(DISPATCH)]
    fn KePulseEvent(event: GuestPtr<KEVENT>, _increment: Ignored<i32>, _wait: Ignored<bool>) -> Result<i32, Fault> {
        pulse(event.Header())
    }

    #[irql(ANY)]
    fn KeReadStateEvent(event: GuestPtr<KEVENT>) -> Result<i32, Fault> {
        event.Header().SignalState().read()
    }

    #[irql(ANY)]
    fn KeInitializeMutex(mutex: GuestPtr<KMUTANT>, _level: Ignored<u32>) -> Result<(), Fault> {
        mutex.Header().initialize(MutantObject, 1)?;
        mutex.OwnerThread().write(GuestPtr::NULL)
    }

    #[irql(DISPATCH)]
    fn KeReleaseMutex(mutex: GuestPtr<KMUTANT>, _wait: Ignored<bool>) -> Outcome<i32> {
        release_mutex(mutex)
    }

    #[irql(DISPATCH)]
    fn KeReadStateMutex(mutex: GuestPtr<KMUTANT>) -> Result<i32, Fault> {
        mutex.Header().SignalState().read()
    }

    #[irql(ANY)]
    fn KeInitializeSemaphore(semaphore: GuestPtr<KSEMAPHORE>, count: i32, limit: i32) -> Result<(), Fault> {
        semaphore.Header().initialize(SemaphoreObject, count)?;
        semaphore.Limit().write(limit)
    }

    #[irql(DISPATCH)]
    fn KeReleaseSemaphore(
        semaphore: GuestPtr<KSEMAPHORE>,
        _increment: Ignored<i32>,
        adjustment: i32,
        _wait: Ignored<bool>,
    ) -> Outcome<i32> {
        release_semaphore(semaphore, adjustment)
    }

    #[irql(ANY)]
    fn KeReadStateSemaphore(semaphore: GuestPtr<KSEMAPHORE>) -> Result<i32, Fault> {
        semaphore.Header().SignalState().read()
    }

    #[irql(DISPATCH)]
    fn KeWaitForSingleObject(
        object: Waitable,
        _reason: Ignored<i32>,
        _mode: Ignored<i8>,
        _alertable: Ignored<bool>,
        timeout: GuestPtr<i64>,
    ) -> Result<NtStatus, Fault> {
        wait(&[object], true, timeout)
    }

    #[irql(DISPATCH)]
    fn KeWaitForMutexObject(
        mutex: Waitable,
        _reason: Ignored<i32>,
        _mode: Ignored<i8>,
        _alertable: Ignored<bool>,
        timeout: GuestPtr<i64>,
    ) -> Result<NtStatus, Fault> {
        wait(&[mutex], true, timeout)
    }

    #[irql(DISPATCH)]
    fn KeWaitForMultipleObjects(
        count: u32,
        objects: GuestPtr<Waitable>,
        kind: i32,
        _reason: Ignored<i32>,
        _mode: Ignored<i8>,
        _alertable: Ignored<bool>,
        timeout: GuestPtr<i64>,
        _blocks: Ignored<GuestPtr<Opaque>>,
    ) -> Result<NtStatus, Fault> {
        let objects = objects.array(count.min(MAXIMUM_WAIT_OBJECTS).into()).read()?;
        wait(&objects, kind == WaitAll, timeout)
    }

    #[irql(DISPATCH)]
    fn ZwSetEvent(event: KernelHandle, previous: Out<i32>) -> Outcome {
        let Some(object) = object::by_handle(event) else { return fail(NtStatus::InvalidHandle) };
        previous.set_if_wanted(signal(GuestPtr::new(object), 1)?)?;
        done(())
    }

    #[irql(APC)]
    fn ZwWaitForSingleObject(
        handle: KernelHandle,
        _alertable: Ignored<bool>,
        timeout: GuestPtr<i64>,
    ) -> Outcome<NtStatus> {
        let Some(object) = object::by_handle(handle) else { return fail(NtStatus::InvalidHandle) };
        done(wait(&[GuestPtr::new(object)], true, timeout)?)
    }
}

thread_local! {
    /// The number of events that the driver has set on this thread.
    static SIGNALS: Cell<u32> = const { Cell::new(0) };
}

/// Returns the number of events that the driver has set on this thread.
pub fn signals() -> u32 {
    SIGNALS.get()
}

/// Sets the signal state and returns the old one.
pub fn signal(object: Waitable, state: i32) -> Result<i32, Fault> {
    kernel().scheduler.change_object(object, |_| object.SignalState().change(|_| state))
}

/// Satisfies the waits for an event, and resets it. Returns the old state.
fn pulse(event: Waitable) -> Result<i32, Fault> {
    kernel().scheduler.change_object(event, |state| {
        let old = event.SignalState().change(|_| 1)?;
        state.waiters.satisfy(event);
        event.SignalState().write(0)?;
        Ok(old)
    })
}

fn release_mutex(mutex: GuestPtr<KMUTANT>) -> Outcome<i32> {
    if mutex.OwnerThread().read()? != thread::object() {
        verify::find(Rule::LockMisuse, format_args!("releases a mutex that this thread does not own"));
        return fail(NtStatus::MutantNotOwned);
    }
    kernel().scheduler.change_object(mutex.Header(), |_| {
        let old = mutex.Header().SignalState().change(|old| old.wrapping_add(1))?;
        if old == 0 {
            mutex.OwnerThread().write(GuestPtr::NULL)?;
        }
        Ok(old)
    })
}

fn release_semaphore(semaphore: GuestPtr<KSEMAPHORE>, count: i32) -> Outcome<i32> {
    let limit = semaphore.Limit().read()?;
    kernel().scheduler.change_object(semaphore.Header(), |_| {
        let state = semaphore.Header().SignalState();
        let old = state.read()?;
        match old.checked_add(count) {
            Some(new) if new <= limit && count > 0 => {
                state.write(new)?;
                Ok(old)
            }
            _ => {
                let what = format_args!("invalid semaphore release: count {count}, state {old}, limit {limit}");
                verify::find(Rule::LockMisuse, what);
                fail(NtStatus::SemaphoreLimitExceeded)
            }
        }
    })
}

/// Waits for one or all objects. `timeout` points to a `LARGE_INTEGER` or is NULL.
pub fn wait(objects: &[Waitable], all: bool, timeout: GuestPtr<i64>) -> Result<NtStatus, Fault> {
    let limit = timeout.non_null().map(GuestPtr::read).transpose()?;
    if thread::irql() >= DISPATCH && limit != Some(0) {
        let irql = thread::irql();
        verify::find(Rule::IrqlTooHigh, format_args!("waits at IRQL {irql}, allowed up to 1"));
    }
    let scheduler = &kernel().scheduler;
    let deadline = limit.map(|limit| scheduler.deadline(limit));
    let thread = thread::object();
    let result = scheduler.wait_on(deadline, objects, |state| state.waiters.poll(thread, objects, all).transpose());
    // Between the deadline and this, an object can satisfy the wait.
    let late = || scheduler.change_quietly(|state| state.waiters.remove(thread)).map(Ok);
    let index = result.or_else(late).transpose()?;
    Ok(index.map_or(NtStatus::Timeout, NtStatus::from_int))
}
