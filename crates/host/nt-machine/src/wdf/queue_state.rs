//! Stopping, draining and purging queues, one or all of a device's.

use etw_types::NtStatus;

use super::device::with_device;
use super::object::{self, Data};
use super::queue::{Queue, with_queue};
use super::{Handle, cancel, deliver, request, sync};
use crate::cpu::thread;
use crate::kernel::{call_back, kernel};
use crate::memory::{Code, GuestPtr};
use crate::routine::{Call, PASSIVE};
use crate::verify::{self, At, Rule};

/// `WDF_REQUEST_STOP_ACTION_FLAGS`.
const SUSPEND: u64 = 1;
const PURGE: u64 = 2;
const CANCELABLE: u64 = 0x1000_0000;

/// When a queue has come to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The driver has none of its requests.
    Idle,
    /// And none waits.
    Empty,
}

impl Until {
    fn holds(self, queue: &Queue) -> bool {
        queue.presented == 0 && (self == Self::Idle || queue.waiting.is_empty())
    }
}

/// Remembers the callback of an operation: it runs as soon as the queue has come to rest, maybe at once.
pub(super) fn then(call: &Call, until: Until) {
    let (queue, callback, context) = (call.handle(1), call.ptr::<Code>(2), call.arg(3));
    if !callback.is_null() {
        with_queue(queue, |queue| queue.watchers.push((until, callback, context)));
        tell_watchers(queue);
    }
}

/// Runs the callbacks of operations that are over.
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

/// Waits until a queue has come to rest. Where that never comes, the request that is in the way is named.
pub(super) fn wait(queue: Handle, until: Until) {
    wait_for(queue, || with_queue(queue, |queue| until.holds(queue)).then_some(()));
}

fn wait_for(queue: Handle, rest: impl Fn() -> Option<()>) {
    let soon = kernel().scheduler.now() + request::PATIENCE;
    if kernel().scheduler.wait(Some(soon), |_| rest()).is_none() {
        let first = request::presented_in(queue).first().copied().unwrap_or_default();
        let handler = request::lookup(first, |request| request.handler);
        let what = format_args!("a queue comes to no rest: the driver keeps a request");
        verify::find_at(Rule::RequestNever, Some("EvtIo callback"), At::Code(handler), what);
    }
}

/// Presents what waits in all queues of a device.
pub(super) fn start_all(device: Handle) {
    for queue in with_device(device, |device| device.queues.clone()) {
        deliver::notify_ready(queue);
        deliver::dispatch(queue);
    }
}

/// The device comes back to D0: the driver may go on with requests that it kept.
pub(super) fn resume_all(device: Handle) {
    for handle in with_device(device, |device| device.queues.clone()) {
        let resume = with_queue(handle, |queue| if queue.power_managed { queue.resume } else { GuestPtr::NULL });
        for request in request::presented_in(handle).into_iter().filter(|_| !resume.is_null()) {
            if request::lookup(request, |request| request.acknowledged) {
                request::with_request(request, |request| request.acknowledged = false);
                tell(handle, "EvtIoResume", resume, &[handle.as_int(), request.as_int()]);
            }
        }
    }
}

/// The driver is told about requests that it has, and must answer for each: those of power-managed queues when the device
/// leaves D0, those of all others when it goes for good.
pub(super) fn stop_all(device: Handle, managed: bool, for_good: bool) {
    for handle in queues(device, managed) {
        let stop = with_queue(handle, |queue| queue.stop);
        if !managed && stop.is_null() {
            // They are canceled next, which the driver may have prepared for.
            continue;
        }
        for request in request::presented_in(handle).into_iter().filter(|_| !stop.is_null()) {
            let action = if for_good { PURGE } else { SUSPEND };
            let cancelable = if request::lookup(request, |request| !request.cancel.is_null()) { CANCELABLE } else { 0 };
            tell(handle, "EvtIoStop", stop, &[handle.as_int(), request.as_int(), action | cancelable]);
        }
        wait_for(handle, || {
            let kept = request::presented_in(handle);
            kept.into_iter().all(|request| request::lookup(request, |request| request.acknowledged)).then_some(())
        });
    }
}

fn tell(queue: Handle, name: &'static str, callback: GuestPtr<Code>, arguments: &[u64]) {
    sync::locked(sync::holder_for(queue), PASSIVE, |irql| call_back(name, irql, callback, arguments));
}

/// Ends what waits in a queue, and accepts nothing more.
pub(super) fn purge(handle: Handle) {
    with_queue(handle, |queue| queue.closed = true);
    cancel_everything(handle);
}

/// Ends what waits in a queue, and presents nothing more.
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

/// A request left the queue because it was canceled: a driver that has seen it before is told, any other has it ended.
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

/// The queues of a device that are power-managed, or those that are not.
fn queues(device: Handle, managed: bool) -> Vec<Handle> {
    let all = with_device(device, |device| device.queues.clone());
    all.into_iter().filter(|queue| with_queue(*queue, |queue| queue.power_managed) == managed).collect()
}

/// Ends what waits in queues of a device.
pub(super) fn purge_all(device: Handle, managed: bool) {
    for queue in queues(device, managed) {
        purge(queue);
        wait(queue, Until::Empty);
    }
}

/// An object is about to be deleted: if it is a queue, its requests end.
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
