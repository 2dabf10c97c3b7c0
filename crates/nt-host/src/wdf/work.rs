//! Work items and deferred calls.

use super::object::{self, Data, change, create, created, lookup};
use super::{Handle, status};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{call_back, kernel, submit};
use crate::memory::guest;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfWorkItemCreate", DISPATCH, create_work).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfWorkItemEnqueue", DISPATCH, |call| {
        let (handle, callback) = (call.arg(1), callback(call.arg(1)));
        let queued = kernel().scheduler.look(|state| state.work.iter().any(|(key, _)| *key == handle));
        if !queued {
            submit(handle, move || run("EvtWorkItem", handle, callback, PASSIVE));
        }
        0
    }),
    routine("WdfWorkItemGetParentObject", DISPATCH, |call| lookup(call.arg(1), |object| object.parent)),
    routine("WdfWorkItemFlush", PASSIVE, |call| {
        let handle = call.arg(1);
        kernel().scheduler.wait(None, |state| {
            let queued = state.work.iter().any(|(key, _)| *key == handle);
            (!queued && !state.active.contains(&handle)).then_some(())
        });
        0
    }),
    routine("WdfDpcCreate", DISPATCH, create_work).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDpcEnqueue", DISPATCH, |call| {
        let (handle, callback) = (call.arg(1), callback(call.arg(1)));
        kernel().scheduler.change(|state| {
            if state.deferred.iter().any(|(key, _)| *key == handle) {
                return 0;
            }
            state.deferred.push_back((handle, Box::new(move || run("EvtDpcFunc", handle, callback, DISPATCH))));
            1
        })
    }),
    routine("WdfDpcCancel", DISPATCH, |call| {
        let (handle, wait) = (call.arg(1), call.is(2));
        object::needs_passive(wait);
        let scheduler = &kernel().scheduler;
        let removed = scheduler.change(|state| {
            let before = state.deferred.len();
            state.deferred.retain(|(key, _)| *key != handle);
            state.deferred.len() != before
        });
        if wait {
            scheduler.wait(None, |state| (!state.active.contains(&handle)).then_some(()));
        }
        removed.into()
    }),
    routine("WdfDpcGetParentObject", DISPATCH, |call| lookup(call.arg(1), |object| object.parent)),
];

/// The callback is at 8 in both configurations.
fn create_work(call: &Call) -> u64 {
    let data = Data::Work { callback: guest::read(call.arg(1) + 8) };
    created(create(call, call.arg(2), None, data), call.arg(3))
}

fn callback(handle: Handle) -> u64 {
    let callback = change(handle, |object| match object.data {
        Data::Work { callback } => Some(callback),
        _ => None,
    });
    callback.unwrap_or_else(|| object::violation(handle))
}

fn run(name: &'static str, handle: Handle, callback: u64, irql: u8) {
    if object::exists(handle) {
        call_back(name, irql, callback, &[handle]);
    }
}
