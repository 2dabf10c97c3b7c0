//! Registry keys as framework objects.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::object::{self, Data, create, created};
use super::{Handle, life, memory, misc};
use crate::kernel::ex::object::{self as kernel_object, KernelHandle};
use crate::kernel::registry::keys;
use crate::kernel::{self, kernel};
use crate::layout::{UNICODE_STRING, WDF_OBJECT_ATTRIBUTES};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{Call, Outcome, PASSIVE, Routine, done, fail, routine};

const NOT_FOUND: NtStatus = NtStatus::ObjectNameNotFound;
const NO_RESOURCES: NtStatus = NtStatus::InsufficientResources;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDriverOpenParametersRegistryKey", PASSIVE, |call| {
        opened(call, Some(keys::open_parameters(call.from)), call.ptr(3), call.ptr(4))
    })
    .fails(NOT_FOUND),
    routine!("WdfDeviceOpenRegistryKey", PASSIVE, |call| {
        opened(call, Some(keys::open_device(call.u32(2), call.from)), call.ptr(4), call.ptr(5))
    })
    .fails(NOT_FOUND),
    routine!("WdfFdoInitOpenRegistryKey", PASSIVE, |call| {
        opened(call, Some(keys::open_device(call.u32(2), call.from)), call.ptr(4), call.ptr(5))
    })
    .fails(NOT_FOUND),
    routine!("WdfRegistryOpenKey", PASSIVE, |call| {
        let key = open_below(call, false)?;
        opened(call, key, call.ptr(4), call.ptr(5))
    })
    .fails(NOT_FOUND),
    // Arguments: parent or NULL, name, access, options, place for the disposition, attributes, place for the key.
    routine!("WdfRegistryCreateKey", PASSIVE, |call| {
        let existing = open_below(call, false)?;
        call.ptr(5).write_if(if existing.is_some() { 2_u32 } else { 1 })?;
        let key = if existing.is_some() { existing } else { open_below(call, true)? };
        opened(call, key, call.ptr(6), call.ptr(7))
    })
    .fails(NO_RESOURCES),
    routine!("WdfRegistryClose", PASSIVE, |call| {
        key(call.handle(1));
        life::delete(call.handle(1));
    }),
    routine!("WdfRegistryWdmGetHandle", PASSIVE, |call| handle(call.handle(1))),
    routine!("WdfRegistryRemoveKey", PASSIVE, |call| {
        let removed = kernel::lock(&kernel().registry).delete(key(call.handle(1)));
        life::delete(call.handle(1));
        if removed { NtStatus::Success } else { NtStatus::CannotDelete }
    }),
    routine!("WdfRegistryRemoveValue", PASSIVE, |call| {
        let (key, name) = (key(call.handle(1)), call.ptr::<UNICODE_STRING>(2).text()?);
        if kernel::lock(&kernel().registry).remove(key, &name) { done(()) } else { fail(NOT_FOUND) }
    }),
    routine!("WdfRegistryQueryULong", PASSIVE, |call| {
        let data = value_of(call, keys::DWORD)?;
        call.ptr(3).write_all(&data)?;
        done(())
    })
    .fails(NOT_FOUND),
    // Arguments: key, name, length, buffer, place for the length, place for the type.
    routine!("WdfRegistryQueryValue", PASSIVE, |call| {
        let (kind, data) = value(call)?;
        call.ptr(5).write_if(data.len() as u32)?;
        call.ptr(6).write_if(kind)?;
        if data.len() > call.u32(3) as usize {
            return fail(NtStatus::BufferOverflow);
        }
        call.ptr(4).write_all(&data)?;
        done(())
    })
    .fails(NOT_FOUND),
    // Arguments: key, name, pool type, attributes, place for the memory, place for the type.
    routine!("WdfRegistryQueryMemory", PASSIVE, |call| {
        let (kind, data) = value(call)?;
        call.ptr(6).write_if(kind)?;
        created(memory::with_bytes(call, call.ptr(4), &data), call.ptr(5))
    })
    .fails(NOT_FOUND),
    routine!("WdfRegistryQueryString", PASSIVE, |call| {
        let data = value_of(call, keys::TEXT)?;
        misc::set_string(call.handle(3), &units(&data))?;
        done(())
    })
    .fails(NOT_FOUND),
    // Arguments: key, name, place for the length, string.
    routine!("WdfRegistryQueryUnicodeString", PASSIVE, |call| {
        let data = value_of(call, keys::TEXT)?;
        query_text(call, &units(&data))
    })
    .fails(NOT_FOUND),
    // Arguments: key, name, attributes of the strings, collection.
    routine!("WdfRegistryQueryMultiString", PASSIVE, |call| {
        let data = value_of(call, keys::TEXTS)?;
        query_texts(call, &data)
    })
    .fails(NOT_FOUND),
    routine!("WdfRegistryAssignULong", PASSIVE, |call| assign(call, keys::DWORD, call.u32(3).to_le_bytes().to_vec()))
        .fails(NO_RESOURCES),
    // Arguments: key, name, type, length, data.
    routine!("WdfRegistryAssignValue", PASSIVE, |call| {
        let data = call.ptr::<u8>(5).array(call.u32(4).into()).read()?;
        assign(call, call.u32(3), data)
    })
    .fails(NO_RESOURCES),
    routine!("WdfRegistryAssignUnicodeString", PASSIVE, |call| {
        let units = call.ptr::<UNICODE_STRING>(3).units()?;
        assign(call, keys::TEXT, terminated(&units))
    })
    .fails(NO_RESOURCES),
    routine!("WdfRegistryAssignString", PASSIVE, |call| {
        let units = misc::string_units(call.handle(3))?;
        assign(call, keys::TEXT, terminated(&units))
    })
    .fails(NO_RESOURCES),
    routine!("WdfRegistryAssignMultiString", PASSIVE, |call| {
        let mut data = Vec::new();
        for item in misc::items_of(call.handle(3)) {
            data.extend(terminated(&misc::string_units(item)?));
        }
        data.extend([0, 0]);
        assign(call, keys::TEXTS, data)
    })
    .fails(NO_RESOURCES),
    // Arguments: key, name, type, memory, part of it or NULL.
    routine!("WdfRegistryAssignMemory", PASSIVE, |call| {
        let data = memory::bytes(call.handle(4), call.ptr(5))?;
        assign(call, call.u32(3), data)
    })
    .fails(NO_RESOURCES),
];

