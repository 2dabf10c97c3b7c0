//! The client of a device: sends requests, waits for their ends, and does not wait for ever.

use super::deliver::{self, End};
use super::device::with_device;
use super::object::{self, Data};
use super::request::{self, CONTROL, PATIENCE, Request, complete};
use super::{Handle, cancel, file, queue, status, with};
use crate::kernel::plug::Outcome;
use crate::kernel::routine::PASSIVE;
use crate::kernel::{self, call_back, kernel};
use crate::memory::guest;
use crate::verify::{self, At, Rule};

/// What a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `WDF_REQUEST_TYPE`, the same number as the IRP's major function.
    pub(crate) kind: u32,
    pub(crate) code: u32,
    pub(crate) input: Vec<u8>,
    pub(crate) output: u32,
}

/// A request on its way, with the file that it was sent through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) device: Handle,
    file: Handle,
    request: Handle,
    input: (u64, u64),
    output: (u64, u64),
}

/// Opens a device and sends a request. Where that fails at once there is an outcome already.
pub(crate) fn begin(device: Handle, asked: &Asked) -> Result<Sent, Outcome> {
    let file = file::open(device).map_err(|status| Outcome { status, ..Outcome::default() })?;
    let buffered = asked.kind == CONTROL && asked.code.trailing_zeros() >= 2;
    let (input, output) = buffers(&asked.input, asked.output, buffered);
    let request = Request { kind: asked.kind, code: asked.code, file, input, output, ..Request::default() };
    let attributes = with_device(device, |device| device.init.request);
    match object::create_with(0, &attributes, Some(device), Data::Request(Box::new(request))) {
        Ok(request) => {
            submit(device, request, asked.kind);
            Ok(Sent { device, file, request, input, output })
        }
        Err(status) => {
            file::close(device, file);
            Err(Outcome { status, ..Outcome::default() })
        }
    }
}

/// Gives a request to the queue that it is for.
pub(super) fn submit(device: Handle, request: Handle, kind: u32) {
    let callback = with_device(device, |device| device.init.in_caller_context);
    if callback != 0 && kind != request::CREATE {
        // The driver looks at it in the client's thread, and puts it into a queue or ends it.
        request::with_request(request, |request| {
            (request.presented, request.delivered, request.handler) = (true, true, callback);
        });
        call_back("EvtIoInCallerContext", PASSIVE, callback, &[device, request]);
        return;
    }
    match queue::for_kind(device, kind) {
        0 => complete(request, status::INVALID_DEVICE_REQUEST, 0),
        // A queue that takes none: it is drained or purged.
        queue if !deliver::add(queue, request, End::Back) => complete(request, status::INVALID_DEVICE_STATE, 0),
        _ => {}
    }
}

/// The client does not want its answer any more.
pub(crate) fn cancel_sent(sent: &Sent) {
    cancel::cancel(sent.request);
}

/// Waits for the end of a request and closes the file.
pub(crate) fn finish(sent: Sent) -> Outcome {
    let end = wait(sent.request);
    if object::exists(sent.device) {
        file::close(sent.device, sent.file);
    }
    outcome(sent.input, sent.output, end)
}

/// Waits for the end of a request; after a while cancels it, and after another gives up.
pub(super) fn wait(handle: Handle) -> (u32, u64) {
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
    (status::CANCELLED, 0)
}

/// Memory for a client's buffers: one for both directions where the method is buffered.
fn buffers(input: &[u8], output: u32, buffered: bool) -> ((u64, u64), (u64, u64)) {
    let mut pool = kernel::lock(&kernel().pool);
    let (input_size, output_size) = (input.len() as u64, u64::from(output));
    let size = if buffered { input_size.max(output_size) } else { input_size };
    let first = if size == 0 { 0 } else { pool.object(size) };
    let second = if buffered || output_size == 0 { first } else { pool.object(output_size) };
    guest::put(first, input);
    ((first, input_size), (second, output_size))
}

fn outcome(input: (u64, u64), output: (u64, u64), (status, information): (u32, u64)) -> Outcome {
    let failed = status & 0xC000_0000 == 0xC000_0000;
    let length = if failed { 0 } else { information.min(output.1) };
    let bytes = guest::bytes(output.0, length);
    let mut pool = kernel::lock(&kernel().pool);
    let second = if output.0 == input.0 { 0 } else { output.0 };
    for address in [input.0, second].into_iter().filter(|address| *address != 0) {
        pool.free_object(address);
    }
    Outcome { status, information, output: bytes }
}
