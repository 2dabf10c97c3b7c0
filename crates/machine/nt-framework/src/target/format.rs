//! Formats the requests that a driver sends to I/O targets, and sends them synchronously.

use etw_types::NtStatus;
use nt_kernel::RequestKind;
use nt_kernel::io::mdl;
use nt_processor::layout::{
    MDL, WDF_MEMORY_DESCRIPTOR, WDF_OBJECT_ATTRIBUTES, WDF_REQUEST_SEND_OPTIONS, WDFMEMORY_OFFSET,
};
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::framework::{WDF_REQUEST_REUSE_SET_NEW_IRP, WDF_REQUEST_SEND_OPTION_SYNCHRONOUS};

use crate::memory::part_of;
use crate::object::attributes::Attributes;
use crate::object::life;
use crate::object::{self, create, created};
use crate::request::{Format, Options, Request, with_request};
use crate::target::send::{check_send, send};
use crate::target::with_target;
use crate::{Handle, structures};

functions! { pub(crate) FUNCTIONS;
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
        let operation = Operation::new(RequestKind::DEVICE_CONTROL, code, described(input)?, described(output)?);
        synchronously(call, target, request, operation, options, returned)
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
        let operation = Operation::new(RequestKind::INTERNAL_DEVICE_CONTROL, code, described(input)?, described(output)?);
        synchronously(call, target, request, operation, options, returned)
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
        let operation = Operation::new(RequestKind::READ, 0, GuestSlice::default(), described(memory)?);
        synchronously(call, target, request, operation, options, returned)
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
        let operation = Operation::new(RequestKind::WRITE, 0, described(memory)?, GuestSlice::default());
        synchronously(call, target, request, operation, options, returned)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestCreate(
        &call,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        target: Handle,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        // A request can be created without a target.
        if let Some(target) = target.non_null() {
            with_target(target, |_| ());
        }
        created(create(call, attributes, None, own()), place)
    }

    #[irql(DISPATCH)]
    fn WdfRequestReuse(request: Handle, params: GuestPtr<Opaque>) -> Outcome {
        if !structures::REUSE_PARAMS.fits(params)? {
            return fail(NtStatus::InvalidParameter);
        }
        let flags = params.cast::<u32>().at(1).read()?;
        if flags & WDF_REQUEST_REUSE_SET_NEW_IRP != 0 && !with_request(request, |request| request.is_own) {
            return fail(NtStatus::WdfRequestInvalidState);
        }
        let status = NtStatus::from_int(params.cast::<u32>().at(2).read()?);
        let sent = with_request(request, |request| {
            request.result = (status, 0);
            request.completion = (GuestPtr::NULL, 0);
            request.refuses_send = false;
            (request.format, request.was_sent) = (Format::None, false);
            request.sent.is_some()
        });
        if sent {
            verify::find(Rule::RequestMisuse, format_args!("reuses a request while an I/O target has it"));
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
        target: Handle,
        request: Handle,
        code: u32,
        input: Handle,
        part_of_input: GuestPtr<WDFMEMORY_OFFSET>,
        output: Handle,
        part_of_output: GuestPtr<WDFMEMORY_OFFSET>,
    ) -> Outcome {
        with_target(target, |_| ());
        let input = memory(input, part_of_input)?;
        let output = memory(output, part_of_output)?;
        format(request, Operation::new(RequestKind::DEVICE_CONTROL, code, input, output));
        done(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetFormatRequestForInternalIoctl(
        target: Handle,
        request: Handle,
        code: u32,
        input: Handle,
        part_of_input: GuestPtr<WDFMEMORY_OFFSET>,
        output: Handle,
        part_of_output: GuestPtr<WDFMEMORY_OFFSET>,
    ) -> Outcome {
        with_target(target, |_| ());
        let input = memory(input, part_of_input)?;
        let output = memory(output, part_of_output)?;
        format(request, Operation::new(RequestKind::INTERNAL_DEVICE_CONTROL, code, input, output));
        done(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetFormatRequestForRead(
        target: Handle,
        request: Handle,
        buffer: Handle,
        part: GuestPtr<WDFMEMORY_OFFSET>,
        _offset: Ignored<GuestPtr<i64>>,
    ) -> Outcome {
        with_target(target, |_| ());
        format(request, Operation::new(RequestKind::READ, 0, GuestSlice::default(), memory(buffer, part)?));
        done(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES), keeps_nothing]
    fn WdfIoTargetFormatRequestForWrite(
        target: Handle,
        request: Handle,
        buffer: Handle,
        part: GuestPtr<WDFMEMORY_OFFSET>,
        _offset: Ignored<GuestPtr<i64>>,
    ) -> Outcome {
        with_target(target, |_| ());
        format(request, Operation::new(RequestKind::WRITE, 0, memory(buffer, part)?, GuestSlice::default()));
        done(())
    }

    /// A request is sent in the form in which it was received, so there is nothing to change.
    #[irql(DISPATCH)]
    fn WdfRequestFormatRequestUsingCurrentType(request: Handle) {
        with_request(request, |request| request.format = Format::Current);
    }

    #[irql(DISPATCH)]
    fn WdfRequestSetCompletionRoutine(request: Handle, routine: GuestPtr<Code>, context: GuestPtr<Opaque>) {
        with_request(request, |request| request.completion = (routine, context.address()));
    }
}

/// Returns the data of a request that the driver creates.
fn own() -> Request {
    Request { presented: true, delivered: true, is_own: true, ..Request::default() }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
struct Operation {
    kind: RequestKind,
    code: u32,
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
}

impl Operation {
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

fn format(request: Handle, Operation { kind, code, input, output }: Operation) {
    with_request(request, |request| {
        (request.kind, request.code, request.input, request.output) = (kind, code, input, output);
        request.format = Format::Target;
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
            Ok(mdl::start(list)?.array(u64::from(list.ByteCount().read()?).min(u64::from(second as u32))))
        }
        3 => Ok(part_of(Handle::new(first), GuestPtr::new(second))?),
        _ => fail(NtStatus::InvalidParameter),
    }
}

/// Reports a request of a client that is sent as another kind of request.
fn check_kind(request: Handle, kind: RequestKind) {
    let (is_own, received) = with_request(request, |request| (request.is_own, request.received));
    let (rule, is) = match received {
        _ if is_own || received == kind => return,
        RequestKind::READ => (Kmdf::ReadReqs, "a read request"),
        RequestKind::WRITE => (Kmdf::WriteReqs, "a write request"),
        RequestKind::DEVICE_CONTROL => (Kmdf::IoctlReqs, "a device-control request"),
        RequestKind::INTERNAL_DEVICE_CONTROL => (Kmdf::InternalIoctlReqs, "an internal device-control request"),
        _ => return,
    };
    verify::find(Rule::RequestMisuse.named(rule), format_args!("sends {is} as another kind of request"));
}

/// Sends the driver's request, or a temporary one if the driver passes none, and waits until it is completed.
fn synchronously(
    call: &Call,
    target: Handle,
    given: Handle,
    operation: Operation,
    options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
    returned: Out<u64>,
) -> Outcome {
    let options = Options::read(options)?;
    let request = if given.is_null() {
        object::create_with(call.from, &Attributes::default(), Some(target), own())?
    } else {
        check_kind(given, operation.kind);
        given
    };
    format(request, operation);
    check_send(request);
    send(request, target, Options { flags: options.flags | WDF_REQUEST_SEND_OPTION_SYNCHRONOUS, ..options })?;
    let (status, information) = with_request(request, |request| request.result);
    if given.is_null() {
        life::delete(request);
    }
    returned.set_if_wanted(information)?;
    Ok(status.ok()?)
}
