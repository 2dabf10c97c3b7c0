//! The sender of IRPs: what a request is to be, its way to the top of a stack of devices, and its end.

use super::io::{PENDING, PNP, POWER, Request, call_driver, cancel, dispatch_routine};
use super::packet::{irp, location, new_irp};
use super::{kernel, lock};
use crate::memory::guest;
use crate::verify::{self, At, Rule};

/// Time that a client gives a request before it cancels it, and then before it gives up: 60 s.
const PATIENCE: u64 = 600_000_000;
const NOT_SUPPORTED: u32 = 0xC000_00BB;

/// What a request is to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Submission {
    pub(crate) major: u8,
    pub(crate) minor: u8,
    /// Four parameters of the stack location, eight bytes each.
    pub(crate) parameters: [u64; 4],
    pub(crate) system_buffer: u64,
    pub(crate) user_buffer: u64,
    pub(crate) mdl: u64,
    pub(crate) file: u64,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) status: u32,
    pub(crate) information: u64,
}

/// A request that was given to a driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    request: u64,
    /// Its first stack location.
    first: u64,
    /// The routine that got it, and its answer.
    routine: u64,
    answer: u32,
}

/// Sends a request to a device and waits for its end.
pub(crate) fn send(device: u64, submission: &Submission) -> Completion {
    finish(begin(device, submission))
}

/// Sends a request to a device.
pub(crate) fn begin(device: u64, submission: &Submission) -> Packet {
    let stack: u8 = guest::read(device + super::devices::STACK_SIZE);
    let request = new_irp(stack.max(1), 0);
    let untouched = if matches!(submission.major, PNP | POWER) { NOT_SUPPORTED } else { 0 };
    guest::write(request + irp::STATUS, untouched);
    guest::write(request + irp::SYSTEM_BUFFER, submission.system_buffer);
    guest::write(request + irp::USER_BUFFER, submission.user_buffer);
    guest::write(request + irp::MDL, submission.mdl);
    let first = guest::read::<u64>(request + irp::CURRENT_STACK) - location::SIZE;
    guest::write(first + location::MAJOR, submission.major);
    guest::write(first + location::MINOR, submission.minor);
    for (index, parameter) in (0..).zip(submission.parameters) {
        guest::write(first + location::PARAMETERS + index * 8, parameter);
    }
    guest::write(first + location::FILE, submission.file);
    lock(&kernel().io).requests.insert(request, Request::default());
    let routine = dispatch_routine(device, submission.major);
    let answer = call_driver(device, request);
    Packet { request, first, routine, answer }
}

fn is_done(request: u64) -> bool {
    lock(&kernel().io).requests.get(&request).is_none_or(|request| request.completed)
}

impl Packet {
    /// The client does not want its answer any more.
    pub(crate) fn cancel(self) {
        if !is_done(self.request) {
            cancel(self.request);
        }
    }
}

/// Waits for the end of a request.
pub(crate) fn finish(packet: Packet) -> Completion {
    let Packet { request, first, routine, answer } = packet;
    if !is_done(request) {
        if answer == PENDING {
            wait_for(request, routine);
        } else {
            let what = format_args!("answered {answer:#010X} without completing the request");
            verify::find_at(Rule::RequestNever, Some("dispatch routine"), At::Code(routine), what);
        }
    }
    let completion =
        Completion { status: guest::read(request + irp::STATUS), information: guest::read(request + irp::INFORMATION) };
    let control: u8 = guest::read(first + location::CONTROL);
    let done = is_done(request);
    if answer != PENDING && control & 1 == 0 && done && answer != completion.status {
        let what = format_args!("answered {answer:#010X}, completed with {:#010X}", completion.status);
        verify::find_at(Rule::RequestMisuse, Some("dispatch routine"), At::Code(routine), what);
    }
    if done && answer == PENDING && control & 1 == 0 {
        let what = format_args!("answered STATUS_PENDING for a request that is not marked pending");
        verify::find_at(Rule::RequestMisuse, Some("dispatch routine"), At::Code(routine), what);
    }
    if done {
        lock(&kernel().pool).free_object(request);
        lock(&kernel().io).requests.remove(&request);
    }
    completion
}

/// Waits for a request that is pending; after a while cancels it, and after another gives up.
fn wait_for(request: u64, routine: u64) {
    for _ in 0..2 {
        let deadline = kernel().scheduler.now() + PATIENCE;
        if kernel().scheduler.wait(Some(deadline), |_| is_done(request).then_some(())).is_some() {
            return;
        }
        cancel(request);
    }
    if !is_done(request) {
        let what = format_args!("a request is not completed, not even when it is canceled");
        verify::find_at(Rule::RequestNever, Some("dispatch routine"), At::Code(routine), what);
    }
}
