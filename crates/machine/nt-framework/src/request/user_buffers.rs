//! The buffers of `METHOD_NEITHER` requests, which are addresses in the client's process.

use etw_types::NtStatus;
use nt_kernel::client_memory;
use nt_processor::cpu::thread;
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{Call, DISPATCH, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Rule};

use crate::request::buffers::BufferForm;
use crate::request::{Request, active, misuse, with_request};
use crate::{Handle, memory, object};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveUnsafeUserInputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, |request| request.input, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest)]
    fn WdfRequestRetrieveUnsafeUserOutputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, |request| request.output, least, place, length)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRequestProbeAndLockUserBufferForRead(
        &call,
        request: Handle,
        buffer: GuestPtr<u8>,
        length: u64,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        lock(call, request, buffer.array(length), place)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRequestProbeAndLockUserBufferForWrite(
        &call,
        request: Handle,
        buffer: GuestPtr<u8>,
        length: u64,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        lock(call, request, buffer.array(length), place)
    }
}

/// Stores the address and the length of a client's buffer that has at least `least` bytes.
fn retrieve(
    handle: Handle,
    side: fn(&Request) -> GuestSlice<u8>,
    least: u64,
    place: Out<GuestPtr<u8>>,
    length: Out<u64>,
) -> Outcome {
    // As in `core/fxrequestapi.cpp`, also if the function fails.
    place.set(GuestPtr::NULL)?;
    length.set_if_wanted(0)?;
    let buffer = active(handle, |request| Some(side(request)).filter(|_| request.has_user_buffers()));
    let Some(buffer) = buffer.unwrap_or_else(|| misuse(handle, |kind| BufferForm::Buffer.retrieved_late(kind))) else {
        return fail(NtStatus::InvalidDeviceRequest);
    };
    if thread::callback() != Some("EvtIoInCallerContext") {
        // Only the framework's verifier refuses this (`VerifyRequestIsInCallerContext` in `shared/core/fxrequest.cpp`).
        let what =
            "asks for a client's address outside of EvtIoInCallerContext: it is valid in the client's thread only";
        verify::find(Rule::RequestMisuse, format_args!("{what}"));
    }
    if buffer.is_empty() || buffer.len() < least {
        return fail(NtStatus::BufferTooSmall);
    }
    place.set(buffer.start())?;
    length.set_if_wanted(buffer.len())?;
    done(())
}

/// Creates a memory object for a buffer in the client's process. It belongs to the request. The client has no memory but its buffers
/// and what it has allocated, so any other address is that of no memory.
fn lock(call: &Call, handle: Handle, buffer: GuestSlice<u8>, place: GuestPtr<Handle>) -> Outcome {
    let buffers = active(handle, |request| [request.input, request.output]);
    let buffers = buffers.unwrap_or_else(|| misuse(handle, |kind| BufferForm::Buffer.retrieved_late(kind)));
    if buffer.is_empty() {
        return fail(NtStatus::InvalidUserBuffer);
    }
    let is_part = |whole: GuestSlice<u8>| !whole.start().is_null() && whole.contains(buffer);
    if !buffers.into_iter().any(is_part) && !client_memory::contains(buffer.start().address(), buffer.len()) {
        return fail(NtStatus::AccessViolation);
    }
    let memory = memory::describe(call.from, handle, buffer)?;
    with_request(handle, |request| request.memories.push(memory));
    object::created(Ok(memory), place)
}
