//! Memory objects.

use etw_types::NtStatus;

use super::Handle;
use super::attributes::Attributes;
use super::object::{self, Data, change, create, created};
use crate::kernel::{self, kernel};
use crate::layout::{WDF_OBJECT_ATTRIBUTES, WDFMEMORY_OFFSET};
use crate::memory::{Fault, GuestPtr, GuestSlice};
use crate::routine::{Call, DISPATCH, Outcome, Routine, done, fail, routine};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfMemoryCreate", DISPATCH, create_memory).fails(NtStatus::InsufficientResources),
    routine!("WdfMemoryCreatePreallocated", DISPATCH, |call| {
        let data = Data::Memory { bytes: call.ptr(2).array(call.arg(3)), owned: false };
        created(create(call, call.ptr(1), None, data), call.ptr(4))
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfMemoryGetBuffer", DISPATCH, |call| {
        let bytes = range(call.handle(1));
        call.ptr(2).write_if(bytes.len())?;
        done(bytes.start())
    }),
    routine!("WdfMemoryAssignBuffer", DISPATCH, |call| {
        let data = Data::Memory { bytes: call.ptr(2).array(call.arg(3)), owned: false };
        change(call.handle(1), |object| object.data = data);
    }),
    // Arguments: attributes, size, pool type, attributes of the memory, tag, place for the handle.
    routine!("WdfLookasideListCreate", DISPATCH, |call| {
        let size = call.arg(2);
        if size == 0 {
            return fail(NtStatus::InvalidParameter);
        }
        let memory = Attributes::read(call.ptr(4))?;
        created(create(call, call.ptr(1), None, Data::Lookaside { size, memory }), call.ptr(6))
    })
    .fails(NtStatus::InsufficientResources),
    // Arguments: list, place for the handle. The list is the parent unless the attributes of the memory name another
    // one.
    routine!("WdfMemoryCreateFromLookaside", DISPATCH, |call| {
        let list = call.handle(1);
        let (size, attributes) = object::part(list, |data| match data {
            Data::Lookaside { size, memory } => Some((*size, *memory)),
            _ => None,
        });
        let create = |data| object::create_with(call.from, &attributes, Some(list), data);
        created(with_memory(size, create).map(|(memory, _)| memory), call.ptr(2))
    })
    .fails(NtStatus::InsufficientResources),
    // Arguments: memory, offset in it, buffer, length.
    routine!("WdfMemoryCopyToBuffer", DISPATCH, |call| {
        call.ptr::<u8>(3).array(call.arg(4)).copy_from(part(call)?.start())?;
        done(())
    }),
    routine!("WdfMemoryCopyFromBuffer", DISPATCH, |call| done(part(call)?.copy_from(call.ptr(3))?)),
];

/// Allocates a buffer and calls `create` to create the memory object that owns it. Returns the object and the buffer.
fn with_memory(size: u64, create: impl FnOnce(Data) -> Outcome<Handle>) -> Outcome<(Handle, GuestSlice<u8>)> {
    let bytes: GuestSlice<u8> = kernel::lock(&kernel().pool).new_objects(size).array(size);
    if bytes.start().is_null() {
        return fail(NtStatus::InsufficientResources);
    }
    match create(Data::Memory { bytes, owned: true }) {
        Ok(handle) => Ok((handle, bytes)),
        Err(error) => {
            kernel::lock(&kernel().pool).free_object(bytes.start().address());
            Err(error)
        }
    }
}

/// Arguments: attributes, pool type, tag, size, place for the handle, place for the address.
fn create_memory(call: &Call) -> Outcome {
    let size = call.arg(4);
    if size == 0 {
        return fail(NtStatus::InvalidParameter);
    }
    let (handle, bytes) = with_memory(size, |data| create(call, call.ptr(1), None, data))?;
    call.ptr(6).write_if(bytes.start())?;
    created(Ok(handle), call.ptr(5))
}

/// Creates a memory object with a copy of `bytes`.
pub(super) fn with_bytes(call: &Call, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, bytes: &[u8]) -> Outcome<Handle> {
    let size = (bytes.len() as u64).max(1);
    let (handle, memory) = with_memory(size, |data| create(call, attributes, None, data))?;
    memory.write(bytes)?;
    Ok(handle)
}

/// Reads the bytes of a memory object: all of them if `part` is NULL.
pub(super) fn bytes(handle: Handle, part: GuestPtr<WDFMEMORY_OFFSET>) -> Result<Vec<u8>, Fault> {
    part_of(handle, part)?.read()
}

/// Creates a memory object for a buffer of a request.
pub(super) fn describe(from: u64, parent: Handle, bytes: GuestSlice<u8>) -> Outcome<Handle> {
    let data = Data::Memory { bytes, owned: false };
    object::create_with(from, &Attributes::default(), Some(parent), data)
}

/// Returns the part of a memory object that the offsets select; all of it if `part` is NULL.
pub(super) fn part_of(handle: Handle, part: GuestPtr<WDFMEMORY_OFFSET>) -> Result<GuestSlice<u8>, Fault> {
    let all = range(handle);
    let Some(part) = part.non_null() else { return Ok(all) };
    let WDFMEMORY_OFFSET { BufferOffset: offset, BufferLength: length } = part.read()?;
    let offset = offset.min(all.len());
    let rest = all.start().at(offset).array(all.len() - offset);
    Ok(if length == 0 { rest } else { rest.take(length) })
}

fn range(handle: Handle) -> GuestSlice<u8> {
    object::part(handle, |data| match data {
        Data::Memory { bytes, .. } => Some(*bytes),
        _ => None,
    })
}

/// Returns the part of a memory object that a copy uses. Fails if it is not inside the object.
fn part(call: &Call) -> Outcome<GuestSlice<u8>> {
    let (all, offset, length) = (range(call.handle(1)), call.arg(2), call.arg(4));
    if offset.checked_add(length).is_none_or(|end| end > all.len()) {
        return fail(NtStatus::BufferTooSmall);
    }
    Ok(all.start().at(offset).array(length))
}
