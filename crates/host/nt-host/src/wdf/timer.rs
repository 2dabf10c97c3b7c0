//! Timers.

use std::sync::Arc;

use super::attributes::Level;
use super::object::{self, Data, change, create, created, lookup, needs_passive};
use super::{Handle, device, life, status, sync, with};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::scheduler::{State, Timer as Entry};
use crate::kernel::{call_back, kernel, submit};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `WDF_TIMER_CONFIG`: callback at 8, period at 16, automatic serialisation at 20.
const CONFIG_SIZES: [u32; 2] = [32, 40];
/// 100 ns units of a millisecond.
const MILLISECOND: u64 = 10_000;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfTimerCreate", DISPATCH, create_timer).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfTimerStart", DISPATCH, start),
    routine("WdfTimerStop", DISPATCH, |call| stop(call.arg(1), call.is(2)).into()),
    routine("WdfTimerGetParentObject", DISPATCH, |call| lookup(call.arg(1), |object| object.parent)),
];

/// A timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    callback: u64,
    period: u64,
    serialized: bool,
}

/// Arguments: configuration, attributes, place for the handle.
fn create_timer(call: &Call) -> u64 {
    let config = call.arg(1);
    let size: u32 = guest::read(config);
    if !CONFIG_SIZES.contains(&size) {
        verify::find(Rule::BadArgument, format_args!("a timer configuration of {size} bytes"));
        return status::INFO_LENGTH_MISMATCH.into();
    }
    let data = Timer {
        callback: guest::read(config + 8),
        period: u64::from(guest::read::<u32>(config + 16)) * MILLISECOND,
        serialized: guest::read::<u8>(config + 20) != 0,
    };
    let result = create(call, call.arg(2), None, Data::Timer(data));
    if let Ok(handle) = result
        && device::of(lookup(handle, |object| object.parent)).is_none()
    {
        life::delete(handle);
        verify::find(Rule::FrameworkMisuse, format_args!("a timer's parent must belong to a device"));
        return status::INVALID_PARAMETER;
    }
    created(result, call.arg(3))
}

/// Arguments: timer, due time.
fn start(call: &Call) -> u64 {
    let handle = call.arg(1);
    let (timer, passive) = change(handle, |object| match object.data {
        Data::Timer(timer) => Some((timer, object.level == Level::Passive)),
        _ => None,
    })
    .unwrap_or_else(|| object::violation(handle));
    let scheduler = &kernel().scheduler;
    let due = scheduler.deadline(call.arg(2).cast_signed());
    let entry = Entry {
        key: handle,
        due,
        period: timer.period,
        signals: None,
        action: Some(Arc::new(move || fire(handle, timer, passive))),
        from: call.from,
    };
    scheduler.change(|state| {
        let before = state.timers.len();
        state.timers.retain(|timer| timer.key != handle);
        let was_set = state.timers.len() != before;
        state.timers.push(entry);
        was_set.into()
    })
}

fn fire(handle: Handle, timer: Timer, passive: bool) {
    if !object::exists(handle) {
        return;
    }
    if passive {
        submit(handle, move || run(handle, timer, PASSIVE));
    } else {
        run(handle, timer, DISPATCH);
    }
}

fn run(handle: Handle, timer: Timer, irql: u8) {
    if object::exists(handle) {
        let lock = if timer.serialized { sync::holder_for(lookup(handle, |object| object.parent)) } else { None };
        sync::locked(lock, irql, |irql| call_back("EvtTimerFunc", irql, timer.callback, &[handle]));
    }
}

/// Stops a timer; `wait` waits for a callback that runs. Whether it was set.
fn stop(handle: Handle, wait: bool) -> bool {
    needs_passive(wait);
    let was_set = cancel(handle);
    if wait {
        kernel().scheduler.wait(None, |state| (!state.active.contains(&handle)).then_some(()));
    }
    was_set
}

fn cancel(handle: Handle) -> bool {
    kernel().scheduler.change(|state| {
        let count = |state: &State| state.timers.len() + state.deferred.len() + state.work.len();
        let before = count(state);
        state.timers.retain(|timer| timer.key != handle);
        state.deferred.retain(|(key, _)| *key != handle);
        state.work.retain(|(key, _)| *key != handle);
        count(state) != before
    })
}

/// An object is about to be deleted: if it is a timer, it is stopped, and a callback that runs comes to its end.
pub(super) fn cancel_before_delete(handle: Handle) {
    let is_timer = with(|framework| {
        framework.objects.get(&handle).is_some_and(|object| matches!(object.data, Data::Timer(_) | Data::Work { .. }))
    });
    if is_timer {
        cancel(handle);
        kernel().scheduler.wait(None, |state| (!state.active.contains(&handle)).then_some(()));
    }
}
