//! The client of a device: sends requests, waits for their ends, and does not wait for ever.

use super::attributes::Attributes;
use super::device::with_device;
use super::object::{self, Data};
use super::request::{self, CONTROL, PATIENCE, READ, Request, WRITE, cancel, complete};
use super::{Handle, file, queue, status, with};
use crate::kernel::plug::Outcome;
use crate::kernel::{self, kernel};
use crate::memory::guest;
use crate::verify::{self, At, Rule};

/// Sends a request to a device and waits for its end.
fn send(device: Handle, request: Request) -> (u32, u64) {
    let kind = request.kind;
    let attributes: Attributes = with_device(device, |device| device.init.request);
    let created = object::create_with(0, &attributes, Some(device), Data::Request(Box::new(request)));
    let Ok(handle) = created else { return (status::INSUFFICIENT_RESOURCES, 0) };
    match queue::for_kind(device, kind) {
        0 => complete(handle, status::INVALID_DEVICE_REQUEST, 0),
        queue if !queue::add(queue, handle) => complete(handle, status::CANCELLED, 0),
        _ => {}
    }
    wait(handle)
}

/// Waits for the end of a request; after a while cancels it, and after another gives up.
pub(super) fn wait(handle: Handle) -> (u32, u64) {
    let ended = || with(|framework| framework.ended.get(&handle).copied());
    for _ in 0..2 {
        let deadline = kernel().scheduler.now() + PATIENCE;
        if let Some(end) = kernel().scheduler.wait(Some(deadline), |_| ended()) {
            return end;
        }
        cancel(handle);
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

fn finish(input: (u64, u64), output: (u64, u64), (status, information): (u32, u64)) -> Outcome {
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

/// A control request of a client.
pub(crate) fn ioctl(device: Handle, code: u32, input: &[u8], output: u32) -> Outcome {
    file::with_file(device, |file| {
        let (input, output) = buffers(input, output, code.trailing_zeros() >= 2);
        let request = Request { kind: CONTROL, code, file, input, output, ..Request::default() };
        finish(input, output, send(device, request))
    })
}

/// A read or write request of a client.
pub(crate) fn transfer(device: Handle, is_write: bool, data: &[u8], length: u32) -> Outcome {
    file::with_file(device, |file| {
        let (input, output) = buffers(data, length, false);
        let kind = if is_write { WRITE } else { READ };
        let request = Request { kind, file, input, output, ..Request::default() };
        finish(input, output, send(device, request))
    })
}
