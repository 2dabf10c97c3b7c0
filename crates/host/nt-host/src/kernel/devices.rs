//! Driver and device objects, symbolic links and device interfaces.

use super::device_stack::{attach, lower, top};
use super::routine::{APC, Call, DISPATCH, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{kernel, lock};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// Offsets in `DEVICE_OBJECT`.
pub(crate) const DRIVER: u64 = 0x08;
const NEXT: u64 = 0x10;
pub(super) const ATTACHED: u64 = 0x18;
pub(crate) const FLAGS: u64 = 0x30;
const CHARACTERISTICS: u64 = 0x34;
const EXTENSION: u64 = 0x40;
const TYPE: u64 = 0x48;
pub(crate) const STACK_SIZE: u64 = 0x4C;
pub(super) const DEVICE_SIZE: u64 = 0x150;
/// Offsets in `DRIVER_OBJECT`.
const FIRST_DEVICE: u64 = 0x08;
const DRIVER_EXTENSION: u64 = 0x30;
pub(crate) const UNLOAD: u64 = 0x68;
pub(crate) const MAJOR_FUNCTIONS: u64 = 0x70;
pub(super) const DRIVER_SIZE: u64 = 0x150;
/// `DO_DEVICE_INITIALIZING`.
const INITIALIZING: u32 = 0x80;

const NAME_COLLISION: u64 = 0xC000_0035;
const NAME_NOT_FOUND: u64 = 0xC000_0034;

pub(super) const ROUTINES: &[Routine] = &[
    routine("IoCreateDevice", APC, create_device).fails(NO_RESOURCES),
    routine("IoCreateDeviceSecure", PASSIVE, create_device).fails(NO_RESOURCES),
    routine("IoDeleteDevice", APC, |call| {
        delete(call.arg(0));
        0
    }),
    routine("IoCreateSymbolicLink", PASSIVE, |call| link(call, call.arg(0), call.arg(1))).fails(NO_RESOURCES),
    routine("IoCreateUnprotectedSymbolicLink", PASSIVE, |call| link(call, call.arg(0), call.arg(1)))
        .fails(NO_RESOURCES),
    routine("IoDeleteSymbolicLink", PASSIVE, |call| {
        let name = guest::text(call.arg(0)).to_lowercase();
        let mut io = lock(&kernel().io);
        let before = io.links.len();
        io.links.retain(|link| link.name.to_lowercase() != name);
        if io.links.len() == before { NAME_NOT_FOUND } else { 0 }
    }),
    routine("IoAttachDeviceToDeviceStack", DISPATCH, |call| attach(call.arg(0), call.arg(1))).fails_with_zero(),
    routine("IoAttachDeviceToDeviceStackSafe", DISPATCH, |call| {
        let lower = attach(call.arg(0), call.arg(1));
        guest::write(call.arg(2), lower);
        0
    })
    .fails(0xC000_000E),
    routine("IoDetachDevice", PASSIVE, |call| {
        guest::write(call.arg(0) + ATTACHED, 0_u64);
        0
    }),
    routine("IoGetAttachedDevice", DISPATCH, |call| top(call.arg(0))),
    routine("IoGetAttachedDeviceReference", DISPATCH, |call| {
        let device = top(call.arg(0));
        super::objects::reference(device, call.from);
        device
    }),
    routine("IoGetLowerDeviceObject", DISPATCH, |call| {
        let lower = lower(call.arg(0)).unwrap_or_default();
        if lower != 0 {
            super::objects::reference(lower, call.from);
        }
        lower
    }),
    routine("IoInvalidateDeviceRelations", DISPATCH, |_| 0).fixed(),
    routine("IoInvalidateDeviceState", PASSIVE, |_| 0).fixed(),
];

/// A device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) address: u64,
    pub(crate) name: String,
    pub(crate) from: u64,
    /// Not the driver's: the bus's, below it.
    pub(crate) of_host: bool,
}

/// A symbolic link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) from: u64,
}

