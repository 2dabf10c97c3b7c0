//! Cancellation: by the client, by a queue that is purged, and what the driver has to say about it.

use super::object::{Data, Object};
use super::request::{lookup, with_request};
use super::{Handle, queue, queue_state, status, sync, with};
use crate::cpu::thread;
use crate::kernel::call_back;
use crate::kernel::routine::{Call, DISPATCH, Routine, routine};
use crate::verify::{self, Rule};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfRequestIsCanceled", DISPATCH, |call| with_request(call.arg(1), |request| request.canceled.into())),
    routine("WdfRequestMarkCancelable", DISPATCH, |call| {
        if mark(call) == u64::from(status::CANCELLED) {
            // This variant answers nothing: the driver learns of it by its callback, at once.
            tell_canceled(call.arg(1), call.arg(2));
        }
        0
    }),
    routine("WdfRequestMarkCancelableEx", DISPATCH, mark).fails(status::CANCELLED),
    routine("WdfRequestUnmarkCancelable", DISPATCH, |call| {
        with_request(call.arg(1), |request| match (std::mem::take(&mut request.cancel), request.canceled) {
            (1.., _) => status::SUCCESS,
            (0, true) => status::CANCELLED.into(),
            (0, false) => status::INVALID_PARAMETER,
        })
    }),
];

/// Cancels a request: where the driver said how, it is told; where it waits, it ends.
pub(super) fn cancel(handle: Handle) {
    let state = with(|framework| match framework.objects.get_mut(&handle) {
        Some(Object { data: Data::Request(request), deleted: false, .. }) => {
            request.canceled = true;
            Some((std::mem::take(&mut request.cancel), request.queue))
        }
        _ => None,
    });
    match state {
        Some((callback @ 1.., _)) => tell_canceled(handle, callback),
        Some((0, queue)) if queue::withdraw(queue, handle) => queue_state::canceled(queue, handle),
        _ => {}
    }
}

fn tell_canceled(handle: Handle, callback: u64) {
    let queue = lookup(handle, |request| request.queue);
    sync::locked(sync::holder_for(queue), thread::irql(), |irql| {
        call_back("EvtRequestCancel", irql, callback, &[handle])
    });
}

/// Arguments: request, callback.
fn mark(call: &Call) -> u64 {
    let callback = call.arg(2);
    let (canceled, before) = with_request(call.arg(1), |request| {
        if !request.canceled {
            return (false, std::mem::replace(&mut request.cancel, callback));
        }
        (true, 0)
    });
    if before != 0 {
        verify::find(Rule::RequestMisuse, format_args!("a request is marked cancelable twice"));
    }
    if canceled { status::CANCELLED.into() } else { status::SUCCESS }
}
