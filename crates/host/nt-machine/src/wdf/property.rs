//! The names and properties of devices.

use etw_types::NtStatus;

use super::device::with_device;
use super::object::created;
use super::{memory, misc};
use crate::kernel::io::interface::{property, store};
use crate::kernel::kernel;
use crate::routine::{Call, Outcome, PASSIVE, Routine, done, fail, routine};

const NOT_FOUND: NtStatus = NtStatus::ObjectNameNotFound;
const NO_RESOURCES: NtStatus = NtStatus::InsufficientResources;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDeviceQueryProperty", PASSIVE, query).fails(NOT_FOUND),
    routine!("WdfFdoInitQueryProperty", PASSIVE, query).fails(NOT_FOUND),
    routine!("WdfIoTargetQueryTargetProperty", PASSIVE, query).fails(NOT_FOUND),
    routine!("WdfDeviceAllocAndQueryProperty", PASSIVE, query_memory).fails(NO_RESOURCES),
    routine!("WdfFdoInitAllocAndQueryProperty", PASSIVE, query_memory).fails(NO_RESOURCES),
    routine!("WdfIoTargetAllocAndQueryTargetProperty", PASSIVE, query_memory).fails(NO_RESOURCES),
    // Arguments: device, string.
    routine!("WdfDeviceRetrieveDeviceName", PASSIVE, |call| {
        let name = with_device(call.handle(1), |device| device.init.name.clone());
        if name.is_empty() {
            return fail(NtStatus::InvalidDeviceState);
        }
        misc::set_string(call.handle(2), &name.encode_utf16().collect::<Vec<u16>>())?;
        done(())
    })
    .fails(NO_RESOURCES),
    routine!("WdfDriverRetrieveVersionString", PASSIVE, |call| {
        let text = format!("Kernel Mode Driver Framework {}", kernel().config.os.kmdf());
        misc::set_string(call.handle(2), &text.encode_utf16().collect::<Vec<u16>>())
    })
    .fails(NO_RESOURCES),
];

/// Arguments: device (or its init structure), property, length, buffer, place for the length.
fn query(call: &Call) -> Outcome {
    match property(call.u32(2)) {
        Some(data) => store(&data, call.ptr(4), call.u32(3), call.ptr(5)),
        None => fail(NOT_FOUND),
    }
}

/// Arguments: device (or its init structure), property, pool type, attributes, place for the memory.
fn query_memory(call: &Call) -> Outcome {
    match property(call.u32(2)) {
        Some(data) => created(memory::with_bytes(call, call.ptr(4), &data), call.ptr(5)),
        None => fail(NOT_FOUND),
    }
}
