//! Requests: from a client to a queue, and back.

use super::deliver::{self, End};
use super::object::{self, Data, change};
use super::{Handle, life, memory, queue, status, with};
use crate::kernel::routine::{Call, DISPATCH, Routine, routine};
use crate::kernel::{self, kernel};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// `WDF_REQUEST_TYPE`.
pub(super) const CREATE: u32 = 0;
pub(super) const READ: u32 = 3;
pub(super) const WRITE: u32 = 4;
pub(super) const CONTROL: u32 = 14;
/// Time that a client gives a request before it cancels it, and then before it gives up: 60 s.
pub(super) const PATIENCE: u64 = 600_000_000;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfRequestComplete", DISPATCH, |call| {
        let information = lookup(call.arg(1), |request| request.information);
        complete(call.arg(1), call.u32(2), information);
        0
    }),
    routine("WdfRequestCompleteWithInformation", DISPATCH, |call| {
        complete(call.arg(1), call.u32(2), call.arg(3));
        0
    }),
    routine("WdfRequestCompleteWithPriorityBoost", DISPATCH, |call| {
        let information = lookup(call.arg(1), |request| request.information);
        complete(call.arg(1), call.u32(2), information);
        0
    }),
    routine("WdfRequestSetInformation", DISPATCH, |call| {
        with_request(call.arg(1), |request| request.information = call.arg(2));
        0
    }),
    routine("WdfRequestGetInformation", DISPATCH, |call| with_request(call.arg(1), |request| request.information)),
    routine("WdfRequestGetStatus", DISPATCH, |_| status::SUCCESS).fixed(),
    routine("WdfRequestRetrieveInputBuffer", DISPATCH, |call| retrieve(call, Direction::Input)).fails(0xC000_0010),
    routine("WdfRequestRetrieveOutputBuffer", DISPATCH, |call| retrieve(call, Direction::Output)).fails(0xC000_0010),
    routine("WdfRequestRetrieveUnsafeUserInputBuffer", DISPATCH, |call| retrieve(call, Direction::Input))
        .fails(0xC000_0010),
    routine("WdfRequestRetrieveUnsafeUserOutputBuffer", DISPATCH, |call| retrieve(call, Direction::Output))
        .fails(0xC000_0010),
    routine("WdfRequestRetrieveInputMemory", DISPATCH, |call| retrieve_memory(call, Direction::Input))
        .fails(0xC000_009A),
    routine("WdfRequestRetrieveOutputMemory", DISPATCH, |call| retrieve_memory(call, Direction::Output))
        .fails(0xC000_009A),
    routine("WdfRequestRetrieveInputWdmMdl", DISPATCH, |call| retrieve_list(call, Direction::Input)).fails(0xC000_009A),
    routine("WdfRequestRetrieveOutputWdmMdl", DISPATCH, |call| retrieve_list(call, Direction::Output))
        .fails(0xC000_009A),
    routine("WdfRequestGetParameters", DISPATCH, get_parameters),
    routine("WdfRequestGetFileObject", DISPATCH, |call| with_request(call.arg(1), |request| request.file)),
    routine("WdfRequestGetIoQueue", DISPATCH, |call| with_request(call.arg(1), |request| request.queue)),
    routine("WdfRequestGetRequestorMode", DISPATCH, |_| 1).fixed(),
    routine("WdfRequestGetRequestorProcessId", DISPATCH, |_| 4).fixed(),
    routine("WdfRequestIsFrom32BitProcess", DISPATCH, |_| 0).fixed(),
    routine("WdfRequestIsReserved", DISPATCH, |_| 0).fixed(),
    routine("WdfRequestForwardToIoQueue", DISPATCH, |call| pass_on(call, call.arg(2), End::Back))
        .fails(status::INVALID_DEVICE_REQUEST),
    routine("WdfRequestRequeue", DISPATCH, |call| {
        let from = with_request(call.arg(1), |request| request.queue);
        if from == 0 || queue::with_queue(from, |queue| queue.kind != queue::MANUAL) {
            return status::INVALID_DEVICE_REQUEST.into();
        }
        pass_on(call, from, End::Front)
    })
    .fails(status::INVALID_DEVICE_REQUEST),
    routine("WdfRequestStopAcknowledge", DISPATCH, |call| {
        let from = with_request(call.arg(1), |request| request.queue);
        if call.is(2) {
            pass_on(call, from, End::Front);
        } else {
            with_request(call.arg(1), |request| request.acknowledged = true);
            kernel().scheduler.change(|_| ());
        }
        0
    }),
];

/// A request.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) kind: u32,
    pub(super) code: u32,
    pub(super) queue: Handle,
    pub(super) file: Handle,
    /// Address and length.
    pub(super) input: (u64, u64),
    pub(super) output: (u64, u64),
    pub(super) information: u64,
    /// The driver has it.
    pub(super) presented: bool,
    /// The driver has or had it.
    pub(super) delivered: bool,
    /// The driver keeps it while the device sleeps.
    pub(super) acknowledged: bool,
    /// The callback that got it, or the driver's code that took it.
    pub(super) handler: u64,
    pub(super) cancel: u64,
    pub(super) canceled: bool,
    /// Memory descriptor lists for its buffers: they go with it.
    pub(super) lists: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

