//! The names and properties of devices.

use etw_types::NtStatus;

use super::device::with_device;
use super::object::{self, Data, created};
use super::{memory, misc, target};
use crate::kernel::io::interface::{property, store};
use crate::kernel::kernel;
use crate::layout::DEVICE_OBJECT;
use crate::memory::GuestPtr;
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

/// Returns the physical device of the device, init structure or I/O target in the first argument.
fn physical(call: &Call) -> GuestPtr<DEVICE_OBJECT> {
    let is_target = object::lookup(call.handle(1), |object| matches!(object.data, Data::Target(_)));
    if is_target {
        return target::physical(call.handle(1));
    }
    object::part(call.handle(1), |data| match data {
        Data::Init(init) => Some(init.physical),
        Data::Device(device) => Some(device.init.physical),
        _ => None,
    })
}

/// Arguments: device (or its init structure), property, length, buffer, place for the length.
fn query(call: &Call) -> Outcome {
    match property(physical(call), call.u32(2)) {
        Some(data) => store(&data, call.ptr(4), call.u32(3), call.ptr(5)),
        None => fail(NOT_FOUND),
    }
}

/// Arguments: device (or its init structure), property, pool type, attributes, place for the memory.
fn query_memory(call: &Call) -> Outcome {
    match property(physical(call), call.u32(2)) {
        Some(data) => created(memory::with_bytes(call, call.ptr(4), &data), call.ptr(5)),
        None => fail(NOT_FOUND),
    }
}
