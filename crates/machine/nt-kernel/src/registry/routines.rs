//! The `Zw` routines for registry keys and values. The values that a driver writes exist as long as the host runs.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::{DEVICE_OBJECT, DRIVER_OBJECT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{Call, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::registry::{KeyBasicInformation, KeyFullInformation, KeyNameInformation, KeyNodeInformation};

use super::keys::{self, open_device, open_key, open_parameters};
use crate::ex::KeyOperation;
use crate::ex::handle::KernelHandle;
use crate::ex::keys::{Change, around};
use crate::ex::object;
use crate::registry::keys::Registry;
use crate::sync::scheduler::Scheduler;
use crate::{Kernel, kernel, lock};

const NOT_FOUND: NtStatus = NtStatus::ObjectNameNotFound;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn ZwOpenKey(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    ) -> Outcome {
        open(call, place, attributes, None)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn ZwOpenKeyEx(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        _options: Ignored<u32>,
    ) -> Outcome {
        open(call, place, attributes, None)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwCreateKey(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        _title: Ignored<u32>,
        _class: Ignored<GuestPtr<UNICODE_STRING>>,
        _options: Ignored<u32>,
        disposition: Out<u32>,
    ) -> Outcome {
        open(call, place, attributes, Some(disposition))
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn ZwQueryValueKey(
        handle: KernelHandle,
        name: GuestPtr<UNICODE_STRING>,
        class: i32,
        buffer: GuestSlice<u8>,
        length: Out<u32>,
    ) -> Outcome {
        let key = key(handle)?;
        let name = name.text()?;
        around(&path(key), Change::Named(KeyOperation::QueryValue, &name), || {
            let Some(value) = lock(&kernel().registry).value(key, &name) else { return fail(NOT_FOUND) };
            store_value(class, (buffer, length), &name, value)
        })
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwSetValueKey(
        handle: KernelHandle,
        name: GuestPtr<UNICODE_STRING>,
        _title: Ignored<u32>,
        kind: u32,
        data: GuestSlice<u8>,
    ) -> Outcome {
        let data = data.read()?;
        let key = key(handle)?;
        let name = name.text()?;
        around(&path(key), Change::SetValue { value: &name, kind, data: &data.clone() }, || {
            let set = keys::change(|registry| registry.set(key, &name, (kind, data)));
            if set { done(()) } else { fail(NtStatus::InvalidHandle) }
        })
    }

    #[irql(PASSIVE)]
    fn ZwDeleteValueKey(handle: KernelHandle, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        let key = key(handle)?;
        let name = name.text()?;
        around(&path(key), Change::Named(KeyOperation::DeleteValue, &name), || {
            if keys::change(|registry| registry.remove(key, &name)) { done(()) } else { fail(NOT_FOUND) }
        })
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle), keeps_nothing]
    fn ZwQueryKey(handle: KernelHandle, class: i32, buffer: GuestSlice<u8>, length: Out<u32>) -> Outcome {
        let Kernel { registry, scheduler, .. } = kernel();
        store_key(registry, scheduler, class, (buffer, length), key(handle)?)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwEnumerateKey(
        handle: KernelHandle,
        index: u32,
        class: i32,
        buffer: GuestSlice<u8>,
        length: Out<u32>,
    ) -> Outcome {
        let Kernel { registry, scheduler, .. } = kernel();
        let key = key(handle)?;
        let mut keys = lock(registry);
        let Some(name) = keys.below(key).into_iter().nth(index as usize) else {
            return fail(NtStatus::NoMoreEntries);
        };
        let path = keys.path(Some(key), &name).unwrap_or_default();
        let Some(below) = keys.key(&path, false) else { return fail(NtStatus::NoMoreEntries) };
        drop(keys);
        // `ZwEnumerateKey` does not return the full path of a subkey.
        if class == KeyNameInformation { fail(NtStatus::InvalidParameter) } else { store_key(registry, scheduler, class, (buffer, length), below) }
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwEnumerateValueKey(
        handle: KernelHandle,
        index: u32,
        class: i32,
        buffer: GuestSlice<u8>,
        length: Out<u32>,
    ) -> Outcome {
        let key = key(handle)?;
        let found = lock(&kernel().registry).get(key).and_then(|key| key.values.values().nth(index as usize).cloned());
        match found {
            Some((name, value)) => store_value(class, (buffer, length), &name, value),
            None => fail(NtStatus::NoMoreEntries),
        }
    }

    /// There is nothing to flush: the registry is in memory.
    #[irql(PASSIVE)]
    fn ZwFlushKey(_handle: Ignored<KernelHandle>) -> NtStatus {
        NtStatus::Success
    }

    #[irql(PASSIVE)]
    fn ZwDeleteKey(handle: KernelHandle) -> Outcome {
        let key = any_key(handle)?;
        around(&path(key), Change::Named(KeyOperation::DeleteKey, ""), || {
            if keys::change(|registry| registry.delete(key)) { done(()) } else { fail(NtStatus::CannotDelete) }
        })
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwRenameKey(handle: KernelHandle, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        let key = key(handle)?;
        let name = name.text()?;
        around(&path(key), Change::Named(KeyOperation::RenameKey, &name), || {
            if keys::change(|registry| registry.rename(key, &name)) { done(()) } else { fail(NtStatus::ObjectNameCollision) }
        })
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn IoOpenDeviceRegistryKey(
        &call,
        _device: Ignored<GuestPtr<DEVICE_OBJECT>>,
        kind: u32,
        _access: Ignored<u32>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        place.set(open_device(kind, call.from))?;
        done(())
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn IoOpenDriverRegistryKey(
        &call,
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        _kind: Ignored<i32>,
        _access: Ignored<u32>,
        _flags: Ignored<u32>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        place.set(open_parameters(call.from))?;
        done(())
    }
}

/// Returns the path of a key.
pub(super) fn path(key: u64) -> String {
    lock(&kernel().registry).get(key).map(|key| key.path.clone()).unwrap_or_default()
}

/// Returns the key with this handle. Nothing can be done with a key that was deleted: the tests of Wine record that
/// Windows then returns `STATUS_KEY_DELETED` (`dlls/advapi32/tests/registry.c`).
fn key(handle: KernelHandle) -> Outcome<u64> {
    let key = any_key(handle)?;
    if lock(&kernel().registry).is_deleted(key) { fail(NtStatus::KeyDeleted) } else { done(key) }
}

/// Returns the key with this handle, which may be deleted.
fn any_key(handle: KernelHandle) -> Outcome<u64> {
    object::by_handle(handle).ok_or(NtStatus::InvalidHandle.into())
}

/// Opens a key. If there is a place for the disposition, a key that does not exist is created.
fn open(
    call: &Call,
    place: Out<KernelHandle>,
    attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    disposition: Option<Out<u32>>,
) -> Outcome {
    let create = disposition.is_some();
    let root = attributes.RootDirectory().read()?;
    let name = attributes.ObjectName().read()?;
    let parent = if root == 0 { None } else { Some(key(KernelHandle::new(root))?) };
    let name = name.text()?;
    let operation = if create { KeyOperation::CreateKey } else { KeyOperation::OpenKey };
    around(&parent.map(path).unwrap_or_default(), Change::Named(operation, &name), || {
        let existed = create && open_key(parent, &name, false, call.from).map(object::close).is_some();
        let Some(handle) = open_key(parent, &name, create, call.from) else {
            let path = lock(&kernel().registry).path(parent, &name).unwrap_or_default();
            keys::note_missing_key(&path);
            return fail(NOT_FOUND);
        };
        place.set(handle)?;
        if let Some(disposition) = disposition {
            // REG_OPENED_EXISTING_KEY, REG_CREATED_NEW_KEY.
            disposition.set_if_wanted(if existed { 2 } else { 1 })?;
        }
        done(())
    })
}

/// The buffer for information, and the place for its required length.
type Target = (GuestSlice<u8>, Out<u32>);

fn store_value(class: i32, target: Target, name: &str, (kind, data): keys::Value) -> Outcome {
    let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut head = [0, kind].map(u32::to_le_bytes).concat();
    match class {
        // KeyValueBasicInformation: only the name.
        0 => {
            head.extend((units.len() as u32).to_le_bytes());
            return store(target, &head, &units);
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
    store(target, &head, &data)
}

/// Stores information about a key. Keys have no class name.
fn store_key(registry: &Mutex<Registry>, scheduler: &Scheduler, class: i32, target: Target, key: u64) -> Outcome {
    let path = path(key);
    let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let whole = units(&path);
    let name = units(path.rsplit_once('\\').map_or(&*path, |(_, name)| name));
    let time = scheduler.system_time().to_le_bytes();
    // The title index, then the offset and the length of the class name.
    let title = 0;
    let no_class = [u32::MAX, 0];
    let (words, rest) = match class {
        KeyBasicInformation => (vec![title, name.len() as u32], name),
        KeyNodeInformation => (vec![title, no_class[0], no_class[1], name.len() as u32], name),
        KeyFullInformation => {
            let mut registry = lock(registry);
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
        KeyNameInformation => return store(target, &(whole.len() as u32).to_le_bytes(), &whole),
        _ => return fail(NtStatus::InvalidParameter),
    };
    let words: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    store(target, &[&time, words.as_slice()].concat(), &rest)
}

/// Stores `head` and `rest`. Fails with `STATUS_BUFFER_TOO_SMALL` if `head` does not fit, and with
/// `STATUS_BUFFER_OVERFLOW` if `rest` does not fit.
fn store((buffer, length): Target, head: &[u8], rest: &[u8]) -> Outcome {
    let all = [head, rest].concat();
    length.set(all.len() as u32)?;
    if buffer.len() < head.len() as u64 {
        return fail(NtStatus::BufferTooSmall);
    }
    buffer.write(&all)?;
    if buffer.len() < all.len() as u64 { fail(NtStatus::BufferOverflow) } else { Ok(()) }
}
