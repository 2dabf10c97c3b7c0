//! The client of a device: sends requests and waits, for a limited time, until they are completed.

use etw_types::NtStatus;
use nt_kernel::io::request::exchange;
use nt_kernel::{Answer, IoRequest, Kernel, kernel};
use nt_verifier::exception::changing;
use nt_verifier::routine::{Outcome, fail};
use nt_verifier::verify::{self, At, Breach, Kmdf, Rule};

use crate::queue::{deliver, irp_dispatch, preprocess};
use crate::request::buffers::{Buffers, Location};
use crate::request::{self, Request};
use crate::state::{Ended, with};
use crate::{Handle, device, object};

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    request: Handle,
}

impl Sent {
    pub(crate) const fn request(self) -> Handle {
        self.request
    }

    /// Calls `run` when the request is completed; immediately if it already is.
    pub(crate) fn then(self, run: impl FnOnce() + Send + 'static) {
        deliver::then(self.request, run);
    }
}

/// A client's request that has begun.
pub enum Begun {
    /// It is in the framework.
    Request(Sent),
    /// The driver preprocesses it, so it is an IRP.
    Packet(exchange::Sent),
}

/// Sends a request through an open file. The file is NULL if the driver does not use file objects.
pub fn begin(device: Handle, file: Handle, requested: &IoRequest) -> Outcome<Begun> {
    if !object::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    if let Some(sent) = preprocess::begin(device, file, requested)? {
        return Ok(Begun::Packet(sent));
    }
    if let Some(sent) = irp_dispatch::begin(device, file, requested)? {
        return Ok(Begun::Packet(sent));
    }
    let location = Location::of_request(requested.kind, requested.code);
    let buffers = Buffers::new(&requested.input, requested.room(), location)?;
    let Buffers { input, output } = buffers;
    if requested.sends_output() {
        output.start().write_all(&requested.output_data)?;
    }
    let request = Request {
        kind: requested.kind,
        received: requested.kind,
        code: requested.code,
        file,
        input,
        output,
        buffers: Some(buffers),
        awaited: true,
        ..Request::default()
    };
    let request = request::create(device, request).inspect_err(|_| buffers.free(requested.kind))?;
    if requested.kind.has_code() && requested.code & 3 == 3 {
        changing::watch(input.start(), input.len());
    }
    deliver::submit(device, request, requested.kind);
    Ok(Begun::Request(Sent { request }))
}

/// Cancels a request for its client.
pub fn cancel_sent(sent: Sent) {
    deliver::cancel(sent.request);
}

/// Waits until a request is completed.
pub fn finish(sent: Sent) -> Answer {
    let Ended { status, information, output, delivered: reached, .. } = wait(sent.request);
    Answer { status, information, output, reached }
}

/// Waits until a request is completed. Cancels it after the time that the configuration says, and gives up some time
/// after that.
pub(crate) fn wait(handle: Handle) -> Ended {
    let Kernel { config, scheduler, .. } = kernel();
    let ended = || with(|framework| framework.take_end(handle));
    for patience in [config.cancel_after(), config.give_up_after()] {
        let deadline = scheduler.now().saturating_add(patience);
        if let Some(end) = scheduler.wait_for_request(deadline, handle.as_int(), |_| ended()) {
            return end;
        }
        deliver::cancel(handle);
        if let Some(end) = ended() {
            return end;
        }
    }
    let what = format_args!("does not complete a request, even after it was canceled");
    let handler = request::lookup(handle, |request| request.handler);
    verify::find_at(never(handle), Some("EvtIo callback"), At::Code(handler), what);
    Ended { status: NtStatus::Cancelled, delivered: true, ..Ended::default() }
}

/// Returns the breach of a driver that never completes a request.
fn never(handle: Handle) -> Breach {
    let (was_refused, was_cancelable) =
        request::lookup(handle, |request| (request.was_refused, request.was_cancelable));
    let is_filter =
        device::nearest(handle).is_some_and(|device| device::with_device(device, |device| device.init.filter));
    Rule::RequestNever.named(if was_refused {
        Kmdf::ReqSendFail
    } else if was_cancelable {
        Kmdf::DeferredRequestCompleted
    } else if is_filter {
        Kmdf::RequestCompletedLocal
    } else {
        Kmdf::RequestCompleted
    })
}
