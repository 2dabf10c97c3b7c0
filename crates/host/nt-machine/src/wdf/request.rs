//! Requests: their data, their functions and their completion.

use etw_types::NtStatus;

use super::deliver::{self, End};
use super::object::{self, Data};
use super::send::Flight;
use super::{Handle, life, memory, preprocess, queue, with};
use crate::kernel::RequestKind;
use crate::kernel::io::mdl;
use crate::kernel::kernel;
use crate::layout::{IRP, MDL, WDF_REQUEST_PARAMETERS};
use crate::memory::{Code, Fault, GuestPtr, GuestSlice};
use crate::routine::{Call, DISPATCH, Outcome, Routine, done, fail, fixed, routine};
use crate::verify::{self, Rule};

/// How long a client waits before it cancels a request, and then again before it gives up: 60 s in units of 100 ns.
pub(super) const PATIENCE: u64 = 600_000_000;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfRequestComplete", DISPATCH, |call| {
        let information = lookup(call.handle(1), |request| request.information);
        complete(call.handle(1), call.status(2), information);
    }),
    routine!("WdfRequestCompleteWithInformation", DISPATCH, |call| {
        complete(call.handle(1), call.status(2), call.arg(3));
    }),
    routine!("WdfRequestCompleteWithPriorityBoost", DISPATCH, |call| {
        let information = lookup(call.handle(1), |request| request.information);
        complete(call.handle(1), call.status(2), information);
    }),
    routine!("WdfRequestSetInformation", DISPATCH, |call| {
        with_request(call.handle(1), |request| request.information = call.arg(2));
    }),
    routine!("WdfRequestGetInformation", DISPATCH, |call| with_request(call.handle(1), |request| request.information)),
    routine!("WdfRequestGetStatus", DISPATCH, |call| with_request(call.handle(1), |request| request.result.0)),
    routine!("WdfRequestRetrieveInputBuffer", DISPATCH, |call| retrieve(call, Direction::Input))
        .fails(NtStatus::InvalidDeviceRequest),
    routine!("WdfRequestRetrieveOutputBuffer", DISPATCH, |call| retrieve(call, Direction::Output))
        .fails(NtStatus::InvalidDeviceRequest),
    routine!("WdfRequestRetrieveUnsafeUserInputBuffer", DISPATCH, |call| retrieve(call, Direction::Input))
        .fails(NtStatus::InvalidDeviceRequest),
    routine!("WdfRequestRetrieveUnsafeUserOutputBuffer", DISPATCH, |call| retrieve(call, Direction::Output))
        .fails(NtStatus::InvalidDeviceRequest),
    routine!("WdfRequestRetrieveInputMemory", DISPATCH, |call| retrieve_memory(call, Direction::Input))
        .fails(NtStatus::InsufficientResources),
    routine!("WdfRequestRetrieveOutputMemory", DISPATCH, |call| retrieve_memory(call, Direction::Output))
        .fails(NtStatus::InsufficientResources),
    routine!("WdfRequestRetrieveInputWdmMdl", DISPATCH, |call| retrieve_list(call, Direction::Input))
        .fails(NtStatus::InsufficientResources),
    routine!("WdfRequestRetrieveOutputWdmMdl", DISPATCH, |call| retrieve_list(call, Direction::Output))
        .fails(NtStatus::InsufficientResources),
    routine!("WdfRequestGetParameters", DISPATCH, |call| describe(call.handle(1), call.ptr(2))),
    routine!("WdfRequestGetFileObject", DISPATCH, |call| with_request(call.handle(1), |request| request.file)),
    routine!("WdfRequestGetIoQueue", DISPATCH, |call| with_request(call.handle(1), |request| request.queue)),
    fixed("WdfRequestGetRequestorMode", DISPATCH, 1),
    fixed("WdfRequestGetRequestorProcessId", DISPATCH, 4),
    fixed("WdfRequestIsFrom32BitProcess", DISPATCH, 0),
    fixed("WdfRequestIsReserved", DISPATCH, 0),
    routine!("WdfRequestForwardToIoQueue", DISPATCH, |call| pass_on(call, call.handle(2), End::Back))
        .fails(NtStatus::InvalidDeviceRequest),
    routine!("WdfRequestRequeue", DISPATCH, |call| {
        let from = with_request(call.handle(1), |request| request.queue);
        if from.is_null() || queue::with_queue(from, |queue| queue.kind != queue::MANUAL) {
            return NtStatus::InvalidDeviceRequest;
        }
        pass_on(call, from, End::Front)
    })
    .fails(NtStatus::InvalidDeviceRequest),
    routine!("WdfRequestStopAcknowledge", DISPATCH, |call| {
        let from = with_request(call.handle(1), |request| request.queue);
        if call.is(2) {
            pass_on(call, from, End::Front);
        } else {
            with_request(call.handle(1), |request| request.acknowledged = true);
            kernel().scheduler.change(|_| ());
        }
    }),
];

