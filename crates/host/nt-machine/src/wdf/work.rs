//! Work items and DPCs.

use etw_types::NtStatus;

use super::object::{self, Data, create, created, lookup, parent_until_disposed};
use super::structures::{self, Structure};
use super::{Handle, sync};
use crate::kernel::{call_back, kernel, submit};
use crate::layout::WDF_WORK_CONFIG;
use crate::memory::{Code, GuestPtr};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, routine};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfWorkItemCreate", DISPATCH, |call| create_work(call, &structures::WORKITEM_CONFIG))
        .fails(NtStatus::InsufficientResources),
    routine!("WdfWorkItemEnqueue", DISPATCH, |call| {
        let (handle, work) = (call.handle(1), work(call.handle(1)));
        if !kernel().scheduler.look(|state| state.has_work(handle.as_int())) {
            submit(handle.as_int(), move || work.run("EvtWorkItem", handle, PASSIVE));
        }
    }),
    routine!("WdfWorkItemGetParentObject", DISPATCH, |call| parent_until_disposed(call.handle(1))),
    routine!("WdfWorkItemFlush", PASSIVE, |call| {
        let handle = call.handle(1);
        kernel().scheduler.wait(None, |state| {
            (!state.has_work(handle.as_int()) && !state.active.contains(&handle.as_int())).then_some(())
        });
    }),
    routine!("WdfDpcCreate", DISPATCH, |call| create_work(call, &structures::DPC_CONFIG))
        .fails(NtStatus::InsufficientResources),
    routine!("WdfDpcEnqueue", DISPATCH, |call| {
        let (handle, work) = (call.handle(1), work(call.handle(1)));
        kernel()
            .scheduler
            .change(|state| state.defer(handle.as_int(), move || work.run("EvtDpcFunc", handle, DISPATCH)))
    }),
    routine!("WdfDpcCancel", DISPATCH, |call| {
        let (handle, wait) = (call.handle(1), call.is(2));
        object::needs_passive(wait);
        let removed = kernel().scheduler.change(|state| state.undefer(handle.as_int()));
        if wait {
            kernel().scheduler.wait_for_job(handle.as_int());
        }
        removed
    }),
    routine!("WdfDpcGetParentObject", DISPATCH, |call| parent_until_disposed(call.handle(1))),
];

/// A work item or a DPC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    callback: GuestPtr<Code>,
    /// The callback runs under the parent's callback lock.
    serialized: bool,
}

/// Arguments: configuration, attributes, place for the handle.
fn create_work(call: &Call, structure: &Structure) -> Outcome {
    structure.check(call.ptr::<WDF_WORK_CONFIG>(1))?;
    let config = call.ptr::<WDF_WORK_CONFIG>(1).read()?;
    let work = Work { callback: config.EvtFunc, serialized: config.AutomaticSerialization != 0 };
    created(create(call, call.ptr(2), None, Data::Work(work)), call.ptr(3))
}

fn work(handle: Handle) -> Work {
    object::part(handle, |data| match data {
        Data::Work(work) => Some(*work),
        _ => None,
    })
}

impl Work {
    fn run(self, name: &'static str, handle: Handle, irql: u8) {
        if object::exists(handle) {
            let lock = if self.serialized { sync::holder_for(lookup(handle, |object| object.parent)) } else { None };
            sync::locked(lock, irql, |irql| call_back(name, irql, self.callback, &[handle.as_int()]));
        }
    }
}
