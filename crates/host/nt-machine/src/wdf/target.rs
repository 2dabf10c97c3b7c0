//! I/O targets: the device below the driver's, and requests that the driver sends to it.
//!
//! What the device does with them is scripted, see [`below`]. There are local targets only.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::device::with_device;
use super::memory::part_of;
use super::object::{self, Data, create, created};
use super::request::{Request, complete, with_request};
use super::{Handle, sync};
use crate::cpu::thread;
use crate::kernel::io::below::{self, Response};
use crate::kernel::{RequestKind, call_back, kernel};
use crate::layout::{MDL, WDF_MEMORY_DESCRIPTOR, WDF_REQUEST_COMPLETION_PARAMS, WDF_REQUEST_SEND_OPTIONS};
use crate::memory::{Fault, GuestPtr, GuestSlice, OrStop as _};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, fixed, routine};
use crate::verify::{self, Rule};

/// `WDF_REQUEST_SEND_OPTION_…`.
const TIMEOUT: u32 = 0x1;
const SYNCHRONOUS: u32 = 0x2;
const SEND_AND_FORGET: u32 = 0x8;
/// `WdfIoTargetStarted`.
const STARTED: u64 = 1;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDeviceGetIoTarget", DISPATCH, target_of),
    routine!("WdfIoTargetGetDevice", DISPATCH, |call| device_of(call.handle(1))),
    routine!("WdfIoTargetWdmGetTargetDeviceObject", DISPATCH, |call| {
        with_device(device_of(call.handle(1)), |device| device.init.physical)
    }),
    routine!("WdfIoTargetWdmGetTargetPhysicalDevice", DISPATCH, |call| {
        with_device(device_of(call.handle(1)), |device| device.init.physical)
    }),
    fixed("WdfIoTargetGetState", DISPATCH, STARTED),
    fixed("WdfIoTargetStart", DISPATCH, 0),
    fixed("WdfIoTargetStop", PASSIVE, 0),
    fixed("WdfIoTargetPurge", DISPATCH, 0),
    // Arguments: target, request, code, input, output, options, place for the number of bytes.
    routine!("WdfIoTargetSendIoctlSynchronously", PASSIVE, |call| send_control(call, RequestKind::DEVICE_CONTROL))
        .fails(NtStatus::InsufficientResources)
        .keeps_nothing(),
    routine!("WdfIoTargetSendInternalIoctlSynchronously", PASSIVE, |call| {
        send_control(call, RequestKind::INTERNAL_DEVICE_CONTROL)
    })
    .fails(NtStatus::InsufficientResources)
    .keeps_nothing(),
    // Arguments: target, request, memory, offset, options, place for the number of bytes.
    routine!("WdfIoTargetSendReadSynchronously", PASSIVE, |call| send_transfer(call, RequestKind::READ))
        .fails(NtStatus::InsufficientResources)
        .keeps_nothing(),
    routine!("WdfIoTargetSendWriteSynchronously", PASSIVE, |call| send_transfer(call, RequestKind::WRITE))
        .fails(NtStatus::InsufficientResources)
        .keeps_nothing(),
    // Arguments: attributes, target, place for the request.
    routine!("WdfRequestCreate", DISPATCH, |call| {
        let request = Request { presented: true, delivered: true, ..Request::default() };
        created(create(call, call.ptr(1), None, Data::Request(Box::new(request))), call.ptr(3))
    })
    .fails(NtStatus::InsufficientResources),
    // Arguments: request, what is to be reused.
    routine!("WdfRequestReuse", DISPATCH, |call| {
        with_request(call.handle(1), |request| {
            (request.result, request.completion, request.sent) = ((NtStatus::Success, 0), (GuestPtr::NULL, 0), false);
        });
        NtStatus::Success
    }),
    // Arguments: target, request, code, input, its part, output, its part.
    routine!("WdfIoTargetFormatRequestForIoctl", DISPATCH, |call| format_control(call, RequestKind::DEVICE_CONTROL))
        .fails(NtStatus::InsufficientResources)
        .keeps_nothing(),
    routine!("WdfIoTargetFormatRequestForInternalIoctl", DISPATCH, |call| {
        format_control(call, RequestKind::INTERNAL_DEVICE_CONTROL)
    })
    .fails(NtStatus::InsufficientResources)
    .keeps_nothing(),
    // Arguments: target, request, memory, its part.
    routine!("WdfIoTargetFormatRequestForRead", DISPATCH, |call| {
        let output = memory(call, 3, 4)?;
        format(call.handle(2), RequestKind::READ, 0, GuestPtr::NULL.array(0), output)
    })
    .fails(NtStatus::InsufficientResources)
    .keeps_nothing(),
    routine!("WdfIoTargetFormatRequestForWrite", DISPATCH, |call| {
        let input = memory(call, 3, 4)?;
        format(call.handle(2), RequestKind::WRITE, 0, input, GuestPtr::NULL.array(0))
    })
    .fails(NtStatus::InsufficientResources)
    .keeps_nothing(),
    // A request goes on as it came.
    routine!("WdfRequestFormatRequestUsingCurrentType", DISPATCH, |call| with_request(call.handle(1), |_| ())),
    // Arguments: request, routine, context.
    routine!("WdfRequestSetCompletionRoutine", DISPATCH, |call| {
        with_request(call.handle(1), |request| request.completion = (call.ptr(2), call.arg(3)));
    }),
    routine!("WdfRequestSend", DISPATCH, send),
    routine!("WdfRequestCancelSentRequest", DISPATCH, cancel_sent),
    // Arguments: request, place for the parameters.
    routine!("WdfRequestGetCompletionParams", DISPATCH, |call| {
        call.ptr(2).write(completion_params(call.handle(1)))
    }),
];

