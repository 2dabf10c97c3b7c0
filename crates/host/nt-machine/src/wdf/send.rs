//! Requests that a driver sends to I/O targets: formats, sends, cancels and completes them.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::memory::part_of;
use super::object::{self, Data, create, created};
use super::request::{Request, complete, lookup, with_request};
use super::target::{Behind, State, with_target};
use super::{Handle, cancel, client, life, structures, sync};
use crate::cpu::thread;
use crate::kernel::io::below::{self, Response};
use crate::kernel::io::client::{Mode, Packet};
use crate::kernel::io::{pnp, request as packets};
use crate::kernel::{Answer, IoRequest, RequestKind, call_back, kernel};
use crate::layout::{
    MDL, WDF_MEMORY_DESCRIPTOR, WDF_OBJECT_ATTRIBUTES, WDF_REQUEST_COMPLETION_PARAMS, WDF_REQUEST_SEND_OPTIONS,
    WDFMEMORY_OFFSET,
};
use crate::memory::{Code, Fault, GuestPtr, GuestSlice, Opaque, OrStop as _};
use crate::routine::{Call, DISPATCH, Failure, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, functions};
use crate::verify::{self, Rule};

/// `WDF_REQUEST_SEND_OPTION_…`.
const TIMEOUT: u32 = 0x1;
const SYNCHRONOUS: u32 = 0x2;
const IGNORE_TARGET_STATE: u32 = 0x4;
const SEND_AND_FORGET: u32 = 0x8;

