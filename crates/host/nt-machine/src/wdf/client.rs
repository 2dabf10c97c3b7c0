//! The client of a device: sends requests, waits for their ends, and does not wait for ever.

use etw_types::NtStatus;

use super::deliver::{self, End};
use super::device::with_device;
use super::object::{self, Data};
use super::request::{self, PATIENCE, Request, complete};
use super::{Handle, cancel, preprocess, queue, with};
use crate::kernel::io::pnp;
use crate::kernel::{self, Answer, IoRequest, RequestKind, call_back, kernel};
use crate::memory::{Fault, GuestPtr, GuestSlice};
use crate::routine::{Outcome, PASSIVE, fail};
use crate::verify::{self, At, Rule};

/// A request on its way.
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

    /// Runs something when the request ends, maybe at once.
    pub(super) fn then(self, run: impl FnOnce() + Send + 'static) {
        let now: Option<Box<dyn FnOnce() + Send>> = with(|framework| {
            if framework.ended.contains_key(&self.request) {
                return Some(Box::new(run) as _);
            }
            framework.ends.insert(self.request, Box::new(run));
            None
        });
        if let Some(run) = now {
            run();
        }
    }
}

/// What a client's request has become.
pub(crate) enum Begun {
    Request(Sent),
    /// The driver wanted to see it before the framework.
    Packet(pnp::Sent),
}

/// Sends a request through an open file, which is NULL if the driver wants none.
pub(crate) fn begin(device: Handle, file: Handle, asked: &IoRequest) -> Outcome<Begun> {
    if !object::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    if let Some(sent) = preprocess::begin(device, file, asked)? {
        return Ok(Begun::Packet(sent));
    }
    let buffered = asked.kind.has_code() && asked.code.trailing_zeros() >= 2;
    let (input, output) = buffers(&asked.input, asked.output, buffered)?;
    let request = Request { kind: asked.kind, code: asked.code, file, input, output, ..Request::default() };
    let attributes = with_device(device, |device| device.init.request);
    let request = object::create_with(0, &attributes, Some(device), Data::Request(Box::new(request)))?;
    submit(device, request, asked.kind);
    Ok(Begun::Request(Sent { request, input, output }))
}

/// Gives a request to the queue that it is for.
pub(super) fn submit(device: Handle, request: Handle, kind: RequestKind) {
    let callback = with_device(device, |device| device.init.in_caller_context);
    if !callback.is_null() && kind != RequestKind::CREATE {
        // The driver looks at it in the client's thread, and puts it into a queue or ends it.
        request::with_request(request, |request| {
            (request.presented, request.delivered, request.handler) = (true, true, callback.address());
        });
        call_back("EvtIoInCallerContext", PASSIVE, callback, &[device.as_int(), request.as_int()]);
        return;
    }
    match queue::for_kind(device, kind) {
        Handle::NULL => complete(request, NtStatus::InvalidDeviceRequest, 0),
        // A queue that takes none: it is drained or purged.
        queue if !deliver::add(queue, request, End::Back) => complete(request, NtStatus::InvalidDeviceState, 0),
        _ => {}
    }
}

/// The client does not want its answer any more.
pub(crate) fn cancel_sent(sent: &Sent) {
    cancel::cancel(sent.request);
}

/// Waits for the end of a request.
pub(crate) fn finish(sent: Sent) -> Result<Answer, Fault> {
    let end = wait(sent.request);
    outcome(sent.input, sent.output, end)
}

/// Waits for the end of a request; after a while cancels it, and after another gives up.
pub(super) fn wait(handle: Handle) -> (NtStatus, u64) {
    let ended = || with(|framework| framework.ended.get(&handle).copied());
    for _ in 0..2 {
        let deadline = kernel().scheduler.now() + PATIENCE;
        if let Some(end) = kernel().scheduler.wait(Some(deadline), |_| ended()) {
            return end;
        }
        cancel::cancel(handle);
        if let Some(end) = ended() {
            return end;
        }
    }
    let handler = request::lookup(handle, |request| request.handler);
    let what = format_args!("a request is not completed, not even when it is canceled");
    verify::find_at(Rule::RequestNever, Some("EvtIo callback"), At::Code(handler), what);
    (NtStatus::Cancelled, 0)
}

/// Memory for a client's buffers: one for both directions if the method is buffered.
fn buffers(input: &[u8], output: u32, buffered: bool) -> Result<(GuestSlice<u8>, GuestSlice<u8>), Fault> {
    let (input_size, output_size) = (input.len() as u64, u64::from(output));
    let size = if buffered { input_size.max(output_size) } else { input_size };
    let new = |size: u64| if size == 0 { GuestPtr::NULL } else { kernel::lock(&kernel().pool).new_objects(size) };
    let first = new(size);
    let second = if buffered || output_size == 0 { first } else { new(output_size) };
    first.write_all(input)?;
    Ok((first.array(input_size), second.array(output_size)))
}

fn outcome(
    input: GuestSlice<u8>,
    output: GuestSlice<u8>,
    (status, information): (NtStatus, u64),
) -> Result<Answer, Fault> {
    let bytes = if status.is_error() { Vec::new() } else { output.take(information).read()? };
    let mut pool = kernel::lock(&kernel().pool);
    let (first, second) = (input.start(), output.start());
    for memory in [first, second].into_iter().filter_map(GuestPtr::non_null).take(if first == second { 1 } else { 2 }) {
        pool.free_object(memory.address());
    }
    Ok(Answer { status, information, output: bytes })
}