/// Looks at or changes a request.
pub(super) fn with_request<R>(handle: Handle, body: impl FnOnce(&mut Request) -> R) -> R {
    let result = change(handle, |object| match &mut object.data {
        Data::Request(request) => Some(body(request)),
        _ => None,
    });
    result.unwrap_or_else(|| object::violation(handle))
}

/// Looks at a request that may have ended: then the answer is a default.
pub(super) fn lookup<R: Default>(handle: Handle, look: impl FnOnce(&Request) -> R) -> R {
    with(|framework| match framework.objects.get(&handle).map(|object| &object.data) {
        Some(Data::Request(request)) => Some(look(request)),
        _ => None,
    })
    .unwrap_or_default()
}

/// The requests of a queue that the driver has.
pub(super) fn presented_in(queue: Handle) -> Vec<Handle> {
    with(|framework| {
        let has = |data: &Data| matches!(data, Data::Request(request) if request.queue == queue && request.presented);
        framework.objects.iter().filter(|(_, object)| has(&object.data)).map(|(handle, _)| *handle).collect()
    })
}

/// Ends a request. A second end is a finding.
pub(super) fn complete(handle: Handle, status: u32, information: u64) {
    if with(|framework| framework.ended.contains_key(&handle)) {
        return verify::find(Rule::RequestTwice, format_args!("the request was completed before"));
    }
    let (queue, cancel, room, waits) = with_request(handle, |request| {
        let room = request.input.1.max(request.output.1);
        (request.queue, request.cancel, room, !request.presented && request.queue != 0)
    });
    if waits && queue::withdraw(queue, handle) {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed that waits in a queue"));
        queue::with_queue(queue, |queue| queue.presented += 1);
    }
    if cancel != 0 {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed while it is marked cancelable"));
    }
    if status & 0xC000_0000 == 0 && information > room {
        let what = format_args!("{information} bytes are reported, the buffers have {room}");
        verify::find(Rule::RequestMisuse, what);
    }
    with(|framework| framework.ended.insert(handle, (status, information)));
    life::delete(handle);
    if queue == 0 {
        kernel().scheduler.change(|_| ());
    } else {
        deliver::returned(queue);
    }
}

/// Puts a request that the driver has into a queue.
fn pass_on(call: &Call, to: Handle, end: End) -> u64 {
    let request = call.arg(1);
    let (from, cancelable, presented) =
        with_request(request, |request| (request.queue, request.cancel != 0, request.presented));
    if cancelable || !presented {
        let what = if cancelable { "is marked cancelable" } else { "is in a queue already" };
        verify::find(Rule::RequestMisuse, format_args!("a request that {what} is put into a queue"));
        return status::INVALID_DEVICE_REQUEST.into();
    }
    if !deliver::add(to, request, end) {
        return status::BUSY.into();
    }
    deliver::returned(from);
    status::SUCCESS
}

fn buffer(handle: Handle, direction: Direction) -> Result<(u64, u64), u64> {
    with_request(handle, |request| match (direction, request.kind) {
        (Direction::Input, READ) | (Direction::Output, WRITE) => Err(status::INVALID_DEVICE_REQUEST.into()),
        (Direction::Input, _) => Ok(request.input),
        (Direction::Output, _) => Ok(request.output),
    })
}

/// Arguments: request, length that is needed, place for the address, place for the length.
fn retrieve(call: &Call, direction: Direction) -> u64 {
    let (address, length) = match buffer(call.arg(1), direction) {
        Ok(buffer) => buffer,
        Err(status) => return status,
    };
    if length == 0 || length < call.arg(2) {
        return status::BUFFER_TOO_SMALL;
    }
    guest::write(call.arg(3), address);
    guest::write_if(call.arg(4), length);
    status::SUCCESS
}

fn retrieve_memory(call: &Call, direction: Direction) -> u64 {
    match buffer(call.arg(1), direction) {
        Ok((_, 0)) => status::BUFFER_TOO_SMALL,
        Ok((address, size)) => object::created(memory::describe(call.from, call.arg(1), address, size), call.arg(2)),
        Err(status) => status,
    }
}

/// Arguments: request, place for the memory descriptor list.
fn retrieve_list(call: &Call, direction: Direction) -> u64 {
    let (address, size) = match buffer(call.arg(1), direction) {
        Ok((_, 0)) => return status::BUFFER_TOO_SMALL,
        Ok(buffer) => buffer,
        Err(status) => return status,
    };
    let list = kernel::mdl::new(address, size as u32);
    with_request(call.arg(1), |request| request.lists.push(list));
    guest::write(call.arg(2), list);
    status::SUCCESS
}

fn get_parameters(call: &Call) -> u64 {
    describe(call.arg(1), call.arg(2));
    0
}

/// Fills in `WDF_REQUEST_PARAMETERS`: type at 4, parameters from 8 on.
pub(super) fn describe(request: Handle, parameters: u64) {
    let (kind, code, input, output) =
        with_request(request, |request| (request.kind, request.code, request.input, request.output));
    guest::write(parameters + 4, kind);
    if kind == CONTROL {
        guest::write(parameters + 8, output.1);
        guest::write(parameters + 16, input.1);
        guest::write(parameters + 24, code);
        guest::write(parameters + 32, input.0);
    } else {
        guest::write(parameters + 8, input.1.max(output.1));
        guest::write(parameters + 16, 0_u32);
        guest::write(parameters + 24, 0_u64);
    }
}
