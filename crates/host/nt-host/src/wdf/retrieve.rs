//! Requests that a driver takes out of a queue by itself.

use super::queue::{PARALLEL, with_queue};
use super::request::{self, with_request};
use super::{Handle, deliver, object, status};
use crate::kernel::routine::Call;
use crate::memory::guest;

/// Why a driver cannot take requests out of a queue now.
fn refused(queue: Handle) -> Option<u64> {
    let powered = deliver::is_powered(queue);
    with_queue(queue, |queue| match queue {
        queue if queue.kind == PARALLEL => Some(status::INVALID_DEVICE_STATE.into()),
        queue if queue.stopped || !powered => Some(status::PAUSED.into()),
        _ => None,
    })
}

/// Takes the first request that `wanted` accepts.
fn take(call: &Call, place: u64, wanted: impl Fn(Handle) -> bool, none: u64) -> u64 {
    let (queue, from) = (call.arg(1), call.from);
    let waiting = with_queue(queue, |queue| queue.waiting.clone());
    let Some(found) = waiting.into_iter().find(|request| wanted(*request)) else {
        guest::write(place, 0_u64);
        return none;
    };
    if !super::queue::withdraw(queue, found) {
        return none;
    }
    with_queue(queue, |queue| queue.presented += 1);
    with_request(found, |request| {
        (request.presented, request.delivered, request.acknowledged) = (true, true, false);
        if request.handler == 0 {
            request.handler = from;
        }
    });
    guest::write(place, found);
    status::SUCCESS
}

/// Arguments: queue, place for the request.
pub(super) fn next(call: &Call) -> u64 {
    refused(call.arg(1)).unwrap_or_else(|| take(call, call.arg(2), |_| true, status::NO_MORE_ENTRIES))
}

/// Arguments: queue, file, place for the request.
pub(super) fn of_file(call: &Call) -> u64 {
    let file = call.arg(2);
    let wanted = |request| request::lookup(request, |request| request.file) == file;
    refused(call.arg(1)).unwrap_or_else(|| take(call, call.arg(3), wanted, status::NO_MORE_ENTRIES))
}

/// Looks for a request without taking it. Arguments: queue, request after which to look or NULL, file or NULL,
/// parameters or NULL, place for the request, which gets a reference.
pub(super) fn find(call: &Call) -> u64 {
    let (queue, after, file) = (call.arg(1), call.arg(2), call.arg(3));
    if let Some(status) = refused(queue) {
        return status;
    }
    let waiting = with_queue(queue, |queue| queue.waiting.clone());
    let mut rest = waiting.into_iter();
    if after != 0 && !rest.any(|request| request == after) {
        return status::NOT_FOUND.into();
    }
    let found = rest.find(|request| file == 0 || request::lookup(*request, |request| request.file) == file);
    let Some(found) = found else { return status::NO_MORE_ENTRIES };
    if call.arg(4) != 0 {
        request::describe(found, call.arg(4));
    }
    object::change(found, |object| object.references += 1);
    guest::write(call.arg(5), found);
    status::SUCCESS
}

/// Takes a request that was found. Arguments: queue, request, place for it.
pub(super) fn found(call: &Call) -> u64 {
    let wanted = call.arg(2);
    // The request may have ended since; the driver's reference keeps its handle.
    if !object::exists(wanted) {
        object::violation(wanted);
    }
    refused(call.arg(1))
        .unwrap_or_else(|| take(call, call.arg(3), |request| request == wanted, status::NOT_FOUND.into()))
}
