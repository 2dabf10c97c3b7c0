//! The runtime library's shortcuts to the registry, among them the query by a table.

use super::registry::NOT_FOUND;
use super::registry_keys::{SERVICES, TEXT, TEXTS, Value};
use super::routine::{Call, PASSIVE};
use super::{call_back, kernel, lock, objects};
use crate::memory::guest;

const INVALID_PARAMETER: u64 = 0xC000_000D;
const OBJECT_TYPE_MISMATCH: u64 = 0xC000_0024;
const BUFFER_TOO_SMALL: u64 = 0xC000_0023;
/// `RTL_REGISTRY_HANDLE` and `RTL_REGISTRY_OPTIONAL`.
const IS_HANDLE: u32 = 0x4000_0000;
const OPTIONAL: u32 = 0x8000_0000;
/// Flags of `RTL_QUERY_REGISTRY_TABLE`.
const SUBKEY: u32 = 0x01;
const TOPKEY: u32 = 0x02;
const REQUIRED: u32 = 0x04;
const DIRECT: u32 = 0x20;
const TYPECHECK: u32 = 0x100;
/// Bytes of an entry: routine 0, flags 8, name 16, context 24, default type 32, default data 40, default length 48.
const ENTRY: u64 = 56;

/// The key that the first two arguments name: a place and a path below it.
fn key(relative: u32, path: u64) -> Option<u64> {
    let name = String::from_utf16_lossy(&guest::terminated::<u16>(path));
    let base = match relative & !(IS_HANDLE | OPTIONAL) {
        0 if relative & IS_HANDLE != 0 => return objects::by_handle(path),
        0 => String::new(),
        1 => SERVICES.to_owned(),
        2 => r"\Registry\Machine\System\CurrentControlSet\Control\".to_owned(),
        3 => r"\Registry\Machine\Software\Microsoft\Windows NT\CurrentVersion\".to_owned(),
        4 => r"\Registry\Machine\Hardware\DeviceMap\".to_owned(),
        5 => r"\Registry\User\.Default\".to_owned(),
        _ => return None,
    };
    lock(&kernel().registry).key(&format!("{base}{name}"), false)
}

/// Arguments: place, path.
pub(super) fn check(call: &Call) -> u64 {
    if key(call.u32(0), call.arg(1)).is_some() { 0 } else { NOT_FOUND }
}

/// Arguments: place, path.
pub(super) fn create(call: &Call) -> u64 {
    if key(call.u32(0), call.arg(1)).is_some() {
        return 0;
    }
    let path = String::from_utf16_lossy(&guest::terminated::<u16>(call.arg(1)));
    let base = if call.u32(0) == 1 { SERVICES } else { "" };
    lock(&kernel().registry).key(&format!("{base}{path}"), true);
    0
}

/// Arguments: place, path, name, type, data, length.
pub(super) fn write(call: &Call) -> u64 {
    let Some(key) = key(call.u32(0), call.arg(1)) else { return NOT_FOUND };
    let name = String::from_utf16_lossy(&guest::terminated::<u16>(call.arg(2)));
    let data = guest::bytes(call.arg(4), u64::from(call.u32(5)));
    lock(&kernel().registry).set(key, &name, (call.u32(3), data));
    0
}

/// Arguments: place, path, name.
pub(super) fn delete(call: &Call) -> u64 {
    let Some(key) = key(call.u32(0), call.arg(1)) else { return NOT_FOUND };
    let name = String::from_utf16_lossy(&guest::terminated::<u16>(call.arg(2)));
    if lock(&kernel().registry).remove(key, &name) { 0 } else { NOT_FOUND }
}

