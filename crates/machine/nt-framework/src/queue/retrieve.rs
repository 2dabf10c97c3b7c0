//! The functions with which a driver takes requests out of a queue.

use etw_types::NtStatus;
use nt_processor::layout::WDF_REQUEST_PARAMETERS;
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Call, DISPATCH, Out, Outcome, done, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::framework::WdfIoQueueDispatchParallel;

use crate::queue::{is_powered, with_queue, withdraw};
use crate::request::{self, with_request};
use crate::{Handle, object};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NtStatus::WdfPaused)]
    fn WdfIoQueueRetrieveNextRequest(&call, queue: Handle, place: Out<Handle>) -> Outcome {
        let waiting = with_queue(queue, |queue| queue.waiting.clone());
        if waiting.into_iter().any(|request| request::lookup(request, |request| request.found > 0)) {
            let what = format_args!("takes the next request while it has found one: use WdfIoQueueRetrieveFoundRequest");
            verify::find(Rule::RequestMisuse.named(Kmdf::WdfIoQueueRetrieveNextRequest), what);
        }
        take(call, queue, place, |_| true, NtStatus::NoMoreEntries)
    }

    #[irql(DISPATCH), fails(NtStatus::WdfPaused)]
    fn WdfIoQueueRetrieveRequestByFileObject(
        &call,
        queue: Handle,
        file: Handle,
        place: Out<Handle>,
    ) -> Outcome {
        let wanted = |request| request::lookup(request, |request| request.file) == file;
        take(call, queue, place, wanted, NtStatus::NoMoreEntries)
    }

    /// Finds a request without taking it, and references it. The search starts after the request `after`, if that is
    /// not NULL.
    #[irql(DISPATCH), fails(NtStatus::NotFound)]
    fn WdfIoQueueFindRequest(
        queue: Handle,
        after: Handle,
        file: Handle,
        parameters: Option<GuestPtr<WDF_REQUEST_PARAMETERS>>,
        place: Out<Handle>,
    ) -> Outcome {
        check(queue)?;
        let waiting = with_queue(queue, |queue| queue.waiting.clone());
        let mut rest = waiting.into_iter();
        if !after.is_null() && !rest.any(|request| request == after) {
            return fail(NtStatus::NotFound);
        }
        let found = rest.find(|request| file.is_null() || request::lookup(*request, |request| request.file) == file);
        let Some(found) = found else { return fail(NtStatus::NoMoreEntries) };
        if let Some(parameters) = parameters {
            request::describe(found, parameters)?;
        }
        object::change(found, |object| object.references += 1);
        with_request(found, |request| request.found += 1);
        place.set(found)?;
        done(())
    }

    /// Takes a request that `WdfIoQueueFindRequest` found.
    #[irql(DISPATCH), fails(NtStatus::NotFound)]
    fn WdfIoQueueRetrieveFoundRequest(&call, queue: Handle, wanted: Handle, place: Out<Handle>) -> Outcome {
        // The request may have been completed since then. The driver's reference keeps the handle valid.
        if !object::exists(wanted) {
            let what = format_args!("bug check 0x10D: {wanted:#x} is not a request that WdfIoQueueFindRequest found");
            object::stop(Rule::FrameworkMisuse.named(Kmdf::WdfIoQueueFindRequestFailed), what);
        }
        if request::lookup(wanted, |request| request.found == 0) {
            let what = format_args!("takes a request that it has not found, or has already dereferenced");
            verify::find(Rule::RequestMisuse.named(Kmdf::WdfIoQueueRetrieveFoundRequest), what);
        }
        take(call, queue, place, |request| request == wanted, NtStatus::NotFound)
    }
}

/// Fails if a driver cannot take requests out of a queue now.
fn check(queue: Handle) -> Outcome {
    let powered = is_powered(queue);
    with_queue(queue, |queue| match queue {
        queue if queue.kind == WdfIoQueueDispatchParallel => fail(NtStatus::InvalidDeviceState),
        queue if queue.stopped || !powered => fail(NtStatus::WdfPaused),
        _ => Ok(()),
    })
}

/// Takes the first request that `wanted` accepts; fails with `none` if there is no such request.
fn take(call: &Call, queue: Handle, place: Out<Handle>, wanted: impl Fn(Handle) -> bool, none: NtStatus) -> Outcome {
    check(queue)?;
    // Most drivers take the first request, however many wait behind it.
    let first = with_queue(queue, |queue| queue.waiting.front().copied()).filter(|first| wanted(*first));
    let found = first.or_else(|| {
        let waiting = with_queue(queue, |queue| queue.waiting.clone());
        waiting.into_iter().find(|request| wanted(*request))
    });
    let Some(found) = found else {
        place.set(Handle::NULL)?;
        return fail(none);
    };
    if !withdraw(queue, found) {
        return fail(none);
    }
    with_queue(queue, |queue| queue.presented += 1);
    with_request(found, |request| {
        (request.presented, request.delivered, request.acknowledged) = (true, true, false);
        request.is_stopping = false;
        if request.handler == 0 {
            request.handler = call.from;
        }
    });
    place.set(found)?;
    Ok(())
}
