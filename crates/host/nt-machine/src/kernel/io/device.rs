//! Driver and device objects, and symbolic links.

use etw_types::NtStatus;

use super::names;
use super::stack::{attach, lower, top};
use crate::kernel::ex::object;
use crate::kernel::{kernel, lock};
use crate::layout::{DEVICE_OBJECT, DEVOBJ_EXTENSION, DRIVER_EXTENSION, DRIVER_OBJECT, UNICODE_STRING};
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{APC, Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, fixed, routine};
use crate::verify::{self, Rule};

/// `IO_TYPE_DEVICE`, `IO_TYPE_DRIVER`.
pub(super) const DEVICE_TYPE: u16 = 3;
const DRIVER_TYPE: u16 = 4;
/// `IO_TYPE_DEVICE_OBJECT_EXTENSION`.
const EXTENSION_TYPE: u16 = 13;
/// `DO_EXCLUSIVE`, `DO_DEVICE_HAS_NAME`, `DO_DEVICE_INITIALIZING`.
pub(super) const EXCLUSIVE: u32 = 0x08;
const HAS_NAME: u32 = 0x40;
const INITIALIZING: u32 = 0x80;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("IoCreateDevice", APC, |call| create_device(call, 6)).fails(NO_RESOURCES),
    // `IoCreateDeviceSecure` has this name in wdmsec.lib. The place for the device comes after an SDDL string and a
    // class.
    routine!("WdmlibIoCreateDeviceSecure", PASSIVE, |call| {
        if call.ptr::<UNICODE_STRING>(2).is_null() && call.ptr::<UNICODE_STRING>(6).is_null() {
            return fail(NtStatus::InvalidParameter);
        }
        create_device(call, 8)
    })
    .fails(NO_RESOURCES),
    routine!("IoDeleteDevice", APC, |call| delete(call.ptr(0))),
    routine!("IoCreateSymbolicLink", PASSIVE, link).fails(NO_RESOURCES),
    routine!("IoCreateUnprotectedSymbolicLink", PASSIVE, link).fails(NO_RESOURCES),
    routine!("IoDeleteSymbolicLink", PASSIVE, |call| {
        let name = call.ptr::<UNICODE_STRING>(0).text()?;
        let mut io = lock(&kernel().io);
        let before = io.links.len();
        io.links.retain(|link| !names::are_same(&link.name, &name));
        if io.links.len() == before { fail(NtStatus::ObjectNameNotFound) } else { done(()) }
    }),
    routine!("IoAttachDeviceToDeviceStack", DISPATCH, |call| attach(call.ptr(0), call.ptr(1))).fails_with_zero(),
    routine!("IoAttachDeviceToDeviceStackSafe", DISPATCH, |call| {
        let lower = attach(call.ptr(0), call.ptr(1))?;
        call.ptr(2).write(lower)
    })
    .fails(NtStatus::NoSuchDevice),
    routine!("IoDetachDevice", PASSIVE, |call| {
        let lower = call.ptr::<DEVICE_OBJECT>(0);
        if let Some(upper) = lower.AttachedDevice().read()?.non_null() {
            upper.extension()?.AttachedTo().write(GuestPtr::NULL)?;
        }
        lower.AttachedDevice().write(GuestPtr::NULL)
    }),
    routine!("IoGetAttachedDevice", DISPATCH, |call| top(call.ptr(0))),
    routine!("IoGetAttachedDeviceReference", DISPATCH, |call| {
        let device = top(call.ptr(0))?;
        object::reference(device.address(), call.from);
        done(device)
    }),
    routine!("IoGetLowerDeviceObject", DISPATCH, |call| {
        let lower = lower(call.ptr(0))?;
        if let Some(lower) = lower {
            object::reference(lower.address(), call.from);
        }
        done(lower)
    }),
    fixed("IoInvalidateDeviceRelations", DISPATCH, 0),
    fixed("IoInvalidateDeviceState", PASSIVE, 0),
];

