//! The `Zw` routines for registry keys and values. The values that a driver writes exist as long as the host runs.

use etw_types::NtStatus;

use super::keys::{self, open_device, open_key, open_parameters};
use crate::kernel::ex::KeyOperation;
use crate::kernel::ex::keys::{Change, around};
use crate::kernel::ex::object;
use crate::kernel::{kernel, lock};
use crate::layout::{OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::routine::{Call, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routine};

const NOT_FOUND: NtStatus = NtStatus::ObjectNameNotFound;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("ZwOpenKey", PASSIVE, |call| open(call, false)).fails(NOT_FOUND),
    routine!("ZwOpenKeyEx", PASSIVE, |call| open(call, false)).fails(NOT_FOUND),
    routine!("ZwCreateKey", PASSIVE, |call| open(call, true)).fails(NO_RESOURCES),
    routine!("ZwQueryValueKey", PASSIVE, query_value).fails(NOT_FOUND),
    // Arguments: key, name, title index, type, data, length.
    routine!("ZwSetValueKey", PASSIVE, |call| {
        let data = call.ptr::<u8>(4).array(call.u32(5).into()).read()?;
        let (key, name, kind) = (key(call)?, call.ptr::<UNICODE_STRING>(1).text()?, call.u32(3));
        around(&path(key), Change::SetValue { value: &name, kind, data: &data.clone() }, || {
            let set = lock(&kernel().registry).set(key, &name, (kind, data));
            if set { done(()) } else { fail(NtStatus::InvalidHandle) }
        })
    })
    .fails(NO_RESOURCES),
    routine!("ZwDeleteValueKey", PASSIVE, |call| {
        let (key, name) = (key(call)?, call.ptr::<UNICODE_STRING>(1).text()?);
        around(&path(key), Change::Named(KeyOperation::DeleteValue, &name), || {
            if lock(&kernel().registry).remove(key, &name) { done(()) } else { fail(NOT_FOUND) }
        })
    })
    .fails(NOT_FOUND),
    routine!("ZwEnumerateKey", PASSIVE, enumerate_keys).fails(NO_RESOURCES),
    routine!("ZwEnumerateValueKey", PASSIVE, enumerate_values).fails(NO_RESOURCES),
    // There is nothing to flush: the registry is in memory.
    routine!("ZwFlushKey", PASSIVE, |_| NtStatus::Success),
    routine!("ZwDeleteKey", PASSIVE, |call| {
        let key = key(call)?;
        around(&path(key), Change::Named(KeyOperation::DeleteKey, ""), || {
            if lock(&kernel().registry).delete(key) { done(()) } else { fail(NtStatus::CannotDelete) }
        })
    }),
    // Arguments: key, new name.
    routine!("ZwRenameKey", PASSIVE, |call| {
        let (key, name) = (key(call)?, call.ptr::<UNICODE_STRING>(1).text()?);
        around(&path(key), Change::Named(KeyOperation::RenameKey, &name), || {
            if lock(&kernel().registry).rename(key, &name) { done(()) } else { fail(NtStatus::ObjectNameCollision) }
        })
    })
    .fails(NO_RESOURCES),
    // Arguments: device, type of key, access, place for the handle.
    routine!("IoOpenDeviceRegistryKey", PASSIVE, |call| call.ptr(3).write(open_device(call.u32(1), call.from)))
        .fails(NOT_FOUND),
    routine!("IoOpenDriverRegistryKey", PASSIVE, |call| call.ptr(4).write(open_parameters(call.from))).fails(NOT_FOUND),
];

/// Returns the path of a key.
pub(super) fn path(key: u64) -> String {
    lock(&kernel().registry).get(key).map(|key| key.path.clone()).unwrap_or_default()
}

/// Returns the key whose handle is the first argument.
fn key(call: &Call) -> Outcome<u64> {
    object::by_handle(call.kernel_handle(0)).ok_or(NtStatus::InvalidHandle.into())
}