/// Makes the driver object, with the image it belongs to.
pub(crate) fn new_driver(image: u64, size: u32, entry: u64, name: &str, registry_path: &str) -> (u64, u64) {
    let mut pool = lock(&kernel().pool);
    let (driver, extension) = (pool.object(DRIVER_SIZE), pool.object(0x40));
    let mut string = |text: &str| {
        let units: Vec<u16> = text.encode_utf16().collect();
        let size = units.len() as u16 * 2;
        let (string, buffer) = (pool.object(16), pool.object(u64::from(size) + 2));
        guest::put_units(buffer, &units);
        guest::set_string(string, size, size + 2, buffer);
        (string, buffer, size)
    };
    let (_, name_buffer, name_size) = string(&format!("\\Driver\\{name}"));
    let (registry, _, _) = string(registry_path);
    drop(pool);
    guest::write(driver, 4_u16);
    guest::write(driver + 2, DRIVER_SIZE as u16);
    guest::write(driver + 0x18, image);
    guest::write(driver + 0x20, size);
    guest::write(driver + DRIVER_EXTENSION, extension);
    guest::set_string(driver + 0x38, name_size, name_size + 2, name_buffer);
    guest::write(driver + 0x58, entry);
    guest::write(extension, driver);
    lock(&kernel().io).driver = driver;
    (driver, registry)
}

/// The driver's `AddDevice`.
pub(crate) fn add_device_routine(driver: u64) -> u64 {
    guest::read(guest::read::<u64>(driver + DRIVER_EXTENSION) + 8)
}

/// Arguments: driver, size of the extension, name, type, characteristics, exclusive, place for the device.
fn create_device(call: &Call) -> u64 {
    let (driver, name) = (call.arg(0), guest::text(call.arg(2)));
    if !name.is_empty() && lock(&kernel().io).devices.iter().any(|device| device.name.eq_ignore_ascii_case(&name)) {
        return NAME_COLLISION;
    }
    let extension = u64::from(call.u32(1));
    let device = lock(&kernel().pool).object(DEVICE_SIZE + extension);
    if device == 0 {
        return NO_RESOURCES.into();
    }
    guest::write(device, 3_u16);
    guest::write(device + 2, (DEVICE_SIZE + extension) as u16);
    guest::write(device + DRIVER, driver);
    guest::write(device + NEXT, guest::read::<u64>(driver + FIRST_DEVICE));
    guest::write(device + FLAGS, INITIALIZING);
    guest::write(device + CHARACTERISTICS, call.u32(4));
    guest::write(device + EXTENSION, if extension == 0 { 0 } else { device + DEVICE_SIZE });
    guest::write(device + TYPE, call.u32(3));
    guest::write(device + STACK_SIZE, 1_u8);
    guest::write(driver + FIRST_DEVICE, device);
    lock(&kernel().io).devices.push(Device { address: device, name, from: call.from, of_host: false });
    guest::write(call.arg(6), device);
    0
}

fn delete(device: u64) {
    let known = {
        let mut io = lock(&kernel().io);
        let before = io.devices.len();
        io.devices.retain(|known| known.address != device);
        io.devices.len() != before
    };
    if !known {
        return verify::find(Rule::BadArgument, format_args!("{device:#x} is no device, or one that was deleted"));
    }
    let driver: u64 = guest::read(device + DRIVER);
    let next: u64 = guest::read(device + NEXT);
    let mut place = driver + FIRST_DEVICE;
    while let current @ 1.. = guest::read::<u64>(place) {
        if current == device {
            guest::write(place, next);
            break;
        }
        place = current + NEXT;
    }
    lock(&kernel().pool).free_object(device);
}

fn link(call: &Call, name: u64, target: u64) -> u64 {
    let (name, target) = (guest::text(name), guest::text(target));
    let mut io = lock(&kernel().io);
    if io.links.iter().any(|link| link.name.eq_ignore_ascii_case(&name)) {
        return NAME_COLLISION;
    }
    io.links.push(Link { name, target, from: call.from });
    0
}

/// Whether a device is there.
pub(super) fn exists(device: u64) -> bool {
    lock(&kernel().io).devices.iter().any(|known| known.address == device)
}

/// The driver's device that a client would open: by name or link where one is given, else the first.
pub(crate) fn find(name: Option<&str>) -> Option<u64> {
    let io = lock(&kernel().io);
    let own = || io.devices.iter().filter(|device| !device.of_host);
    let Some(name) = name else { return own().next().map(|device| device.address) };
    let target = io.links.iter().find(|link| link.name.eq_ignore_ascii_case(name)).map(|link| link.target.clone());
    let name = target.unwrap_or_else(|| name.to_owned());
    own().find(|device| device.name.eq_ignore_ascii_case(&name)).map(|device| device.address)
}