/// A device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) object: GuestPtr<DEVICE_OBJECT>,
    pub(crate) name: String,
    pub(crate) from: u64,
    /// The device belongs to the host, not to the driver under test.
    pub(crate) of_host: bool,
}

/// A symbolic link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) from: u64,
}

impl Link {
    /// Returns whether `name` is the name of this link, in any spelling of the directory (`\??\`, `\DosDevices\` …).
    pub(crate) fn is_called(&self, name: &str) -> bool {
        names::are_same(&self.name, name)
    }
}

/// Allocates a string.
pub(crate) fn new_string(text: &str) -> Result<GuestPtr<UNICODE_STRING>, Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let size = units.len() as u16 * 2;
    let (string, buffer): (GuestPtr<UNICODE_STRING>, GuestPtr<u16>) = {
        let mut pool = lock(&kernel().pool);
        (pool.new_object(), pool.new_objects(units.len() as u64 + 1))
    };
    buffer.write_all(&units)?;
    string.set(size, size + 2, buffer)?;
    Ok(string)
}

/// Creates the driver object of an image. Returns it with the path of the driver's registry key.
pub(crate) fn new_driver(
    image: GuestPtr<u8>,
    size: u32,
    entry: GuestPtr<Code>,
    name: &str,
    registry_path: &str,
) -> Result<(GuestPtr<DRIVER_OBJECT>, GuestPtr<UNICODE_STRING>), Fault> {
    let (driver, extension): (GuestPtr<DRIVER_OBJECT>, GuestPtr<DRIVER_EXTENSION>) = {
        let mut pool = lock(&kernel().pool);
        (pool.new_object(), pool.new_object())
    };
    driver.Type().write(DRIVER_TYPE)?;
    driver.Size().write(size_of::<DRIVER_OBJECT>() as u16)?;
    driver.DriverStart().write(image)?;
    driver.DriverSize().write(size)?;
    driver.DriverExtension().write(extension)?;
    driver.DriverName().write(new_string(&format!("\\Driver\\{name}"))?.read()?)?;
    driver.DriverInit().write(entry)?;
    extension.DriverObject().write(driver)?;
    lock(&kernel().io).driver = driver;
    Ok((driver, new_string(registry_path)?))
}

/// Returns the driver's `AddDevice` routine.
pub(crate) fn add_device_routine(driver: GuestPtr<DRIVER_OBJECT>) -> Result<Option<GuestPtr<Code>>, Fault> {
    Ok(driver.DriverExtension().read()?.AddDevice().read()?.non_null())
}

