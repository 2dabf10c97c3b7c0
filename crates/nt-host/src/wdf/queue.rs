//! Queues: which request is presented to the driver, and when.

use std::collections::VecDeque;

use super::device::with_device;
use super::object::{self, Data, change, create, created};
use super::queue_state::{drained, purge, then};
use super::request::{self, with_request};
use super::{Handle, status, with};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{call_back, kernel};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `WDF_IO_QUEUE_DISPATCH_TYPE`.
const SEQUENTIAL: u32 = 1;
const MANUAL: u32 = 3;
const CONFIG_SIZE: u32 = 96;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfIoQueueCreate", DISPATCH, create_queue).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfIoQueueGetDevice", DISPATCH, |call| with_queue(call.arg(1), |queue| queue.device)),
    routine("WdfIoQueueGetState", DISPATCH, get_state),
    routine("WdfIoQueueStart", DISPATCH, |call| {
        with_queue(call.arg(1), |queue| (queue.stopped, queue.purged) = (false, false));
        dispatch(call.arg(1));
        0
    }),
    routine("WdfIoQueueStop", DISPATCH, |call| {
        with_queue(call.arg(1), |queue| queue.stopped = true);
        then(call)
    }),
    routine("WdfIoQueueStopSynchronously", PASSIVE, |call| {
        with_queue(call.arg(1), |queue| queue.stopped = true);
        drained(call.arg(1));
        0
    }),
    routine("WdfIoQueueDrain", DISPATCH, |call| {
        with_queue(call.arg(1), |queue| queue.purged = true);
        then(call)
    }),
    routine("WdfIoQueueDrainSynchronously", PASSIVE, |call| {
        with_queue(call.arg(1), |queue| queue.purged = true);
        drained(call.arg(1));
        0
    }),
    routine("WdfIoQueuePurge", DISPATCH, |call| {
        purge(call.arg(1));
        then(call)
    }),
    routine("WdfIoQueuePurgeSynchronously", PASSIVE, |call| {
        purge(call.arg(1));
        drained(call.arg(1));
        0
    }),
    routine("WdfIoQueueRetrieveNextRequest", DISPATCH, |call| {
        let next = with_queue(call.arg(1), |queue| {
            let next = queue.waiting.pop_front()?;
            queue.presented += 1;
            Some(next)
        });
        match next {
            Some(request) => {
                guest::write(call.arg(2), request);
                status::SUCCESS
            }
            None => status::NO_MORE_ENTRIES,
        }
    }),
    routine("WdfIoQueueReadyNotify", DISPATCH, |call| {
        let (callback, context) = (call.arg(2), call.arg(3));
        with_queue(call.arg(1), |queue| queue.ready = (callback, context));
        status::SUCCESS
    }),
];

/// A queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    device: Handle,
    kind: u32,
    /// How many requests the driver may have at once.
    limit: u32,
    pub(super) power_managed: bool,
    /// Callbacks: default, read, write, control, internal control.
    handlers: [u64; 5],
    pub(super) stop: u64,
    pub(super) canceled: u64,
    pub(super) waiting: VecDeque<Handle>,
    /// Requests that the driver has.
    pub(super) presented: u32,
    /// A thread is presenting requests of this queue.
    dispatching: bool,
    stopped: bool,
    pub(super) purged: bool,
    ready: (u64, u64),
}

impl Queue {
    /// The driver, or the framework for it, has one more request.
    pub(super) const fn count_presented(&mut self) {
        self.presented += 1;
    }
}

/// Looks at or changes a queue.
pub(super) fn with_queue<R>(handle: Handle, body: impl FnOnce(&mut Queue) -> R) -> R {
    let result = change(handle, |object| match &mut object.data {
        Data::Queue(queue) => Some(body(queue)),
        _ => None,
    });
    result.unwrap_or_else(|| object::violation(handle))
}

/// Arguments: device, configuration, attributes, place for the handle.
fn create_queue(call: &Call) -> u64 {
    let (device, config) = (call.arg(1), call.arg(2));
    let size: u32 = guest::read(config);
    if size != CONFIG_SIZE {
        verify::find(Rule::BadArgument, format_args!("a queue configuration of {size} bytes"));
        return status::INFO_LENGTH_MISMATCH.into();
    }
    let kind: u32 = guest::read(config + 4);
    let control = with_device(device, |device| device.init.control);
    let power_managed = match guest::read::<u32>(config + 8) {
        0 => false,
        1 => true,
        _ => !control,
    };
    let presented: u32 = guest::read(config + 80);
    let queue = Queue {
        device,
        kind,
        limit: match (kind, presented) {
            (SEQUENTIAL, _) => 1,
            (_, 0) => u32::MAX,
            (_, limit) => limit,
        },
        power_managed,
        handlers: [16, 24, 32, 40, 48].map(|offset| guest::read(config + offset)),
        stop: guest::read(config + 56),
        canceled: guest::read(config + 72),
        ..Queue::default()
    };
    let is_default = guest::read::<u8>(config + 13) != 0;
    let result = create(call, call.arg(3), Some(device), Data::Queue(Box::new(queue)));
    if let Ok(handle) = result {
        with_device(device, |device| {
            device.queues.push(handle);
            if is_default {
                device.default_queue = handle;
            }
        });
    }
    created(result, call.arg(4))
}

