//! The way of requests through queues: adds them to a queue, presents them to the queue's callbacks, cancels and completes
//! them.
//!
//! A request that is completed makes room for the next one, which the driver may complete before its callback returns. So
//! delivery, cancellation and completion call each other.

use etw_types::NtStatus;
use nt_kernel::io::request as packets;
use nt_kernel::pool::together;
use nt_kernel::sync::worker::submit as submit_work;
use nt_kernel::{Kernel, RequestKind, call_back, kernel};
use nt_processor::cpu::thread;
use nt_processor::layout::IRP;
use nt_processor::memory::{Code, Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::PASSIVE;
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::framework::WdfIoQueueDispatchManual;

use crate::device::with_device;
use crate::object::{self, life};
use crate::pnp::idle;
use crate::queue::{self, is_powered, with_queue};
use crate::request::buffers::free_list;
use crate::request::{self, Request, update, with_request};
use crate::state::{Ended, Past, with};
use crate::{Handle, sync};

/// The end of a queue at which a request is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Back,
    /// For a request that goes back to the queue that it came from.
    Front,
}

/// Adds a request to a queue and presents the requests that can be presented. Returns whether the queue accepted it.
pub(crate) fn add(queue: Handle, request: Handle, end: End) -> bool {
    // The request changes before it is in the queue: once it is there, another thread may take and complete it.
    let before = with_request(request, |request| {
        (std::mem::replace(&mut request.queue, queue), std::mem::take(&mut request.presented))
    });
    let taken = with_queue(queue, |queue| {
        match end {
            End::Back if queue.closed => return None,
            End::Back => queue.waiting.push_back(request),
            // A queue that accepts no new requests takes back its own: `FxIoQueue::Requeue`.
            End::Front => queue.waiting.push_front(request),
        }
        let is_first_use = queue.power_managed && !std::mem::replace(&mut queue.uses_device, true);
        Some((queue.waiting.len(), is_first_use.then_some(queue.device)))
    });
    let Some((length, first_use)) = taken else {
        with_request(request, |request| (request.queue, request.presented) = before);
        return false;
    };
    if let Some(device) = first_use {
        idle::reference(device);
    }
    // A request that was canceled while the driver had it must not wait in a queue.
    if request::lookup(request, |request| request.canceled) {
        cancel(request);
        return true;
    }
    if length == 1 {
        notify_ready(queue);
    }
    dispatch(queue);
    true
}

/// Calls the callback of `WdfIoQueueReadyNotify`, if the driver has set one and the manual queue has requests.
pub(crate) fn notify_ready(handle: Handle) {
    if !is_powered(handle) {
        return;
    }
    let ready = with_queue(handle, |queue| {
        let wanted = queue.kind == WdfIoQueueDispatchManual
            && !queue.ready.0.is_null()
            && !queue.waiting.is_empty()
            && !queue.stopped;
        wanted.then_some(queue.ready)
    });
    if let Some((callback, context)) = ready {
        call_back("EvtIoQueueState", thread::irql(), callback, &[handle.as_int(), context]);
    }
}

/// Records that the driver no longer has one of the requests of a queue.
pub(crate) fn returned(queue: Handle) {
    let Kernel { scheduler, .. } = kernel();
    if !object::exists(queue) {
        return;
    }
    let me = thread::number();
    with_queue(queue, |queue| {
        queue.presented = queue.presented.saturating_sub(1);
        queue.returning.push(me);
    });
    scheduler.change(|_| ());
    dispatch(queue);
    notify_watchers(queue);
    if object::exists(queue) {
        // From here on, another thread may delete the queue.
        let last_use = with_queue(queue, |queue| {
            let last = queue.returning.iter().rposition(|thread| *thread == me);
            last.map(|last| queue.returning.remove(last));
            let is_empty = queue.presented == 0 && queue.waiting.is_empty();
            (is_empty && std::mem::take(&mut queue.uses_device)).then_some(queue.device)
        });
        if let Some(device) = last_use {
            idle::dereference(device);
        }
        scheduler.change(|_| ());
    }
}

/// Presents requests while the queue allows it. If a callback of this loop calls this again on the same thread, nothing
/// happens: the loop that runs the callback continues afterwards.
pub(crate) fn dispatch(handle: Handle) {
    if with_queue(handle, |queue| queue.kind == WdfIoQueueDispatchManual) {
        return;
    }
    let me = thread::number();
    let nested = with_queue(handle, |queue| {
        let nested = queue.presenters.contains(&me);
        if !nested {
            queue.presenters.push(me);
        }
        nested
    });
    if nested {
        return;
    }
    while let Some(request) = next(handle, me) {
        present(handle, request);
        if !object::exists(handle) {
            return;
        }
    }
    // Another thread may wait to delete the queue.
    kernel().scheduler.change(|_| ());
}