functions! { pub(super) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetSendIoctlSynchronously(
        &call,
        target: Handle,
        request: Handle,
        code: u32,
        input: GuestPtr<WDF_MEMORY_DESCRIPTOR>,
        output: GuestPtr<WDF_MEMORY_DESCRIPTOR>,
        options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
        returned: Out<u64>,
    ) -> Outcome {
        let parts = Parts::new(RequestKind::DEVICE_CONTROL, code, described(input)?, described(output)?);
        synchronously(call, target, request, parts, options, returned)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetSendInternalIoctlSynchronously(
        &call,
        target: Handle,
        request: Handle,
        code: u32,
        input: GuestPtr<WDF_MEMORY_DESCRIPTOR>,
        output: GuestPtr<WDF_MEMORY_DESCRIPTOR>,
        options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
        returned: Out<u64>,
    ) -> Outcome {
        let parts = Parts::new(RequestKind::INTERNAL_DEVICE_CONTROL, code, described(input)?, described(output)?);
        synchronously(call, target, request, parts, options, returned)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetSendReadSynchronously(
        &call,
        target: Handle,
        request: Handle,
        memory: GuestPtr<WDF_MEMORY_DESCRIPTOR>,
        _offset: Ignored<GuestPtr<i64>>,
        options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
        returned: Out<u64>,
    ) -> Outcome {
        let parts = Parts::new(RequestKind::READ, 0, GuestSlice::default(), described(memory)?);
        synchronously(call, target, request, parts, options, returned)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetSendWriteSynchronously(
        &call,
        target: Handle,
        request: Handle,
        memory: GuestPtr<WDF_MEMORY_DESCRIPTOR>,
        _offset: Ignored<GuestPtr<i64>>,
        options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
        returned: Out<u64>,
    ) -> Outcome {
        let parts = Parts::new(RequestKind::WRITE, 0, described(memory)?, GuestSlice::default());
        synchronously(call, target, request, parts, options, returned)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestCreate(
        &call,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        _target: Ignored<Handle>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created(create(call, attributes, None, Data::Request(Box::new(own()))), place)
    }

    #[irql(DISPATCH)]
    fn WdfRequestReuse(request: Handle, params: GuestPtr<Opaque>) -> Outcome {
        if !structures::REUSE_PARAMS.fits(params)? {
            return fail(NtStatus::InvalidParameter);
        }
        let sent = with_request(request, |request| {
            (request.result, request.completion) = ((NtStatus::Success, 0), (GuestPtr::NULL, 0));
            request.sent.is_some()
        });
        if sent {
            verify::find(Rule::RequestMisuse, format_args!("a request is reused while an I/O target has it"));
            return fail(NtStatus::RequestNotAccepted);
        }
        done(())
    }

    /// Every target accepts every request here, because a request has as many stack locations as the target needs.
    #[irql(DISPATCH)]
    fn WdfRequestChangeTarget(request: Handle, target: Handle) -> NtStatus {
        with_target(target, |_| ());
        with_request(request, |_| NtStatus::Success)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetFormatRequestForIoctl(
        _target: Ignored<Handle>,
        request: Handle,
        code: u32,
        input: Handle,
        part_of_input: GuestPtr<WDFMEMORY_OFFSET>,
        output: Handle,
        part_of_output: GuestPtr<WDFMEMORY_OFFSET>,
    ) -> Outcome {
        let (input, output) = (memory(input, part_of_input)?, memory(output, part_of_output)?);
        format(request, Parts::new(RequestKind::DEVICE_CONTROL, code, input, output));
        done(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetFormatRequestForInternalIoctl(
        _target: Ignored<Handle>,
        request: Handle,
        code: u32,
        input: Handle,
        part_of_input: GuestPtr<WDFMEMORY_OFFSET>,
        output: Handle,
        part_of_output: GuestPtr<WDFMEMORY_OFFSET>,
    ) -> Outcome {
        let (input, output) = (memory(input, part_of_input)?, memory(output, part_of_output)?);
        format(request, Parts::new(RequestKind::INTERNAL_DEVICE_CONTROL, code, input, output));
        done(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetFormatRequestForRead(
        _target: Ignored<Handle>,
        request: Handle,
        buffer: Handle,
        part: GuestPtr<WDFMEMORY_OFFSET>,
        _offset: Ignored<GuestPtr<i64>>,
    ) -> Outcome {
        format(request, Parts::new(RequestKind::READ, 0, GuestSlice::default(), memory(buffer, part)?));
        done(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetFormatRequestForWrite(
        _target: Ignored<Handle>,
        request: Handle,
        buffer: Handle,
        part: GuestPtr<WDFMEMORY_OFFSET>,
        _offset: Ignored<GuestPtr<i64>>,
    ) -> Outcome {
        format(request, Parts::new(RequestKind::WRITE, 0, memory(buffer, part)?, GuestSlice::default()));
        done(())
    }

    /// A request is sent in the form in which it was received, so there is nothing to format.
    #[irql(DISPATCH)]
    fn WdfRequestFormatRequestUsingCurrentType(request: Handle) {
        with_request(request, |_| ());
    }

    #[irql(DISPATCH)]
    fn WdfRequestSetCompletionRoutine(request: Handle, routine: GuestPtr<Code>, context: GuestPtr<Opaque>) {
        with_request(request, |request| request.completion = (routine, context.address()));
    }

    /// Returns whether the request was sent.
    #[irql(DISPATCH)]
    fn WdfRequestSend(
        request: Handle,
        target: Handle,
        options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
    ) -> Result<bool, Fault> {
        let options = Options::read(options)?;
        object::needs_passive(options.has(SYNCHRONOUS));
        send(request, target, options)
    }

    #[irql(DISPATCH)]
    fn WdfRequestCancelSentRequest(request: Handle) -> bool {
        with_request(request, |_| ());
        cancel_sent(request)
    }

    #[irql(DISPATCH)]
    fn WdfRequestGetCompletionParams(
        request: Handle,
        place: GuestPtr<WDF_REQUEST_COMPLETION_PARAMS>,
    ) -> Result<(), Fault> {
        let params = completion_params(request);
        if structures::COMPLETION_PARAMS.fits(place)? { place.write(params) } else { Ok(()) }
    }
}

/// A request that a target has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    target: Handle,
    options: Options,
    /// The timeout has expired: the status is `STATUS_IO_TIMEOUT`, whatever the device returns.
    late: bool,
    place: Place,
}

/// Where a request is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the target, which is stopped.
    Waiting,
    /// On its way to the device.
    Leaving,
    /// In a scripted device.
    Scripted,
    /// In a framework device, which received it as a new request.
    Framework(client::Sent),
    /// In a device that receives IRPs.
    Packet(Packet),
}

/// How a request is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    flags: u32,
    deadline: Option<u64>,
}

impl Options {
    fn read(place: GuestPtr<WDF_REQUEST_SEND_OPTIONS>) -> Result<Self, Fault> {
        let Some(place) = place.non_null() else { return Ok(Self::default()) };
        let WDF_REQUEST_SEND_OPTIONS { Flags: flags, Timeout: timeout, .. } = place.read()?;
        Ok(Self { flags, deadline: (flags & TIMEOUT != 0).then(|| kernel().scheduler.deadline(timeout)) })
    }

    const fn has(self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// Returns the data of a request that the driver creates.
fn own() -> Request {
    Request { presented: true, delivered: true, ..Request::default() }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
struct Parts {
    kind: RequestKind,
    code: u32,
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
}

impl Parts {
    const fn new(kind: RequestKind, code: u32, input: GuestSlice<u8>, output: GuestSlice<u8>) -> Self {
        Self { kind, code, input, output }
    }
}

/// Returns a part of a memory object; empty for NULL.
fn memory(memory: Handle, part: GuestPtr<WDFMEMORY_OFFSET>) -> Result<GuestSlice<u8>, Fault> {
    match memory {
        Handle::NULL => Ok(GuestSlice::default()),
        memory => part_of(memory, part),
    }
}

fn format(request: Handle, Parts { kind, code, input, output }: Parts) {
    with_request(request, |request| {
        (request.kind, request.code, request.input, request.output) = (kind, code, input, output);
    });
}

/// Returns the memory that a descriptor describes; empty for NULL.
fn described(place: GuestPtr<WDF_MEMORY_DESCRIPTOR>) -> Outcome<GuestSlice<u8>> {
    let Some(place) = place.non_null() else { return Ok(GuestSlice::default()) };
    let WDF_MEMORY_DESCRIPTOR { Type: kind, First: first, Second: second, .. } = place.read()?;
    match kind {
        1 => Ok(GuestPtr::new(first).array(u64::from(second as u32))),
        2 => {
            let list = GuestPtr::<MDL>::new(first);
            let start = list.StartVa().read()?.at(list.ByteOffset().read()?.into());
            Ok(start.array(u64::from(list.ByteCount().read()?).min(u64::from(second as u32))))
        }
        3 => Ok(part_of(Handle::new(first), GuestPtr::new(second))?),
        _ => fail(NtStatus::InvalidParameter),
    }
}

/// Sends the driver's request, or a temporary one if the driver passes none, and waits until it is completed.
fn synchronously(
    call: &Call,
    target: Handle,
    given: Handle,
    parts: Parts,
    options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
    returned: Out<u64>,
) -> Outcome {
    let options = Options::read(options)?;
    let request = if given.is_null() {
        let data = Data::Request(Box::new(own()));
        object::create_with(call.from, &Attributes::default(), Some(target), data)?
    } else {
        given
    };
    format(request, parts);
    send(request, target, Options { flags: options.flags | SYNCHRONOUS, ..options })?;
    let (status, information) = with_request(request, |request| request.result);
    if given.is_null() {
        life::delete(request);
    }
    returned.set_if_wanted(information)?;
    Ok(status.ok()?)
}

/// Sends a request. Returns whether the target accepted it. With [`SYNCHRONOUS`], the request is completed on return.
fn send(request: Handle, target: Handle, options: Options) -> Result<bool, Fault> {
    let state = with_target(target, |target| target.state);
    let flight = Flight { target, options, late: false, place: Place::Leaving };
    let waits = state == State::STOPPED && !options.has(IGNORE_TARGET_STATE);
    let takes = match state {
        State::STARTED | State::STOPPED => true,
        // No option lets a request through to a target that is closed (targets/general/fxiotarget.cpp).
        State::PURGED => options.has(IGNORE_TARGET_STATE),
        _ => false,
    };
    let is_open = with_target(target, |target| !matches!(target.behind, Behind::Nothing));
    if takes && !is_open {
        // Microsoft's framework sends the request to a device at address NULL.
        verify::find(Rule::FrameworkMisuse, format_args!("a request is sent to an I/O target that is not open"));
        with_request(request, |request| request.result = (NtStatus::InvalidDeviceState, 0));
        return Ok(false);
    }
    let sent = with_request(request, |request| {
        if request.sent.is_some() {
            return true;
        }
        request.result = (if takes { NtStatus::Pending } else { NtStatus::InvalidDeviceState }, 0);
        if takes {
            request.sent = Some(Flight { place: if waits { Place::Waiting } else { Place::Leaving }, ..flight });
        }
        false
    });
    if sent {
        verify::find(Rule::RequestMisuse, format_args!("a request is sent while an I/O target already has it"));
        return Ok(false);
    }
    if !takes {
        return Ok(false);
    }
    if waits {
        with_target(target, |target| target.waiting.push_back(request));
        limit(request, options.deadline);
    } else {
        launch(request, target)?;
    }
    if options.has(SYNCHRONOUS) {
        kernel().scheduler.wait(None, |_| (!lookup(request, |request| request.sent.is_some())).then_some(()));
    }
    Ok(true)
}

/// Sends the requests that waited in a target, in their order. Called when the target is started.
pub(super) fn resend(target: Handle) -> Result<(), Fault> {
    while let Some(request) = with_target(target, |target| target.waiting.pop_front()) {
        kernel().scheduler.change(|state| state.unset(request.as_int()));
        launch(request, target)?;
    }
    Ok(())
}

/// Gives a request to the device behind a target.
fn launch(request: Handle, target: Handle) -> Result<(), Fault> {
    let behind = with_target(target, |target| {
        target.sent.push(request);
        target.behind.clone()
    });
    let (kind, code, input, output) =
        with_request(request, |request| (request.kind, request.code, request.input, request.output));
    match behind {
        Behind::Nothing => came_back(request, (NtStatus::InvalidDeviceState, 0)),
        Behind::Scripted { name, .. } => {
            let unknown = Response { status: NtStatus::InvalidDeviceRequest, output: Vec::new(), delay: 0 };
            let response = below::response(name.as_deref(), kind, code);
            if response.is_none() {
                below::note_refused(name, kind, code);
            }
            respond(request, response.unwrap_or(unknown));
        }
        Behind::Framework { device, file } => {
            let asked = IoRequest { kind, code, input: input.read()?, output: output.len() as u32 };
            match client::begin(device, file, &asked) {
                Ok(client::Begun::Request(sent)) => {
                    moved(request, Place::Framework(sent));
                    sent.then(move || ended(request, client::finish(sent)));
                }
                Ok(client::Begun::Packet(sent)) => with_packet(request, sent),
                Err(failure) => came_back(request, (refused(failure)?, 0)),
            }
        }
        Behind::Packets { device, file, .. } => {
            let asked = IoRequest { kind, code, input: input.read()?, output: output.len() as u32 };
            match pnp::begin(device, file, &asked, Mode::Kernel) {
                Ok(sent) => with_packet(request, sent),
                Err(failure) => came_back(request, (refused(failure)?, 0)),
            }
        }
    }
    Ok(())
}

/// Records that a device has the IRP of a request, and completes the request when the IRP is completed.
fn with_packet(request: Handle, sent: pnp::Sent) {
    let packet = sent.packet();
    moved(request, Place::Packet(packet));
    packets::then(packet.request(), move || ended(request, pnp::finish(sent)));
}

/// Records which device has a request, and starts the timeout.
fn moved(request: Handle, place: Place) {
    let deadline = with_request(request, |request| {
        let flight = request.sent.as_mut()?;
        flight.place = place;
        flight.options.deadline
    });
    limit(request, deadline);
}

fn refused(failure: Failure) -> Result<NtStatus, Fault> {
    match failure {
        Failure::Status(status) => Ok(status),
        Failure::Fault(fault) => Err(fault),
    }
}

/// Cancels a sent request at the deadline, if there is one.
fn limit(request: Handle, deadline: Option<u64>) {
    let Some(deadline) = deadline else { return };
    below::later(request.as_int(), deadline.saturating_sub(kernel().scheduler.now()), move || {
        if object::exists(request) {
            with_request(request, |request| {
                if let Some(flight) = &mut request.sent {
                    flight.late = true;
                }
            });
            cancel_sent(request);
        }
    });
}

/// Completes a request with a scripted response, after its delay or at the deadline.
fn respond(request: Handle, response: Response) {
    let (kind, input, output, deadline) = with_request(request, |request| {
        let flight = request.sent.as_mut();
        let deadline = flight.and_then(|flight| {
            flight.place = Place::Scripted;
            flight.options.deadline
        });
        (request.kind, request.input.len(), request.output, deadline)
    });
    let left = deadline.map(|deadline| deadline.saturating_sub(kernel().scheduler.now()));
    let late = left.is_some_and(|left| left < response.delay);
    let delay = left.filter(|_| late).unwrap_or(response.delay);
    let back = move || {
        let stored = if late { 0 } else { response.store(kind, output, input).or_stop() };
        came_back(request, (if late { NtStatus::IoTimeout } else { response.status }, stored));
    };
    if delay == 0 {
        back();
    } else {
        below::later(request.as_int(), delay, back);
    }
}

/// Called when the request or IRP that another device received for `request` is completed: copies the output.
fn ended(request: Handle, result: Result<Answer, Fault>) {
    let Answer { status, information, output, .. } = result.or_stop();
    let room = lookup(request, |request| request.output);
    room.start().write_all(output.get(..room.len() as usize).unwrap_or(&output)).or_stop();
    came_back(request, (status, information));
}

/// Called when the device behind a target has completed a request. Calls the completion routine of the driver, or
/// completes the request for its client if it was sent with [`SEND_AND_FORGET`].
fn came_back(request: Handle, (status, information): (NtStatus, u64)) {
    if !object::exists(request) {
        return;
    }
    let taken = with_request(request, |request| {
        let flight = request.sent.take()?;
        request.result = if flight.late { (NtStatus::IoTimeout, 0) } else { (status, information) };
        Some((flight, request.completion, request.result))
    });
    let Some((flight, (routine, context), (status, information))) = taken else { return };
    kernel().scheduler.change(|state| state.unset(request.as_int()));
    if flight.options.has(SEND_AND_FORGET) {
        complete(request, status, information);
    } else if !flight.options.has(SYNCHRONOUS) && !routine.is_null() {
        let params: GuestPtr<WDF_REQUEST_COMPLETION_PARAMS> = crate::kernel::lock(&kernel().pool).new_object();
        params.write(completion_params(request)).or_stop();
        let arguments = [request.as_int(), flight.target.as_int(), params.address(), context];
        sync::locked(None, thread::irql(), |irql| call_back("EvtRequestCompletionRoutine", irql, routine, &arguments));
        crate::kernel::lock(&kernel().pool).free_object(params.address());
    }
    // Removed only now: a thread that stops the target waits until the completion routine has returned.
    if object::exists(flight.target) {
        with_target(flight.target, |target| {
            if let Some(position) = target.sent.iter().position(|sent| *sent == request) {
                target.sent.remove(position);
            }
        });
    }
    kernel().scheduler.change(|_| ());
}

fn completion_params(request: Handle) -> WDF_REQUEST_COMPLETION_PARAMS {
    let (kind, code, (status, information)) =
        with_request(request, |request| (request.kind, request.code, request.result));
    WDF_REQUEST_COMPLETION_PARAMS {
        Size: size_of::<WDF_REQUEST_COMPLETION_PARAMS>() as u32,
        Type: kind.as_int().into(),
        Status: status.as_int(),
        Padding: 0,
        Information: information,
        Parameters: [code.into(), 0, 0, 0, 0, information],
    }
}

/// Cancels a request that was sent. Returns whether it was still waiting, or the device that has it was notified.
pub(super) fn cancel_sent(request: Handle) -> bool {
    let Some(flight) = lookup(request, |request| request.sent) else { return false };
    match flight.place {
        Place::Waiting => {
            let waits = object::exists(flight.target)
                && with_target(flight.target, |target| {
                    let position = target.waiting.iter().position(|waiting| *waiting == request);
                    position.and_then(|position| target.waiting.remove(position)).is_some()
                });
            if waits {
                came_back(request, (NtStatus::Cancelled, 0));
            }
            waits
        }
        Place::Leaving => false,
        Place::Scripted => {
            let waits = kernel().scheduler.change(|state| state.unset(request.as_int()));
            if waits {
                came_back(request, (NtStatus::Cancelled, 0));
            }
            waits
        }
        Place::Framework(sent) => {
            cancel::cancel(sent.request());
            true
        }
        Place::Packet(packet) => {
            packet.cancel().or_stop();
            true
        }
    }
}
