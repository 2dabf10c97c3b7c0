//! The functions with which a driver gets the buffers of a request: as addresses, as memory objects or as MDLs.

use etw_types::NtStatus;
use nt_kernel::RequestKind;
use nt_kernel::io::mdl;
use nt_processor::cpu::thread;
use nt_processor::layout::MDL;
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{Call, DISPATCH, NO_RESOURCES, Out, Outcome, done, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};

use crate::request::buffers::BufferForm;
use crate::request::{active, misuse, with_request};
use crate::{Handle, memory, object};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn WdfRequestRetrieveInputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Input, least, place, length)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceRequest), keeps_nothing]
    fn WdfRequestRetrieveOutputBuffer(
        request: Handle,
        least: u64,
        place: Out<GuestPtr<u8>>,
        length: Out<u64>,
    ) -> Outcome {
        retrieve(request, Direction::Output, least, place, length)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveInputMemory(&call, request: Handle, place: GuestPtr<Handle>) -> Outcome {
        retrieve_memory(call, request, Direction::Input, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveOutputMemory(&call, request: Handle, place: GuestPtr<Handle>) -> Outcome {
        retrieve_memory(call, request, Direction::Output, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveInputWdmMdl(request: Handle, place: Out<GuestPtr<MDL>>) -> Outcome {
        retrieve_list(request, Direction::Input, place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfRequestRetrieveOutputWdmMdl(request: Handle, place: Out<GuestPtr<MDL>>) -> Outcome {
        retrieve_list(request, Direction::Output, place)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

/// Returns a request's buffer for a direction, which the driver wants as this form. Fails if there is none.
fn buffer(handle: Handle, direction: Direction, form: BufferForm) -> Outcome<GuestSlice<u8>> {
    let buffer = active(handle, |request| match (direction, request.kind) {
        (Direction::Input, RequestKind::READ) | (Direction::Output, RequestKind::WRITE) => None,
        // As `FxRequest::GetMemoryObject` (core/fxrequest.cpp) does.
        _ if request.has_user_buffers() => None,
        (Direction::Input, _) => Some(request.input),
        (Direction::Output, _) => Some(request.output),
    });
    let buffer = buffer.unwrap_or_else(|| misuse(handle, |kind| form.retrieved_late(kind)));
    let wrong = match (direction, thread::callback()) {
        (Direction::Input, Some("EvtIoRead")) => Some((Kmdf::InputBufferAPI, "a read request has no input buffer")),
        (Direction::Output, Some("EvtIoWrite")) => {
            Some((Kmdf::OutputBufferAPI, "a write request has no output buffer"))
        }
        _ => None,
    };
    if let Some((rule, what)) = wrong.filter(|_| buffer.is_none()) {
        verify::find(Rule::RequestMisuse.named(rule), format_args!("{what}"));
    }
    match buffer {
        None => fail(NtStatus::InvalidDeviceRequest),
        Some(buffer) if buffer.is_empty() => fail(NtStatus::BufferTooSmall),
        Some(buffer) => done(buffer),
    }
}

/// Stores the address and the length of a buffer that has at least `least` bytes.
fn retrieve(request: Handle, direction: Direction, least: u64, place: Out<GuestPtr<u8>>, length: Out<u64>) -> Outcome {
    // As in `core/fxrequestapi.cpp`, also if the function fails.
    place.set(GuestPtr::NULL)?;
    length.set_if_wanted(0)?;
    let buffer = buffer(request, direction, BufferForm::Buffer)?;
    if buffer.len() < least {
        return fail(NtStatus::BufferTooSmall);
    }
    place.set(buffer.start())?;
    length.set_if_wanted(buffer.len())?;
    Ok(())
}

fn retrieve_memory(call: &Call, request: Handle, direction: Direction, place: GuestPtr<Handle>) -> Outcome {
    let buffer = buffer(request, direction, BufferForm::Memory)?;
    let memory = memory::describe(call.from, request, buffer)?;
    with_request(request, |request| request.memories.push(memory));
    object::created(Ok(memory), place)
}

fn retrieve_list(request: Handle, direction: Direction, place: Out<GuestPtr<MDL>>) -> Outcome {
    let buffer = buffer(request, direction, BufferForm::List)?;
    let list = mdl::new(buffer.start(), buffer.len() as u32)?;
    with_request(request, |request| request.lists.push(list));
    place.set(list)?;
    Ok(())
}