/// Creates the framework object for a kernel handle.
fn opened(
    call: &Call,
    key: Option<KernelHandle>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    place: GuestPtr<Handle>,
) -> Outcome {
    match key {
        Some(handle) => created(create(call, attributes, None, Data::Key { handle }), place),
        None => fail(NOT_FOUND),
    }
}

/// Arguments: parent or NULL, name.
fn open_below(call: &Call, create: bool) -> Result<Option<KernelHandle>, Fault> {
    let parent = call.handle(1).non_null().map(key);
    let name = call.ptr::<UNICODE_STRING>(2).text()?;
    Ok(keys::open_key(parent, &name, create, call.from))
}

/// Returns the kernel handle of a key object.
fn handle(object: Handle) -> KernelHandle {
    object::part(object, |data| match data {
        Data::Key { handle } => Some(*handle),
        _ => None,
    })
}

fn key(object: Handle) -> u64 {
    kernel_object::by_handle(handle(object)).unwrap_or_default()
}

/// Returns the value that the first two arguments (key and name) select.
fn value(call: &Call) -> Outcome<keys::Value> {
    let (key, name) = (key(call.handle(1)), call.ptr::<UNICODE_STRING>(2).text()?);
    kernel::lock(&kernel().registry).value(key, &name).ok_or(NOT_FOUND.into())
}

/// Returns the data of a value. Fails if the value's type is not `wanted`.
fn value_of(call: &Call, wanted: u32) -> Outcome<Vec<u8>> {
    let (kind, data) = value(call)?;
    if kind == wanted { Ok(data) } else { fail(NtStatus::ObjectTypeMismatch) }
}

fn assign(call: &Call, kind: u32, data: Vec<u8>) -> Outcome {
    let (key, name) = (key(call.handle(1)), call.ptr::<UNICODE_STRING>(2).text()?);
    kernel::lock(&kernel().registry).set(key, &name, (kind, data));
    Ok(())
}

/// Returns text without its terminating zero.
fn units(data: &[u8]) -> Vec<u16> {
    let all = data.as_chunks().0.iter().copied().map(u16::from_le_bytes);
    all.take_while(|unit| *unit != 0).collect()
}

/// Returns text with a terminating zero.
fn terminated(units: &[u16]) -> Vec<u8> {
    units.iter().copied().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn query_text(call: &Call, units: &[u16]) -> Outcome {
    let (string, length) = (call.ptr::<UNICODE_STRING>(4), units.len() as u16 * 2);
    call.ptr(3).write_if(length + 2)?;
    if string.is_null() {
        return Ok(());
    }
    if string.MaximumLength().read()? < length {
        return fail(NtStatus::BufferOverflow);
    }
    string.Buffer().read()?.write_all(units)?;
    string.Length().write(length)?;
    done(())
}

fn query_texts(call: &Call, data: &[u8]) -> Outcome {
    let attributes = Attributes::read(call.ptr(3))?;
    let all: Vec<u16> = data.as_chunks().0.iter().copied().map(u16::from_le_bytes).collect();
    for text in all.split(|unit| *unit == 0).filter(|text| !text.is_empty()) {
        misc::add_item(call.handle(4), misc::new_string(call.from, &attributes, text)?);
    }
    Ok(())
}
