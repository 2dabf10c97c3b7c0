//! Device interfaces, device properties, and devices by their names.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::routine::{Call, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{device_stack, devices, kernel, lock, objects};
use crate::memory::guest;

const NAME_NOT_FOUND: u64 = 0xC000_0034;
const BUFFER_TOO_SMALL: u64 = 0xC000_0023;
/// `FILE_OBJECT` has 0xD8 bytes.
const FILE_SIZE: u64 = 0xD8;
/// Bytes of a `DEVPROPKEY`.
const KEY_SIZE: u64 = 20;

/// Interfaces by their links, with whether they are enabled.
static INTERFACES: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
/// A property's type and data.
type Property = (u32, Vec<u8>);
/// Properties that the driver set, by key.
static PROPERTIES: Mutex<BTreeMap<Vec<u8>, Property>> = Mutex::new(BTreeMap::new());

pub(super) const ROUTINES: &[Routine] = &[
    routine("IoRegisterDeviceInterface", PASSIVE, register).fails(0xC000_0010),
    // Arguments: link, whether to enable it.
    routine("IoSetDeviceInterfaceState", PASSIVE, |call| {
        let mut interfaces = lock(&INTERFACES);
        match interfaces.get_mut(&guest::text(call.arg(0))) {
            Some(enabled) if *enabled && call.is(1) => 0x4000_0000,
            Some(enabled) => {
                *enabled = call.is(1);
                0
            }
            None => NAME_NOT_FOUND,
        }
    })
    .fails(NAME_NOT_FOUND as u32),
    routine("IoGetDeviceProperty", PASSIVE, get_property).fails(NAME_NOT_FOUND as u32),
    routine("IoGetDevicePropertyData", PASSIVE, get_data).fails(NAME_NOT_FOUND as u32),
    // Arguments: device, key, language, flags, type, size, data.
    routine("IoSetDevicePropertyData", PASSIVE, |call| {
        let key = guest::bytes(call.arg(1), KEY_SIZE);
        match call.arg(6) {
            0 => lock(&PROPERTIES).remove(&key),
            data => lock(&PROPERTIES).insert(key, (call.u32(4), guest::bytes(data, u64::from(call.u32(5))))),
        };
        0
    })
    .fails(NO_RESOURCES),
    // Arguments: name, access, place for a file object, place for the device.
    routine("IoGetDeviceObjectPointer", PASSIVE, |call| {
        let Some(device) = devices::find(Some(&guest::text(call.arg(0)))) else { return NAME_NOT_FOUND };
        let file = lock(&kernel().pool).object(FILE_SIZE);
        guest::write(file, 5_u16);
        guest::write(file + 8, device);
        objects::reference(file, call.from);
        guest::write(call.arg(2), file);
        guest::write(call.arg(3), device_stack::top(device));
        0
    })
    .fails(NAME_NOT_FOUND as u32),
];

/// Arguments: device, class, reference string, place for the link's name.
fn register(call: &Call) -> u64 {
    let class = etw_types::Guid::from_bytes_le(guest::bytes(call.arg(1), 16).try_into().unwrap_or_default());
    let mut text = format!("\\??\\ROOT#NTHOST#0000#{{{class}}}");
    if call.arg(2) != 0 {
        text = format!("{text}\\{}", guest::text(call.arg(2)));
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    let size = units.len() as u64 * 2;
    let memory = lock(&kernel().pool).allocate(size + 2, *b"IfNm", true, call.from);
    let Some(buffer) = memory else { return NO_RESOURCES.into() };
    guest::put_units(buffer, &units);
    guest::write(buffer + size, 0_u16);
    guest::set_string(call.arg(3), size as u16, size as u16 + 2, buffer);
    lock(&INTERFACES).entry(text).or_insert(false);
    0
}

/// A property of the one device that the host's bus has.
pub(crate) fn property(number: u32) -> Option<Vec<u8>> {
    let text = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    match number {
        // DevicePropertyDeviceDescription and FriendlyName, HardwareID (a list), ClassName, Manufacturer.
        0 | 10 => Some(text("nt-host device")),
        1 => Some(text("ROOT\\NTHOST\0")),
        4 => Some(text("System")),
        9 => Some(text("nt-host")),
        // PhysicalDeviceObjectName, EnumeratorName.
        11 => Some(text("\\Device\\NtHost0")),
        15 => Some(text("ROOT")),
        // LegacyBusType is PNPBus, BusNumber.
        13 => Some(15_u32.to_le_bytes().to_vec()),
        14 => Some(0_u32.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// Arguments: device, property, length, buffer, place for the length.
fn get_property(call: &Call) -> u64 {
    match property(call.u32(1)) {
        Some(data) => store(&data, call.arg(3), call.u32(2), call.arg(4)),
        None => NAME_NOT_FOUND,
    }
}

/// Arguments: device, key, language, flags, size, data, place for the size, place for the type.
fn get_data(call: &Call) -> u64 {
    let found = lock(&PROPERTIES).get(&guest::bytes(call.arg(1), KEY_SIZE)).cloned();
    let Some((kind, data)) = found else { return NAME_NOT_FOUND };
    guest::write_if(call.arg(7), kind);
    store(&data, call.arg(5), call.u32(4), call.arg(6))
}

fn store(data: &[u8], place: u64, room: u32, length: u64) -> u64 {
    guest::write_if(length, data.len() as u32);
    if (room as usize) < data.len() {
        return BUFFER_TOO_SMALL;
    }
    guest::put(place, data);
    0
}