/// Arguments: place, path, table, context.
pub(super) fn query(call: &Call) -> u64 {
    let Some(top) = key(call.u32(0), call.arg(1)) else {
        return if call.u32(0) & OPTIONAL == 0 { NOT_FOUND } else { 0 };
    };
    let (mut entry, mut current) = (call.arg(2), top);
    loop {
        let (routine, flags, name): (u64, u32, u64) =
            (guest::read(entry), guest::read(entry + 8), guest::read(entry + 16));
        if routine == 0 && flags & (DIRECT | SUBKEY) == 0 {
            return 0;
        }
        if flags & TOPKEY != 0 {
            current = top;
        }
        let text = if name == 0 { String::new() } else { String::from_utf16_lossy(&guest::terminated::<u16>(name)) };
        let status = if flags & SUBKEY == 0 {
            value(call, entry, current, &text)
        } else {
            let path = lock(&kernel().registry).path(Some(current), &text).unwrap_or_default();
            let below = lock(&kernel().registry).key(&path, false);
            current = below.unwrap_or(current);
            if below.is_none() && flags & REQUIRED != 0 { NOT_FOUND } else { 0 }
        };
        if status & 0x8000_0000 != 0 {
            return status;
        }
        entry += ENTRY;
    }
}

/// Answers one entry of the table: by its routine, or into its context.
fn value(call: &Call, entry: u64, key: u64, name: &str) -> u64 {
    let (routine, flags, context): (u64, u32, u64) =
        (guest::read(entry), guest::read(entry + 8), guest::read(entry + 24));
    let default_type: u32 = guest::read(entry + 32);
    let found = lock(&kernel().registry).value(key, name);
    let (kind, data) = match found {
        Some(value) => value,
        None if flags & REQUIRED != 0 => return NOT_FOUND,
        None if default_type.trailing_zeros() >= 8 => return 0,
        None => default(entry, default_type),
    };
    if flags & DIRECT == 0 {
        let memory = lock(&kernel().pool).object(data.len() as u64 + 2);
        guest::put(memory, &data);
        let arguments = [guest::read(entry + 16), kind.into(), memory, data.len() as u64, call.arg(3), context];
        let status = call_back("QueryRoutine", PASSIVE, routine, &arguments);
        lock(&kernel().pool).free_object(memory);
        return status & 0xFFFF_FFFF;
    }
    if flags & TYPECHECK != 0 && default_type >> 24 != kind {
        return OBJECT_TYPE_MISMATCH;
    }
    direct(call, context, kind, &data)
}

fn default(entry: u64, kind: u32) -> Value {
    let (data, length): (u64, u32) = (guest::read(entry + 40), guest::read(entry + 48));
    if kind & 0xFF == TEXT && length == 0 {
        let units = guest::terminated::<u16>(data);
        return (TEXT, units.into_iter().chain([0]).flat_map(u16::to_le_bytes).collect());
    }
    (kind & 0xFF, guest::bytes(data, length.into()))
}

/// Stores a value where the entry points: a string into a `UNICODE_STRING`, small values as they are.
fn direct(call: &Call, place: u64, kind: u32, data: &[u8]) -> u64 {
    match kind {
        TEXT | 2 => {
            let length = data.len() as u16;
            let (maximum, buffer): (u16, u64) = (guest::read(place + 2), guest::read(place + 8));
            let buffer = match buffer {
                // The driver frees it.
                0 => lock(&kernel().pool).allocate(data.len() as u64, *b"RtlQ", true, call.from).unwrap_or_default(),
                _ if maximum < length => return BUFFER_TOO_SMALL,
                buffer => buffer,
            };
            guest::put(buffer, data);
            guest::set_string(place, length.saturating_sub(2), maximum.max(length), buffer);
        }
        TEXTS => return INVALID_PARAMETER,
        _ if data.len() <= 4 => guest::put(place, data),
        _ => {
            // A negative length at the place says how much room there is, and that the type is wanted too.
            let room: i32 = guest::read(place);
            if room >= 0 || room.unsigned_abs() < data.len() as u32 {
                return BUFFER_TOO_SMALL;
            }
            guest::put(place, data);
        }
    }
    0
}