fn get_state(call: &Call) -> u64 {
    let (waiting, presented, stopped, purged) =
        with_queue(call.arg(1), |queue| (queue.waiting.len() as u32, queue.presented, queue.stopped, queue.purged));
    guest::write_if(call.arg(2), waiting);
    guest::write_if(call.arg(3), presented);
    let bit = |set: bool, bit: u64| if set { bit } else { 0 };
    bit(!purged, 1) | bit(!stopped, 2) | bit(waiting == 0, 4) | bit(presented == 0, 8)
}

/// Adds a request and presents what can be presented. Whether the queue took it.
pub(super) fn add(queue: Handle, request: Handle) -> bool {
    // Before it is in the queue: there another thread may take it and end it.
    let before = with_request(request, |request| std::mem::replace(&mut request.queue, queue));
    let taken = with_queue(queue, |queue| {
        if !queue.purged {
            queue.waiting.push_back(request);
        }
        !queue.purged
    });
    if taken {
        dispatch(queue);
    } else {
        with_request(request, |request| request.queue = before);
    }
    taken
}

/// A request that the driver had is with it no more.
pub(super) fn returned(queue: Handle) {
    if !object::exists(queue) {
        return;
    }
    with_queue(queue, |queue| queue.presented = queue.presented.saturating_sub(1));
    kernel().scheduler.change(|_| ());
    dispatch(queue);
}

/// What to do next with a queue.
enum Step {
    Present(Handle),
    Notify(u64, u64),
    Done,
}

/// Presents requests while the queue allows it. Another thread that does so already does it for this one too.
pub(super) fn dispatch(handle: Handle) {
    let device = with_queue(handle, |queue| queue.device);
    let in_d0 = object::exists(device) && with_device(device, |device| device.in_d0);
    if with_queue(handle, |queue| std::mem::replace(&mut queue.dispatching, true)) {
        return;
    }
    loop {
        let step = next(handle, in_d0);
        match step {
            Step::Present(request) => present(handle, request),
            Step::Notify(callback, context) => {
                call_back("EvtIoQueueState", PASSIVE, callback, &[handle, context]);
                with_queue(handle, |queue| queue.dispatching = false);
                return;
            }
            Step::Done => return,
        }
        if !object::exists(handle) {
            return;
        }
    }
}

fn next(handle: Handle, in_d0: bool) -> Step {
    with_queue(handle, |queue| {
        let open = !queue.stopped && (in_d0 || !queue.power_managed);
        if queue.kind == MANUAL {
            if queue.ready.0 != 0 && !queue.waiting.is_empty() {
                return Step::Notify(queue.ready.0, queue.ready.1);
            }
        } else if open
            && queue.presented < queue.limit
            && let Some(request) = queue.waiting.pop_front()
        {
            queue.presented += 1;
            return Step::Present(request);
        }
        queue.dispatching = false;
        Step::Done
    })
}

/// Calls the handler for a request.
fn present(queue: Handle, request: Handle) {
    let handlers = with_queue(queue, |queue| queue.handlers);
    let (kind, input, output, code) = with_request(request, |request| {
        request.presented = true;
        (request.kind, request.input.1, request.output.1, request.code)
    });
    let [default, read, write, control, _] = handlers;
    let irql = crate::cpu::thread::irql();
    let (name, target, arguments) = match kind {
        request::READ if read != 0 => ("EvtIoRead", read, vec![queue, request, output]),
        request::WRITE if write != 0 => ("EvtIoWrite", write, vec![queue, request, input]),
        request::CONTROL if control != 0 => {
            ("EvtIoDeviceControl", control, vec![queue, request, output, input, code.into()])
        }
        _ if default != 0 => ("EvtIoDefault", default, vec![queue, request]),
        _ => return request::complete(request, status::INVALID_DEVICE_REQUEST, 0),
    };
    with_request(request, |request| request.handler = target);
    call_back(name, irql, target, &arguments);
}

/// The queue for requests of a kind.
pub(super) fn for_kind(device: Handle, kind: u32) -> Handle {
    with_device(device, |device| {
        let special = device.dispatching.iter().find(|(known, _)| *known == kind);
        special.map_or(device.default_queue, |(_, queue)| *queue)
    })
}

/// Takes a request out of the queue where it waits; whether it was there.
pub(super) fn withdraw(handle: Handle, request: Handle) -> bool {
    with(|framework| match framework.objects.get_mut(&handle).map(|object| &mut object.data) {
        Some(Data::Queue(queue)) => {
            let before = queue.waiting.len();
            queue.waiting.retain(|waiting| *waiting != request);
            queue.waiting.len() != before
        }
        _ => false,
    })
}