/// Takes the next request for the driver. If there is none, removes the calling thread from the queue's presenters.
fn next(handle: Handle, me: u32) -> Option<Handle> {
    let powered = is_powered(handle);
    let passive = object::is_passive(handle);
    let (request, later) = with_queue(handle, |queue| {
        let possible = powered && !queue.stopped && queue.presented < queue.limit && !queue.waiting.is_empty();
        let later = possible && passive && thread::irql() > PASSIVE;
        if possible && !later {
            queue.presented += 1;
            return (queue.waiting.pop_front(), false);
        }
        queue.presenters.retain(|presenter| *presenter != me);
        (None, later)
    });
    if later {
        submit_work(handle.as_int(), move || {
            if object::exists(handle) {
                dispatch(handle);
            }
        });
    }
    request
}

/// Calls the queue's handler for a request.
fn present(queue: Handle, request: Handle) {
    let (handlers, allows_empty) = with_queue(queue, |queue| (queue.handlers, queue.allows_empty));
    let (kind, input, output, code) = with_request(request, |request| {
        (request.presented, request.delivered, request.acknowledged) = (true, true, false);
        request.is_stopping = false;
        (request.kind, request.input.len(), request.output.len(), request.code)
    });
    let [default, read, write, control, internal] = handlers;
    let first = queue.as_int();
    let second = request.as_int();
    let (name, target, arguments): (_, _, &[u64]) = match kind {
        RequestKind::READ if !read.is_null() => ("EvtIoRead", read, &[first, second, output]),
        RequestKind::WRITE if !write.is_null() => ("EvtIoWrite", write, &[first, second, input]),
        RequestKind::DEVICE_CONTROL if !control.is_null() => {
            ("EvtIoDeviceControl", control, &[first, second, output, input, code.into()])
        }
        RequestKind::INTERNAL_DEVICE_CONTROL if !internal.is_null() => {
            ("EvtIoInternalDeviceControl", internal, &[first, second, output, input, code.into()])
        }
        _ if !default.is_null() => ("EvtIoDefault", default, &[first, second]),
        _ => {
            with_request(request, |request| request.delivered = false);
            return complete(request, NtStatus::InvalidDeviceRequest, 0);
        }
    };
    // As in `FxIoQueue::DispatchRequestToDriver` (`shared/irphandlers/io/fxioqueue.cpp`), also for `EvtIoDefault`.
    let is_empty = match kind {
        RequestKind::READ => output == 0,
        RequestKind::WRITE => input == 0,
        _ => false,
    };
    if is_empty && !allows_empty {
        return complete(request, NtStatus::Success, 0);
    }
    with_request(request, |request| request.handler = target.address());
    sync::locked(sync::holder_for(queue), thread::irql(), |irql| call_back(name, irql, target, arguments));
}

/// Gives a request to its queue, or to `EvtIoInCallerContext` if the driver has set that.
pub(crate) fn submit(device: Handle, request: Handle, kind: RequestKind) {
    let callback = with_device(device, |device| device.init.in_caller_context);
    if !callback.is_null() && kind != RequestKind::CREATE {
        // The driver receives the request in the client's thread. It must add the request to a queue or complete it.
        with_request(request, |request| {
            (request.presented, request.delivered, request.handler) = (true, true, callback.address());
        });
        call_back("EvtIoInCallerContext", PASSIVE, callback, &[device.as_int(), request.as_int()]);
        return;
    }
    if let Some(forward) = forwards(device, kind) {
        return forward(device, request);
    }
    match queue::for_kind(device, kind) {
        Handle::NULL => complete(request, NtStatus::InvalidDeviceRequest, 0),
        // The queue was drained or purged, so it does not accept requests.
        queue if !add(queue, request, End::Back) => complete(request, NtStatus::InvalidDeviceState, 0),
        _ => {}
    }
}

/// Returns the function that passes requests of a kind on, if the device is a filter that does not handle them. As in
/// `FxPkgIo::DispatchStep1` (`shared/irphandlers/io/fxpkgio.cpp`), a default queue without a callback does not handle them.
pub(crate) fn forwards(device: Handle, kind: RequestKind) -> Option<fn(Handle, Handle)> {
    let (forward, default) = with_device(device, |device| (device.forward, device.default_queue));
    let queue = queue::for_kind(device, kind);
    let is_handled = !queue.is_null() && (queue != default || with_queue(queue, |queue| queue.takes(kind)));
    forward.filter(|_| !is_handled)
}

