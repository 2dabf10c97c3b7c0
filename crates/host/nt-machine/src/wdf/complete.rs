//! The functions with which a driver completes requests, or passes them on to another queue.

use etw_types::NtStatus;

use super::deliver::{self, End, complete};
use super::request::{lookup, with_request};
use super::{Handle, queue};
use crate::kernel::kernel;
use crate::routine::{DISPATCH, Ignored, functions};
use crate::verify::{self, Rule};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfRequestComplete(request: Handle, status: NtStatus) {
        let information = lookup(request, |request| request.information);
        complete(request, status, information);
    }

    #[irql(DISPATCH)]
    fn WdfRequestCompleteWithInformation(request: Handle, status: NtStatus, information: u64) {
        complete(request, status, information);
    }

    #[irql(DISPATCH)]
    fn WdfRequestCompleteWithPriorityBoost(request: Handle, status: NtStatus, _boost: Ignored<i8>) {
        let information = lookup(request, |request| request.information);
        complete(request, status, information);
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestForwardToIoQueue(request: Handle, queue: Handle) -> NtStatus {
        pass_on(request, queue, End::Back)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRequeue(request: Handle) -> NtStatus {
        let from = with_request(request, |request| request.queue);
        if from.is_null() || queue::with_queue(from, |queue| queue.kind != queue::MANUAL) {
            return NtStatus::InvalidDeviceRequest;
        }
        pass_on(request, from, End::Front)
    }

    #[irql(DISPATCH)]
    fn WdfRequestStopAcknowledge(request: Handle, requeue: bool) {
        if requeue {
            let from = with_request(request, |request| request.queue);
            pass_on(request, from, End::Front);
        } else {
            with_request(request, |request| request.acknowledged = true);
            kernel().scheduler.change(|_| ());
        }
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfDeviceEnqueueRequest(device: Handle, request: Handle) -> NtStatus {
        let kind = with_request(request, |request| request.kind);
        if let Some(forward) = deliver::forwards(device, kind) {
            forward(device, request);
            return NtStatus::Success;
        }
        match queue::for_kind(device, kind) {
            Handle::NULL => NtStatus::InvalidDeviceRequest,
            queue if deliver::add(queue, request, End::Back) => NtStatus::Success,
            _ => NtStatus::WdfBusy,
        }
    }
}

/// Adds a request that the driver has to a queue.
fn pass_on(request: Handle, to: Handle, end: End) -> NtStatus {
    let (from, cancelable, presented) =
        with_request(request, |request| (request.queue, !request.cancel.is_null(), request.presented));
    if cancelable || !presented {
        let what = if cancelable { "is marked cancelable" } else { "is already in a queue" };
        verify::find(Rule::RequestMisuse, format_args!("a request that {what} is added to a queue"));
        return NtStatus::InvalidDeviceRequest;
    }
    if !deliver::add(to, request, end) {
        return NtStatus::WdfBusy;
    }
    deliver::returned(from);
    NtStatus::Success
}
