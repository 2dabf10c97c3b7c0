//! Timers that the system allocates: `EX_TIMER`, and the one-second timer of a device.

use std::sync::Arc;

use crate::kernel::pool;
use crate::kernel::sync::scheduler::Timer;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{DEVICE_OBJECT, EX_TIMER};
use crate::memory::{Code, GuestPtr};
use crate::routine::{Call, DISPATCH, NO_RESOURCES, PASSIVE, Routine, done, routine};

/// The period of a device's timer: one second in units of 100 ns.
const SECOND: u64 = 10_000_000;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ExAllocateTimer", DISPATCH, |call| {
        let memory = lock(&kernel().pool).allocate(size_of::<EX_TIMER>() as u64, *b"ExTm", false, call.from);
        let timer = GuestPtr::<EX_TIMER>::new(memory.unwrap_or_default());
        timer.write_if(EX_TIMER { Callback: call.ptr(0), Context: call.arg(1), Unused: [0; 2] })?;
        done(timer)
    })
    .fails_with_zero(),
    // Arguments: timer, due time, period, parameters.
    routine!("ExSetTimer", DISPATCH, |call| {
        let timer = call.ptr::<EX_TIMER>(0);
        let EX_TIMER { Callback: callback, Context: context, .. } = timer.read()?;
        let (due, period) = (call.arg(1).cast_signed(), call.arg(2));
        done(set(call, timer, (due, period), "timer callback", callback, vec![timer.address(), context]))
    }),
    routine!("ExCancelTimer", DISPATCH, |call| cancel(call.ptr(0))),
    // Arguments: timer, whether to cancel, whether to wait, parameters.
    routine!("ExDeleteTimer", DISPATCH, |call| {
        let timer = call.arg(0);
        let was_set = call.is(1) && cancel(call.ptr(0));
        if call.is(2) {
            kernel().scheduler.wait_for_job(timer);
        }
        pool::free(timer, None);
        was_set
    }),
    // Arguments: device, routine, context.
    routine!("IoInitializeTimer", PASSIVE, |call| {
        let timer: GuestPtr<EX_TIMER> = lock(&kernel().pool).try_new_object()?;
        timer.write(EX_TIMER { Callback: call.ptr(1), Context: call.arg(2), Unused: [0; 2] })?;
        call.ptr::<DEVICE_OBJECT>(0).Timer().write(timer)?;
        done(())
    })
    .fails(NO_RESOURCES),
    routine!("IoStartTimer", DISPATCH, |call| {
        let timer = call.ptr::<DEVICE_OBJECT>(0).Timer().read()?;
        let EX_TIMER { Callback: callback, Context: context, .. } = timer.read()?;
        let times = (-SECOND.cast_signed(), SECOND);
        done(set(call, timer, times, "IoTimer routine", callback, vec![call.arg(0), context]))
    }),
    routine!("IoStopTimer", DISPATCH, |call| {
        cancel(call.ptr::<DEVICE_OBJECT>(0).Timer().read()?);
        done(())
    }),
];

/// Sets a timer with a due time and a period. Returns whether the timer was already set.
fn set(
    call: &Call,
    timer: GuestPtr<EX_TIMER>,
    (due, period): (i64, u64),
    name: &'static str,
    callback: GuestPtr<Code>,
    arguments: Vec<u64>,
) -> bool {
    let due = kernel().scheduler.deadline(due);
    let was_set = cancel(timer);
    let action = move || {
        call_back(name, DISPATCH, callback, &arguments);
    };
    let (key, action) = (timer.address(), Some(Arc::new(action) as _));
    let timer = Timer { key, due, period, signals: None, action, from: call.from };
    kernel().scheduler.change(|state| state.timers.push(timer));
    was_set
}

fn cancel(timer: GuestPtr<EX_TIMER>) -> bool {
    let key = timer.address();
    kernel().scheduler.change(|state| state.unset(key) | state.undefer(key))
}
