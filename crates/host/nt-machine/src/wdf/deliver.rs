//! Delivery of requests: adds them to a queue and presents them to the queue's callbacks.

use etw_types::NtStatus;

use super::device::with_device;
use super::object;
use super::queue::{MANUAL, with_queue};
use super::request::{self, with_request};
use super::{Handle, cancel, queue_state, sync};
use crate::cpu::thread;
use crate::kernel::{RequestKind, call_back, kernel, submit};
use crate::routine::PASSIVE;

/// The end of a queue at which a request is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Back,
    /// For a request that goes back to the queue that it came from.
    Front,
}

/// Returns whether power management allows a queue to deliver requests.
pub(super) fn is_powered(handle: Handle) -> bool {
    let (device, managed) = with_queue(handle, |queue| (queue.device, queue.power_managed));
    !managed || object::exists(device) && with_device(device, |device| device.in_d0)
}

/// Adds a request to a queue and presents the requests that can be presented. Returns whether the queue accepted it.
pub(super) fn add(queue: Handle, request: Handle, end: End) -> bool {
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
        Some(queue.waiting.len())
    });
    let Some(length) = taken else {
        with_request(request, |request| (request.queue, request.presented) = before);
        return false;
    };
    // A request that was canceled while the driver had it must not wait in a queue.
    if request::lookup(request, |request| request.canceled) {
        cancel::cancel(request);
        return true;
    }
    if length == 1 {
        notify_ready(queue);
    }
    dispatch(queue);
    true
}

/// Calls the callback of `WdfIoQueueReadyNotify`, if the driver has set one and the manual queue has requests.
pub(super) fn notify_ready(handle: Handle) {
    if !is_powered(handle) {
        return;
    }
    let ready = with_queue(handle, |queue| {
        let wanted = queue.kind == MANUAL && !queue.ready.0.is_null() && !queue.waiting.is_empty() && !queue.stopped;
        wanted.then_some(queue.ready)
    });
    if let Some((callback, context)) = ready {
        call_back("EvtIoQueueState", thread::irql(), callback, &[handle.as_int(), context]);
    }
}

/// Records that the driver no longer has one of the requests of a queue.
pub(super) fn returned(queue: Handle) {
    if !object::exists(queue) {
        return;
    }
    with_queue(queue, |queue| queue.presented = queue.presented.saturating_sub(1));
    kernel().scheduler.change(|_| ());
    dispatch(queue);
    queue_state::tell_watchers(queue);
}

/// Presents requests while the queue allows it. If a callback of this loop calls this again on the same thread, nothing
/// happens: the loop that runs the callback continues afterwards.
pub(super) fn dispatch(handle: Handle) {
    if with_queue(handle, |queue| queue.kind == MANUAL) {
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
        submit(handle.as_int(), move || {
            if object::exists(handle) {
                dispatch(handle);
            }
        });
    }
    request
}

/// Calls the queue's handler for a request.
fn present(queue: Handle, request: Handle) {
    let handlers = with_queue(queue, |queue| queue.handlers);
    let (kind, input, output, code) = with_request(request, |request| {
        (request.presented, request.delivered, request.acknowledged) = (true, true, false);
        (request.kind, request.input.len(), request.output.len(), request.code)
    });
    let [default, read, write, control, internal] = handlers;
    let (name, target, arguments) = match kind {
        RequestKind::READ if !read.is_null() => ("EvtIoRead", read, vec![queue.as_int(), request.as_int(), output]),
        RequestKind::WRITE if !write.is_null() => ("EvtIoWrite", write, vec![queue.as_int(), request.as_int(), input]),
        RequestKind::DEVICE_CONTROL if !control.is_null() => {
            ("EvtIoDeviceControl", control, vec![queue.as_int(), request.as_int(), output, input, code.into()])
        }
        RequestKind::INTERNAL_DEVICE_CONTROL if !internal.is_null() => {
            ("EvtIoInternalDeviceControl", internal, vec![queue.as_int(), request.as_int(), output, input, code.into()])
        }
        _ if !default.is_null() => ("EvtIoDefault", default, vec![queue.as_int(), request.as_int()]),
        _ => {
            with_request(request, |request| request.delivered = false);
            return request::complete(request, NtStatus::InvalidDeviceRequest, 0);
        }
    };
    with_request(request, |request| request.handler = target.address());
    sync::locked(sync::holder_for(queue), thread::irql(), |irql| call_back(name, irql, target, &arguments));
}
