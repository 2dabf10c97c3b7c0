//! Memory objects.

use etw_types::NtStatus;
use nt_kernel::{Kernel, kernel};
use nt_processor::layout::{WDF_OBJECT_ATTRIBUTES, WDFMEMORY_OFFSET};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice};
use nt_verifier::routine::{ANY, Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, done, fail, functions};
use nt_verifier::verify::Kmdf;

use crate::Handle;
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::{self, create, created};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfMemoryCreate(
        &call,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        _pool: Ignored<i32>,
        _tag: Ignored<u32>,
        size: u64,
        place: GuestPtr<Handle>,
        buffer: Out<GuestPtr<u8>>,
    ) -> Outcome {
        if size == 0 {
            return fail(NtStatus::InvalidParameter);
        }
        let (handle, bytes) = with_memory(size, |data| create(call, attributes, None, data))?;
        buffer.set_if_wanted(bytes.start())?;
        created(Ok(handle), place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfMemoryCreatePreallocated(
        &call,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        buffer: GuestPtr<u8>,
        size: u64,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        require_bytes(size)?;
        let data = Memory { bytes: buffer.array(size), owned: false };
        created(create(call, attributes, None, data), place)
    }

    #[irql(ANY)]
    fn WdfMemoryGetBuffer(memory: Handle, size: Out<u64>) -> Result<GuestPtr<u8>, Fault> {
        let bytes = range(memory);
        size.set_if_wanted(bytes.len())?;
        Ok(bytes.start())
    }

    #[irql(ANY)]
    fn WdfMemoryAssignBuffer(memory: Handle, buffer: GuestPtr<u8>, size: u64) -> Outcome {
        require_bytes(size)?;
        object::part(memory, |memory: &mut Memory| *memory = Memory { bytes: buffer.array(size), owned: false });
        done(())
    }

    /// `memory` has the attributes of the memory objects.
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfLookasideListCreate(
        &call,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        size: u64,
        _pool: Ignored<i32>,
        memory: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        _tag: Ignored<u32>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        if size == 0 {
            return fail(NtStatus::InvalidParameter);
        }
        let memory = Attributes::read(memory, Options::default())?;
        created(create(call, attributes, None, Lookaside { size, memory }), place)
    }

    /// The list is the parent unless the attributes of the memory name another one.
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfMemoryCreateFromLookaside(&call, list: Handle, place: GuestPtr<Handle>) -> Outcome {
        let (size, attributes) = object::part(list, |list: &mut Lookaside| (list.size, list.memory));
        let create = |data| object::create_with(call.from, &attributes, Some(list), data);
        created(with_memory(size, create).map(|(memory, _)| memory), place)
    }

    #[irql(ANY)]
    fn WdfMemoryCopyToBuffer(memory: Handle, offset: u64, buffer: GuestPtr<u8>, length: u64) -> Outcome {
        require_bytes(length)?;
        buffer.array(length).copy_from(part(memory, offset, length, NtStatus::BufferTooSmall)?.start())?;
        done(())
    }

    #[irql(ANY)]
    fn WdfMemoryCopyFromBuffer(memory: Handle, offset: u64, buffer: GuestPtr<u8>, length: u64) -> Outcome {
        require_bytes(length)?;
        done(part(memory, offset, length, NtStatus::InvalidBufferSize)?.copy_from(buffer)?)
    }
}

/// Refuses a copy or a buffer of no bytes, as Microsoft's core/fxmemorybufferapi.cpp and
/// core/fxmemorybufferpreallocatedapi.cpp do.
fn require_bytes(length: u64) -> Outcome {
    if length == 0 { fail(NtStatus::InvalidParameter) } else { Ok(()) }
}

/// A memory object.
#[derive(Clone, Copy, Debug)]
struct Memory {
    bytes: GuestSlice<u8>,
    /// Whether the object owns the buffer.
    owned: bool,
}

impl Kind for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn parent_rule(&self) -> Option<Kmdf> {
        Some(Kmdf::ParentObjectCheck)
    }

    fn free(&self) {
        if self.owned {
            nt_kernel::lock(&kernel().pool).free_object(self.bytes.start().address());
        }
    }
}

/// A lookaside list: the size of the buffers, and the attributes of the memory objects.
#[derive(Clone, Copy, Debug)]
struct Lookaside {
    size: u64,
    memory: Attributes,
}

impl Kind for Lookaside {
    fn name(&self) -> &'static str {
        "lookaside list"
    }
}

/// Allocates a buffer and calls `create` to create the memory object that owns it. Returns the object and the buffer.
fn with_memory(size: u64, create: impl FnOnce(Memory) -> Outcome<Handle>) -> Outcome<(Handle, GuestSlice<u8>)> {
    let Kernel { pool, .. } = kernel();
    let bytes: GuestSlice<u8> = nt_kernel::lock(pool).new_objects(size).array(size);
    if bytes.start().is_null() {
        return fail(NtStatus::InsufficientResources);
    }
    match create(Memory { bytes, owned: true }) {
        Ok(handle) => Ok((handle, bytes)),
        Err(error) => {
            nt_kernel::lock(pool).free_object(bytes.start().address());
            Err(error)
        }
    }
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
    let data = Memory { bytes, owned: false };
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
    object::part(handle, |memory: &mut Memory| memory.bytes)
}

/// Returns the part of a memory object that a copy uses. Fails with `outside` if it is not inside the object: a source is too
/// small, a destination has an invalid size (`IFxMemory::_CopyPtrToPtr` in core/fxmemoryobject.cpp).
fn part(memory: Handle, offset: u64, length: u64, outside: NtStatus) -> Outcome<GuestSlice<u8>> {
    let all = range(memory);
    if offset.checked_add(length).is_none_or(|end| end > all.len()) {
        return fail(outside);
    }
    Ok(all.start().at(offset).array(length))
}
