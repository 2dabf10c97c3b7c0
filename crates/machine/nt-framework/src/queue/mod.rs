//! Queues: their state. [`crate::queue::deliver`] presents requests to the driver, [`crate::queue::state`] starts and stops queues.

pub(crate) mod create;
pub(crate) mod deliver;
pub(crate) mod dispatch;
pub(crate) mod irp_dispatch;
pub(crate) mod preprocess;
pub(crate) mod retrieve;
pub(crate) mod state;

use std::collections::VecDeque;

use etw_types::NtStatus;
use nt_kernel::RequestKind;
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, NO_RESOURCES, Out, functions};
use windows_constants::framework::WdfIoQueueDispatchManual;

use crate::device::with_device;
use crate::state::with;
use crate::{Handle, object};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfIoQueueGetDevice(queue: Handle) -> Handle {
        with_queue(queue, |queue| queue.device)
    }

    /// Checks the arguments as Microsoft's framework does (core/fxdeviceapi.cpp, irphandlers/io/fxpkgio.cpp).
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfDeviceConfigureRequestDispatching(device: Handle, queue: Handle, kind: i32) -> NtStatus {
        configure_dispatching(device, queue, kind)
    }

    #[irql(DISPATCH)]
    fn WdfIoQueueGetState(queue: Handle, waiting: Out<u32>, presented: Out<u32>) -> Result<i32, Fault> {
        get_state(queue, waiting, presented)
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
    /// The driver gets reads and writes of no bytes. Otherwise the framework completes them.
    pub(super) allows_empty: bool,
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
    /// Threads on which a request of this queue was just completed or passed on.
    pub(super) returning: Vec<u32>,
    /// The queue accepts requests but does not present them.
    pub(super) stopped: bool,
    /// The queue does not accept requests.
    pub(super) closed: bool,
    /// The queue is power-managed and has requests, so its device is in use.
    pub(super) uses_device: bool,
    /// The number of threads that wait until the driver's change of the queue's state is complete.
    pub(super) changing: u32,
    /// The callback of `WdfIoQueueReadyNotify`, and its context.
    pub(super) ready: (GuestPtr<Code>, u64),
    /// The callbacks that run when the queue reaches a state: the state, the callback, its context.
    pub(super) watchers: Vec<(Until, GuestPtr<Code>, u64)>,
}

impl Queue {
    /// Returns whether the driver can get requests of a kind from the queue. It takes requests out of a manual queue
    /// itself.
    pub(super) fn takes(&self, kind: RequestKind) -> bool {
        let [default, read, write, control, internal] = self.handlers.map(|handler| !handler.is_null());
        let handles = match kind {
            RequestKind::READ => read,
            RequestKind::WRITE => write,
            RequestKind::DEVICE_CONTROL => control,
            RequestKind::INTERNAL_DEVICE_CONTROL => internal,
            _ => false,
        };
        self.kind == WdfIoQueueDispatchManual || default || handles
    }
}

/// The state that an operation on a queue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The driver has no requests of the queue.
    Idle,
    /// The driver has no requests of the queue, and none waits in it.
    Empty,
}

impl Until {
    pub(super) fn holds(self, queue: &Queue) -> bool {
        queue.presented == 0 && (self == Self::Idle || queue.waiting.is_empty())
    }
}

/// Reads or changes a queue.
pub(super) fn with_queue<R>(handle: Handle, body: impl FnOnce(&mut Queue) -> R) -> R {
    object::part(handle, body)
}

/// Returns `WDF_IO_QUEUE_STATE`: 1 if the queue accepts requests, 2 if it dispatches them, 4 if none waits, 8 if the
/// driver has none, 16 if power management holds the queue.
fn get_state(queue: Handle, place_of_waiting: Out<u32>, place_of_presented: Out<u32>) -> Result<i32, Fault> {
    let held = !is_powered(queue);
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

fn configure_dispatching(device: Handle, queue: Handle, kind: i32) -> NtStatus {
    let kinds = [
        RequestKind::CREATE,
        RequestKind::READ,
        RequestKind::WRITE,
        RequestKind::DEVICE_CONTROL,
        RequestKind::INTERNAL_DEVICE_CONTROL,
    ];
    let Some(kind) = kinds.into_iter().find(|known| i32::from(known.as_int()) == kind) else {
        return NtStatus::InvalidParameter;
    };
    let (owner, takes) = with_queue(queue, |queue| (queue.device, queue.takes(kind)));
    with_device(device, |state| {
        // A control device is in D0 from the end of its initialisation on.
        let is_late = if state.init.control { state.in_d0 } else { state.resources != [Handle::NULL; 2] };
        if owner != device || !takes || state.default_queue == queue {
            NtStatus::InvalidDeviceRequest
        } else if is_late {
            NtStatus::InvalidDeviceState
        } else if state.dispatching.iter().any(|(known, _)| *known == kind) {
            NtStatus::WdfBusy
        } else {
            state.dispatching.push((kind, queue));
            NtStatus::Success
        }
    })
}

/// Removes a request from the queue in which it waits. Returns whether it was there.
pub(super) fn withdraw(handle: Handle, request: Handle) -> bool {
    with(|framework| {
        framework.get_mut(handle).is_some_and(|queue: &mut Queue| {
            // The request is usually the first one.
            let position = queue.waiting.iter().position(|waiting| *waiting == request);
            position.and_then(|position| queue.waiting.remove(position)).is_some()
        })
    })
}

/// Returns whether power management allows a queue to deliver requests.
pub(super) fn is_powered(handle: Handle) -> bool {
    let (device, managed) = with_queue(handle, |queue| (queue.device, queue.power_managed));
    !managed || object::exists(device) && with_device(device, |device| device.in_d0)
}

/// Returns whether an object is a queue to which its device gives requests by itself. Such a queue stays as long as the
/// device.
pub(super) fn is_fed(handle: Handle) -> bool {
    let device = object::lookup(handle, |object| object.get::<Queue>().map(|queue| queue.device));
    device.filter(|device| object::exists(*device)).is_some_and(|device| {
        with_device(device, |device| {
            device.default_queue == handle || device.dispatching.iter().any(|(_, queue)| *queue == handle)
        })
    })
}
