//! Dispatcher objects: events, mutexes, semaphores, and waiting for them. Their state is in the driver's memory.

use etw_types::NtStatus;

use super::state::Waiter;
use crate::cpu::thread;
use crate::kernel::ex::object;
use crate::kernel::kernel;
use crate::layout::{DISPATCHER_HEADER, KEVENT, KMUTANT, KSEMAPHORE};
use crate::memory::{Fault, GuestPtr, Opaque};
use crate::routine::{ANY, APC, Call, DISPATCH, Outcome, Routine, done, fail, routine};
use crate::verify::{self, Rule};

/// A dispatcher object of any kind.
pub(crate) type Waitable = GuestPtr<DISPATCHER_HEADER>;

const SYNCHRONIZATION_EVENT: u8 = 1;
const MUTANT: u8 = 2;
const SEMAPHORE: u8 = 5;
const SYNCHRONIZATION_TIMER: u8 = 9;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeInitializeEvent", ANY, |call| {
        call.ptr::<KEVENT>(0).Header().initialize(call.u8(1), i32::from(call.is(2)))
    }),
    routine!("KeSetEvent", DISPATCH, |call| signal(call.ptr(0), 1)),
    routine!("KeResetEvent", DISPATCH, |call| signal(call.ptr(0), 0)),
    routine!("KeClearEvent", DISPATCH, |call| signal(call.ptr(0), 0).map(drop)),
    routine!("KePulseEvent", DISPATCH, |call| pulse(call.ptr(0))),
    routine!("KeReadStateEvent", ANY, read_state),
    routine!("KeInitializeMutex", ANY, |call| {
        let mutex = call.ptr::<KMUTANT>(0);
        mutex.Header().initialize(MUTANT, 1)?;
        mutex.OwnerThread().write(GuestPtr::NULL)
    }),
    routine!("KeReleaseMutex", DISPATCH, release_mutex),
    routine!("KeReadStateMutex", DISPATCH, read_state),
    routine!("KeInitializeSemaphore", ANY, |call| {
        let semaphore = call.ptr::<KSEMAPHORE>(0);
        semaphore.Header().initialize(SEMAPHORE, call.i32(1))?;
        semaphore.Limit().write(call.i32(2))
    }),
    routine!("KeReleaseSemaphore", DISPATCH, release_semaphore),
    routine!("KeReadStateSemaphore", ANY, read_state),
    routine!("KeWaitForSingleObject", DISPATCH, |call| wait(&[call.ptr(0)], true, call.ptr(4))),
    routine!("KeWaitForMutexObject", DISPATCH, |call| wait(&[call.ptr(0)], true, call.ptr(4))),
    routine!("KeWaitForMultipleObjects", DISPATCH, |call| {
        let objects: Vec<Waitable> = call.ptr(1).array(call.arg(0).min(64)).read()?;
        wait(&objects, call.u32(2) == 0, call.ptr(6))
    }),
    routine!("ZwSetEvent", DISPATCH, |call| match object::by_handle(call.kernel_handle(0)) {
        Some(object) => {
            let old = signal(GuestPtr::new(object), 1)?;
            call.ptr(1).write_if(old)?;
            done(())
        }
        None => fail(NtStatus::InvalidHandle),
    }),
    routine!("ZwWaitForSingleObject", APC, |call| match object::by_handle(call.kernel_handle(0)) {
        Some(object) => wait(&[GuestPtr::new(object)], true, call.ptr(2)).map_err(Into::into),
        None => fail(NtStatus::InvalidHandle),
    }),
];

fn read_state(call: &Call) -> Result<i32, Fault> {
    call.ptr::<DISPATCHER_HEADER>(0).SignalState().read()
}

/// Sets the signal state and returns the old one.
pub(crate) fn signal(object: Waitable, state: i32) -> Result<i32, Fault> {
    kernel().scheduler.change_object(object, |_| object.SignalState().change(|_| state))
}

