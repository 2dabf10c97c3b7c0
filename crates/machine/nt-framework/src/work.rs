//! Work items and DPCs.

use nt_kernel::sync::worker::submit;
use nt_kernel::{Kernel, call_back, kernel};
use nt_processor::layout::{WDF_OBJECT_ATTRIBUTES, WDF_WORK_CONFIG};
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::routine::{ANY, Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, functions};

use crate::object::kind::Kind;
use crate::object::{self, create, created, lookup, parent_until_disposed};
use crate::structures::{self, Structure};
use crate::{Handle, sync};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfWorkItemCreate(
        &call,
        config: GuestPtr<WDF_WORK_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        create_work(call, &structures::WORKITEM_CONFIG, config, attributes, place)
    }

    #[irql(DISPATCH)]
    fn WdfWorkItemEnqueue(handle: Handle) {
        let work = work(handle);
        if !kernel().scheduler.look(|state| state.has_work(handle.as_int())) {
            submit(handle.as_int(), move || work.run("EvtWorkItem", handle, PASSIVE));
        }
    }

    #[irql(DISPATCH)]
    fn WdfWorkItemGetParentObject(handle: Handle) -> Handle {
        parent_until_disposed(handle)
    }

    #[irql(PASSIVE)]
    fn WdfWorkItemFlush(handle: Handle) {
        if !object::waits_for_itself(handle, "WdfWorkItemFlush") {
            end(handle);
        }
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfDpcCreate(
        &call,
        config: GuestPtr<WDF_WORK_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        create_work(call, &structures::DPC_CONFIG, config, attributes, place)
    }

    #[irql(ANY)]
    fn WdfDpcEnqueue(handle: Handle) -> bool {
        let work = work(handle);
        kernel().scheduler.change(|state| state.defer(handle.as_int(), move || work.run("EvtDpcFunc", handle, DISPATCH)))
    }

    #[irql(DISPATCH)]
    fn WdfDpcCancel(handle: Handle, wait: bool) -> bool {
        let Kernel { scheduler, .. } = kernel();
        object::needs_passive(wait);
        let removed = scheduler.change(|state| state.undefer(handle.as_int()));
        if wait {
            scheduler.wait_for_job(handle.as_int());
        }
        removed
    }

    #[irql(ANY)]
    fn WdfDpcGetParentObject(handle: Handle) -> Handle {
        parent_until_disposed(handle)
    }
}

/// A work item or a DPC.
#[derive(Clone, Copy, Debug)]
struct Work {
    callback: GuestPtr<Code>,
    /// The callback runs under the parent's callback lock.
    serialized: bool,
}

impl Kind for Work {
    fn name(&self) -> &'static str {
        "work item"
    }

    fn waits(&self) -> bool {
        true
    }

    fn end(&self) -> fn(Handle) {
        end
    }
}

/// Called before a work item or a DPC is deleted. A queued callback runs first, and a callback may delete its own object, as in
/// Microsoft's framework (core/fxworkitem.cpp, core/fxdpc.cpp).
fn end(handle: Handle) {
    let key = handle.as_int();
    kernel().scheduler.wait(None, |state| (state.runs_here(key) || !state.is_pending(key)).then_some(()));
}

fn create_work(
    call: &Call,
    structure: &Structure,
    config: GuestPtr<WDF_WORK_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    place: GuestPtr<Handle>,
) -> Outcome {
    structure.check(config)?;
    let config = config.read()?;
    let work = Work { callback: config.EvtFunc, serialized: config.AutomaticSerialization != 0 };
    created(create(call, attributes, None, work), place)
}

fn work(handle: Handle) -> Work {
    object::part(handle, |work: &mut Work| *work)
}

impl Work {
    fn run(self, name: &'static str, handle: Handle, irql: u8) {
        if object::exists(handle) {
            let lock = if self.serialized { sync::holder_for(lookup(handle, |object| object.parent)) } else { None };
            sync::locked(lock, irql, |irql| call_back(name, irql, self.callback, &[handle.as_int()]));
        }
    }
}
