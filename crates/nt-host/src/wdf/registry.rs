//! Registry keys.

use super::object::{self, Data, change, create, created};
use super::{Handle, status};
use crate::kernel::routine::{Call, PASSIVE, Routine, routine};
use crate::kernel::{self, kernel};
use crate::memory::guest;

const TYPE_MISMATCH: u64 = 0xC000_0024;
const BUFFER_OVERFLOW: u64 = 0x8000_0005;
const DWORD: u32 = 4;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfDriverOpenParametersRegistryKey", PASSIVE, |call| open(call, call.arg(3), call.arg(4)))
        .fails(0xC000_0034),
    routine("WdfDeviceOpenRegistryKey", PASSIVE, |call| open(call, call.arg(4), call.arg(5))).fails(0xC000_0034),
    routine("WdfRegistryClose", PASSIVE, |call| {
        object::delete(call.arg(1));
        0
    }),
    routine("WdfRegistryWdmGetHandle", PASSIVE, |call| key(call.arg(1))),
    routine("WdfRegistryQueryULong", PASSIVE, |call| match value(call) {
        Some((DWORD, data)) => {
            guest::put(call.arg(3), &data);
            status::SUCCESS
        }
        Some(_) => TYPE_MISMATCH,
        None => status::OBJECT_NAME_NOT_FOUND,
    })
    .fails(0xC000_0034),
    // Arguments: key, name, length, buffer, place for the length, place for the type.
    routine("WdfRegistryQueryValue", PASSIVE, |call| match value(call) {
        Some((kind, data)) => {
            guest::write_if(call.arg(5), data.len() as u32);
            guest::write_if(call.arg(6), kind);
            if data.len() > call.u32(3) as usize {
                return BUFFER_OVERFLOW;
            }
            guest::put(call.arg(4), &data);
            status::SUCCESS
        }
        None => status::OBJECT_NAME_NOT_FOUND,
    })
    .fails(0xC000_0034),
];

/// Every key that a driver opens is its `Parameters` key.
fn open(call: &Call, attributes: u64, place: u64) -> u64 {
    let handle = kernel::open_parameters(call.from);
    created(create(call, attributes, None, Data::Key { handle }), place)
}

fn key(handle: Handle) -> u64 {
    let found = change(handle, |object| match object.data {
        Data::Key { handle } => Some(handle),
        _ => None,
    });
    found.unwrap_or_else(|| object::violation(handle))
}

fn value(call: &Call) -> Option<(u32, Vec<u8>)> {
    key(call.arg(1));
    kernel::lock(&kernel().registry).parameter(&guest::text(call.arg(2)))
}
