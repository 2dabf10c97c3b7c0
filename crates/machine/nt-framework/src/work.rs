//! Work items and DPCs.

use etw_types::NtStatus;
use nt_kernel::sync::dpc;
use nt_kernel::sync::worker::submit;
use nt_kernel::{Kernel, call_back, kernel, lock};
use nt_processor::layout::{KDPC, WDF_OBJECT_ATTRIBUTES, WDF_WORK_CONFIG};
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::routine::{ANY, Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::object::DpcObject;

use crate::driver::{self, FRAMEWORK_DPC};
use crate::object::attributes::{Attributes, Options, Parent};
use crate::object::kind::Kind;
use crate::object::{self, created, lookup, parent_until_disposed};
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
        create_work(call, &structures::WORKITEM_CONFIG, true, config, attributes, place)
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
        create_work(call, &structures::DPC_CONFIG, false, config, attributes, place)
    }

    #[irql(ANY)]
    fn WdfDpcEnqueue(handle: Handle) -> bool {
        let work = work(handle);
        kernel().scheduler.defer(key(handle), move || work.run("EvtDpcFunc", handle, DISPATCH))
    }

    #[irql(DISPATCH)]
    fn WdfDpcCancel(handle: Handle, wait: bool) -> bool {
        let Kernel { scheduler, .. } = kernel();
        object::needs_passive(wait);
        let key = key(handle);
        let removed = scheduler.change(|state| state.undefer(key));
        if wait {
            scheduler.wait_for_job(key);
        }
        removed
    }

    /// The driver can queue this DPC itself.
    #[irql(ANY)]
    fn WdfDpcWdmGetDpc(handle: Handle) -> GuestPtr<KDPC> {
        work(handle).dpc
    }

    #[irql(ANY)]
    fn WdfDpcGetParentObject(handle: Handle) -> Handle {
        parent_until_disposed(handle)
    }
}

/// The parent decides when a work item or a DPC runs, and how long it exists.
const REQUIRES_PARENT: Options = Options { parent: Parent::Required, level: false, scope: false };

/// A work item or a DPC.
#[derive(Clone, Copy, Debug)]
struct Work {
    callback: GuestPtr<Code>,
    /// The callback runs under the parent's callback lock.
    serialized: bool,
    /// The kernel's object; NULL for a work item.
    dpc: GuestPtr<KDPC>,
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

    fn free(&self) {
        if let Some(dpc) = self.dpc.non_null() {
            lock(&kernel().pool).free_object(dpc.address());
        }
    }
}

/// Called before a work item or a DPC is deleted. A queued callback runs first, and a callback may delete its own object, as in
/// Microsoft's framework (core/fxworkitem.cpp, core/fxdpc.cpp).
fn end(handle: Handle) {
    let key = key(handle);
    kernel().scheduler.wait(None, |state| (state.runs_here(key) || !state.is_pending(key)).then_some(()));
}

fn create_work(
    call: &Call,
    structure: &Structure,
    is_passive: bool,
    config: GuestPtr<WDF_WORK_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    place: GuestPtr<Handle>,
) -> Outcome {
    let attributes = Attributes::read(attributes, REQUIRES_PARENT)?;
    structure.check(config)?;
    let config = config.read()?;
    let mut work =
        Work { callback: config.EvtFunc, serialized: config.AutomaticSerialization != 0, dpc: GuestPtr::NULL };
    if is_passive && work.callback.is_null() {
        verify::find(Rule::BadArgument, format_args!("EvtWorkItemFunc is NULL"));
        return fail(NtStatus::InvalidParameter);
    }
    sync::check_parent(attributes.parent, work.serialized, is_passive)?;
    if is_passive {
        return created(object::create_with(call.from, &attributes, None, work), place);
    }
    work.dpc = lock(&kernel().pool).try_new_object()?;
    let handle = object::create_with(call.from, &attributes, None, work).inspect_err(|_| work.free())?;
    dpc::initialize(work.dpc, driver::framework_routine(FRAMEWORK_DPC), GuestPtr::new(handle.as_int()), DpcObject)?;
    created(Ok(handle), place)
}

fn work(handle: Handle) -> Work {
    object::part(handle, |work: &mut Work| *work)
}

/// Returns what identifies a work item or a DPC in the scheduler.
fn key(handle: Handle) -> u64 {
    work(handle).dpc.non_null().map_or(handle.as_int(), GuestPtr::address)
}

/// Runs a DPC that the driver has queued with `KeInsertQueueDpc`.
pub(super) fn run_dpc(handle: Handle) {
    work(handle).run("EvtDpcFunc", handle, DISPATCH);
}

impl Work {
    fn run(self, name: &'static str, handle: Handle, irql: u8) {
        if object::exists(handle) {
            let lock = if self.serialized { sync::holder_for(lookup(handle, |object| object.parent)) } else { None };
            sync::locked(lock, irql, |irql| call_back(name, irql, self.callback, &[handle.as_int()]));
        }
    }
}
