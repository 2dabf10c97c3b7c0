//! Requests that a driver sends to I/O targets: sends, cancels and completes them. [`crate::target::format`] formats them.

use etw_types::NtStatus;
use nt_kernel::io::device::below::{self, Response};
use nt_kernel::io::request as packets;
use nt_kernel::io::request::client::Mode;
use nt_kernel::io::request::exchange;
use nt_kernel::{Answer, IoRequest, Kernel, RequestKind, call_back, kernel, lock};
use nt_processor::cpu::thread;
use nt_processor::layout::{WDF_REQUEST_COMPLETION_PARAMS, WDF_REQUEST_SEND_OPTIONS};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, OrStop as _};
use nt_verifier::routine::{DISPATCH, Failure, functions};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::framework::{
    WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE, WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET,
    WDF_REQUEST_SEND_OPTION_SYNCHRONOUS, WDF_REQUEST_SEND_OPTION_TIMEOUT,
};

use crate::object::{self, life};
use crate::queue::deliver::{self, complete};
use crate::request::client;
use crate::request::{Flight, Format, Options, Stage, active, lookup, update, with_request};
use crate::target::{Behind, State, with_target};
use crate::{Handle, structures, sync};

functions! { pub(crate) FUNCTIONS;
    /// Returns whether the request was sent.
    #[irql(DISPATCH)]
    fn WdfRequestSend(
        request: Handle,
        target: Handle,
        options: GuestPtr<WDF_REQUEST_SEND_OPTIONS>,
    ) -> Result<bool, Fault> {
        let options = Options::read(options)?;
        object::needs_passive(options.has(WDF_REQUEST_SEND_OPTION_SYNCHRONOUS));
        check_send(request);
        if !may_send(request, options) {
            return Ok(false);
        }
        let is_sent = send(request, target, options)?;
        if !is_sent {
            with_request(request, |request| request.was_refused = true);
        }
        Ok(is_sent)
    }

    #[irql(DISPATCH)]
    fn WdfRequestCancelSentRequest(request: Handle) -> bool {
        with_request(request, |_| ());
        if thread::callback() == Some("EvtDeviceSurpriseRemoval") {
            let what = format_args!("cancels a request in EvtDeviceSurpriseRemoval: use the self-managed I/O callbacks");
            verify::find(Rule::RequestMisuse.named(Kmdf::NoCancelFromEvtSurpriseRemove), what);
        }
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

impl Options {
    /// Reads the options; NULL means none.
    pub(crate) fn read(place: GuestPtr<WDF_REQUEST_SEND_OPTIONS>) -> Result<Self, Fault> {
        let Some(place) = place.non_null() else { return Ok(Self::default()) };
        let WDF_REQUEST_SEND_OPTIONS { Flags: flags, Timeout: timeout, .. } = place.read()?;
        Ok(Self {
            flags,
            deadline: (flags & WDF_REQUEST_SEND_OPTION_TIMEOUT != 0).then(|| kernel().scheduler.deadline(timeout)),
        })
    }

    pub(crate) const fn has(self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// Checks what a driver must not do when it sends a request in any way.
pub(crate) fn check_send(request: Handle) {
    if with_request(request, |request| !request.cancel.is_null()) {
        let what = format_args!("sends a request that is marked cancelable: call WdfRequestUnmarkCancelable first");
        verify::find(Rule::RequestMisuse.named(Kmdf::ReqMarkCancelableSend), what);
    }
    if lock(&kernel().locks).holds_spin_lock(thread::number()) {
        let what = format_args!("sends a request while it holds a spin lock");
        verify::find(Rule::LockMisuse.named(Kmdf::ReqSendWhileSpinlock), what);
    }
}

/// Checks that a request is prepared for these options. If not, it gets the status of `WdfRequestSend` in Microsoft's
/// `shared/core/fxrequestapi.cpp` or of `FxIoTarget::VerifySubmitLocked` in `shared/targets/general/fxiotarget.cpp`.
fn may_send(request: Handle, options: Options) -> bool {
    let (is_own, format, completion, sent) =
        with_request(request, |request| (request.is_own, request.format, request.completion.0, request.sent));
    let forgets =
        options.has(WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET) && !options.has(WDF_REQUEST_SEND_OPTION_SYNCHRONOUS);
    let (status, rule, what) = if forgets && is_own {
        let what = "sends a request that the driver created, and forgets it";
        (NtStatus::InvalidDeviceState, Kmdf::RequestSendAndForgetNoFormatting2, what)
    } else if forgets && format == Format::Target {
        let what = "formats a request, then sends it and forgets it: the format has no effect";
        (NtStatus::InvalidDeviceRequest, Kmdf::RequestSendAndForgetNoFormatting, what)
    } else if !forgets && !options.has(WDF_REQUEST_SEND_OPTION_SYNCHRONOUS) && completion.is_null() && !is_own {
        let what = "sends a request without a completion routine: it would never be completed";
        (NtStatus::InvalidDeviceRequest, Kmdf::ReqCompletionRoutine, what)
    } else if !forgets && format == Format::None && sent.is_none() {
        (NtStatus::RequestNotAccepted, Kmdf::RequestFormattedValid, "sends a request that is not formatted")
    } else {
        return true;
    };
    verify::find(Rule::RequestMisuse.named(rule), format_args!("{what}"));
    with_request(request, |request| {
        (request.result, request.was_sent, request.was_refused) = ((status, 0), true, true);
    });
    false
}

/// Sends a request. Returns whether the target accepted it. With [`WDF_REQUEST_SEND_OPTION_SYNCHRONOUS`], the request is completed on return.
pub(crate) fn send(request: Handle, target: Handle, options: Options) -> Result<bool, Fault> {
    let state = with_target(target, |target| target.state);
    let flight = Flight { target, options, late: false, stage: Stage::Leaving, cancel: cancel_sent };
    let waits = state == State::STOPPED && !options.has(WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE);
    let takes = match state {
        State::STARTED | State::STOPPED => true,
        // No option lets a request through to a target that is closed (targets/general/fxiotarget.cpp).
        State::PURGED => options.has(WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE),
        _ => false,
    };
    let is_open = with_target(target, |target| !matches!(target.behind, Behind::Nothing));
    if takes && !is_open {
        // Microsoft's framework sends the request to a device at address NULL.
        verify::find(Rule::FrameworkMisuse, format_args!("sends a request to an I/O target that is not open"));
        with_request(request, |request| {
            (request.result, request.was_sent) = ((NtStatus::InvalidDeviceState, 0), true);
        });
        return Ok(false);
    }
    if takes && with_request(request, |request| request.refuses_send) {
        // As in `FxIoTarget::SubmitLocked`.
        with_request(request, |request| (request.result, request.was_sent) = ((NtStatus::Cancelled, 0), true));
        return Ok(false);
    }
    let sent = with_request(request, |request| {
        if request.sent.is_some() {
            return true;
        }
        request.was_sent = true;
        request.result = (if takes { NtStatus::Pending } else { NtStatus::InvalidDeviceState }, 0);
        if takes {
            request.sent = Some(Flight { stage: if waits { Stage::Waiting } else { Stage::Leaving }, ..flight });
        }
        false
    });
    if takes && !sent && is_own(request) {
        // A request of the driver's own can be deleted meanwhile, with its parent. As in Microsoft's framework, it then stays
        // until its completion routine has returned.
        object::change(request, |object| object.references += 1);
    }
    if sent {
        verify::find(Rule::RequestMisuse, format_args!("sends a request that an I/O target already has"));
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
    if options.has(WDF_REQUEST_SEND_OPTION_SYNCHRONOUS) {
        kernel().scheduler.wait(None, |_| (!lookup(request, |request| request.sent.is_some())).then_some(()));
    }
    Ok(true)
}

/// Sends the requests that waited in a target, in their order. Called when the target is started.
pub(crate) fn resend(target: Handle) -> Result<(), Fault> {
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
            match client::begin(device, file, &requested(kind, code, [input, output])?) {
                Ok(client::Begun::Request(sent)) => {
                    moved(request, Stage::Framework(sent.request()));
                    sent.then(move || ended(request, Ok(client::finish(sent))));
                }
                Ok(client::Begun::Packet(sent)) => with_packet(request, sent),
                Err(failure) => came_back(request, (refused(failure)?, 0)),
            }
        }
        Behind::Packets { device, file, .. } => {
            match exchange::begin(device, file, &requested(kind, code, [input, output])?, Mode::Kernel) {
                Ok(sent) => with_packet(request, sent),
                Err(failure) => came_back(request, (refused(failure)?, 0)),
            }
        }
    }
    Ok(())
}

/// Returns the request that another device receives, with what the buffers hold.
fn requested(kind: RequestKind, code: u32, [input, output]: [GuestSlice<u8>; 2]) -> Result<IoRequest, Fault> {
    let input = input.read()?;
    let room = output.len() as u32;
    let mut requested = IoRequest { kind, code, input, output: room, ..IoRequest::default() };
    if requested.sends_output() {
        requested.output_data = output.read()?;
    }
    Ok(requested)
}

/// Records that a device has the IRP of a request, and completes the request when the IRP is completed.
fn with_packet(request: Handle, sent: exchange::Sent) {
    let packet = sent.packet();
    moved(request, Stage::Packet(packet));
    packets::then(packet.request(), move || ended(request, exchange::finish(sent)));
}

/// Records which device has a request, and starts the timeout.
fn moved(request: Handle, stage: Stage) {
    let deadline = with_request(request, |request| {
        let flight = request.sent.as_mut()?;
        flight.stage = stage;
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
            flight.stage = Stage::Scripted;
            flight.options.deadline
        });
        (request.kind, request.input.len(), request.output, deadline)
    });
    let left = deadline.map(|deadline| deadline.saturating_sub(kernel().scheduler.now()));
    let late = left.is_some_and(|left| left < response.delay);
    let delay = left.filter(|_| late).unwrap_or(response.delay);
    let back = move || {
        // The driver may have completed the request in the meantime, which is already reported.
        if active(request, |_| ()).is_none() {
            return;
        }
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
    let room = active(request, |request| request.output).unwrap_or_default();
    room.start().write_all(output.get(..room.len() as usize).unwrap_or(&output)).or_stop();
    came_back(request, (status, information));
}

/// Called when the device behind a target has completed a request. Calls the completion routine of the driver, or
/// completes the request for its client if it was sent with [`WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET`].
fn came_back(request: Handle, (status, information): (NtStatus, u64)) {
    let Kernel { pool, scheduler, .. } = kernel();
    let taken = active(request, |request| {
        let flight = request.sent.take()?;
        request.format = Format::None;
        request.result = if flight.late { (NtStatus::IoTimeout, 0) } else { (status, information) };
        Some((flight, request.completion, request.result))
    });
    let is_own = is_own(request);
    let Some((flight, (routine, context), (status, information))) = taken.flatten() else { return };
    scheduler.change(|state| state.unset(request.as_int()));
    if flight.options.has(WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET) {
        complete(request, status, information);
    } else if !flight.options.has(WDF_REQUEST_SEND_OPTION_SYNCHRONOUS) && !routine.is_null() {
        let params: GuestPtr<WDF_REQUEST_COMPLETION_PARAMS> = lock(pool).new_object();
        params.write(completion_params(request)).or_stop();
        let arguments = [request.as_int(), flight.target.as_int(), params.address(), context];
        sync::locked(None, thread::irql(), |irql| call_back("EvtRequestCompletionRoutine", irql, routine, &arguments));
        lock(pool).free_object(params.address());
    }
    // Removed only now: a thread that stops the target waits until the completion routine has returned.
    if object::exists(flight.target) {
        with_target(flight.target, |target| {
            if let Some(position) = target.sent.iter().position(|sent| *sent == request) {
                target.sent.remove(position);
            }
        });
    }
    if is_own {
        life::dereference(request);
    }
    scheduler.change(|_| ());
}

/// Returns whether the driver created a request.
fn is_own(request: Handle) -> bool {
    lookup(request, |request| request.is_own)
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
pub(crate) fn cancel_sent(request: Handle) -> bool {
    update(request, |request| request.refuses_send = true);
    let Some(flight) = lookup(request, |request| request.sent) else { return false };
    match flight.stage {
        Stage::Waiting => {
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
        Stage::Leaving => false,
        Stage::Scripted => {
            let waits = kernel().scheduler.change(|state| state.unset(request.as_int()));
            if waits {
                came_back(request, (NtStatus::Cancelled, 0));
            }
            waits
        }
        Stage::Framework(request) => {
            deliver::cancel(request);
            true
        }
        Stage::Packet(packet) => {
            packet.cancel().or_stop();
            true
        }
    }
}