/// The target of a device: it is made when somebody asks for it.
fn target_of(call: &Call) -> Outcome<Handle> {
    let device = call.handle(1);
    let known = with_device(device, |device| device.target);
    if object::exists(known) {
        return Ok(known);
    }
    let target = object::create_with(call.from, &Attributes::default(), Some(device), Data::Target(device))?;
    with_device(device, |device| device.target = target);
    Ok(target)
}

fn device_of(target: Handle) -> Handle {
    object::part(target, |data| match data {
        Data::Target(device) => Some(*device),
        _ => None,
    })
}

/// What the device below does with a request; without a script it knows none.
fn response(kind: RequestKind, code: u32) -> Response {
    let unknown = Response { status: NtStatus::InvalidDeviceRequest, output: Vec::new(), delay: 0 };
    below::response(kind, code).unwrap_or(unknown)
}

fn memory(call: &Call, handle: u64, part: u64) -> Outcome<GuestSlice<u8>> {
    match call.handle(handle) {
        Handle::NULL => Ok(GuestPtr::NULL.array(0)),
        memory => Ok(part_of(memory, call.ptr(part))?),
    }
}

fn format_control(call: &Call, kind: RequestKind) -> Outcome {
    let (input, output) = (memory(call, 4, 5)?, memory(call, 6, 7)?);
    format(call.handle(2), kind, call.u32(3), input, output)
}

fn format(request: Handle, kind: RequestKind, code: u32, input: GuestSlice<u8>, output: GuestSlice<u8>) -> Outcome {
    with_request(request, |request| {
        (request.kind, request.code, request.input, request.output) = (kind, code, input, output);
    });
    done(())
}

