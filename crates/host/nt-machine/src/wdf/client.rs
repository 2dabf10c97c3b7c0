//! The client of a device: sends requests and waits, for a limited time, until they are completed.

use etw_types::NtStatus;

use super::request::{self, PATIENCE, Request};
use super::state::{Ended, with};
use super::{Handle, deliver, object, preprocess};
use crate::exception::changing;
use crate::kernel::io::exchange;
use crate::kernel::{self, Answer, IoRequest, kernel};
use crate::memory::{Fault, GuestPtr, GuestSlice};
use crate::routine::{Outcome, fail};
use crate::verify::{self, At, Rule};

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    request: Handle,
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
}

impl Sent {
    pub(super) const fn request(&self) -> Handle {
        self.request
    }

    /// Calls `run` when the request is completed; immediately if it already is.
    pub(super) fn then(self, run: impl FnOnce() + Send + 'static) {
        deliver::then(self.request, run);
    }
}

/// A client's request that has begun.
pub(crate) enum Begun {
    Request(Sent),
    /// The driver preprocesses it, so it is an IRP.
    Packet(exchange::Sent),
}

/// Sends a request through an open file. The file is NULL if the driver does not use file objects.
pub(crate) fn begin(device: Handle, file: Handle, asked: &IoRequest) -> Outcome<Begun> {
    if !object::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    if let Some(sent) = preprocess::begin(device, file, asked)? {
        return Ok(Begun::Packet(sent));
    }
    let buffered = asked.kind.has_code() && asked.code.trailing_zeros() >= 2;
    let (input, output) = buffers(&asked.input, asked.output, buffered)?;
    let request =
        Request { kind: asked.kind, code: asked.code, file, input, output, awaited: true, ..Request::default() };
    let request = request::create(device, request).inspect_err(|_| free(input, output))?;
    let submit = || deliver::submit(device, request, asked.kind);
    if asked.kind.has_code() && asked.code & 3 == 3 {
        changing::during(input.start(), input.len(), submit);
    } else {
        submit();
    }
    Ok(Begun::Request(Sent { request, input, output }))
}

/// Cancels a request for its client.
pub(crate) fn cancel_sent(sent: &Sent) {
    deliver::cancel(sent.request);
}

/// Waits until a request is completed, and frees its buffers.
pub(crate) fn finish(sent: Sent) -> Result<Answer, Fault> {
    let end = wait(sent.request);
    outcome(sent.input, sent.output, end)
}

/// Waits until a request is completed. Cancels it after [`PATIENCE`], and gives up after twice that time.
pub(super) fn wait(handle: Handle) -> Ended {
    let ended = || with(|framework| framework.take_end(handle));
    for _ in 0..2 {
        let deadline = kernel().scheduler.now() + PATIENCE;
        if let Some(end) = kernel().scheduler.wait_for_request(deadline, handle.as_int(), |_| ended()) {
            return end;
        }
        deliver::cancel(handle);
        if let Some(end) = ended() {
            return end;
        }
    }
    let handler = request::lookup(handle, |request| request.handler);
    let what = format_args!("a request is not completed, even after it was canceled");
    verify::find_at(Rule::RequestNever, Some("EvtIo callback"), At::Code(handler), what);
    Ended { status: NtStatus::Cancelled, information: 0, delivered: true, awaited: false }
}

/// Allocates a client's buffers. If the method is buffered, one buffer serves both directions.
fn buffers(input: &[u8], output: u32, buffered: bool) -> Outcome<(GuestSlice<u8>, GuestSlice<u8>)> {
    let (input_size, output_size) = (input.len() as u64, u64::from(output));
    let size = if buffered { input_size.max(output_size) } else { input_size };
    let new = |size: u64| match size {
        0 => Ok(GuestPtr::NULL),
        _ => kernel::lock(&kernel().pool).try_new_objects(size),
    };
    let first: GuestPtr<u8> = new(size)?;
    let second = if buffered || output_size == 0 {
        first
    } else {
        new(output_size).inspect_err(|_| free(first.array(size), first.array(0)))?
    };
    first.write_all(input)?;
    Ok((first.array(input_size), second.array(output_size)))
}

fn outcome(
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
    Ended { status, information, delivered, .. }: Ended,
) -> Result<Answer, Fault> {
    let bytes = if status.is_error() { Vec::new() } else { output.take(information).read()? };
    free(input, output);
    Ok(Answer { status, information, output: bytes, reached: delivered })
}

/// Frees a client's buffers.
fn free(input: GuestSlice<u8>, output: GuestSlice<u8>) {
    let mut pool = kernel::lock(&kernel().pool);
    let (first, second) = (input.start(), output.start());
    for memory in [first, second].into_iter().filter_map(GuestPtr::non_null).take(if first == second { 1 } else { 2 }) {
        pool.free_object(memory.address());
    }
}