/// Arguments: place for the handle, access, attributes; for a new key also title index, class, options, place for the
/// disposition.
fn open(call: &Call, create: bool) -> Outcome {
    let attributes = call.ptr::<OBJECT_ATTRIBUTES>(2);
    let (root, name) = (attributes.RootDirectory().read()?, attributes.ObjectName().read()?);
    let parent = object::by_handle(object::KernelHandle::new(root));
    if root != 0 && parent.is_none() {
        return fail(NtStatus::InvalidHandle);
    }
    let name = name.text()?;
    let operation = if create { KeyOperation::CreateKey } else { KeyOperation::OpenKey };
    around(&parent.map(path).unwrap_or_default(), Change::Named(operation, &name), || {
        let existed = create && open_key(parent, &name, false, call.from).map(object::close).is_some();
        match open_key(parent, &name, create, call.from) {
            Some(handle) => {
                call.ptr(0).write(handle)?;
                if create {
                    // REG_OPENED_EXISTING_KEY, REG_CREATED_NEW_KEY.
                    call.ptr(6).write_if(if existed { 2_u32 } else { 1 })?;
                }
                done(())
            }
            None => fail(NOT_FOUND),
        }
    })
}

/// Arguments: key, name, class, buffer, length, place for the length.
fn query_value(call: &Call) -> Outcome {
    let (key, name) = (key(call)?, call.ptr::<UNICODE_STRING>(1).text()?);
    around(&path(key), Change::Named(KeyOperation::QueryValue, &name), || {
        let Some(value) = lock(&kernel().registry).value(key, &name) else { return fail(NOT_FOUND) };
        answer_value(call, &name, value)
    })
}

/// Arguments: key, index, class, buffer, length, place for the length.
fn enumerate_values(call: &Call) -> Outcome {
    let key = key(call)?;
    let found =
        lock(&kernel().registry).get(key).and_then(|key| key.values.values().nth(call.u32(1) as usize).cloned());
    match found {
        Some((name, value)) => answer_value(call, &name, value),
        None => fail(NtStatus::NoMoreEntries),
    }
}

fn answer_value(call: &Call, name: &str, (kind, data): keys::Value) -> Outcome {
    let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut head = [0, kind].map(u32::to_le_bytes).concat();
    match call.u32(2) {
        // KeyValueBasicInformation: only the name.
        0 => {
            head.extend((units.len() as u32).to_le_bytes());
            return answer(call, &head, &units);
        }
        // KeyValueFullInformation: the data follows the name.
        1 => {
            let sizes = [20 + units.len(), data.len(), units.len()];
            head.extend(sizes.map(|size| (size as u32).to_le_bytes()).concat());
            head.extend(units);
        }
        // KeyValuePartialInformation.
        2 => head.extend((data.len() as u32).to_le_bytes()),
        _ => return fail(NtStatus::InvalidParameter),
    }
    answer(call, &head, &data)
}

/// Arguments: key, index, class, buffer, length, place for the length. Only `KeyBasicInformation` is supported.
fn enumerate_keys(call: &Call) -> Outcome {
    let key = key(call)?;
    if call.u32(2) != 0 {
        return fail(NtStatus::InvalidParameter);
    }
    let names = lock(&kernel().registry).below(key);
    let Some(name) = names.get(call.u32(1) as usize) else { return fail(NtStatus::NoMoreEntries) };
    let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // The time of the last write, the title index and the length of the name.
    let mut head = kernel().scheduler.system_time().to_le_bytes().to_vec();
    head.extend([0, units.len() as u32].map(u32::to_le_bytes).concat());
    answer(call, &head, &units)
}

/// Stores the part of the information that fits into the buffer. Fails if the buffer is too small for `head`.
fn answer(call: &Call, head: &[u8], rest: &[u8]) -> Outcome {
    let all = [head, rest].concat();
    call.ptr(5).write(all.len() as u32)?;
    let room = call.u32(4) as usize;
    if room < head.len() {
        return fail(NtStatus::BufferTooSmall);
    }
    call.ptr(3).array(room as u64).write(&all)?;
    if room < all.len() { fail(NtStatus::BufferOverflow) } else { Ok(()) }
}
