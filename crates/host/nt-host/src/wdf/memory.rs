//! Memory objects.

use super::attributes::Attributes;
use super::object::{self, Data, change, create, created};
use super::{Handle, status};
use crate::kernel::routine::{Call, DISPATCH, Routine, routine};
use crate::kernel::{self, kernel};
use crate::memory::guest;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfMemoryCreate", DISPATCH, create_memory).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfMemoryCreatePreallocated", DISPATCH, |call| {
        let data = Data::Memory { address: call.arg(2), size: call.arg(3), owned: false };
        created(create(call, call.arg(1), None, data), call.arg(4))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfMemoryGetBuffer", DISPATCH, |call| {
        let (address, size) = range(call.arg(1));
        guest::write_if(call.arg(2), size);
        address
    }),
    routine("WdfMemoryAssignBuffer", DISPATCH, |call| {
        let data = Data::Memory { address: call.arg(2), size: call.arg(3), owned: false };
        change(call.arg(1), |object| object.data = data);
        status::SUCCESS
    }),
    // Arguments: attributes, size, pool type, attributes of the memory, tag, place for the handle.
    routine("WdfLookasideListCreate", DISPATCH, |call| match (call.arg(2), Attributes::read(call.arg(4))) {
        (0, _) => status::INVALID_PARAMETER,
        (size, Ok(memory)) => created(create(call, call.arg(1), None, Data::Lookaside { size, memory }), call.arg(6)),
        (_, Err(status)) => status.into(),
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    // Arguments: list, place for the handle. The memory belongs to the list unless its attributes name another parent.
    routine("WdfMemoryCreateFromLookaside", DISPATCH, |call| {
        let list = call.arg(1);
        let found = change(list, |object| match object.data {
            Data::Lookaside { size, memory } => Some((size, memory)),
            _ => None,
        });
        let (size, attributes) = found.unwrap_or_else(|| object::violation(list));
        let address = kernel::lock(&kernel().pool).object(size);
        let data = Data::Memory { address, size, owned: true };
        created(object::create_with(call.from, &attributes, Some(list), data), call.arg(2))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    // Arguments: memory, offset in it, buffer, length.
    routine("WdfMemoryCopyToBuffer", DISPATCH, |call| match part(call) {
        Some(address) => {
            guest::copy(call.arg(3), address, call.arg(4));
            status::SUCCESS
        }
        None => status::BUFFER_TOO_SMALL,
    }),
    routine("WdfMemoryCopyFromBuffer", DISPATCH, |call| match part(call) {
        Some(address) => {
            guest::copy(address, call.arg(3), call.arg(4));
            status::SUCCESS
        }
        None => status::BUFFER_TOO_SMALL,
    }),
];

/// Arguments: attributes, pool type, tag, size, place for the handle, place for the address.
fn create_memory(call: &Call) -> u64 {
    let size = call.arg(4);
    if size == 0 {
        return status::INVALID_PARAMETER;
    }
    let address = kernel::lock(&kernel().pool).object(size);
    if address == 0 {
        return status::INSUFFICIENT_RESOURCES.into();
    }
    let result = create(call, call.arg(1), None, Data::Memory { address, size, owned: true });
    if result.is_ok() {
        guest::write_if(call.arg(6), address);
    } else {
        kernel::lock(&kernel().pool).free_object(address);
    }
    created(result, call.arg(5))
}

/// A memory object of its own with these bytes.
pub(super) fn with_bytes(call: &Call, attributes: u64, bytes: &[u8]) -> Result<Handle, u32> {
    let size = (bytes.len() as u64).max(1);
    let address = kernel::lock(&kernel().pool).object(size);
    guest::put(address, bytes);
    create(call, attributes, None, Data::Memory { address, size, owned: true })
}

/// The bytes of a memory object: all, or the part that a `WDFMEMORY_OFFSET` names.
pub(super) fn bytes(handle: Handle, part: u64) -> Vec<u8> {
    let (address, size) = range(handle);
    if part == 0 {
        return guest::bytes(address, size);
    }
    let offset = guest::read::<u64>(part).min(size);
    let length = match guest::read::<u64>(part + 8) {
        0 => size - offset,
        length => length.min(size - offset),
    };
    guest::bytes(address + offset, length)
}

/// A memory object for a buffer of a request.
pub(super) fn describe(from: u64, parent: Handle, address: u64, size: u64) -> Result<Handle, u32> {
    let data = Data::Memory { address, size, owned: false };
    object::create_with(from, &Attributes::default(), Some(parent), data)
}

fn range(handle: Handle) -> (u64, u64) {
    let found = change(handle, |object| match object.data {
        Data::Memory { address, size, .. } => Some((address, size)),
        _ => None,
    });
    found.unwrap_or_else(|| object::violation(handle))
}

/// The address of the part that a copy names, where it is inside.
fn part(call: &Call) -> Option<u64> {
    let (address, size) = range(call.arg(1));
    let end = call.arg(2).checked_add(call.arg(4))?;
    (end <= size).then_some(address + call.arg(2))
}
