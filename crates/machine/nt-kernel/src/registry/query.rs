//! The `Rtl` routines for the registry, such as `RtlQueryRegistryValues` with its query table.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::{RTL_QUERY_REGISTRY_TABLE, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{Call, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, routines};
use windows_constants::registry::{
    REG_EXPAND_SZ, REG_MULTI_SZ, REG_SZ, RTL_QUERY_REGISTRY_DIRECT, RTL_QUERY_REGISTRY_NOEXPAND,
    RTL_QUERY_REGISTRY_REQUIRED, RTL_QUERY_REGISTRY_SUBKEY, RTL_QUERY_REGISTRY_TOPKEY, RTL_QUERY_REGISTRY_TYPECHECK,
    RTL_REGISTRY_HANDLE, RTL_REGISTRY_OPTIONAL,
};

use super::keys::{SERVICES, Value, change, note_missing_key};
use crate::ex::handle::KernelHandle;
use crate::ex::keys::{Change, around};
use crate::ex::{KeyOperation, object};
use crate::pool::Pool;
use crate::registry::keys::Registry;
use crate::{Kernel, call_back, kernel, lock};

const NOT_FOUND: NtStatus = NtStatus::ObjectNameNotFound;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE)]
    fn RtlCheckRegistryKey(location: u32, path: GuestPtr<u16>) -> Outcome {
        existing(location, path, false).map(drop)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlCreateRegistryKey(location: u32, path: GuestPtr<u16>) -> Outcome {
        existing(location, path, true).map(drop)
    }

    /// The key is created if it does not exist.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn RtlWriteRegistryValue(
        location: u32,
        path: GuestPtr<u16>,
        name: GuestPtr<u16>,
        kind: u32,
        data: GuestSlice<u8>,
    ) -> Outcome {
        let key = existing(location, path, true)?;
        let name = name.text()?;
        let data = data.read()?;
        let operation = Change::SetValue { value: &name, kind, data: &data.clone() };
        around(&super::routines::path(key), operation, || {
            change(|registry| registry.set(key, &name, (kind, data)));
            Ok(())
        })
    }

    #[irql(PASSIVE)]
    fn RtlDeleteRegistryValue(location: u32, path: GuestPtr<u16>, name: GuestPtr<u16>) -> Outcome {
        let key = existing(location, path, false)?;
        let name = name.text()?;
        around(&super::routines::path(key), Change::Named(KeyOperation::DeleteValue, &name), || {
            if change(|registry| registry.remove(key, &name)) { Ok(()) } else { fail(NOT_FOUND) }
        })
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn RtlQueryRegistryValues(
        &call,
        location: u32,
        path: GuestPtr<u16>,
        table: GuestPtr<RTL_QUERY_REGISTRY_TABLE>,
        context: GuestPtr<Opaque>,
        _environment: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        query(call, location, path, table, context)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn RtlQueryRegistryValuesEx(
        &call,
        location: u32,
        path: GuestPtr<u16>,
        table: GuestPtr<RTL_QUERY_REGISTRY_TABLE>,
        context: GuestPtr<Opaque>,
        _environment: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        query(call, location, path, table, context)
    }
}

/// Returns the key that a location (`RTL_REGISTRY_…`) and a path below it select. With `create`, the key is created if
/// it does not exist and its parent does. The path may be a handle.
fn key(location: u32, path: GuestPtr<u16>, create: bool) -> Outcome<Option<u64>> {
    if location & RTL_REGISTRY_HANDLE != 0 {
        return object::by_handle(KernelHandle::new(path.address())).map(Some).ok_or(NtStatus::InvalidHandle.into());
    }
    let base = match location & !RTL_REGISTRY_OPTIONAL {
        0 => "",
        1 => SERVICES,
        2 => r"\Registry\Machine\System\CurrentControlSet\Control\",
        3 => r"\Registry\Machine\Software\Microsoft\Windows NT\CurrentVersion\",
        4 => r"\Registry\Machine\Hardware\DeviceMap\",
        5 => r"\Registry\User\.Default\",
        _ => return fail(NtStatus::InvalidParameter),
    };
    let path = format!("{base}{}", path.text()?);
    let key = change(|registry| registry.key(&path, create));
    if key.is_none() {
        note_missing_key(&path);
    }
    Ok(key)
}

/// Like [`key`], but fails if the key does not exist.
fn existing(location: u32, path: GuestPtr<u16>, create: bool) -> Outcome<u64> {
    key(location, path, create)?.ok_or(NOT_FOUND.into())
}

fn query(
    call: &Call,
    location: u32,
    path: GuestPtr<u16>,
    table: GuestPtr<RTL_QUERY_REGISTRY_TABLE>,
    context: GuestPtr<Opaque>,
) -> Outcome {
    let Kernel { pool, registry, .. } = kernel();
    let Some(top) = key(location, path, false)? else {
        return if location & RTL_REGISTRY_OPTIONAL == 0 { fail(NOT_FOUND) } else { Ok(()) };
    };
    let mut place = table;
    let mut current = top;
    loop {
        let entry = place.read()?;
        if entry.QueryRoutine.is_null() && entry.Flags & (RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_SUBKEY) == 0 {
            return Ok(());
        }
        if entry.Flags & RTL_QUERY_REGISTRY_TOPKEY != 0 {
            current = top;
        }
        let name = entry.Name.text()?;
        if entry.Flags & RTL_QUERY_REGISTRY_SUBKEY == 0 {
            value(pool, registry, call, &entry, current, &name, context)?;
        } else {
            let path = lock(registry).path(Some(current), &name).unwrap_or_default();
            let below = lock(registry).key(&path, false);
            current = below.unwrap_or(current);
            if below.is_none() && entry.Flags & RTL_QUERY_REGISTRY_REQUIRED != 0 {
                return fail(NOT_FOUND);
            }
        }
        place = place.at(1);
    }
}

/// Processes one entry of the table: calls its routine, or stores the value at its context.
fn value(
    pool: &Mutex<Pool>,
    registry: &Mutex<Registry>,
    call: &Call,
    entry: &RTL_QUERY_REGISTRY_TABLE,
    key: u64,
    name: &str,
    context: GuestPtr<Opaque>,
) -> Outcome {
    let found = lock(registry).value(key, name);
    let (kind, data) = match found {
        Some(value) => value,
        None if entry.Flags & RTL_QUERY_REGISTRY_REQUIRED != 0 => return fail(NOT_FOUND),
        None if entry.DefaultType.trailing_zeros() >= 8 => return Ok(()),
        None => default(entry)?,
    };
    if entry.Flags & RTL_QUERY_REGISTRY_DIRECT == 0 {
        let memory: GuestPtr<u8> = lock(pool).new_objects(data.len() as u64 + 2);
        if memory.is_null() {
            return fail(NtStatus::NoMemory);
        }
        memory.write_all(&data)?;
        let size = data.len() as u64;
        let place = entry.EntryContext.address();
        let arguments = [entry.Name.address(), kind.into(), memory.address(), size, context.address(), place];
        let status = call_back("QueryRoutine", PASSIVE, entry.QueryRoutine, &arguments);
        lock(pool).free_object(memory.address());
        return Ok(NtStatus::from_int(status as u32).ok()?);
    }
    if entry.Flags & RTL_QUERY_REGISTRY_TYPECHECK != 0 && entry.DefaultType >> 24 != kind {
        return fail(NtStatus::ObjectTypeMismatch);
    }
    if kind == REG_MULTI_SZ && entry.Flags & RTL_QUERY_REGISTRY_NOEXPAND == 0 {
        return fail(NtStatus::InvalidParameter);
    }
    direct(pool, call, entry.EntryContext, kind, &data)
}

fn default(entry: &RTL_QUERY_REGISTRY_TABLE) -> Result<Value, Fault> {
    let kind = entry.DefaultType & 0xFF;
    if kind == REG_SZ && entry.DefaultLength == 0 {
        let units = entry.DefaultData.cast::<u16>().terminated()?;
        return Ok((REG_SZ, units.into_iter().chain([0]).flat_map(u16::to_le_bytes).collect()));
    }
    Ok((kind, entry.DefaultData.array(entry.DefaultLength.into()).read()?))
}

/// Stores a value at the context of the entry: strings as a `UNICODE_STRING`, other values as bytes.
fn direct(pool: &Mutex<Pool>, call: &Call, place: GuestPtr<u8>, kind: u32, data: &[u8]) -> Outcome {
    let too_small = || fail(NtStatus::BufferTooSmall);
    if let REG_SZ | REG_EXPAND_SZ | REG_MULTI_SZ = kind {
        // A `UNICODE_STRING` has at most 0xFFFF bytes; Windows truncates longer values.
        let data = data.get(..0xFFFF).unwrap_or(data);
        let string = place.cast::<UNICODE_STRING>();
        let length = data.len() as u16;
        let mut maximum = string.MaximumLength().read()?;
        let mut buffer = string.Buffer().read()?;
        if buffer.is_null() {
            // The driver must free the buffer.
            let memory = lock(pool).allocate(length.into(), *b"RtlQ", true, call.from);
            let Some(memory) = memory else { return fail(NtStatus::NoMemory) };
            (maximum, buffer) = (length, GuestPtr::new(memory));
        } else if maximum < length {
            return too_small();
        }
        buffer.cast().write_all(data)?;
        string.set(length.saturating_sub(2), maximum, buffer)?;
        return done(());
    }
    if data.len() <= size_of::<u32>() {
        return Ok(place.write_all(data)?);
    }
    // The buffer starts with its size. If that is negative, only the data is stored; otherwise the length and the type
    // of the data are stored before it.
    let size = place.cast::<i32>().read()?;
    let head = if size < 0 { Vec::new() } else { [data.len() as u32, kind].map(u32::to_le_bytes).concat() };
    if (size.unsigned_abs() as usize) < head.len() + data.len() {
        return too_small();
    }
    Ok(place.write_all(&[&head, data].concat())?)
}
