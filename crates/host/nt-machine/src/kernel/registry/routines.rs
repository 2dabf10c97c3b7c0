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
    }),
    // Arguments: key, class, buffer, length, place for the length.
    routine!("ZwQueryKey", PASSIVE, |call| store_key(call, 1, key(call)?))
        .fails(NtStatus::InvalidHandle)
        .keeps_nothing(),
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
        let Some(handle) = open_key(parent, &name, create, call.from) else {
            let path = lock(&kernel().registry).path(parent, &name).unwrap_or_default();
            keys::note_missing_key(&path);
            return fail(NOT_FOUND);
        };
        call.ptr(0).write(handle)?;
        if create {
            // REG_OPENED_EXISTING_KEY, REG_CREATED_NEW_KEY.
            call.ptr(6).write_if(if existed { 2_u32 } else { 1 })?;
        }
        done(())
    })
}

/// Arguments: key, name, class, buffer, length, place for the length.
fn query_value(call: &Call) -> Outcome {
    let (key, name) = (key(call)?, call.ptr::<UNICODE_STRING>(1).text()?);
    around(&path(key), Change::Named(KeyOperation::QueryValue, &name), || {
        let Some(value) = lock(&kernel().registry).value(key, &name) else { return fail(NOT_FOUND) };
        store_value(call, &name, value)
    })
}

/// Arguments: key, index, class, buffer, length, place for the length.
fn enumerate_values(call: &Call) -> Outcome {
    let key = key(call)?;
    let found =
        lock(&kernel().registry).get(key).and_then(|key| key.values.values().nth(call.u32(1) as usize).cloned());
    match found {
        Some((name, value)) => store_value(call, &name, value),
        None => fail(NtStatus::NoMoreEntries),
    }
}

fn store_value(call: &Call, name: &str, (kind, data): keys::Value) -> Outcome {
    let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut head = [0, kind].map(u32::to_le_bytes).concat();
    match call.u32(2) {
        // KeyValueBasicInformation: only the name.
        0 => {
            head.extend((units.len() as u32).to_le_bytes());
            return store(call, 2, &head, &units);
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
    store(call, 2, &head, &data)
}

/// Arguments: key, index, class, buffer, length, place for the length.
fn enumerate_keys(call: &Call) -> Outcome {
    let key = key(call)?;
    let mut registry = lock(&kernel().registry);
    let Some(name) = registry.below(key).into_iter().nth(call.u32(1) as usize) else {
        return fail(NtStatus::NoMoreEntries);
    };
    let path = registry.path(Some(key), &name).unwrap_or_default();
    let Some(below) = registry.key(&path, false) else { return fail(NtStatus::NoMoreEntries) };
    drop(registry);
    // `ZwEnumerateKey` does not return the full path of a subkey.
    if call.u32(2) == NAME { fail(NtStatus::InvalidParameter) } else { store_key(call, 2, below) }
}

/// Classes of information about a key: `KEY_INFORMATION_CLASS`.
const BASIC: u32 = 0;
const NODE: u32 = 1;
const FULL: u32 = 2;
const NAME: u32 = 3;

/// Stores information about a key. `class` is the index of the argument with the information class. The next arguments
/// are the buffer, its length, and the place for the required length. Keys have no class name.
fn store_key(call: &Call, class: u64, key: u64) -> Outcome {
    let path = path(key);
    let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let (whole, name) = (units(&path), units(path.rsplit_once('\\').map_or(&*path, |(_, name)| name)));
    let time = kernel().scheduler.system_time().to_le_bytes();
    // The title index, then the offset and the length of the class name.
    let (title, no_class) = (0, [u32::MAX, 0]);
    let (words, rest) = match call.u32(class) {
        BASIC => (vec![title, name.len() as u32], name),
        NODE => (vec![title, no_class[0], no_class[1], name.len() as u32], name),
        FULL => {
            let mut registry = lock(&kernel().registry);
            let below = registry.below(key);
            let longest = below.iter().map(|name| units(name).len()).max().unwrap_or_default();
            let values: Vec<(usize, usize)> = registry
                .get(key)
                .map(|key| key.values.values().map(|(name, (_, data))| (units(name).len(), data.len())).collect())
                .unwrap_or_default();
            let name = values.iter().map(|(name, _)| *name).max().unwrap_or_default();
            let data = values.iter().map(|(_, data)| *data).max().unwrap_or_default();
            let counts = [below.len(), longest, 0, values.len(), name, data].map(|count| count as u32);
            ([title].into_iter().chain(no_class).chain(counts).collect(), Vec::new())
        }
        NAME => return store(call, class, &(whole.len() as u32).to_le_bytes(), &whole),
        _ => return fail(NtStatus::InvalidParameter),
    };
    let words: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    store(call, class, &[&time, words.as_slice()].concat(), &rest)
}

/// Stores `head` and `rest`. Fails with `STATUS_BUFFER_TOO_SMALL` if `head` does not fit, and with
/// `STATUS_BUFFER_OVERFLOW` if `rest` does not fit. The arguments after the argument `class` are the buffer, its
/// length, and the place for the required length.
fn store(call: &Call, class: u64, head: &[u8], rest: &[u8]) -> Outcome {
    let all = [head, rest].concat();
    call.ptr(class + 3).write(all.len() as u32)?;
    let room = call.u32(class + 2) as usize;
    if room < head.len() {
        return fail(NtStatus::BufferTooSmall);
    }
    call.ptr(class + 1).array(room as u64).write(&all)?;
    if room < all.len() { fail(NtStatus::BufferOverflow) } else { Ok(()) }
}
