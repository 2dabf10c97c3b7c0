//! Registry keys.

use super::attributes::Attributes;
use super::object::{self, Data, change, create, created};
use super::{Handle, life, memory, misc, status};
use crate::kernel::routine::{Call, PASSIVE, Routine, routine};
use crate::kernel::{self, kernel, registry_keys as keys};
use crate::memory::guest;

const TYPE_MISMATCH: u64 = 0xC000_0024;
const BUFFER_OVERFLOW: u64 = 0x8000_0005;
const NOT_FOUND: u32 = 0xC000_0034;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfDriverOpenParametersRegistryKey", PASSIVE, |call| {
        opened(call, Some(keys::open_parameters(call.from)), call.arg(3), call.arg(4))
    })
    .fails(NOT_FOUND),
    routine("WdfDeviceOpenRegistryKey", PASSIVE, |call| {
        opened(call, Some(keys::open_device(call.u32(2), call.from)), call.arg(4), call.arg(5))
    })
    .fails(NOT_FOUND),
    routine("WdfFdoInitOpenRegistryKey", PASSIVE, |call| {
        opened(call, Some(keys::open_device(call.u32(2), call.from)), call.arg(4), call.arg(5))
    })
    .fails(NOT_FOUND),
    routine("WdfRegistryOpenKey", PASSIVE, |call| {
        let key = open_below(call, false);
        opened(call, key, call.arg(4), call.arg(5))
    })
    .fails(NOT_FOUND),
    // Arguments: parent or NULL, name, access, options, place for the disposition, attributes, place for the key.
    routine("WdfRegistryCreateKey", PASSIVE, |call| {
        let existing = open_below(call, false);
        guest::write_if(call.arg(5), if existing.is_some() { 2_u32 } else { 1 });
        let key = existing.or_else(|| open_below(call, true));
        opened(call, key, call.arg(6), call.arg(7))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfRegistryClose", PASSIVE, |call| {
        key(call.arg(1));
        life::delete(call.arg(1));
        0
    }),
    routine("WdfRegistryWdmGetHandle", PASSIVE, |call| handle(call.arg(1))),
    routine("WdfRegistryRemoveKey", PASSIVE, |call| {
        let removed = kernel::lock(&kernel().registry).delete(key(call.arg(1)));
        life::delete(call.arg(1));
        if removed { status::SUCCESS } else { 0xC000_0121 }
    }),
    routine("WdfRegistryRemoveValue", PASSIVE, |call| {
        let removed = kernel::lock(&kernel().registry).remove(key(call.arg(1)), &guest::text(call.arg(2)));
        if removed { status::SUCCESS } else { NOT_FOUND.into() }
    })
    .fails(NOT_FOUND),
    routine("WdfRegistryQueryULong", PASSIVE, |call| match value(call) {
        Some((keys::DWORD, data)) => {
            guest::put(call.arg(3), &data);
            status::SUCCESS
        }
        Some(_) => TYPE_MISMATCH,
        None => NOT_FOUND.into(),
    })
    .fails(NOT_FOUND),
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
        None => NOT_FOUND.into(),
    })
    .fails(NOT_FOUND),
    // Arguments: key, name, pool type, attributes, place for the memory, place for the type.
    routine("WdfRegistryQueryMemory", PASSIVE, |call| match value(call) {
        Some((kind, data)) => {
            guest::write_if(call.arg(6), kind);
            created(memory::with_bytes(call, call.arg(4), &data), call.arg(5))
        }
        None => NOT_FOUND.into(),
    })
    .fails(NOT_FOUND),
    routine("WdfRegistryQueryString", PASSIVE, |call| match value(call) {
        Some((keys::TEXT, data)) => {
            misc::set_string(call.arg(3), &units(&data));
            status::SUCCESS
        }
        Some(_) => TYPE_MISMATCH,
        None => NOT_FOUND.into(),
    })
    .fails(NOT_FOUND),
    // Arguments: key, name, place for the length, string.
    routine("WdfRegistryQueryUnicodeString", PASSIVE, |call| match value(call) {
        Some((keys::TEXT, data)) => query_text(call, &units(&data)),
        Some(_) => TYPE_MISMATCH,
        None => NOT_FOUND.into(),
    })
    .fails(NOT_FOUND),
    // Arguments: key, name, attributes of the strings, collection.
    routine("WdfRegistryQueryMultiString", PASSIVE, |call| match value(call) {
        Some((keys::TEXTS, data)) => query_texts(call, &data),
        Some(_) => TYPE_MISMATCH,
        None => NOT_FOUND.into(),
    })
    .fails(NOT_FOUND),
    routine("WdfRegistryAssignULong", PASSIVE, |call| assign(call, keys::DWORD, call.u32(3).to_le_bytes().to_vec()))
        .fails(status::INSUFFICIENT_RESOURCES),
    // Arguments: key, name, type, length, data.
    routine("WdfRegistryAssignValue", PASSIVE, |call| {
        assign(call, call.u32(3), guest::bytes(call.arg(5), u64::from(call.u32(4))))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfRegistryAssignUnicodeString", PASSIVE, |call| {
        assign(call, keys::TEXT, terminated(&guest::unicode(call.arg(3))))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfRegistryAssignString", PASSIVE, |call| {
        assign(call, keys::TEXT, terminated(&misc::string_units(call.arg(3))))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfRegistryAssignMultiString", PASSIVE, |call| {
        let mut data: Vec<u8> =
            misc::items_of(call.arg(3)).into_iter().flat_map(|item| terminated(&misc::string_units(item))).collect();
        data.extend([0, 0]);
        assign(call, keys::TEXTS, data)
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    // Arguments: key, name, type, memory, part of it or NULL.
    routine("WdfRegistryAssignMemory", PASSIVE, |call| {
        let data = memory::bytes(call.arg(4), call.arg(5));
        assign(call, call.u32(3), data)
    })
    .fails(status::INSUFFICIENT_RESOURCES),
];

/// A handle of the kernel becomes an object.
fn opened(call: &Call, key: Option<u64>, attributes: u64, place: u64) -> u64 {
    match key {
        Some(handle) => created(create(call, attributes, None, Data::Key { handle }), place),
        None => NOT_FOUND.into(),
    }
}

/// Arguments: parent or NULL, name.
fn open_below(call: &Call, create: bool) -> Option<u64> {
    let parent = if call.arg(1) == 0 { None } else { Some(key(call.arg(1))) };
    keys::open_key(parent, &guest::text(call.arg(2)), create, call.from)
}

/// The kernel's handle of a key.
fn handle(object: Handle) -> u64 {
    let found = change(object, |object| match object.data {
        Data::Key { handle } => Some(handle),
        _ => None,
    });
    found.unwrap_or_else(|| object::violation(object))
}

fn key(object: Handle) -> u64 {
    kernel::objects::by_handle(handle(object)).unwrap_or_default()
}

fn value(call: &Call) -> Option<keys::Value> {
    let key = key(call.arg(1));
    kernel::lock(&kernel().registry).value(key, &guest::text(call.arg(2)))
}

fn assign(call: &Call, kind: u32, data: Vec<u8>) -> u64 {
    let key = key(call.arg(1));
    kernel::lock(&kernel().registry).set(key, &guest::text(call.arg(2)), (kind, data));
    status::SUCCESS
}

/// Text without its end.
fn units(data: &[u8]) -> Vec<u16> {
    let all = data.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    all.take_while(|unit| *unit != 0).collect()
}

/// Text with its end.
fn terminated(units: &[u16]) -> Vec<u8> {
    units.iter().copied().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn query_text(call: &Call, units: &[u16]) -> u64 {
    let (string, length) = (call.arg(4), units.len() as u16 * 2);
    guest::write_if(call.arg(3), length + 2);
    if string == 0 {
        return status::SUCCESS;
    }
    let maximum: u16 = guest::read(string + 2);
    if maximum < length {
        return BUFFER_OVERFLOW;
    }
    guest::put_units(guest::read(string + 8), units);
    guest::write(string, length);
    status::SUCCESS
}

fn query_texts(call: &Call, data: &[u8]) -> u64 {
    let attributes = match Attributes::read(call.arg(3)) {
        Ok(attributes) => attributes,
        Err(status) => return status.into(),
    };
    let all: Vec<u16> = data.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    for text in all.split(|unit| *unit == 0).filter(|text| !text.is_empty()) {
        match misc::new_string(call.from, &attributes, text) {
            Ok(string) => misc::add_item(call.arg(4), string),
            Err(status) => return status.into(),
        }
    }
    status::SUCCESS
}
