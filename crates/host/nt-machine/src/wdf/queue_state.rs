//! Stops, drains and purges one queue or all queues of a device.

use etw_types::NtStatus;

use super::device::with_device;
use super::object::{self, Data};
use super::queue::{Queue, with_queue};
use super::{Handle, cancel, deliver, request, sync};
use crate::cpu::thread;
use crate::kernel::{call_back, kernel};
use crate::memory::{Code, GuestPtr, Opaque};
use crate::routine::PASSIVE;
use crate::verify::{self, At, Rule};

/// `WDF_REQUEST_STOP_ACTION_FLAGS`.
const SUSPEND: u64 = 1;
const PURGE: u64 = 2;
const CANCELABLE: u64 = 0x1000_0000;

/// The state that an operation on a queue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The driver has no requests of the queue.
    Idle,
    /// The driver has no requests of the queue, and none waits in it.
    Empty,
}

impl Until {
    fn holds(self, queue: &Queue) -> bool {
        queue.presented == 0 && (self == Self::Idle || queue.waiting.is_empty())
    }
}

/// Registers the callback of an operation. It runs as soon as the queue reaches the state; immediately if it already
/// has.
pub(super) fn then(queue: Handle, until: Until, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
    if let Some(callback) = callback {
        with_queue(queue, |queue| queue.watchers.push((until, callback, context.address())));
        tell_watchers(queue);
    }
}

/// Runs the callbacks of the operations that have finished.
pub(super) fn tell_watchers(handle: Handle) {
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

/// Waits until a queue reaches a state. If it does not within [`request::PATIENCE`], reports the handler of a request
/// that the driver keeps.
pub(super) fn wait(queue: Handle, until: Until) {
    wait_for(queue, || with_queue(queue, |queue| until.holds(queue)).then_some(()));
}

fn wait_for(queue: Handle, rest: impl Fn() -> Option<()>) {
    let soon = kernel().scheduler.now() + request::PATIENCE;
    if kernel().scheduler.wait(Some(soon), |_| rest()).is_none() {
        let first = request::presented_in(queue).first().copied().unwrap_or_default();
        let handler = request::lookup(first, |request| request.handler);
        let what = format_args!("a queue cannot stop: the driver keeps one of its requests");
        verify::find_at(Rule::RequestNever, Some("EvtIo callback"), At::Code(handler), what);
    }
}

/// Presents the waiting requests of all queues of a device.
pub(super) fn start_all(device: Handle) {
    for queue in with_device(device, |device| device.queues.clone()) {
        deliver::notify_ready(queue);
        deliver::dispatch(queue);
    }
}

/// Called when a device returns to D0: `EvtIoResume` lets the driver continue with the requests that it kept.
pub(super) fn resume_all(device: Handle) {
    for handle in with_device(device, |device| device.queues.clone()) {
        let resume = with_queue(handle, |queue| if queue.power_managed { queue.resume } else { GuestPtr::NULL });
        for request in request::presented_in(handle).into_iter().filter(|_| !resume.is_null()) {
            if request::update(request, |request| std::mem::take(&mut request.acknowledged)) == Some(true) {
                tell(handle, "EvtIoResume", resume, &[handle.as_int(), request.as_int()]);
            }
        }
    }
}

/// Called when a device leaves D0: suspends the requests of its power-managed queues that the driver has. A removal does
/// the same first and purges the queues later: every exit from D0 in `shared/irphandlers/pnp/powerstatemachine.cpp` is a
/// `FxIoStopProcessingForPowerHold`.
pub(super) fn hold_all(device: Handle) {
    for queue in queues(device, true) {
        stop(queue, SUSPEND);
    }
}

/// Calls `EvtIoStop` for each request that the driver has, and waits until the driver completes, requeues or
/// acknowledges each. Without `EvtIoStop`, waits until the driver completes them. As in `FxIoQueue::ProcessPowerEvents`
/// (`shared/irphandlers/io/fxioqueue.cpp`), a request whose `EvtRequestCancel` has been called is not stopped.
fn stop(handle: Handle, action: u64) {
    let callback = with_queue(handle, |queue| queue.stop);
    for request in request::presented_in(handle) {
        // Another thread, or the callback for an earlier request, may have completed this one.
        let state = request::update(request, |request| {
            request.acknowledged = false;
            (!request.cancel.is_null(), request.cancel_told)
        });
        if let Some((is_cancelable, false)) = state.filter(|_| !callback.is_null()) {
            let flags = action | if is_cancelable { CANCELABLE } else { 0 };
            tell(handle, "EvtIoStop", callback, &[handle.as_int(), request.as_int(), flags]);
        }
    }
    wait_for(handle, || {
        let kept = request::presented_in(handle);
        kept.into_iter().all(|request| request::lookup(request, |request| request.acknowledged)).then_some(())
    });
}

fn tell(queue: Handle, name: &'static str, callback: GuestPtr<Code>, arguments: &[u64]) {
    sync::locked(sync::holder_for(queue), PASSIVE, |irql| call_back(name, irql, callback, arguments));
}

/// Cancels all requests of a queue, which then accepts no more requests.
pub(super) fn purge(handle: Handle) {
    with_queue(handle, |queue| queue.closed = true);
    cancel_everything(handle);
}

/// Cancels all requests of a queue, which then presents no more requests.
pub(super) fn stop_and_purge(handle: Handle) {
    with_queue(handle, |queue| queue.stopped = true);
    cancel_everything(handle);
}

fn cancel_everything(handle: Handle) {
    for request in with_queue(handle, |queue| queue.waiting.clone()) {
        cancel::cancel(request);
    }
    for request in request::presented_in(handle) {
        cancel::cancel(request);
    }
}

/// Handles a request that was removed from its queue because it was canceled. If the driver had the request before and
/// has set `EvtIoCanceledOnQueue`, calls that; otherwise completes the request.
pub(super) fn canceled(queue: Handle, request: Handle) {
    let callback = with_queue(queue, |queue| {
        queue.presented += 1;
        queue.canceled
    });
    let delivered = request::with_request(request, |request| {
        request.presented = true;
        request.delivered
    });
    if !callback.is_null() && delivered {
        let arguments = [queue.as_int(), request.as_int()];
        sync::locked(sync::holder_for(queue), thread::irql(), |irql| {
            call_back("EvtIoCanceledOnQueue", irql, callback, &arguments)
        });
    } else {
        request::complete(request, NtStatus::Cancelled, 0);
    }
}

/// Returns the queues of a device that are power-managed, or those that are not.
fn queues(device: Handle, managed: bool) -> Vec<Handle> {
    let all = with_device(device, |device| device.queues.clone());
    all.into_iter().filter(|queue| with_queue(*queue, |queue| queue.power_managed) == managed).collect()
}

/// Called when a device is removed: purges its queues that are power-managed, or those that are not. The driver is asked
/// to stop the requests that it has and that could not be canceled.
pub(super) fn purge_all(device: Handle, managed: bool) {
    for queue in queues(device, managed) {
        purge(queue);
        stop(queue, PURGE);
    }
}

/// Called before an object is deleted. If it is a queue, purges it and removes it from its device.
pub(super) fn purge_before_delete(handle: Handle) {
    if object::lookup(handle, |object| matches!(object.data, Data::Queue(_))) {
        purge(handle);
        wait(handle, Until::Empty);
        let device = with_queue(handle, |queue| queue.device);
        if object::exists(device) {
            with_device(device, |device| {
                device.queues.retain(|queue| *queue != handle);
                device.dispatching.retain(|(_, queue)| *queue != handle);
            });
        }
    }
}