/// Runs the callbacks of the operations that have finished.
pub(crate) fn notify_watchers(handle: Handle) {
    if !object::exists(handle) {
        return;
    }
    let over = with_queue(handle, |queue| {
        let watchers = std::mem::take(&mut queue.watchers);
        let (over, left): (Vec<_>, Vec<_>) = watchers.into_iter().partition(|(until, ..)| until.holds(queue));
        queue.watchers = left;
        over
    });
    for (_, callback, context) in over {
        call_back("EvtIoQueueState", thread::irql(), callback, &[handle.as_int(), context]);
    }
}

/// Reports the second completion of a request.
fn completed_twice(was_canceled: bool) {
    let breach = Rule::RequestTwice.named(Kmdf::DoubleCompletion);
    let breach = if request::in_queue_callback() { breach.named(Kmdf::DoubleCompletionLocal) } else { breach };
    let breach = if was_canceled { breach.named(Kmdf::CompleteCanceledReq) } else { breach };
    verify::find(breach, format_args!("completes a request that is already completed"));
}

/// Completes a request. A second completion is a finding.
///
/// The order below is what the driver, its client and other threads can observe: the result is taken, then published, then the driver's
/// cleanup callback runs, then memory goes, then others are told, and only then the queue goes on.
pub(crate) fn complete(handle: Handle, status: NtStatus, information: u64) {
    let Kernel { scheduler, .. } = kernel();
    // The record of an end outlives the object, so a completion through a stale handle is found, too.
    if let Some(was_canceled) = with(|framework| framework.end_of(handle).map(|end| end.cancel_reported)) {
        return completed_twice(was_canceled);
    }
    let request = with_request(handle, |request| request.clone());
    let queue = request.queue;
    judge_completion(handle, &request, status, information);
    let status = for_client(status);
    let Request { received, delivered, awaited, cancel_reported, file, irp, buffers, lists, memories, .. } = request;
    // The client gets the bytes of this moment. The cleanup callback below may still write to the buffer; what it writes is not sent.
    let output = match buffers {
        Some(buffers) if !status.is_error() => buffers.output.take(information).read().or_stop(),
        _ => Vec::new(),
    };
    let end = Ended { status, information, output, kind: received, cancel_reported, delivered, awaited };
    // This function frees the buffers and the lists. If the object still had them, its destruction would free them as well.
    with_request(handle, |request| (request.buffers, request.lists) = (None, Vec::new()));
    // From here on the end is published: a second completion is found, also one by the cleanup callback, and memory objects of the
    // request are explained as such when the driver uses them later.
    with(|framework| {
        framework.through_files.remove(&(file, handle));
        framework.request_ended(handle, end);
        for memory in memories {
            framework.remember(memory, Past::Memory(received));
        }
    });
    // The client may continue as soon as it is awake, so it must find the end that was published above.
    scheduler.request_ended(handle.as_int());
    // Runs the driver's cleanup callback. The object stays if the driver holds a reference; then it is marked as completed.
    let object = life::take(handle);
    update(handle, |request| request.is_completed = true);
    // Only now: the request's cleanup callback may still use the buffers. One call for all of them, because each costs a system call.
    together(|| {
        if let Some(object) = object {
            life::free(&object);
        }
        for list in lists {
            free_list(list, received);
        }
        if let Some(buffers) = buffers {
            buffers.free(received);
        }
    });
    // The completion routines of drivers above run now. They may free the IRP, or send it again to this device, so nothing of this
    // request may be left that refers to it.
    if let Some(irp) = irp.non_null() {
        complete_irp(irp, status, information);
    }
    // What the host does after this request, such as the next step of a removal. It may need the IRP completed.
    for then in with(|framework| framework.ends.remove(&handle)).unwrap_or_default() {
        then();
    }
    // Last: a sequential queue presents its next request, which must not happen while the driver's cleanup callback of this one runs.
    if queue.is_null() {
        scheduler.change(|_| ());
    } else {
        returned(queue);
    }
}

