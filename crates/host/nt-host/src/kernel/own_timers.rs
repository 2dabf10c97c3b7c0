//! Timers that the system allocates: those of the executive, and the one-second timer of a device.

use std::sync::Arc;

use super::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use super::scheduler::Timer;
use super::{call_back, kernel, lock, pool};
use crate::memory::guest;

/// An `EX_TIMER`, which is opaque; here: callback at 0, context at 8.
const SIZE: u64 = 0x20;
/// A device's timer fires once a second.
const SECOND: u64 = 10_000_000;
/// `DEVICE_OBJECT.Timer`.
const DEVICE_TIMER: u64 = 0x28;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ExAllocateTimer", DISPATCH, |call| {
        let timer = lock(&kernel().pool).allocate(SIZE, *b"ExTm", false, call.from).unwrap_or_default();
        if timer != 0 {
            guest::fill(timer, 0, SIZE);
            guest::write(timer, call.arg(0));
            guest::write(timer + 8, call.arg(1));
        }
        timer
    })
    .fails_with_zero(),
    // Arguments: timer, due time, period, parameters.
    routine("ExSetTimer", DISPATCH, |call| {
        let timer = call.arg(0);
        let (callback, context): (u64, u64) = (guest::read(timer), guest::read(timer + 8));
        set(call, timer, call.arg(1).cast_signed(), call.arg(2), "timer callback", callback, vec![timer, context])
    }),
    routine("ExCancelTimer", DISPATCH, |call| cancel(call.arg(0)).into()),
    // Arguments: timer, whether to cancel, whether to wait, parameters.
    routine("ExDeleteTimer", DISPATCH, |call| {
        let timer = call.arg(0);
        let was_set = call.is(1) && cancel(timer);
        if call.is(2) {
            wait(timer);
        }
        pool::free(timer, None);
        was_set.into()
    }),
    // Arguments: device, routine, context.
    routine("IoInitializeTimer", PASSIVE, |call| {
        let timer = lock(&kernel().pool).object(SIZE);
        guest::write(timer, call.arg(1));
        guest::write(timer + 8, call.arg(2));
        guest::write(call.arg(0) + DEVICE_TIMER, timer);
        0
    })
    .fails(super::routine::NO_RESOURCES),
    routine("IoStartTimer", DISPATCH, |call| {
        let timer: u64 = guest::read(call.arg(0) + DEVICE_TIMER);
        let (callback, context): (u64, u64) = (guest::read(timer), guest::read(timer + 8));
        let due = -SECOND.cast_signed();
        set(call, timer, due, SECOND, "IoTimer routine", callback, vec![call.arg(0), context])
    }),
    routine("IoStopTimer", DISPATCH, |call| {
        cancel(guest::read(call.arg(0) + DEVICE_TIMER));
        0
    }),
];

fn set(call: &Call, key: u64, due: i64, period: u64, name: &'static str, callback: u64, arguments: Vec<u64>) -> u64 {
    let due = kernel().scheduler.deadline(due);
    let was_set = cancel(key);
    let action = move || {
        call_back(name, DISPATCH, callback, &arguments);
    };
    let timer = Timer { key, due, period, signals: None, action: Some(Arc::new(action)), from: call.from };
    kernel().scheduler.change(|state| state.timers.push(timer));
    was_set.into()
}

fn cancel(key: u64) -> bool {
    kernel().scheduler.change(|state| {
        let before = state.timers.len() + state.deferred.len();
        state.timers.retain(|timer| timer.key != key);
        state.deferred.retain(|(known, _)| *known != key);
        state.timers.len() + state.deferred.len() != before
    })
}

fn wait(key: u64) {
    kernel().scheduler.wait(None, |state| (!state.active.contains(&key)).then_some(()));
}