/// A request.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) kind: RequestKind,
    pub(super) code: u32,
    pub(super) queue: Handle,
    pub(super) file: Handle,
    pub(super) input: GuestSlice<u8>,
    pub(super) output: GuestSlice<u8>,
    pub(super) information: u64,
    /// The driver has the request.
    pub(super) presented: bool,
    /// The driver has or had the request.
    pub(super) delivered: bool,
    /// The driver acknowledged `EvtIoStop` and keeps the request while the device sleeps.
    pub(super) acknowledged: bool,
    /// The callback that received the request, or the driver's code that took it from a queue.
    pub(super) handler: u64,
    pub(super) cancel: GuestPtr<Code>,
    pub(super) canceled: bool,
    /// `EvtRequestCancel` has been called.
    pub(super) cancel_told: bool,
    /// The completion routine for a request that is sent to an I/O target, and its context.
    pub(super) completion: (GuestPtr<Code>, u64),
    /// The status and information with which an I/O target completed the request.
    pub(super) result: (NtStatus, u64),
    /// Set while an I/O target has the request.
    pub(super) sent: Option<Flight>,
    /// The IRP that the request was created from, if any. It is completed with the request.
    pub(super) irp: GuestPtr<IRP>,
    /// The IRP that describes the request for `WdfRequestWdmGetIrp`, if it was not created from an IRP.
    pub(super) shown: GuestPtr<IRP>,
    /// The MDLs for the buffers. They are freed with the request.
    pub(super) lists: Vec<GuestPtr<MDL>>,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) status: NtStatus,
    pub(super) information: u64,
    /// Whether the driver had the request.
    pub(super) delivered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

/// Reads or changes a request.
pub(super) fn with_request<R>(handle: Handle, body: impl FnOnce(&mut Request) -> R) -> R {
    object::part(handle, |data| match data {
        Data::Request(request) => Some(body(request)),
        _ => None,
    })
}

/// Reads a request that may already be completed and deleted. In that case returns the default value.
pub(super) fn lookup<R: Default>(handle: Handle, look: impl FnOnce(&Request) -> R) -> R {
    update(handle, |request| look(request)).unwrap_or_default()
}

/// Reads or changes a request that may already be completed and deleted. In that case returns `None`.
pub(super) fn update<R>(handle: Handle, body: impl FnOnce(&mut Request) -> R) -> Option<R> {
    with(|framework| match framework.objects.get_mut(&handle).map(|object| &mut object.data) {
        Some(Data::Request(request)) => Some(body(request)),
        _ => None,
    })
}

/// Returns the requests of a queue that the driver has.
pub(super) fn presented_in(queue: Handle) -> Vec<Handle> {
    with(|framework| {
        let has = |data: &Data| matches!(data, Data::Request(request) if request.queue == queue && request.presented);
        framework.objects.iter().filter(|(_, object)| has(&object.data)).map(|(handle, _)| *handle).collect()
    })
}

