//! Data flows: the contexts that callouts associate with them, and their end.

use etw_types::NtStatus;
use nt_kernel::call_back;
use nt_verifier::routine::{DISPATCH, FILTERING, routines};

use super::state::{Flow, FlowContext, state};

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), module(FILTERING), fails(NtStatus::InvalidParameter)]
    fn FwpsFlowAssociateContext0(flow: u64, layer: u16, callout: u32, context: u64) -> NtStatus {
        let mut state = state();
        let has_delete = state.callouts.iter().any(|known| known.id == callout && !known.flow_delete.is_null());
        let Some(flow) = state.flow(flow).filter(|_| has_delete && context != 0) else {
            return NtStatus::InvalidParameter;
        };
        if flow.contexts.iter().any(|known| known.callout == callout && known.layer == layer) {
            return NtStatus::ObjectNameExists;
        }
        flow.contexts.push(FlowContext { layer, callout, context });
        NtStatus::Success
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsFlowRemoveContext0(id: u64, layer: u16, callout: u32) -> NtStatus {
        let removed = {
            let mut state = state();
            let Some(flow) = state.flow(id) else { return NtStatus::Unsuccessful };
            let position = flow.contexts.iter().position(|known| known.callout == callout && known.layer == layer);
            let Some(position) = position else { return NtStatus::Unsuccessful };
            flow.contexts.remove(position)
        };
        delete_context(removed);
        NtStatus::Success
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsFlowAbort0(id: u64) -> NtStatus {
        if end(id).is_some() { NtStatus::Success } else { NtStatus::InvalidParameter }
    }
}

/// Calls the driver's `flowDeleteFn` for a context.
fn delete_context(FlowContext { layer, callout, context }: FlowContext) {
    let found = state().callouts.iter().find(|known| known.id == callout).copied();
    if let Some(callout) = found {
        call_back("flowDeleteFn", DISPATCH, callout.flow_delete, &[layer.into(), callout.id.into(), context]);
    }
}

/// Ends a flow: the driver's contexts go with it. Returns the flow.
pub(super) fn end(id: u64) -> Option<Flow> {
    let flow = {
        let mut state = state();
        let position = state.flows.iter().position(|flow| flow.id == id)?;
        state.flows.remove(position)
    };
    for context in &flow.contexts {
        delete_context(*context);
    }
    Some(flow)
}
