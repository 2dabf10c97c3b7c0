//! Callouts that drivers register, and how the engine notifies them of filters.

use etw_types::{Guid, NtStatus};
use nt_kernel::{Kernel, call_back, kernel, lock};
use nt_processor::image::Leaving;
use nt_processor::layout::{FWPS_CALLOUT, FWPS_FILTER, GUID};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{Call, FILTERING, Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::filtering_platform::{
    FWP_ACTION_FLAG_CALLOUT, FWPM_FILTER_FLAG_CLEAR_ACTION_RIGHT, FWPM_FILTER_FLAG_PERMIT_IF_CALLOUT_UNREGISTERED,
    FWPS_CALLOUT_NOTIFY_ADD_FILTER, FWPS_CALLOUT_NOTIFY_DELETE_FILTER,
};

use super::state::{Callout, Filter, State, state};

/// A routine for each version of `FWPS_CALLOUT`. Only the types of the driver's functions differ.
macro_rules! register {
    ($($name:ident: $version:literal;)*) => {
        routines! { pub(super) ROUTINES;
            $(
                #[irql(PASSIVE), module(FILTERING), fails(NtStatus::FwpAlreadyExists)]
                fn $name(
                    &call,
                    _device: Ignored<GuestPtr<Opaque>>,
                    callout: GuestPtr<FWPS_CALLOUT>,
                    id: Out<u32>,
                ) -> Outcome {
                    register(call, callout, $version, id)
                }
            )*

            #[irql(PASSIVE), module(FILTERING)]
            fn FwpsCalloutUnregisterById0(id: u32) -> NtStatus {
                unregister(|callout| callout.id == id)
            }

            #[irql(PASSIVE), module(FILTERING)]
            fn FwpsCalloutUnregisterByKey0(key: GuestPtr<GUID>) -> Outcome<NtStatus> {
                let key = key.id()?;
                Ok(unregister(|callout| callout.key == key))
            }
        }
    };
}
register! {
    FwpsCalloutRegister0: 0;
    FwpsCalloutRegister1: 1;
    FwpsCalloutRegister2: 2;
    FwpsCalloutRegister3: 3;
}

fn register(call: &Call, callout: GuestPtr<FWPS_CALLOUT>, version: u32, place: Out<u32>) -> Outcome {
    let FWPS_CALLOUT { flags, classifyFn: classify, notifyFn: notify, flowDeleteFn: flow_delete, .. } =
        callout.read()?;
    let key = callout.calloutKey().id()?;
    if classify.is_null() || notify.is_null() {
        return fail(NtStatus::InvalidParameter);
    }
    let id = {
        let mut state = state();
        if state.callouts.iter().any(|known| known.key == key) {
            return fail(NtStatus::FwpAlreadyExists);
        }
        // A callout that was added before has its number already.
        let known = state.policy.callouts.iter().find(|(known, ..)| *known == key).map(|(_, id, ..)| *id);
        let id = known.unwrap_or_else(|| first_number(&mut state));
        state.callouts.push(Callout { id, key, version, flags, classify, notify, flow_delete, from: call.from });
        id
    };
    place.set_if_wanted(id)?;
    done(())
}

/// Returns a new number for a callout. Windows has some of its own.
pub(super) fn first_number(state: &mut State) -> u32 {
    /// The numbers below belong to the callouts of Windows.
    const BUILT_IN: u32 = 0x100;
    BUILT_IN + state.number() as u32
}

fn unregister(is_it: impl Fn(&Callout) -> bool) -> NtStatus {
    let mut state = state();
    let Some(position) = state.callouts.iter().position(is_it) else { return NtStatus::FwpCalloutNotFound };
    let id = state.callouts.get(position).map(|callout| callout.id);
    let has_context =
        |callout| state.flows.iter().any(|flow| flow.contexts.iter().any(|known| known.callout == callout));
    if id.is_some_and(has_context) {
        return NtStatus::DeviceBusy;
    }
    state.callouts.remove(position);
    NtStatus::Success
}

/// Returns the registered callout with a key.
pub(super) fn registered(key: Guid) -> Option<Callout> {
    state().callouts.iter().find(|callout| callout.key == key).copied()
}

/// Makes the structure that describes a filter to its callout.
pub(super) fn share(filter: &Filter, sublayer_weight: u16) -> Outcome<GuestPtr<FWPS_FILTER>> {
    let shared = lock(&kernel().pool).try_new_object::<FWPS_FILTER>()?;
    shared.filterId().write(filter.id)?;
    shared.subLayerWeight().write(sublayer_weight)?;
    // The flags have other numbers there.
    let flag = |flag, number: u16| if filter.flags & flag == 0 { 0 } else { number };
    shared.flags().write(
        flag(FWPM_FILTER_FLAG_CLEAR_ACTION_RIGHT, 1) | flag(FWPM_FILTER_FLAG_PERMIT_IF_CALLOUT_UNREGISTERED, 2),
    )?;
    shared.actionType().write(filter.action)?;
    shared.context().write(filter.context)?;
    Ok(shared)
}

/// Notifies the callout of a filter that the filter was added. Returns the status of the callout.
pub(super) fn added(filter: &Filter) -> Result<NtStatus, Fault> {
    let Kernel { pool, .. } = kernel();
    let Some(callout) = registered(filter.callout).filter(|_| filter.action & FWP_ACTION_FLAG_CALLOUT != 0) else {
        return Ok(NtStatus::Success);
    };
    filter.shared.calloutId().write(callout.id)?;
    let key = lock(pool).new_object::<GUID>();
    key.set_id(filter.key)?;
    let arguments = [FWPS_CALLOUT_NOTIFY_ADD_FILTER, key.address(), filter.shared.address()];
    let status = call_back("notifyFn", PASSIVE, callout.notify, &arguments);
    lock(pool).free_object(key.address());
    Ok(NtStatus::from_int(status as u32))
}

/// Notifies the callout of a filter that the filter was deleted, and frees the filter's structure.
pub(super) fn deleted(filter: &Filter) {
    if let Some(callout) = registered(filter.callout).filter(|_| filter.action & FWP_ACTION_FLAG_CALLOUT != 0) {
        call_back(
            "notifyFn",
            PASSIVE,
            callout.notify,
            &[FWPS_CALLOUT_NOTIFY_DELETE_FILTER, 0, filter.shared.address()],
        );
    }
    lock(&kernel().pool).free_object(filter.shared.address());
}

/// Reports the callouts that an image did not unregister.
pub(super) fn report_leaks(leaving: Leaving) {
    let left: Vec<Callout> = state().callouts.extract_if(.., |callout| leaving.owns(callout.from)).collect();
    let has_context = |id| state().flows.iter().any(|flow| flow.contexts.iter().any(|known| known.callout == id));
    for callout in left {
        // Such a callout cannot be unregistered.
        let why = if has_context(callout.id) { ": flows have contexts of it, call FwpsFlowRemoveContext0" } else { "" };
        let detail = format_args!("leaves callout {} registered{why}", callout.key);
        verify::find_at(Rule::ObjectLeak, Some("FwpsCalloutRegister"), callout.from, detail);
    }
}