/// Completes a request. A second completion is a finding.
pub(super) fn complete(handle: Handle, status: NtStatus, information: u64) {
    if with(|framework| framework.ended.contains_key(&handle)) {
        return verify::find(Rule::RequestTwice, format_args!("the request is already completed"));
    }
    let (queue, cancel, room, waits, irp, delivered) = with_request(handle, |request| {
        // Microsoft's public framework source, core/fxrequest.cpp, checks the same: a control request without an output
        // buffer may return the number of used bytes of its input.
        let room = match request.kind {
            RequestKind::READ => request.output.len(),
            RequestKind::WRITE => request.input.len(),
            RequestKind::DEVICE_CONTROL if !request.output.is_empty() => request.output.len(),
            _ => u64::MAX,
        };
        let waits = !request.presented && !request.queue.is_null();
        (request.queue, request.cancel, room, waits, request.irp, request.delivered)
    });
    if waits && queue::withdraw(queue, handle) {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed while it waits in a queue"));
        queue::with_queue(queue, |queue| queue.presented += 1);
    }
    if !cancel.is_null() {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed while it is marked cancelable"));
    }
    if status.as_int() & 0xC000_0000 == 0 && information > room {
        let what = format_args!("the request is completed with {information} bytes, but its buffer has {room}");
        verify::find(Rule::RequestMisuse, what);
    }
    let status = for_client(status);
    with(|framework| framework.ended.insert(handle, Ended { status, information, delivered }));
    kernel().scheduler.request_ended(handle.as_int());
    life::delete(handle);
    if let Some(irp) = irp.non_null() {
        preprocess::ended(irp, status, information);
    }
    if let Some(then) = with(|framework| framework.ends.remove(&handle)) {
        then();
    }
    if queue.is_null() {
        kernel().scheduler.change(|_| ());
    } else {
        deliver::returned(queue);
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

/// Adds a request that the driver has to a queue.
fn pass_on(call: &Call, to: Handle, end: End) -> NtStatus {
    let request = call.handle(1);
    let (from, cancelable, presented) =
        with_request(request, |request| (request.queue, !request.cancel.is_null(), request.presented));
    if cancelable || !presented {
        let what = if cancelable { "is marked cancelable" } else { "is already in a queue" };
        verify::find(Rule::RequestMisuse, format_args!("a request that {what} is added to a queue"));
        return NtStatus::InvalidDeviceRequest;
    }
    if !deliver::add(to, request, end) {
        return NtStatus::WdfBusy;
    }
    deliver::returned(from);
    NtStatus::Success
}

/// Returns a request's buffer for a direction. Fails if there is none.
fn buffer(handle: Handle, direction: Direction) -> Outcome<GuestSlice<u8>> {
    let buffer = with_request(handle, |request| match (direction, request.kind) {
        (Direction::Input, RequestKind::READ) | (Direction::Output, RequestKind::WRITE) => None,
        (Direction::Input, _) => Some(request.input),
        (Direction::Output, _) => Some(request.output),
    });
    match buffer {
        None => fail(NtStatus::InvalidDeviceRequest),
        Some(buffer) if buffer.is_empty() => fail(NtStatus::BufferTooSmall),
        Some(buffer) => done(buffer),
    }
}

/// Arguments: request, minimum length, place for the address, place for the length.
fn retrieve(call: &Call, direction: Direction) -> Outcome {
    let buffer = buffer(call.handle(1), direction)?;
    if buffer.len() < call.arg(2) {
        return fail(NtStatus::BufferTooSmall);
    }
    call.ptr(3).write(buffer.start())?;
    call.ptr(4).write_if(buffer.len())?;
    Ok(())
}

fn retrieve_memory(call: &Call, direction: Direction) -> Outcome {
    let buffer = buffer(call.handle(1), direction)?;
    object::created(memory::describe(call.from, call.handle(1), buffer), call.ptr(2))
}

/// Arguments: request, place for the MDL.
fn retrieve_list(call: &Call, direction: Direction) -> Outcome {
    let buffer = buffer(call.handle(1), direction)?;
    let list = mdl::new(buffer.start(), buffer.len() as u32)?;
    with_request(call.handle(1), |request| request.lists.push(list));
    call.ptr(2).write(list)?;
    Ok(())
}

/// Stores the type and the parameters of a request.
pub(super) fn describe(request: Handle, place: GuestPtr<WDF_REQUEST_PARAMETERS>) -> Result<(), Fault> {
    let (kind, code, input, output) =
        with_request(request, |request| (request.kind, request.code, request.input, request.output));
    place.Type().write(kind.as_int().into())?;
    let parameters = place.Parameters().cast::<u64>();
    if kind.has_code() {
        parameters.write_all(&[output.len(), input.len()])?;
        parameters.at(2).cast::<u32>().write(code)?;
        return parameters.at(3).write(input.start().address());
    }
    parameters.write(input.len().max(output.len()))?;
    parameters.at(1).cast::<u32>().write(0)?;
    parameters.at(2).write(0)
}
