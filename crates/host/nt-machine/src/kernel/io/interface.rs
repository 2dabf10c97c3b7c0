//! Device interfaces and device properties.

use std::collections::BTreeMap;

use etw_types::{Guid, NtStatus};

use super::device;
use crate::kernel::{kernel, lock};
use crate::layout::{DEVICE_OBJECT, GUID, UNICODE_STRING};
use crate::memory::GuestPtr;
use crate::routine::{Call, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routine};
use crate::verify::gap;

/// `DEVICE_INTERFACE_INCLUDE_NONACTIVE`.
const INCLUDE_NON_ACTIVE: u32 = 1;

/// A `DEVPROPKEY`.
type Key = [u8; 20];

/// The device interfaces and properties that drivers have set.
#[derive(Default)]
pub(crate) struct Interfaces {
    /// Whether each interface is enabled, by its symbolic link.
    enabled: BTreeMap<String, bool>,
    /// The type and data of each property that the driver set.
    properties: BTreeMap<Key, (u32, Vec<u8>)>,
}

pub(super) const ROUTINES: &[Routine] = &[
    routine!("IoRegisterDeviceInterface", PASSIVE, register).fails(NtStatus::InvalidDeviceRequest),
    // Arguments: link, whether to enable it.
    routine!("IoSetDeviceInterfaceState", PASSIVE, |call| {
        let link = call.ptr::<UNICODE_STRING>(0).text()?;
        let mut interfaces = lock(&kernel().interfaces);
        match interfaces.enabled.get_mut(&link) {
            Some(enabled) if *enabled && call.is(1) => fail(NtStatus::ObjectNameExists),
            Some(enabled) => {
                *enabled = call.is(1);
                done(())
            }
            None => fail(NtStatus::ObjectNameNotFound),
        }
    })
    .fails(NtStatus::ObjectNameNotFound)
    .undoes(Some(|call| !call.is(1))),
    // Arguments: class, device, flags, place for the list of links, which the driver frees.
    routine!("IoGetDeviceInterfaces", PASSIVE, |call| {
        let class = format!("{{{}}}", call.ptr::<GUID>(0).id()?);
        let wanted = |(link, enabled): &(&String, &bool)| {
            (**enabled || call.u32(2) & INCLUDE_NON_ACTIVE != 0) && link.contains(&class)
        };
        let links: String = lock(&kernel().interfaces)
            .enabled
            .iter()
            .filter(wanted)
            .map(|(link, _)| format!("{link}\0"))
            .chain(["\0".to_owned()])
            .collect();
        let units: Vec<u16> = links.encode_utf16().collect();
        let memory = lock(&kernel().pool).allocate(units.len() as u64 * 2, *b"IfLs", true, call.from);
        let Some(list) = memory.map(GuestPtr::<u16>::new) else { return fail(NO_RESOURCES) };
        list.write_all(&units)?;
        call.ptr(3).write(list)?;
        done(())
    })
    .fails(NO_RESOURCES),
    routine!("IoGetDeviceProperty", PASSIVE, get_property).fails(NtStatus::ObjectNameNotFound),
    routine!("IoGetDevicePropertyData", PASSIVE, get_data).fails(NtStatus::ObjectNameNotFound),
    // Arguments: device, key, language, flags, type, size, data.
    routine!("IoSetDevicePropertyData", PASSIVE, |call| {
        let key = call.ptr::<Key>(1).read()?;
        let data = call.ptr::<u8>(6).non_null().map(|data| data.array(call.u32(5).into()).read()).transpose()?;
        let properties = &mut lock(&kernel().interfaces).properties;
        match data {
            None => properties.remove(&key),
            Some(data) => properties.insert(key, (call.u32(4), data)),
        };
        done(())
    })
    .fails(NO_RESOURCES)
    .undoes(Some(|call| call.arg(6) == 0)),
];

/// Arguments: device, class, reference string, place for the link's name.
fn register(call: &Call) -> Outcome {
    let class = call.ptr::<GUID>(1).id()?;
    let mut text = format!("\\??\\ROOT#NTHOST#0000#{{{class}}}");
    if let Some(reference) = call.ptr::<UNICODE_STRING>(2).non_null() {
        text = format!("{text}\\{}", reference.text()?);
    }
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let size = units.len() as u16 * 2;
    let memory = lock(&kernel().pool).allocate(size.into(), *b"IfNm", true, call.from);
    let Some(buffer) = memory.map(GuestPtr::new) else { return fail(NO_RESOURCES) };
    buffer.write_all(&units)?;
    call.ptr::<UNICODE_STRING>(3).set(size - 2, size, buffer)?;
    lock(&kernel().interfaces).enabled.entry(text).or_insert(false);
    Ok(())
}

/// `GUID_BUS_INTERFACE_STANDARD`, with which drivers read the configuration space of their device.
const BUS_INTERFACE_STANDARD: Guid = Guid::from_u128(0x496B_8280_6F25_11D0_BEAF_0800_2BE2_092F);

/// Notes that the driver asks the device below for an interface. The host's devices have none.
pub(crate) fn note_missing(of_type: Guid) {
    let name = if of_type == BUS_INTERFACE_STANDARD { " (BUS_INTERFACE_STANDARD)" } else { "" };
    gap::note(format!(
        "the driver asked its bus for the interface {of_type}{name}: nt-host has no bus that provides interfaces, and no option adds one"
    ));
}

/// Returns a property of a physical device of the host.
pub(crate) fn property(physical: GuestPtr<DEVICE_OBJECT>, number: u32) -> Option<Vec<u8>> {
    let text = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    match number {
        // DevicePropertyDeviceDescription and FriendlyName, HardwareID (a list), ClassName, Manufacturer.
        0 | 10 => Some(text("nt-host device")),
        1 => Some(text("ROOT\\NTHOST\0")),
        4 => Some(text("System")),
        9 => Some(text("nt-host")),
        // PhysicalDeviceObjectName, EnumeratorName.
        11 => device::name_of(physical).map(|name| text(&name)),
        15 => Some(text("ROOT")),
        // LegacyBusType is PNPBus, BusNumber.
        13 => Some(15_u32.to_le_bytes().to_vec()),
        14 => Some(0_u32.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// Arguments: device, property, length, buffer, place for the length.
fn get_property(call: &Call) -> Outcome {
    match property(call.ptr(0), call.u32(1)) {
        Some(data) => store(&data, call.ptr(3), call.u32(2), call.ptr(4)),
        None => fail(NtStatus::ObjectNameNotFound),
    }
}

/// Arguments: device, key, language, flags, size, data, place for the size, place for the type.
fn get_data(call: &Call) -> Outcome {
    let key = call.ptr::<Key>(1).read()?;
    let found = lock(&kernel().interfaces).properties.get(&key).cloned();
    let Some((kind, data)) = found else { return fail(NtStatus::ObjectNameNotFound) };
    call.ptr(7).write_if(kind)?;
    store(&data, call.ptr(5), call.u32(4), call.ptr(6))
}

/// Stores the length of the data, and the data itself if the buffer has room for all of it.
pub(crate) fn store(data: &[u8], place: GuestPtr<u8>, room: u32, length: GuestPtr<u32>) -> Outcome {
    length.write_if(data.len() as u32)?;
    if (room as usize) < data.len() {
        return fail(NtStatus::BufferTooSmall);
    }
    place.write_all(data)?;
    Ok(())
}