/// Satisfies the threads that wait for an event now, and resets it. Returns the old state.
fn pulse(event: Waitable) -> Result<i32, Fault> {
    kernel().scheduler.change_object(event, |state| {
        let old = event.SignalState().change(|_| 1)?;
        let waits = |waiter: &&mut Waiter| waiter.satisfied.is_none() && waiter.objects.contains(&event);
        let mut waiters: Vec<&mut Waiter> = state.waiters.values_mut().filter(waits).collect();
        waiters.sort_unstable_by_key(|waiter| waiter.number);
        for waiter in waiters {
            // The other objects may be gone. That is for the waiting thread to notice.
            waiter.satisfied = attempt(&waiter.objects, waiter.all, waiter.thread).unwrap_or_default();
        }
        event.SignalState().write(0)?;
        Ok(old)
    })
}

fn release_mutex(call: &Call) -> Outcome<i32> {
    let mutex = call.ptr::<KMUTANT>(0);
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

fn release_semaphore(call: &Call) -> Outcome<i32> {
    let (semaphore, count) = (call.ptr::<KSEMAPHORE>(0), call.i32(2));
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

/// Returns whether a thread could acquire an object now.
fn is_free(object: Waitable, thread: GuestPtr<Opaque>) -> Result<bool, Fault> {
    Ok(object.SignalState().read()? > 0
        || (object.Type().read()? == MUTANT && object.cast::<KMUTANT>().OwnerThread().read()? == thread))
}

/// Acquires an object for a thread: changes its state as a satisfied wait does.
fn take(object: Waitable, thread: GuestPtr<Opaque>) -> Result<(), Fault> {
    let state = object.SignalState();
    match object.Type().read()? {
        SYNCHRONIZATION_EVENT | SYNCHRONIZATION_TIMER => state.write(0),
        SEMAPHORE => state.change(|state| state.wrapping_sub(1)).map(drop),
        MUTANT => {
            state.change(|state| state.wrapping_sub(1))?;
            object.cast::<KMUTANT>().OwnerThread().write(thread)
        }
        _ => Ok(()),
    }
}

/// Acquires one or all objects for a thread. Returns the index of the acquired object, or 0 for all, or `None` if they
/// are not free.
fn attempt(objects: &[Waitable], all: bool, thread: GuestPtr<Opaque>) -> Result<Option<u32>, Fault> {
    let mut free = Vec::new();
    for (index, object) in (0..).zip(objects) {
        match is_free(*object, thread)? {
            true => free.push((index, *object)),
            false if all => return Ok(None),
            false => {}
        }
    }
    if !all {
        free.truncate(1);
    }
    for (_, object) in &free {
        take(*object, thread)?;
    }
    Ok(if all { Some(0) } else { free.first().map(|(index, _)| *index) })
}

/// Waits for one or all objects. `timeout` points to a `LARGE_INTEGER` or is NULL.
pub(crate) fn wait(objects: &[Waitable], all: bool, timeout: GuestPtr<i64>) -> Result<NtStatus, Fault> {
    let limit = timeout.non_null().map(GuestPtr::read).transpose()?;
    if thread::irql() >= DISPATCH && limit != Some(0) {
        let irql = thread::irql();
        verify::find(Rule::IrqlTooHigh, format_args!("waits at IRQL {irql}, allowed up to 1"));
    }
    let scheduler = &kernel().scheduler;
    let deadline = limit.map(|limit| scheduler.deadline(limit));
    let (thread, mut waits) = (thread::object(), false);
    let index = scheduler.wait_on(deadline, objects, |state| {
        let index = state.satisfied(thread).map(Ok).or_else(|| attempt(objects, all, thread).transpose());
        match (index.is_some(), waits) {
            (true, true) => drop(state.waiters.remove(&thread.address())),
            (false, false) => {
                state.waits += 1;
                let waiter = Waiter { number: state.waits, thread, objects: objects.to_vec(), all, satisfied: None };
                state.waiters.insert(thread.address(), waiter);
                waits = true;
            }
            _ => {}
        }
        index
    });
    // Between the deadline and this, a pulse can satisfy the wait.
    let late = || {
        scheduler.change_quietly(|state| {
            let satisfied = state.satisfied(thread);
            state.waiters.remove(&thread.address());
            satisfied.map(Ok)
        })
    };
    let index = index.or_else(late).transpose()?;
    Ok(index.map_or(NtStatus::Timeout, NtStatus::from_int))
}
