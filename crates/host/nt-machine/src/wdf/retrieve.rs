//! The functions with which a driver takes requests out of a queue.

use etw_types::NtStatus;

use super::queue::{PARALLEL, with_queue};
use super::request::{self, with_request};
use super::{Handle, deliver, object};
use crate::memory::GuestPtr;
use crate::routine::{Call, Outcome, fail};

/// Fails if a driver cannot take requests out of a queue now.
fn check(queue: Handle) -> Outcome {
    let powered = deliver::is_powered(queue);
    with_queue(queue, |queue| match queue {
        queue if queue.kind == PARALLEL => fail(NtStatus::InvalidDeviceState),
        queue if queue.stopped || !powered => fail(NtStatus::WdfPaused),
        _ => Ok(()),
    })
}

/// Takes the first request that `wanted` accepts; fails with `none` if there is no such request.
fn take(call: &Call, place: GuestPtr<Handle>, wanted: impl Fn(Handle) -> bool, none: NtStatus) -> Outcome {
    let (queue, from) = (call.handle(1), call.from);
    check(queue)?;
    // Most drivers take the first request, however many wait behind it.
    let first = with_queue(queue, |queue| queue.waiting.front().copied()).filter(|first| wanted(*first));
    let found = first.or_else(|| {
        let waiting = with_queue(queue, |queue| queue.waiting.clone());
        waiting.into_iter().find(|request| wanted(*request))
    });
    let Some(found) = found else {
        place.write(Handle::NULL)?;
        return fail(none);
    };
    if !super::queue::withdraw(queue, found) {
        return fail(none);
    }
    with_queue(queue, |queue| queue.presented += 1);
    with_request(found, |request| {
        (request.presented, request.delivered, request.acknowledged) = (true, true, false);
        if request.handler == 0 {
            request.handler = from;
        }
    });
    place.write(found)?;
    Ok(())
}

/// Arguments: queue, place for the request.
pub(super) fn next(call: &Call) -> Outcome {
    take(call, call.ptr(2), |_| true, NtStatus::NoMoreEntries)
}

/// Arguments: queue, file, place for the request.
pub(super) fn of_file(call: &Call) -> Outcome {
    let file = call.handle(2);
    let wanted = |request| request::lookup(request, |request| request.file) == file;
    take(call, call.ptr(3), wanted, NtStatus::NoMoreEntries)
}

/// Finds a request without taking it, and references it. Arguments: queue, request after which the search starts or
/// NULL, file or NULL, parameters or NULL, place for the request.
pub(super) fn find(call: &Call) -> Outcome {
    let (queue, after, file) = (call.handle(1), call.handle(2), call.handle(3));
    check(queue)?;
    let waiting = with_queue(queue, |queue| queue.waiting.clone());
    let mut rest = waiting.into_iter();
    if !after.is_null() && !rest.any(|request| request == after) {
        return fail(NtStatus::NotFound);
    }
    let found = rest.find(|request| file.is_null() || request::lookup(*request, |request| request.file) == file);
    let Some(found) = found else { return fail(NtStatus::NoMoreEntries) };
    if let Some(parameters) = call.ptr(4).non_null() {
        request::describe(found, parameters)?;
    }
    object::change(found, |object| object.references += 1);
    call.ptr(5).write(found)?;
    Ok(())
}

/// Takes a request that [`find`] found. Arguments: queue, request, place for the request.
pub(super) fn found(call: &Call) -> Outcome {
    let wanted = call.handle(2);
    // The request may have been completed since then. The driver's reference keeps the handle valid.
    if !object::exists(wanted) {
        object::violation(wanted);
    }
    take(call, call.ptr(3), |request| request == wanted, NtStatus::NotFound)
}
