//! Dispatcher objects: events, mutexes, semaphores, and waiting for them.
//!
//! Their state is where the driver put them: a `DISPATCHER_HEADER` with a type at 0 and a signal state at 4.

use super::routine::{ANY, APC, Call, DISPATCH, Routine, routine};
use super::scheduler::State;
use super::{kernel, objects};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

const SYNCHRONIZATION_EVENT: u8 = 1;
const MUTANT: u8 = 2;
const SEMAPHORE: u8 = 5;
const SYNCHRONIZATION_TIMER: u8 = 9;
/// `KMUTANT.OwnerThread`.
const OWNER: u64 = 0x28;
/// `KSEMAPHORE.Limit`.
const LIMIT: u64 = 0x18;

const TIMEOUT: u64 = 0x102;
const MUTANT_NOT_OWNED: u64 = 0xC000_0046;
const SEMAPHORE_LIMIT_EXCEEDED: u64 = 0xC000_0047;

pub(super) const ROUTINES: &[Routine] = &[
    routine("KeInitializeEvent", ANY, |call| initialize(call.arg(0), call.u8(1), i32::from(call.is(2)))),
    routine("KeSetEvent", DISPATCH, |call| signal(call.arg(0), 1)),
    routine("KeResetEvent", DISPATCH, |call| signal(call.arg(0), 0)),
    routine("KeClearEvent", DISPATCH, |call| {
        signal(call.arg(0), 0);
        0
    }),
    routine("KePulseEvent", DISPATCH, |call| signal(call.arg(0), 0)),
    routine("KeReadStateEvent", ANY, read_state),
    routine("KeInitializeMutex", ANY, |call| {
        initialize(call.arg(0), MUTANT, 1);
        guest::write(call.arg(0) + OWNER, 0_u64);
        0
    }),
    routine("KeReleaseMutex", DISPATCH, release_mutex),
    routine("KeReadStateMutex", DISPATCH, read_state),
    routine("KeInitializeSemaphore", ANY, |call| {
        initialize(call.arg(0), SEMAPHORE, call.i32(1));
        guest::write(call.arg(0) + LIMIT, call.i32(2));
        0
    }),
    routine("KeReleaseSemaphore", DISPATCH, release_semaphore),
    routine("KeReadStateSemaphore", ANY, read_state),
    routine("KeWaitForSingleObject", DISPATCH, |call| wait(&[call.arg(0)], true, call.arg(4))),
    routine("KeWaitForMutexObject", DISPATCH, |call| wait(&[call.arg(0)], true, call.arg(4))),
    routine("KeWaitForMultipleObjects", DISPATCH, |call| {
        let count = call.arg(0).min(64);
        let objects: Vec<u64> = (0..count).map(|index| guest::read(call.arg(1) + index * 8)).collect();
        wait(&objects, call.u32(2) == 0, call.arg(6))
    }),
    routine("ZwSetEvent", DISPATCH, |call| match objects::by_handle(call.arg(0)) {
        Some(object) => {
            let old = signal(object, 1);
            guest::write_if(call.arg(1), old as u32);
            0
        }
        None => 0xC000_0008,
    }),
    routine("ZwWaitForSingleObject", APC, |call| match objects::by_handle(call.arg(0)) {
        Some(object) => wait(&[object], true, call.arg(2)),
        None => 0xC000_0008,
    }),
];

pub(super) fn initialize(object: u64, kind: u8, state: i32) -> u64 {
    guest::write(object, u32::from(kind));
    guest::write(object + 4, state);
    // An empty list of waiters leads to itself.
    guest::write(object + 8, object + 8);
    guest::write(object + 16, object + 8);
    0
}

fn read_state(call: &Call) -> u64 {
    u64::from(guest::read::<u32>(call.arg(0) + 4))
}

/// Sets the signal state and answers the old one.
pub(crate) fn signal(object: u64, state: i32) -> u64 {
    let scheduler = &kernel().scheduler;
    scheduler.change(|_| {
        let old = guest::read::<u32>(object + 4);
        guest::write(object + 4, state);
        u64::from(old)
    })
}

fn release_mutex(call: &Call) -> u64 {
    let mutex = call.arg(0);
    if guest::read::<u64>(mutex + OWNER) != thread::object() {
        verify::find(Rule::LockMisuse, format_args!("a mutex is released by a thread that does not own it"));
        return MUTANT_NOT_OWNED;
    }
    kernel().scheduler.change(|_| {
        let old = guest::read::<i32>(mutex + 4);
        guest::write(mutex + 4, old + 1);
        if old + 1 == 1 {
            guest::write(mutex + OWNER, 0_u64);
        }
        u64::from(old.cast_unsigned())
    })
}

fn release_semaphore(call: &Call) -> u64 {
    let (semaphore, count) = (call.arg(0), call.i32(2));
    let limit: i32 = guest::read(semaphore + LIMIT);
    kernel().scheduler.change(|_| {
        let old = guest::read::<i32>(semaphore + 4);
        match old.checked_add(count) {
            Some(new) if new <= limit && count > 0 => {
                guest::write(semaphore + 4, new);
                u64::from(old.cast_unsigned())
            }
            _ => {
                verify::find(
                    Rule::LockMisuse,
                    format_args!("a semaphore of {limit} is released {count} times at {old}"),
                );
                SEMAPHORE_LIMIT_EXCEEDED
            }
        }
    })
}

/// Whether a thread can have an object now.
fn is_free(object: u64) -> bool {
    guest::read::<i32>(object + 4) > 0
        || (guest::read::<u8>(object) == MUTANT && guest::read::<u64>(object + OWNER) == thread::object())
}

/// Takes what having an object takes away.
fn take(object: u64) {
    let state: i32 = guest::read(object + 4);
    match guest::read::<u8>(object) {
        SYNCHRONIZATION_EVENT | SYNCHRONIZATION_TIMER => guest::write(object + 4, 0_i32),
        SEMAPHORE => guest::write(object + 4, state - 1),
        MUTANT => {
            guest::write(object + 4, state - 1);
            guest::write(object + OWNER, thread::object());
        }
        _ => {}
    }
}

fn attempt(objects: &[u64], all: bool) -> Option<u64> {
    if all {
        let free = objects.iter().all(|object| is_free(*object));
        for object in objects.iter().filter(|_| free) {
            take(*object);
        }
        free.then_some(0)
    } else {
        let (index, object) = (0..).zip(objects).find(|(_, object)| is_free(**object))?;
        take(*object);
        Some(index)
    }
}

/// Waits for one or all objects; `timeout` is the address of a `LARGE_INTEGER` or NULL.
pub(crate) fn wait(objects: &[u64], all: bool, timeout: u64) -> u64 {
    let limit = if timeout == 0 { None } else { Some(guest::read::<i64>(timeout)) };
    if thread::irql() >= DISPATCH && limit != Some(0) {
        let irql = thread::irql();
        verify::find(Rule::IrqlTooHigh, format_args!("waits at IRQL {irql}, allowed up to 1"));
    }
    // Faults here and not under the scheduler's lock, where a bad address would stop everybody.
    for object in objects {
        guest::probe(*object);
    }
    let scheduler = &kernel().scheduler;
    let deadline = limit.map(|limit| scheduler.deadline(limit));
    scheduler.wait(deadline, |_: &mut State| attempt(objects, all)).unwrap_or(TIMEOUT)
}
