//! The functions with which a driver completes requests, or passes them on to another queue.

use etw_types::NtStatus;
use nt_kernel::kernel;
use nt_processor::cpu::thread;
use nt_verifier::routine::{DISPATCH, Ignored, functions};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::framework::WdfIoQueueDispatchManual;

use crate::device::init::{D0_ENTRY, D0_ENTRY_POST_INTERRUPTS, IO_RESTART};
use crate::device::with_device;
use crate::queue::deliver::{self, End, complete};
use crate::request::{lookup, with_request};
use crate::{Handle, queue};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfRequestComplete(request: Handle, status: NtStatus) {
        finish(request, status, None);
    }

    #[irql(DISPATCH)]
    fn WdfRequestCompleteWithInformation(request: Handle, status: NtStatus, information: u64) {
        finish(request, status, Some(information));
    }

    #[irql(DISPATCH)]
    fn WdfRequestCompleteWithPriorityBoost(request: Handle, status: NtStatus, _boost: Ignored<i8>) {
        finish(request, status, None);
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestForwardToIoQueue(request: Handle, queue: Handle) -> NtStatus {
        pass_on(request, queue, End::Back)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRequeue(request: Handle) -> NtStatus {
        let from = with_request(request, |request| request.queue);
        if from.is_null() || queue::with_queue(from, |queue| queue.kind != WdfIoQueueDispatchManual) {
            return NtStatus::InvalidDeviceRequest;
        }
        pass_on(request, from, End::Front)
    }

    #[irql(DISPATCH)]
    fn WdfRequestStopAcknowledge(request: Handle, requeue: bool) {
        acknowledge(request, requeue);
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

/// Completes a request for the driver. Without information, its own is used.
fn finish(request: Handle, status: NtStatus, information: Option<u64>) {
    let (own, is_own) = lookup(request, |request| (request.information, request.is_own));
    if is_own {
        let what = format_args!("completes a request that the driver created: delete it with WdfObjectDelete");
        return verify::find(Rule::RequestMisuse.named(Kmdf::ReqDelete), what);
    }
    if thread::callback() == Some("EvtDeviceSurpriseRemoval") {
        let what = format_args!("completes a request in EvtDeviceSurpriseRemoval: use the self-managed I/O callbacks");
        verify::find(Rule::RequestMisuse.named(Kmdf::EvtSurpriseRemoveNoRequestComplete), what);
    }
    complete(request, status, information.unwrap_or(own));
}

/// Acknowledges `EvtIoStop`. As Microsoft's verifier (`VerifyRequestIsInEvtIoStopContext` in `shared/core/fxrequest.cpp`),
/// accepts it also after the callback has returned.
fn acknowledge(request: Handle, requeue: bool) {
    let (from, was_stopping) =
        with_request(request, |request| (request.queue, std::mem::take(&mut request.is_stopping)));
    if !was_stopping {
        let what = format_args!("acknowledges EvtIoStop, which was not called for the request");
        return verify::find(Rule::RequestMisuse.named(Kmdf::StopAckWithinEvtIoStop), what);
    }
    if requeue {
        pass_on(request, from, End::Front);
        return;
    }
    if !learns_of_resumption(from) {
        let what = format_args!("keeps the request, but has no EvtIoResume, and no callback for the return to D0");
        verify::find(Rule::RequestMisuse.named(Kmdf::EvtIoStopResume), what);
    }
    with_request(request, |request| request.acknowledged = true);
    kernel().scheduler.change(|_| ());
}

/// Returns whether a driver has a callback that tells it when it can go on with a request of a queue.
fn learns_of_resumption(queue: Handle) -> bool {
    let (resume, device) = queue::with_queue(queue, |queue| (queue.resume, queue.device));
    let callbacks = with_device(device, |device| device.init.callbacks);
    let is_set = |index: &usize| callbacks.get(*index).is_some_and(|callback| !callback.is_null());
    !resume.is_null() || [D0_ENTRY, D0_ENTRY_POST_INTERRUPTS, IO_RESTART].iter().any(is_set)
}

/// Adds a request that the driver has to a queue.
fn pass_on(request: Handle, to: Handle, end: End) -> NtStatus {
    let (from, cancelable, presented) =
        with_request(request, |request| (request.queue, !request.cancel.is_null(), request.presented));
    if cancelable || !presented {
        let what = if cancelable { "is marked cancelable" } else { "is already in a queue" };
        verify::find(Rule::RequestMisuse, format_args!("adds a request that {what} to a queue"));
        return NtStatus::InvalidDeviceRequest;
    }
    if !deliver::add(to, request, end) {
        return NtStatus::WdfBusy;
    }
    deliver::returned(from);
    NtStatus::Success
}