/// Records the mistakes of a driver that completes this request now.
fn judge_completion(handle: Handle, request: &Request, status: NtStatus, information: u64) {
    // Microsoft's public framework source, core/fxrequest.cpp, checks the same: a control request without an output buffer
    // may return the number of used bytes of its input.
    let room = match request.kind {
        RequestKind::READ => request.output.len(),
        RequestKind::WRITE => request.input.len(),
        RequestKind::DEVICE_CONTROL if !request.output.is_empty() => request.output.len(),
        _ => u64::MAX,
    };
    let queue = request.queue;
    if !request.presented && !queue.is_null() && queue::withdraw(queue, handle) {
        verify::find(Rule::RequestMisuse, format_args!("completes a request that waits in a queue"));
        // `returned` will count one presented request less.
        with_queue(queue, |queue| queue.presented += 1);
    }
    if !request.cancel.is_null() {
        let what = format_args!("completes a request that is marked cancelable");
        verify::find(Rule::RequestMisuse.named(Kmdf::ReqNotCanceledLocal), what);
    }
    if request.sent.is_some() {
        let what = format_args!("completes a request that an I/O target has");
        verify::find(Rule::RequestMisuse.named(Kmdf::InvalidReqAccess), what);
    }
    if status.as_int() & 0xC000_0000 == 0 && information > room {
        let what = format_args!("completes the request with {information} bytes, but its buffer has {room}");
        verify::find(Rule::RequestMisuse, what);
    }
}

/// Calls `run` when a request is completed; immediately if it already is.
pub(crate) fn then(request: Handle, run: impl FnOnce() + Send + 'static) {
    let now: Option<Box<dyn FnOnce() + Send>> = with(|framework| {
        if framework.has_ended(request) {
            return Some(Box::new(run) as _);
        }
        framework.ends.get_or_default(request).push(Box::new(run));
        None
    });
    if let Some(run) = now {
        run();
    }
}

/// Returns the status that a client gets for a request. Statuses of the framework's facility (0x020) are for drivers
/// only: `FxRequest::CompleteInternal` in `shared/core/fxrequest.cpp` replaces them.
fn for_client(status: NtStatus) -> NtStatus {
    match status {
        NtStatus::WdfPaused | NtStatus::WdfBusy => NtStatus::DeviceBusy,
        NtStatus::WdfInternalError => NtStatus::InternalError,
        NtStatus::WdfNotEnoughMapRegisters => NtStatus::InsufficientResources,
        status if status.as_int() & 0x0FFF_0000 == 0x0020_0000 => NtStatus::InvalidDeviceRequest,
        status => status,
    }
}

/// Completes the IRP of a request that was completed.
fn complete_irp(irp: GuestPtr<IRP>, status: NtStatus, information: u64) {
    let end = || -> Result<(), Fault> {
        irp.IoStatus().Status().write(status)?;
        irp.IoStatus().Information().write(information)?;
        packets::complete(irp)
    };
    end().or_stop();
}

/// Cancels a request. If the driver marked it cancelable, calls the driver's callback. If it waits in a queue, removes
/// it from there. Otherwise it is only marked as canceled.
pub(crate) fn cancel(handle: Handle) {
    let state = with(|framework| {
        let object = framework.objects.get_mut(&handle).filter(|object| !object.deleted)?;
        let request: &mut Request = object.get_mut()?;
        request.canceled = true;
        Some((std::mem::take(&mut request.cancel), request.queue, request.sent.map(|flight| flight.cancel)))
    });
    match state {
        // An I/O target has the request: it is canceled there, and the driver's completion routine receives the result.
        Some((.., Some(cancel_sent))) => drop(cancel_sent(handle)),
        Some((callback, ..)) if !callback.is_null() => report_canceled(handle, callback),
        Some((_, queue, _)) if queue::withdraw(queue, handle) => canceled(queue, handle),
        _ => {}
    }
}

/// Cancels a request if it waits in a queue.
pub(crate) fn cancel_waiting(queue: Handle, request: Handle) {
    if queue::withdraw(queue, request) {
        with_request(request, |request| request.canceled = true);
        canceled(queue, request);
    }
}

/// Calls the driver's `EvtRequestCancel`.
pub(crate) fn report_canceled(handle: Handle, callback: GuestPtr<Code>) {
    let queue = update(handle, |request| {
        request.cancel_reported = true;
        request.queue
    });
    sync::locked(sync::holder_for(queue.unwrap_or_default()), thread::irql(), |irql| {
        call_back("EvtRequestCancel", irql, callback, &[handle.as_int()])
    });
}

/// Handles a request that was removed from its queue because it was canceled. If the driver had the request before and
/// has set `EvtIoCanceledOnQueue`, calls that; otherwise completes the request.
fn canceled(queue: Handle, request: Handle) {
    let callback = with_queue(queue, |queue| {
        queue.presented += 1;
        queue.canceled
    });
    let delivered = with_request(request, |request| {
        request.presented = true;
        request.delivered
    });
    if !callback.is_null() && delivered {
        let arguments = [queue.as_int(), request.as_int()];
        sync::locked(sync::holder_for(queue), thread::irql(), |irql| {
            call_back("EvtIoCanceledOnQueue", irql, callback, &arguments)
        });
    } else {
        complete(request, NtStatus::Cancelled, 0);
    }
}
