//! Queues: their state and their functions. [`super::deliver`] presents requests to the driver.

use etw_types::NtStatus;

use std::collections::VecDeque;

use super::device::with_device;
use super::object::{self, Data, create, created};
use super::queue_state::{self, Until};
use super::{Handle, deliver, structures, with};
use crate::kernel::RequestKind;
use crate::layout::{WDF_IO_QUEUE_CONFIG, WDF_OBJECT_ATTRIBUTES};
use crate::memory::{Code, Fault, GuestPtr, Opaque};
use crate::routine::{Call, DISPATCH, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, functions};
use crate::verify::{self, Rule};

/// `WDF_IO_QUEUE_DISPATCH_TYPE`.
const SEQUENTIAL: u32 = 1;
pub(super) const PARALLEL: u32 = 2;
pub(super) const MANUAL: u32 = 3;

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfIoQueueCreate(
        &call,
        device: Handle,
        config: GuestPtr<WDF_IO_QUEUE_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created(create_queue(call, device, config, attributes), place)
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueGetDevice(queue: Handle) -> Handle {
        with_queue(queue, |queue| queue.device)
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueGetState(queue: Handle, waiting: Out<u32>, presented: Out<u32>) -> Result<i32, Fault> {
        get_state(queue, waiting, presented)
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueStart(queue: Handle) {
        with_queue(queue, |queue| (queue.stopped, queue.closed) = (false, false));
        deliver::notify_ready(queue);
        deliver::dispatch(queue);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueStop(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        with_queue(queue, |queue| queue.stopped = true);
        queue_state::then(queue, Until::Idle, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueueStopSynchronously(queue: Handle) {
        with_queue(queue, |queue| queue.stopped = true);
        queue_state::wait(queue, Until::Idle);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueDrain(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        with_queue(queue, |queue| queue.closed = true);
        queue_state::then(queue, Until::Empty, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueueDrainSynchronously(queue: Handle) {
        with_queue(queue, |queue| queue.closed = true);
        queue_state::wait(queue, Until::Empty);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueuePurge(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        queue_state::purge(queue);
        queue_state::then(queue, Until::Empty, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueuePurgeSynchronously(queue: Handle) {
        queue_state::purge(queue);
        queue_state::wait(queue, Until::Empty);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueStopAndPurge(queue: Handle, callback: Option<GuestPtr<Code>>, context: GuestPtr<Opaque>) {
        queue_state::stop_and_purge(queue);
        queue_state::then(queue, Until::Idle, callback, context);
    }

    #[irql(PASSIVE)]
    fn WdfIoQueueStopAndPurgeSynchronously(queue: Handle) {
        queue_state::stop_and_purge(queue);
        queue_state::wait(queue, Until::Idle);
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueReadyNotify(queue: Handle, callback: GuestPtr<Code>, context: GuestPtr<Opaque>) -> NtStatus {
        let accepted = with_queue(queue, |queue| {
            // A driver can set a callback only if there is none, and can remove it only while the queue is stopped.
            let accepted =
                queue.kind == MANUAL && if callback.is_null() { queue.stopped } else { queue.ready.0.is_null() };
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

/// A queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub(super) device: Handle,
    pub(super) kind: u32,
    /// The maximum number of requests that the driver may have at the same time.
    pub(super) limit: u32,
    pub(super) power_managed: bool,
    /// Callbacks: default, read, write, control, internal control.
    pub(super) handlers: [GuestPtr<Code>; 5],
    pub(super) stop: GuestPtr<Code>,
    pub(super) resume: GuestPtr<Code>,
    pub(super) canceled: GuestPtr<Code>,
    pub(super) waiting: VecDeque<Handle>,
    /// The number of requests that the driver has.
    pub(super) presented: u32,
    /// Threads that are presenting requests of this queue.
    pub(super) presenters: Vec<u32>,
    /// The queue accepts requests but does not present them.
    pub(super) stopped: bool,
    /// The queue does not accept requests.
    pub(super) closed: bool,
    /// The callback of `WdfIoQueueReadyNotify`, and its context.
    pub(super) ready: (GuestPtr<Code>, u64),
    /// The callbacks that run when the queue reaches a state: the state, the callback, its context.
    pub(super) watchers: Vec<(Until, GuestPtr<Code>, u64)>,
}

/// Reads or changes a queue.
pub(super) fn with_queue<R>(handle: Handle, body: impl FnOnce(&mut Queue) -> R) -> R {
    object::part(handle, |data| match data {
        Data::Queue(queue) => Some(body(queue)),
        _ => None,
    })
}

/// The size of `WDF_IO_QUEUE_CONFIG` before version 1.9.
const FIRST_CONFIG: u32 = 80;

fn create_queue(
    call: &Call,
    device: Handle,
    config: GuestPtr<WDF_IO_QUEUE_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
) -> Outcome<Handle> {
    let size = structures::IO_QUEUE_CONFIG.check(config)?;
    let config = config.read()?;
    let kind = config.DispatchType;
    if !(SEQUENTIAL..=MANUAL).contains(&kind) {
        verify::find(Rule::BadArgument, format_args!("invalid dispatch type {kind}: expected 1 to 3"));
        return fail(NtStatus::InvalidParameter);
    }
    // As in `FxIoQueue::Initialize` (`shared/irphandlers/io/fxioqueue.cpp`).
    match (kind, config.EvtIo.iter().all(|callback| callback.is_null())) {
        (MANUAL, false) => {
            verify::find(Rule::BadArgument, format_args!("a manual queue has callbacks for requests: set none"));
            return fail(NtStatus::InvalidParameter);
        }
        (SEQUENTIAL | PARALLEL, true) => {
            let what = format_args!("the queue has no callback for requests: set EvtIoDefault or another one");
            verify::find(Rule::BadArgument, what);
            return fail(NtStatus::WdfNoCallback);
        }
        _ => {}
    }
    let control = with_device(device, |device| device.init.control);
    // Version 1.9 added the number of presented requests.
    let presented = (size > FIRST_CONFIG).then_some(config.NumberOfPresentedRequests);
    let queue = Queue {
        device,
        kind,
        limit: limit(kind, presented)?,
        power_managed: match config.PowerManaged {
            0 => false,
            1 => true,
            _ => !control,
        },
        handlers: config.EvtIo,
        stop: config.EvtIoStop,
        resume: config.EvtIoResume,
        canceled: config.EvtIoCanceledOnQueue,
        ..Queue::default()
    };
    let is_default = config.DefaultQueue != 0;
    if is_default && with_device(device, |device| device.default_queue).non_null().is_some() {
        verify::find(Rule::FrameworkMisuse, format_args!("the device already has a default queue"));
        return fail(NtStatus::Unsuccessful);
    }
    let handle = create(call, attributes, Some(device), Data::Queue(Box::new(queue)))?;
    with_device(device, |device| {
        device.queues.push(handle);
        if is_default {
            device.default_queue = handle;
        }
    });
    Ok(handle)
}

/// Returns how many requests of a queue the driver may have at the same time. `presented` is the driver's
/// `NumberOfPresentedRequests`, which is checked as by `FxIoQueue::Initialize` in
/// `shared/irphandlers/io/fxioqueue.cpp`.
fn limit(kind: u32, presented: Option<u32>) -> Outcome<u32> {
    match (kind, presented) {
        (PARALLEL, Some(limit)) => {
            if limit == 0 {
                let what = "a parallel queue with NumberOfPresentedRequests = 0 never presents a request: set it to -1, \
                            as WDF_IO_QUEUE_CONFIG_INIT does";
                verify::find(Rule::FrameworkMisuse, format_args!("{what}"));
            }
            done(limit)
        }
        (_, Some(limit @ 1..)) => {
            let what = format_args!("NumberOfPresentedRequests is {limit}, but the queue is not parallel: set it to 0");
            verify::find(Rule::BadArgument, what);
            fail(NtStatus::InvalidParameter)
        }
        (SEQUENTIAL, _) => done(1),
        // A manual queue, or a parallel one of a driver before 1.9.
        _ => done(u32::MAX),
    }
}

/// Returns `WDF_IO_QUEUE_STATE`: 1 if the queue accepts requests, 2 if it dispatches them, 4 if none waits, 8 if the
/// driver has none, 16 if power management holds the queue.
fn get_state(queue: Handle, place_of_waiting: Out<u32>, place_of_presented: Out<u32>) -> Result<i32, Fault> {
    let held = !deliver::is_powered(queue);
    let (waiting, presented, stopped, closed) =
        with_queue(queue, |queue| (queue.waiting.len() as u32, queue.presented, queue.stopped, queue.closed));
    place_of_waiting.set_if_wanted(waiting)?;
    place_of_presented.set_if_wanted(presented)?;
    let bit = |set: bool, bit: i32| if set { bit } else { 0 };
    Ok(bit(!closed, 1) | bit(!stopped, 2) | bit(waiting == 0, 4) | bit(presented == 0, 8) | bit(held, 16))
}

/// Returns the queue for requests of a kind, or NULL.
pub(super) fn for_kind(device: Handle, kind: RequestKind) -> Handle {
    with_device(device, |device| {
        let special = device.dispatching.iter().find(|(known, _)| *known == kind);
        special.map_or(device.default_queue, |(_, queue)| *queue)
    })
}

/// Removes a request from the queue in which it waits. Returns whether it was there.
pub(super) fn withdraw(handle: Handle, request: Handle) -> bool {
    with(|framework| match framework.objects.get_mut(&handle).map(|object| &mut object.data) {
        Some(Data::Queue(queue)) => {
            // The request is usually the first one.
            let position = queue.waiting.iter().position(|waiting| *waiting == request);
            position.and_then(|position| queue.waiting.remove(position)).is_some()
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{MANUAL, PARALLEL, SEQUENTIAL, limit};

    #[test]
    fn a_driver_before_1_9_has_no_limit_for_parallel_queues() {
        let cases = [
            ((PARALLEL, None), u32::MAX),
            ((PARALLEL, Some(2)), 2),
            ((PARALLEL, Some(u32::MAX)), u32::MAX),
            ((SEQUENTIAL, None), 1),
            ((SEQUENTIAL, Some(0)), 1),
            ((MANUAL, Some(0)), u32::MAX),
        ];
        for ((kind, presented), expected) in cases {
            assert!(matches!(limit(kind, presented), Ok(limit) if limit == expected), "{kind} {presented:?}");
        }
    }
}
