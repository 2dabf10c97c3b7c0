//! Work items and deferred calls.

use super::object::{self, Data, change, create, created, lookup};
use super::{Handle, status, sync};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{call_back, kernel, submit};
use crate::memory::guest;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfWorkItemCreate", DISPATCH, create_work).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfWorkItemEnqueue", DISPATCH, |call| {
        let (handle, work) = (call.arg(1), work(call.arg(1)));
        let queued = kernel().scheduler.look(|state| state.work.iter().any(|(key, _)| *key == handle));
        if !queued {
            submit(handle, move || run("EvtWorkItem", handle, work, PASSIVE));
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
        let (handle, work) = (call.arg(1), work(call.arg(1)));
        kernel().scheduler.change(|state| {
            if state.deferred.iter().any(|(key, _)| *key == handle) {
                return 0;
            }
            state.deferred.push_back((handle, Box::new(move || run("EvtDpcFunc", handle, work, DISPATCH))));
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

/// Both configurations: callback at 8, automatic serialisation at 16.
fn create_work(call: &Call) -> u64 {
    let config = call.arg(1);
    let data = Data::Work { callback: guest::read(config + 8), serialized: guest::read::<u8>(config + 16) != 0 };
    created(create(call, call.arg(2), None, data), call.arg(3))
}

/// The callback, and whether it runs under its parent's lock.
fn work(handle: Handle) -> (u64, bool) {
    let work = change(handle, |object| match object.data {
        Data::Work { callback, serialized } => Some((callback, serialized)),
        _ => None,
    });
    work.unwrap_or_else(|| object::violation(handle))
}

fn run(name: &'static str, handle: Handle, (callback, serialized): (u64, bool), irql: u8) {
    if object::exists(handle) {
        let lock = if serialized { sync::holder_for(lookup(handle, |object| object.parent)) } else { None };
        sync::locked(lock, irql, |irql| call_back(name, irql, callback, &[handle]));
    }
}
