//! Starting, stopping, draining and purging queues, one or all of a device's.

use super::device::with_device;
use super::queue::{Queue, dispatch, with_queue};
use super::{Handle, request, status};
use crate::kernel::routine::{Call, PASSIVE};
use crate::kernel::{call_back, kernel};

/// Calls the completion callback of an operation: it is complete as soon as the driver has nothing.
pub(super) fn then(call: &Call) -> u64 {
    let (callback, context) = (call.arg(2), call.arg(3));
    if callback != 0 {
        drained(call.arg(1));
        call_back("queue state callback", PASSIVE, callback, &[call.arg(1), context]);
    }
    0
}

/// Waits until the driver has no request of the queue.
pub(super) fn drained(queue: Handle) {
    let soon = kernel().scheduler.now() + request::PATIENCE;
    kernel().scheduler.wait(Some(soon), |_| with_queue(queue, |queue| queue.presented == 0).then_some(()));
}

/// Presents what waits in all queues of a device.
pub(super) fn dispatch_all(device: Handle) {
    for queue in with_device(device, |device| device.queues.clone()) {
        dispatch(queue);
    }
}

/// The device leaves D0: the driver is told about requests that it has.
pub(super) fn stop_all(device: Handle) {
    const SUSPEND: u64 = 1;
    for handle in with_device(device, |device| device.queues.clone()) {
        let (stop, managed) = with_queue(handle, |queue| (queue.stop, queue.power_managed));
        if !managed {
            continue;
        }
        for request in request::presented_in(handle) {
            if stop != 0 {
                call_back("EvtIoStop", PASSIVE, stop, &[handle, request, SUSPEND]);
            }
        }
        drained(handle);
    }
}

/// Ends what waits in a queue, and accepts nothing more.
pub(super) fn purge(handle: Handle) {
    let (waiting, canceled) = with_queue(handle, |queue| {
        queue.purged = true;
        (std::mem::take(&mut queue.waiting), queue.canceled)
    });
    for request in waiting {
        with_queue(handle, Queue::count_presented);
        if canceled == 0 {
            request::complete(request, status::CANCELLED, 0);
        } else {
            call_back("EvtIoCanceledOnQueue", PASSIVE, canceled, &[handle, request]);
        }
    }
    for request in request::presented_in(handle) {
        request::cancel(request);
    }
}

/// Ends what waits in all queues of a device.
pub(super) fn purge_all(device: Handle) {
    for queue in with_device(device, |device| device.queues.clone()) {
        purge(queue);
        drained(queue);
    }
}
