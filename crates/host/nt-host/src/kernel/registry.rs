//! The routines for registry keys and values. What a driver writes is kept for as long as the host lives.

use super::registry_keys::{open_device, open_key, open_parameters};
use super::routine::{Call, PASSIVE, Routine, routine};
use super::{kernel, lock, objects, registry_query};
use crate::memory::guest;

pub(super) const NOT_FOUND: u64 = 0xC000_0034;
const BUFFER_TOO_SMALL: u64 = 0xC000_0023;
const BUFFER_OVERFLOW: u64 = 0x8000_0005;
const NO_MORE_ENTRIES: u64 = 0x8000_001A;
const CANNOT_DELETE: u64 = 0xC000_0121;
pub(super) const INVALID_HANDLE: u64 = 0xC000_0008;
const INVALID_PARAMETER: u64 = 0xC000_000D;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ZwOpenKey", PASSIVE, |call| open(call, false)).fails(0xC000_0034),
    routine("ZwOpenKeyEx", PASSIVE, |call| open(call, false)).fails(0xC000_0034),
    routine("ZwCreateKey", PASSIVE, create).fails(0xC000_009A),
    routine("ZwQueryValueKey", PASSIVE, query_value).fails(0xC000_0034),
    routine("ZwSetValueKey", PASSIVE, |call| {
        let data = guest::bytes(call.arg(4), u64::from(call.u32(5)));
        let Some(key) = objects::by_handle(call.arg(0)) else { return INVALID_HANDLE };
        let set = lock(&kernel().registry).set(key, &guest::text(call.arg(1)), (call.u32(3), data));
        if set { 0 } else { INVALID_HANDLE }
    })
    .fails(0xC000_009A),
    routine("ZwDeleteValueKey", PASSIVE, |call| {
        let Some(key) = objects::by_handle(call.arg(0)) else { return INVALID_HANDLE };
        if lock(&kernel().registry).remove(key, &guest::text(call.arg(1))) { 0 } else { NOT_FOUND }
    })
    .fails(0xC000_0034),
    routine("ZwEnumerateKey", PASSIVE, enumerate_keys).fails(0xC000_009A),
    routine("ZwEnumerateValueKey", PASSIVE, enumerate_values).fails(0xC000_009A),
    // Everything is written already.
    routine("ZwFlushKey", PASSIVE, |_| 0),
    routine("ZwDeleteKey", PASSIVE, |call| {
        let Some(key) = objects::by_handle(call.arg(0)) else { return INVALID_HANDLE };
        if lock(&kernel().registry).delete(key) { 0 } else { CANNOT_DELETE }
    }),
    routine("RtlCheckRegistryKey", PASSIVE, registry_query::check),
    routine("RtlCreateRegistryKey", PASSIVE, registry_query::create).fails(0xC000_009A),
    routine("RtlWriteRegistryValue", PASSIVE, registry_query::write).fails(0xC000_009A),
    routine("RtlDeleteRegistryValue", PASSIVE, registry_query::delete).fails(0xC000_0034),
    routine("RtlQueryRegistryValues", PASSIVE, registry_query::query).fails(0xC000_0034),
    routine("RtlQueryRegistryValuesEx", PASSIVE, registry_query::query).fails(0xC000_0034),
    // Arguments: device, kind of key, access, place for the handle.
    routine("IoOpenDeviceRegistryKey", PASSIVE, |call| {
        guest::write(call.arg(3), open_device(call.u32(1), call.from));
        0
    })
    .fails(0xC000_0034),
    routine("IoOpenDriverRegistryKey", PASSIVE, |call| {
        guest::write(call.arg(4), open_parameters(call.from));
        0
    })
    .fails(0xC000_0034),
];

/// Arguments: place for the handle, access, `OBJECT_ATTRIBUTES` with root at 8 and name at 16.
fn open(call: &Call, create: bool) -> u64 {
    let attributes = call.arg(2);
    let (root, name): (u64, u64) = (guest::read(attributes + 8), guest::read(attributes + 16));
    let parent = objects::by_handle(root);
    if root != 0 && parent.is_none() {
        return INVALID_HANDLE;
    }
    match open_key(parent, &guest::text(name), create, call.from) {
        Some(handle) => {
            guest::write(call.arg(0), handle);
            0
        }
        None => NOT_FOUND,
    }
}

/// Says at argument 6 whether the key is new (1) or was there (2).
fn create(call: &Call) -> u64 {
    let existed = open(call, false) == 0;
    guest::write_if(call.arg(6), if existed { 2_u32 } else { 1 });
    if existed { 0 } else { open(call, true) }
}

/// Arguments: key, name, class, buffer, length, place for the length.
fn query_value(call: &Call) -> u64 {
    let Some(key) = objects::by_handle(call.arg(0)) else { return INVALID_HANDLE };
    let name = guest::text(call.arg(1));
    let Some(value) = lock(&kernel().registry).value(key, &name) else { return NOT_FOUND };
    answer_value(call, &name, value)
}

/// Arguments: key, index, class, buffer, length, place for the length.
fn enumerate_values(call: &Call) -> u64 {
    let Some(key) = objects::by_handle(call.arg(0)) else { return INVALID_HANDLE };
    let found =
        lock(&kernel().registry).get(key).and_then(|key| key.values.values().nth(call.u32(1) as usize).cloned());
    match found {
        Some((name, value)) => answer_value(call, &name, value),
        None => NO_MORE_ENTRIES,
    }
}

fn answer_value(call: &Call, name: &str, (kind, data): (u32, Vec<u8>)) -> u64 {
    let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut head = [0, kind].map(u32::to_le_bytes).concat();
    match call.u32(2) {
        // KeyValueBasicInformation: the name alone.
        0 => {
            head.extend((units.len() as u32).to_le_bytes());
            return answer(call, &head, &units);
        }
        // KeyValueFullInformation: the data lies behind the name.
        1 => {
            let sizes = [20 + units.len(), data.len(), units.len()];
            head.extend(sizes.map(|size| (size as u32).to_le_bytes()).concat());
            head.extend(units);
        }
        // KeyValuePartialInformation.
        2 => head.extend((data.len() as u32).to_le_bytes()),
        _ => return INVALID_PARAMETER,
    }
    answer(call, &head, &data)
}

/// Arguments: key, index, class, buffer, length, place for the length. Only `KeyBasicInformation` is answered.
fn enumerate_keys(call: &Call) -> u64 {
    let Some(key) = objects::by_handle(call.arg(0)) else { return INVALID_HANDLE };
    if call.u32(2) != 0 {
        return INVALID_PARAMETER;
    }
    let names = lock(&kernel().registry).below(key);
    let Some(name) = names.get(call.u32(1) as usize) else { return NO_MORE_ENTRIES };
    let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // The time of the last write, and an index of the title.
    let mut head = kernel().scheduler.system_time().to_le_bytes().to_vec();
    head.extend([0, units.len() as u32].map(u32::to_le_bytes).concat());
    answer(call, &head, &units)
}

/// Gives what fits: the head must, the rest may.
fn answer(call: &Call, head: &[u8], rest: &[u8]) -> u64 {
    let all = [head, rest].concat();
    guest::write(call.arg(5), all.len() as u32);
    let room = call.u32(4) as usize;
    if room < head.len() {
        return BUFFER_TOO_SMALL;
    }
    guest::put(call.arg(3), all.get(..room.min(all.len())).unwrap_or_default());
    if room < all.len() { BUFFER_OVERFLOW } else { 0 }
}
