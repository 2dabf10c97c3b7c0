//! Starts, stops, drains and purges one queue or all queues of a device.

use etw_types::NtStatus;
use nt_kernel::{Kernel, call_back, kernel};
use nt_processor::cpu::thread;
use nt_processor::memory::{Code, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, PASSIVE, functions};
use nt_verifier::verify::{self, At, Breach, Kmdf, Rule};
use windows_constants::framework::{
    WdfIoQueueDispatchManual, WdfRequestStopActionPurge, WdfRequestStopActionSuspend, WdfRequestStopRequestCancelable,
};

use crate::device::with_device;
use crate::queue::deliver;
use crate::queue::{Until, with_queue};
use crate::{Handle, object, request, sync};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfIoQueueStart(queue: Handle) {
        with_queue(queue, |queue| (queue.stopped, queue.closed) = (false, false));
        deliver::notify_ready(queue);
        deliver::dispatch(queue);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueStop(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        begin_change(queue);
        with_queue(queue, |queue| queue.stopped = true);
        then(queue, Until::Idle, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueueStopSynchronously(queue: Handle) {
        begin_change(queue);
        with_queue(queue, |queue| queue.stopped = true);
        wait_for_change(queue, Until::Idle);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueDrain(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        begin_change(queue);
        with_queue(queue, |queue| queue.closed = true);
        then(queue, Until::Empty, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueueDrainSynchronously(queue: Handle) {
        begin_change(queue);
        with_queue(queue, |queue| queue.closed = true);
        wait_for_change(queue, Until::Empty);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueuePurge(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        begin_change(queue);
        purge(queue);
        then(queue, Until::Empty, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueuePurgeSynchronously(queue: Handle) {
        begin_change(queue);
        purge(queue);
        wait_for_change(queue, Until::Empty);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueStopAndPurge(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        begin_change(queue);
        stop_and_purge(queue);
        then(queue, Until::Idle, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueueStopAndPurgeSynchronously(queue: Handle) {
        begin_change(queue);
        stop_and_purge(queue);
        wait_for_change(queue, Until::Idle);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueReadyNotify(queue: Handle, callback: GuestPtr<Code>, context: GuestPtr<Opaque>) -> NtStatus {
        let accepted = with_queue(queue, |queue| {
            // A driver can set a callback only if there is none, and can remove it only while the queue is stopped.
            let accepted =
                queue.kind == WdfIoQueueDispatchManual && if callback.is_null() { queue.stopped } else { queue.ready.0.is_null() };
            if accepted {
                queue.ready = (callback, context.address());
            }
            accepted
        });
        if !accepted {
            return NtStatus::InvalidDeviceRequest;
        }
        deliver::notify_ready(queue);
        NtStatus::Success
    }
}

/// Checks that a driver may change the state of a queue now. Microsoft's framework refuses a second change while the
/// callback of the first one is outstanding (`FxIoQueue::QueuePurge` in `shared/irphandlers/io/fxioqueue.cpp`).
fn begin_change(queue: Handle) {
    if with_queue(queue, |queue| queue.changing > 0 || !queue.watchers.is_empty()) {
        let what = format_args!("changes the state of a queue while an earlier change is in progress");
        verify::find(Rule::FrameworkMisuse.named(Kmdf::ChangeQueueState), what);
    }
    if thread::callback() == Some("EvtDeviceSurpriseRemoval") {
        let what = format_args!("stops a queue in EvtDeviceSurpriseRemoval: use the self-managed I/O callbacks");
        verify::find(Rule::FrameworkMisuse.named(Kmdf::EvtSurpriseRemoveNoSuspendQueue), what);
    }
}

/// Waits until a queue reaches a state, for the driver.
fn wait_for_change(queue: Handle, until: Until) {
    with_queue(queue, |queue| queue.changing += 1);
    wait(queue, until);
    with_queue(queue, |queue| queue.changing -= 1);
}

/// Registers the callback of an operation. It runs as soon as the queue reaches the state; immediately if it already
/// has.
fn then(queue: Handle, until: Until, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
    if let Some(callback) = callback {
        with_queue(queue, |queue| queue.watchers.push((until, callback, context.address())));
        deliver::notify_watchers(queue);
    }
}

/// Waits until a queue reaches a state. If it does not soon, reports the handler of a request
/// that the driver keeps.
fn wait(queue: Handle, until: Until) {
    let rest = || with_queue(queue, |queue| until.holds(queue)).then_some(());
    wait_for(queue, rest, |_| Rule::RequestNever.into());
}

fn wait_for(queue: Handle, rest: impl Fn() -> Option<()>, breach: impl Fn(Handle) -> Breach) {
    let Kernel { config, scheduler, .. } = kernel();
    let soon = scheduler.now() + config.give_up_after();
    if scheduler.wait(Some(soon), |_| rest()).is_none() {
        let first = request::presented_in(queue).first().copied().unwrap_or_default();
        let handler = request::lookup(first, |request| request.handler);
        let what = format_args!("keeps a request, so its queue cannot stop");
        verify::find_at(breach(first), Some("EvtIo callback"), At::Code(handler), what);
    }
}

/// Presents the waiting requests of all queues of a device.
pub(crate) fn start_all(device: Handle) {
    for queue in with_device(device, |device| device.queues.clone()) {
        deliver::notify_ready(queue);
        deliver::dispatch(queue);
    }
}

/// Called when a device returns to D0: `EvtIoResume` lets the driver continue with the requests that it kept.
pub(crate) fn resume_all(device: Handle) {
    for handle in with_device(device, |device| device.queues.clone()) {
        let resume = with_queue(handle, |queue| if queue.power_managed { queue.resume } else { GuestPtr::NULL });
        for request in request::presented_in(handle).into_iter().filter(|_| !resume.is_null()) {
            if request::update(request, |request| std::mem::take(&mut request.acknowledged)) == Some(true) {
                run_callback(handle, "EvtIoResume", resume, &[handle.as_int(), request.as_int()]);
            }
        }
    }
}

/// Called when a device leaves D0: suspends the requests of its power-managed queues that the driver has. A removal does
/// the same first and purges the queues later: every exit from D0 in `shared/irphandlers/pnp/powerstatemachine.cpp` is a
/// `FxIoStopProcessingForPowerHold`.
pub(crate) fn hold_all(device: Handle) {
    for queue in queues(device, true) {
        stop(queue, WdfRequestStopActionSuspend);
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
            (request.acknowledged, request.is_stopping) = (false, !callback.is_null() && !request.cancel_reported);
            (!request.cancel.is_null(), request.cancel_reported)
        });
        if let Some((is_cancelable, false)) = state.filter(|_| !callback.is_null()) {
            let flags = action | if is_cancelable { WdfRequestStopRequestCancelable } else { 0 };
            run_callback(handle, "EvtIoStop", callback, &[handle.as_int(), request.as_int(), flags]);
        }
    }
    let rest = || {
        let kept = request::presented_in(handle);
        kept.into_iter().all(|request| request::lookup(request, |request| request.acknowledged)).then_some(())
    };
    wait_for(handle, rest, |request| {
        let is_cancelable = request::lookup(request, |request| !request.cancel.is_null());
        Rule::RequestNever.named(match (callback.is_null(), is_cancelable) {
            (true, _) => Kmdf::DrvAckIoStop,
            (false, true) => Kmdf::EvtIoStopCompleteOrStopAck,
            (false, false) => Kmdf::EvtIoStopCancel,
        })
    });
}

fn run_callback(queue: Handle, name: &'static str, callback: GuestPtr<Code>, arguments: &[u64]) {
    sync::locked(sync::holder_for(queue), PASSIVE, |irql| call_back(name, irql, callback, arguments));
}

/// Cancels all requests of a queue, which then accepts no more requests.
fn purge(handle: Handle) {
    with_queue(handle, |queue| queue.closed = true);
    cancel_all(handle);
}

/// Cancels all requests of a queue, which then presents no more requests.
fn stop_and_purge(handle: Handle) {
    with_queue(handle, |queue| queue.stopped = true);
    cancel_all(handle);
}

fn cancel_all(handle: Handle) {
    for request in with_queue(handle, |queue| queue.waiting.clone()) {
        deliver::cancel(request);
    }
    for request in request::presented_in(handle) {
        deliver::cancel(request);
    }
}

/// Returns the queues of a device that are power-managed, or those that are not.
fn queues(device: Handle, managed: bool) -> Vec<Handle> {
    let all = with_device(device, |device| device.queues.clone());
    all.into_iter().filter(|queue| with_queue(*queue, |queue| queue.power_managed) == managed).collect()
}

/// Called when a device is removed: purges its queues that are power-managed, or those that are not. The driver is asked
/// to stop the requests that it has and that could not be canceled.
pub(crate) fn purge_all(device: Handle, managed: bool) {
    for queue in queues(device, managed) {
        purge(queue);
        stop(queue, WdfRequestStopActionPurge);
    }
}

/// Cancels the requests of a file that wait in the queues of a device. Called when a client closes the file.
pub(crate) fn cancel_waiting(device: Handle, file: Handle) {
    for queue in with_device(device, |device| device.queues.clone()) {
        // The driver may delete the queue while one of its requests is canceled.
        let waiting = if object::exists(queue) { with_queue(queue, |queue| queue.waiting.clone()) } else { continue };
        for request in waiting.into_iter().filter(|request| request::lookup(*request, |request| request.file) == file) {
            deliver::cancel_waiting(queue, request);
        }
    }
}

/// Waits until no other thread presents a request of a queue, or returns from completing one: they still use the queue.
fn wait_for_others(handle: Handle) {
    let Kernel { config, scheduler, .. } = kernel();
    let me = thread::number();
    let soon = scheduler.now() + config.give_up_after();
    let is_alone =
        || with_queue(handle, |queue| queue.presenters.iter().chain(&queue.returning).all(|thread| *thread == me));
    // A callback that does not return is found elsewhere.
    let _ = scheduler.wait(Some(soon), |_| is_alone().then_some(()));
}

/// Called before a queue is deleted: purges it and removes it from its device.
pub(crate) fn end(handle: Handle) {
    purge(handle);
    wait(handle, Until::Empty);
    wait_for_others(handle);
    let device = with_queue(handle, |queue| queue.device);
    if object::exists(device) {
        with_device(device, |device| {
            device.queues.retain(|queue| *queue != handle);
            device.dispatching.retain(|(_, queue)| *queue != handle);
        });
    }
}