/// Arguments: driver, size of the extension, name, type, characteristics, exclusive. `place` is the index of the
/// argument that receives the device.
fn create_device(call: &Call, place: u64) -> Outcome {
    let (driver, name) = (call.ptr::<DRIVER_OBJECT>(0), call.ptr::<UNICODE_STRING>(2).text()?);
    if !name.is_empty() && lock(&kernel().io).devices.iter().any(|device| names::are_same(&device.name, &name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    let extension = u64::from(call.u32(1));
    let device = new_device(driver, extension)?;
    if device.is_null() {
        return fail(NO_RESOURCES);
    }
    device.NextDevice().write(driver.DeviceObject().read()?)?;
    let named = if name.is_empty() { 0 } else { HAS_NAME };
    device.Flags().write(INITIALIZING | named | if call.is(5) { EXCLUSIVE } else { 0 })?;
    device.Characteristics().write(call.u32(4))?;
    device.DeviceExtension().write(if extension == 0 { GuestPtr::NULL } else { device.after() })?;
    device.DeviceType().write(call.u32(3))?;
    driver.DeviceObject().write(device)?;
    lock(&kernel().io).devices.push(Device { object: device, name, from: call.from, of_host: false });
    call.ptr(place).write(device)?;
    Ok(())
}

/// Allocates a device object. The I/O manager's extension follows the driver's extension. Returns NULL if there is not
/// enough memory.
pub(crate) fn new_device(driver: GuestPtr<DRIVER_OBJECT>, extension: u64) -> Result<GuestPtr<DEVICE_OBJECT>, Fault> {
    let own = size_of::<DEVICE_OBJECT>() as u64 + extension;
    let size = own.next_multiple_of(16) + size_of::<DEVOBJ_EXTENSION>() as u64;
    let device = GuestPtr::<DEVICE_OBJECT>::new(lock(&kernel().pool).object(size));
    if device.is_null() {
        return Ok(device);
    }
    let hidden = device.cast::<u8>().at(own.next_multiple_of(16)).cast::<DEVOBJ_EXTENSION>();
    hidden.Type().write(EXTENSION_TYPE)?;
    hidden.DeviceObject().write(device)?;
    device.Type().write(DEVICE_TYPE)?;
    device.Size().write(own as u16)?;
    device.DriverObject().write(driver)?;
    device.StackSize().write(1)?;
    device.DeviceObjectExtension().write(hidden)?;
    device.DeviceLock().Header().initialize(1, 1)?;
    Ok(device)
}

fn delete(device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
    let known = {
        let mut io = lock(&kernel().io);
        // A driver usually deletes the device that it created last.
        let position = io.devices.iter().rposition(|known| known.object == device);
        position.map(|position| io.devices.remove(position)).is_some()
    };
    if !known {
        verify::find(Rule::BadArgument, format_args!("{device:#x} is not a device object, or the device was deleted"));
        return Ok(());
    }
    let next = device.NextDevice().read()?;
    let mut place = device.DriverObject().read()?.DeviceObject();
    while let Some(current) = place.read()?.non_null() {
        if current == device {
            place.write(next)?;
            break;
        }
        place = current.NextDevice();
    }
    let is_held = {
        let mut io = lock(&kernel().io);
        let is_held = io.held.contains(&device);
        io.deleted.extend(is_held.then_some(device));
        is_held
    };
    if !is_held {
        lock(&kernel().pool).free_object(device.address());
    }
    Ok(())
}

/// Keeps a device's memory until `body` returns. On Windows, the Plug and Play manager holds a reference to the device
/// while it sends an IRP to it. So a driver can delete the device, pass the IRP on, and still use the device extension.
pub(super) fn hold<R>(device: GuestPtr<DEVICE_OBJECT>, body: impl FnOnce() -> R) -> R {
    lock(&kernel().io).held.push(device);
    let result = body();
    let deleted = {
        let mut io = lock(&kernel().io);
        let last = io.held.iter().rposition(|held| *held == device);
        last.map(|position| io.held.remove(position));
        let position = io.deleted.iter().position(|known| *known == device && !io.held.contains(&device));
        position.map(|position| io.deleted.swap_remove(position))
    };
    if let Some(deleted) = deleted {
        lock(&kernel().pool).free_object(deleted.address());
    }
    result
}

/// Arguments: name, target.
fn link(call: &Call) -> Outcome {
    let (name, target) = (call.ptr::<UNICODE_STRING>(0).text()?, call.ptr::<UNICODE_STRING>(1).text()?);
    let mut io = lock(&kernel().io);
    if io.links.iter().any(|link| names::are_same(&link.name, &name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    io.links.push(Link { name, target, from: call.from });
    Ok(())
}

/// Returns the name of a device of the host; `None` for a device of the driver under test.
pub(crate) fn name_of_others(device: GuestPtr<DEVICE_OBJECT>) -> Option<String> {
    let io = lock(&kernel().io);
    io.devices.iter().find(|known| known.object == device && known.of_host).map(|known| known.name.clone())
}

/// Returns whether a device exists.
pub(crate) fn exists(device: GuestPtr<DEVICE_OBJECT>) -> bool {
    lock(&kernel().io).devices.iter().any(|known| known.object == device)
}

/// Returns the first device of the driver. A client that has no device name opens this one.
pub(crate) fn first() -> Option<GuestPtr<DEVICE_OBJECT>> {
    lock(&kernel().io).devices.iter().find(|device| !device.of_host).map(|device| device.object)
}
