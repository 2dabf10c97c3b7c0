//! What a device is called, and its properties.

use super::device::with_device;
use super::object::created;
use super::{memory, misc, status};
use crate::kernel::interfaces::property;
use crate::kernel::kernel;
use crate::kernel::routine::{Call, PASSIVE, Routine, routine};
use crate::memory::guest;

const NAME_NOT_FOUND: u32 = 0xC000_0034;
const INVALID_DEVICE_STATE: u64 = 0xC000_0184;

pub(super) const FUNCTIONS: &[Routine] = &[
    // Arguments: device (or its description), property, length, buffer, place for the length.
    routine("WdfDeviceQueryProperty", PASSIVE, query).fails(NAME_NOT_FOUND),
    routine("WdfFdoInitQueryProperty", PASSIVE, query).fails(NAME_NOT_FOUND),
    // Arguments: device (or its description), property, pool type, attributes, place for the memory.
    routine("WdfDeviceAllocAndQueryProperty", PASSIVE, query_memory).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfFdoInitAllocAndQueryProperty", PASSIVE, query_memory).fails(status::INSUFFICIENT_RESOURCES),
    // Arguments: device, string.
    routine("WdfDeviceRetrieveDeviceName", PASSIVE, |call| {
        let name = with_device(call.arg(1), |device| device.init.name.clone());
        if name.is_empty() {
            return INVALID_DEVICE_STATE;
        }
        misc::set_string(call.arg(2), &name.encode_utf16().collect::<Vec<u16>>());
        status::SUCCESS
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDriverRetrieveVersionString", PASSIVE, |call| {
        let text = format!("Kernel Mode Driver Framework {}", kernel().config.os.kmdf());
        misc::set_string(call.arg(2), &text.encode_utf16().collect::<Vec<u16>>());
        status::SUCCESS
    })
    .fails(status::INSUFFICIENT_RESOURCES),
];

fn query(call: &Call) -> u64 {
    let Some(data) = property(call.u32(2)) else { return NAME_NOT_FOUND.into() };
    guest::write_if(call.arg(5), data.len() as u32);
    if (call.u32(3) as usize) < data.len() {
        return status::BUFFER_TOO_SMALL;
    }
    guest::put(call.arg(4), &data);
    status::SUCCESS
}

fn query_memory(call: &Call) -> u64 {
    match property(call.u32(2)) {
        Some(data) => created(memory::with_bytes(call, call.arg(4), &data), call.arg(5)),
        None => NAME_NOT_FOUND.into(),
    }
}
