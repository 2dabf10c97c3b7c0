//! The functions with which a driver lets a client cancel a request that it keeps.

use etw_types::NtStatus;
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::routine::{DISPATCH, functions};
use nt_verifier::verify::{self, Kmdf, Rule};

use crate::Handle;
use crate::queue::deliver::report_canceled;
use crate::request::with_request;

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfRequestIsCanceled(request: Handle) -> bool {
        let (canceled, is_cancelable) = with_request(request, |request| (request.canceled, !request.cancel.is_null()));
        if is_cancelable {
            let what = format_args!("asks whether a request is canceled while it is marked cancelable");
            verify::find(Rule::RequestMisuse.named(Kmdf::ReqIsCancOnCancReq), what);
        }
        canceled
    }

    #[irql(DISPATCH)]
    fn WdfRequestMarkCancelable(request: Handle, callback: GuestPtr<Code>) {
        if mark(request, callback) == NtStatus::Cancelled {
            // This variant returns no status, so the callback is called immediately.
            report_canceled(request, callback);
        }
    }

    #[irql(DISPATCH), fails(NtStatus::Cancelled)]
    fn WdfRequestMarkCancelableEx(request: Handle, callback: GuestPtr<Code>) -> NtStatus {
        mark(request, callback)
    }

    #[irql(DISPATCH)]
    fn WdfRequestUnmarkCancelable(request: Handle) -> NtStatus {
        if with_request(request, |request| request.queue.is_null()) {
            return NtStatus::InvalidDeviceRequest;
        }
        let callback = with_request(request, |request| std::mem::take(&mut request.cancel));
        if !callback.is_null() {
            return NtStatus::Success;
        }
        // As `FxIoQueue::RequestCancelable` returns for every request that is not in its list.
        NtStatus::Cancelled
    }
}

/// Marks a request cancelable. Returns `STATUS_CANCELLED` if it is already canceled.
fn mark(request: Handle, callback: GuestPtr<Code>) -> NtStatus {
    let (canceled, before) = with_request(request, |request| {
        request.was_cancelable = true;
        if !request.canceled {
            return (false, std::mem::replace(&mut request.cancel, callback));
        }
        (true, GuestPtr::NULL)
    });
    if !before.is_null() {
        let what = format_args!("marks a request cancelable twice");
        verify::find(Rule::RequestMisuse.named(Kmdf::MarkCancOnCancReqLocal).named(Kmdf::InvalidReqAccess), what);
    }
    if canceled { NtStatus::Cancelled } else { NtStatus::Success }
}