/// The memory that a descriptor names; none for NULL.
fn described(place: GuestPtr<WDF_MEMORY_DESCRIPTOR>) -> Outcome<GuestSlice<u8>> {
    let Some(place) = place.non_null() else { return Ok(GuestPtr::NULL.array(0)) };
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

/// Flags and the timeout in 100 ns units.
fn options(place: GuestPtr<WDF_REQUEST_SEND_OPTIONS>) -> Result<(u32, Option<u64>), Fault> {
    let Some(place) = place.non_null() else { return Ok((0, None)) };
    let WDF_REQUEST_SEND_OPTIONS { Flags: flags, Timeout: timeout, .. } = place.read()?;
    let deadline = (flags & TIMEOUT != 0).then(|| kernel().scheduler.deadline(timeout));
    Ok((flags, deadline.map(|deadline| deadline.saturating_sub(kernel().scheduler.now()))))
}

fn send_control(call: &Call, kind: RequestKind) -> Outcome {
    let (input, output) = (described(call.ptr(4))?, described(call.ptr(5))?);
    synchronously(call, kind, call.u32(3), input, output, options(call.ptr(6))?.1, call.ptr(7))
}

fn send_transfer(call: &Call, kind: RequestKind) -> Outcome {
    let memory = described(call.ptr(3))?;
    let none = GuestPtr::NULL.array(0);
    let (input, output) = if kind == RequestKind::READ { (none, memory) } else { (memory, none) };
    synchronously(call, kind, 0, input, output, options(call.ptr(5))?.1, call.ptr(6))
}

/// Sends and waits.
fn synchronously(
    call: &Call,
    kind: RequestKind,
    code: u32,
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
    timeout: Option<u64>,
    place: GuestPtr<u64>,
) -> Outcome {
    device_of(call.handle(1));
    let (status, information) = wait_for(kind, code, input, output, timeout)?;
    place.write_if(information)?;
    Ok(status.ok()?)
}

/// Waits as long as the device below takes, or until the timeout.
fn wait_for(
    kind: RequestKind,
    code: u32,
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
    timeout: Option<u64>,
) -> Result<(NtStatus, u64), Fault> {
    let response = response(kind, code);
    let late = timeout.is_some_and(|timeout| timeout < response.delay);
    let time = timeout.filter(|_| late).unwrap_or(response.delay);
    if time != 0 {
        let deadline = kernel().scheduler.now().saturating_add(time);
        kernel().scheduler.wait(Some(deadline), |_| None::<()>);
    }
    if late {
        return Ok((NtStatus::IoTimeout, 0));
    }
    Ok((response.status, response.store(kind, output, input.len())?))
}

/// Arguments: request, target, options. Returns whether the request was sent.
fn send(call: &Call) -> Outcome<bool> {
    let (request, target) = (call.handle(1), call.handle(2));
    device_of(target);
    let (flags, timeout) = options(call.ptr(3))?;
    let (kind, code, input, output, sent) = with_request(request, |request| {
        let sent = std::mem::replace(&mut request.sent, true);
        (request.kind, request.code, request.input, request.output, sent)
    });
    if sent {
        verify::find(Rule::RequestMisuse, format_args!("a request is sent that was sent before and has not come back"));
        return Ok(false);
    }
    if flags & SYNCHRONOUS != 0 {
        let result = wait_for(kind, code, input, output, timeout)?;
        with_request(request, |request| (request.result, request.sent) = (result, false));
        return Ok(true);
    }
    let response = response(kind, code);
    let late = timeout.is_some_and(|timeout| timeout < response.delay);
    let delay = timeout.filter(|_| late).unwrap_or(response.delay);
    let forget = flags & SEND_AND_FORGET != 0;
    let back = move || {
        let stored = response.store(kind, output, input.len()).or_stop();
        let result = if late { (NtStatus::IoTimeout, 0) } else { (response.status, stored) };
        came_back(request, target, result, forget);
    };
    if delay == 0 {
        back();
    } else {
        below::later(request.as_int(), delay, back);
    }
    Ok(true)
}

/// A request comes back from the device below: its sender is told, or its client.
fn came_back(request: Handle, target: Handle, result: (NtStatus, u64), forget: bool) {
    if !object::exists(request) {
        return;
    }
    let (routine, context) = with_request(request, |request| {
        (request.result, request.sent) = (result, false);
        request.completion
    });
    if forget {
        return complete(request, result.0, result.1);
    }
    if routine.is_null() {
        return;
    }
    let params: GuestPtr<WDF_REQUEST_COMPLETION_PARAMS> = crate::kernel::lock(&kernel().pool).new_object();
    params.write(completion_params(request)).or_stop();
    let arguments = [request.as_int(), target.as_int(), params.address(), context];
    sync::locked(None, thread::irql(), |irql| call_back("EvtRequestCompletionRoutine", irql, routine, &arguments));
    crate::kernel::lock(&kernel().pool).free_object(params.address());
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

/// The driver does not want a request that it sent; whether the device below still had it.
fn cancel_sent(call: &Call) -> bool {
    let request = call.handle(1);
    let waits = kernel().scheduler.change(|state| state.unset(request.as_int()));
    if waits {
        let device = super::device::of(request).unwrap_or_default();
        let target = if device == Handle::NULL { device } else { with_device(device, |device| device.target) };
        came_back(request, target, (NtStatus::Cancelled, 0), false);
    }
    waits
}
