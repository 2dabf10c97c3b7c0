//! Cancellation of requests, by the client or by a purge, and the driver's functions for it.

use etw_types::NtStatus;

use super::object::{Data, Object};
use super::request::{update, with_request};
use super::{Handle, queue, queue_state, send, sync, with};
use crate::cpu::thread;
use crate::kernel::call_back;
use crate::memory::{Code, GuestPtr};
use crate::routine::{DISPATCH, functions};
use crate::verify::{self, Rule};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfRequestIsCanceled(request: Handle) -> bool {
        with_request(request, |request| request.canceled)
    }

    #[irql(DISPATCH)]
    fn WdfRequestMarkCancelable(request: Handle, callback: GuestPtr<Code>) {
        if mark(request, callback) == NtStatus::Cancelled {
            // This variant returns no status, so the callback is called immediately.
            tell_canceled(request, callback);
        }
    }

    #[irql(DISPATCH), fails(NtStatus::Cancelled)]
    fn WdfRequestMarkCancelableEx(request: Handle, callback: GuestPtr<Code>) -> NtStatus {
        mark(request, callback)
    }

    #[irql(DISPATCH)]
    fn WdfRequestUnmarkCancelable(request: Handle) -> NtStatus {
        with_request(request, |request| match (std::mem::take(&mut request.cancel), request.canceled) {
            (callback, _) if !callback.is_null() => NtStatus::Success,
            (_, true) => NtStatus::Cancelled,
            (_, false) => NtStatus::InvalidParameter,
        })
    }
}

/// Cancels a request. If the driver marked it cancelable, calls the driver's callback. If it waits in a queue, removes
/// it from there. Otherwise it is only marked as canceled.
pub(super) fn cancel(handle: Handle) {
    let state = with(|framework| match framework.objects.get_mut(&handle) {
        Some(Object { data: Data::Request(request), deleted: false, .. }) => {
            request.canceled = true;
            Some((std::mem::take(&mut request.cancel), request.queue, request.sent.is_some()))
        }
        _ => None,
    });
    match state {
        // An I/O target has the request: it is canceled there, and the driver's completion routine receives the result.
        Some((.., true)) => drop(send::cancel_sent(handle)),
        Some((callback, ..)) if !callback.is_null() => tell_canceled(handle, callback),
        Some((_, queue, _)) if queue::withdraw(queue, handle) => queue_state::canceled(queue, handle),
        _ => {}
    }
}

fn tell_canceled(handle: Handle, callback: GuestPtr<Code>) {
    let queue = update(handle, |request| {
        request.cancel_told = true;
        request.queue
    });
    sync::locked(sync::holder_for(queue.unwrap_or_default()), thread::irql(), |irql| {
        call_back("EvtRequestCancel", irql, callback, &[handle.as_int()])
    });
}

/// Marks a request cancelable. Returns `STATUS_CANCELLED` if it is already canceled.
fn mark(request: Handle, callback: GuestPtr<Code>) -> NtStatus {
    let (canceled, before) = with_request(request, |request| {
        if !request.canceled {
            return (false, std::mem::replace(&mut request.cancel, callback));
        }
        (true, GuestPtr::NULL)
    });
    if !before.is_null() {
        verify::find(Rule::RequestMisuse, format_args!("a request is marked cancelable twice"));
    }
    if canceled { NtStatus::Cancelled } else { NtStatus::Success }
}
