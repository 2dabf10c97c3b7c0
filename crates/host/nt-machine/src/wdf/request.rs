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
use crate::routine::{Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, done, fail, functions};
use crate::verify::{self, Rule};

/// How long a client waits before it cancels a request, and then again before it gives up: 60 s in units of 100 ns.
pub(super) const PATIENCE: u64 = 600_000_000;
/// `UserMode`.
const USER_MODE: i8 = 1;
/// The number of the System process.
pub(super) const SYSTEM_PROCESS: u32 = 4;

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfRequestComplete(request: Handle, status: NtStatus) {
        let information = lookup(request, |request| request.information);
        complete(request, status, information);
    }

    #[irql(DISPATCH)]
    fn WdfRequestCompleteWithInformation(request: Handle, status: NtStatus, information: u64) {
        complete(request, status, information);
    }

    #[irql(DISPATCH)]
    fn WdfRequestCompleteWithPriorityBoost(request: Handle, status: NtStatus, _boost: Ignored<i8>) {
        let information = lookup(request, |request| request.information);
        complete(request, status, information);
    }

    #[irql(DISPATCH)]
    fn WdfRequestSetInformation(request: Handle, information: u64) {
        with_request(request, |request| request.information = information);
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetInformation(request: Handle) -> u64 {
        with_request(request, |request| request.information)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetStatus(request: Handle) -> NtStatus {
        with_request(request, |request| request.result.0)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveInputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Input, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveOutputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Output, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveUnsafeUserInputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Input, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveUnsafeUserOutputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Output, least, place, length)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveInputMemory(&call, request: Handle, place: GuestPtr<Handle>) -> Outcome {
        retrieve_memory(call, request, Direction::Input, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveOutputMemory(&call, request: Handle, place: GuestPtr<Handle>) -> Outcome {
        retrieve_memory(call, request, Direction::Output, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveInputWdmMdl(request: Handle, place: Out<GuestPtr<MDL>>) -> Outcome {
        retrieve_list(request, Direction::Input, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveOutputWdmMdl(request: Handle, place: Out<GuestPtr<MDL>>) -> Outcome {
        retrieve_list(request, Direction::Output, place)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetParameters(request: Handle, place: GuestPtr<WDF_REQUEST_PARAMETERS>) -> Result<(), Fault> {
        describe(request, place)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetFileObject(request: Handle) -> Handle {
        with_request(request, |request| request.file)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetIoQueue(request: Handle) -> Handle {
        with_request(request, |request| request.queue)
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestGetRequestorMode(_request: Ignored<Handle>) -> i8 {
        USER_MODE
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestGetRequestorProcessId(_request: Ignored<Handle>) -> u32 {
        SYSTEM_PROCESS
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestIsFrom32BitProcess(_request: Ignored<Handle>) -> bool {
        false
    }

    #[irql(DISPATCH), fixed]
    fn WdfRequestIsReserved(_request: Ignored<Handle>) -> bool {
        false
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestForwardToIoQueue(request: Handle, queue: Handle) -> NtStatus {
        pass_on(request, queue, End::Back)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRequeue(request: Handle) -> NtStatus {
        let from = with_request(request, |request| request.queue);
        if from.is_null() || queue::with_queue(from, |queue| queue.kind != queue::MANUAL) {
            return NtStatus::InvalidDeviceRequest;
        }
        pass_on(request, from, End::Front)
    }

    #[irql(DISPATCH)]
    fn WdfRequestStopAcknowledge(request: Handle, requeue: bool) {
        if requeue {
            let from = with_request(request, |request| request.queue);
            pass_on(request, from, End::Front);
        } else {
            with_request(request, |request| request.acknowledged = true);
            kernel().scheduler.change(|_| ());
        }
    }
}

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
fn pass_on(request: Handle, to: Handle, end: End) -> NtStatus {
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

/// Stores the address and the length of a buffer that has at least `least` bytes.
fn retrieve(request: Handle, direction: Direction, least: u64, place: Out<GuestPtr<u8>>, length: Out<u64>) -> Outcome {
    let buffer = buffer(request, direction)?;
    if buffer.len() < least {
        return fail(NtStatus::BufferTooSmall);
    }
    place.set(buffer.start())?;
    length.set_if_wanted(buffer.len())?;
    Ok(())
}

fn retrieve_memory(call: &Call, request: Handle, direction: Direction, place: GuestPtr<Handle>) -> Outcome {
    let buffer = buffer(request, direction)?;
    object::created(memory::describe(call.from, request, buffer), place)
}

fn retrieve_list(request: Handle, direction: Direction, place: Out<GuestPtr<MDL>>) -> Outcome {
    let buffer = buffer(request, direction)?;
    let list = mdl::new(buffer.start(), buffer.len() as u32)?;
    with_request(request, |request| request.lists.push(list));
    place.set(list)?;
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
