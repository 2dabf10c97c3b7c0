//! Device objects and driver objects: their names and symbolic links, the stacks that they form, the interfaces by which
//! programs find them, and who keeps them alive.

pub mod below;
pub mod interface;
pub mod names;
pub(super) mod remove_lock;
pub mod stack;

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::{DEVICE_OBJECT, DEVOBJ_EXTENSION, DRIVER_EXTENSION, DRIVER_OBJECT, GUID, UNICODE_STRING};
use nt_processor::memory::{Code, Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::{
    APC, Call, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, Routine, done, fail, routines,
};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::device::{
    DO_BUFFERED_IO, DO_DEVICE_HAS_NAME, DO_DEVICE_INITIALIZING, DO_EXCLUSIVE, IO_TYPE_DEVICE,
    IO_TYPE_DEVICE_OBJECT_EXTENSION, IO_TYPE_DRIVER,
};

use crate::ex::object;
use crate::io::modules;
use crate::io::request::Io;
use crate::io::request::rules;
use crate::io::text::new_string;
use crate::{Kernel, kernel, lock};

use stack::{attach_for_driver, detach, lower, top};

/// The routine that the framework's model stores in driver objects. No driver can import it, because no export can have
/// this name.
pub const FRAMEWORK_DISPATCH: &str = "(framework dispatch)";

pub(super) const ROUTINES: &[&[Routine]] = &[OWN, interface::ROUTINES, remove_lock::ROUTINES];

routines! { OWN;
    #[irql(APC), fails(NO_RESOURCES)]
    fn IoCreateDevice(
        &call,
        driver: GuestPtr<DRIVER_OBJECT>,
        extension: u32,
        name: GuestPtr<UNICODE_STRING>,
        kind: u32,
        characteristics: u32,
        exclusive: bool,
        place: Out<GuestPtr<DEVICE_OBJECT>>,
    ) -> Outcome {
        create_device(call, driver, name, &Description { extension, kind, characteristics, exclusive }, place)
    }

    /// `IoCreateDeviceSecure` has this name in wdmsec.lib.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdmlibIoCreateDeviceSecure(
        &call,
        driver: GuestPtr<DRIVER_OBJECT>,
        extension: u32,
        name: GuestPtr<UNICODE_STRING>,
        kind: u32,
        characteristics: u32,
        exclusive: bool,
        sddl: GuestPtr<UNICODE_STRING>,
        _class: Ignored<GuestPtr<GUID>>,
        place: Out<GuestPtr<DEVICE_OBJECT>>,
    ) -> Outcome {
        if name.is_null() && sddl.is_null() {
            return fail(NtStatus::InvalidParameter);
        }
        create_device(call, driver, name, &Description { extension, kind, characteristics, exclusive }, place)
    }

    #[irql(APC)]
    fn IoDeleteDevice(device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
        rules::removes_device();
        delete(device)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoCreateSymbolicLink(
        &call,
        name: GuestPtr<UNICODE_STRING>,
        target: GuestPtr<UNICODE_STRING>,
    ) -> Outcome {
        link(call, name, target)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoCreateUnprotectedSymbolicLink(
        &call,
        name: GuestPtr<UNICODE_STRING>,
        target: GuestPtr<UNICODE_STRING>,
    ) -> Outcome {
        link(call, name, target)
    }

    #[irql(PASSIVE)]
    fn IoDeleteSymbolicLink(name: GuestPtr<UNICODE_STRING>) -> Outcome {
        let name = name.text()?;
        let mut io = lock(&kernel().io);
        let before = io.links.len();
        io.links.retain(|link| !names::are_same(&link.name, &name));
        if io.links.len() == before { fail(NtStatus::ObjectNameNotFound) } else { done(()) }
    }

    #[irql(DISPATCH), fails_with_zero]
    fn IoAttachDeviceToDeviceStack(
        source: GuestPtr<DEVICE_OBJECT>,
        target: GuestPtr<DEVICE_OBJECT>,
    ) -> Result<GuestPtr<DEVICE_OBJECT>, Fault> {
        attach_for_driver(source, target)
    }

    #[irql(DISPATCH), fails(NtStatus::NoSuchDevice)]
    fn IoAttachDeviceToDeviceStackSafe(
        source: GuestPtr<DEVICE_OBJECT>,
        target: GuestPtr<DEVICE_OBJECT>,
        place: Out<GuestPtr<DEVICE_OBJECT>>,
    ) -> Outcome {
        let lower = attach_for_driver(source, target)?;
        place.set(lower)?;
        if lower.is_null() { fail(NtStatus::NoSuchDevice) } else { done(()) }
    }

    #[irql(PASSIVE)]
    fn IoDetachDevice(lower: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
        rules::removes_device();
        detach(lower)
    }

    #[irql(DISPATCH)]
    fn IoGetAttachedDevice(device: GuestPtr<DEVICE_OBJECT>) -> Result<GuestPtr<DEVICE_OBJECT>, Fault> {
        top(device)
    }

    #[irql(DISPATCH)]
    fn IoGetAttachedDeviceReference(
        &call,
        device: GuestPtr<DEVICE_OBJECT>,
    ) -> Result<GuestPtr<DEVICE_OBJECT>, Fault> {
        let device = top(device)?;
        object::reference(device.address(), call.from);
        Ok(device)
    }

    #[irql(DISPATCH)]
    fn IoGetLowerDeviceObject(
        &call,
        device: GuestPtr<DEVICE_OBJECT>,
    ) -> Result<Option<GuestPtr<DEVICE_OBJECT>>, Fault> {
        let lower = lower(device)?;
        if let Some(lower) = lower {
            object::reference(lower.address(), call.from);
        }
        Ok(lower)
    }
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// The device object.
    pub object: GuestPtr<DEVICE_OBJECT>,
    /// The name; empty for none.
    pub name: String,
    /// The code that created it.
    pub from: u64,
    /// Its driver.
    pub owner: Owner,
}

/// The driver that a device belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The driver under test.
    Driver,
    /// The host, as the bus driver: a physical device.
    Bus,
    /// The host, as another driver.
    Other,
}

/// A symbolic link.
#[derive(Clone, Debug)]
pub struct Link {
    /// The name of the link.
    pub name: String,
    /// The name that it stands for.
    pub target: String,
    /// The code that created it.
    pub from: u64,
}

impl Link {
    /// Returns whether `name` is the name of this link, in any spelling of the directory (`\??\`, `\DosDevices\` …).
    pub(crate) fn is_called(&self, name: &str) -> bool {
        names::are_same(&self.name, name)
    }
}

/// Creates the driver object of an image. Returns it with the path of the driver's registry key.
pub fn new_driver(
    image: GuestPtr<u8>,
    size: u32,
    entry: GuestPtr<Code>,
    name: &str,
    registry_path: &str,
) -> Result<(GuestPtr<DRIVER_OBJECT>, GuestPtr<UNICODE_STRING>), Fault> {
    let Kernel { io, pool, .. } = kernel();
    let (driver, extension): (GuestPtr<DRIVER_OBJECT>, GuestPtr<DRIVER_EXTENSION>) = {
        let mut pool = lock(pool);
        (pool.new_object(), pool.new_object())
    };
    driver.Type().write(IO_TYPE_DRIVER)?;
    driver.Size().write(size_of::<DRIVER_OBJECT>() as u16)?;
    driver.DriverStart().write(image)?;
    driver.DriverSize().write(size)?;
    driver.DriverSection().write(modules::add(image, size, entry)?)?;
    driver.DriverExtension().write(extension)?;
    driver.DriverName().write(new_string(&format!("\\Driver\\{name}"))?.read()?)?;
    driver.DriverInit().write(entry)?;
    extension.DriverObject().write(driver)?;
    lock(io).drivers.push(driver);
    Ok((driver, new_string(registry_path)?))
}

/// Frees the path that an entry point has got: its page tells drivers to copy the string, because the I/O manager frees
/// it after `DriverEntry` has returned.
pub fn free_registry_path(path: GuestPtr<UNICODE_STRING>) -> Result<(), Fault> {
    const LATE: &str = "the RegistryPath of DriverEntry, which is freed when that returns: copy the string";
    let buffer = path.Buffer().read()?;
    let mut pool = lock(&kernel().pool);
    for address in [buffer.address(), path.address()] {
        pool.free_object_as(address, (Rule::UseAfterFree.into(), LATE));
    }
    Ok(())
}

/// Returns the driver's `AddDevice` routine.
pub fn add_device_routine(driver: GuestPtr<DRIVER_OBJECT>) -> Result<Option<GuestPtr<Code>>, Fault> {
    Ok(driver.DriverExtension().read()?.AddDevice().read()?.non_null())
}

/// What a driver says about a new device, apart from its name.
pub struct Description {
    /// The size of the device extension.
    pub extension: u32,
    /// The device type, `FILE_DEVICE_…`.
    pub kind: u32,
    /// The characteristics, `FILE_DEVICE_SECURE_OPEN` and others.
    pub characteristics: u32,
    /// Whether only one client may have it open.
    pub exclusive: bool,
}

fn create_device(
    call: &Call,
    driver: GuestPtr<DRIVER_OBJECT>,
    name: GuestPtr<UNICODE_STRING>,
    new: &Description,
    place: Out<GuestPtr<DEVICE_OBJECT>>,
) -> Outcome {
    let Kernel { io, table, .. } = kernel();
    let name = name.text()?;
    if !name.is_empty() && lock(io).devices.iter().any(|device| names::are_same(&device.name, &name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    let framework = table.address(FRAMEWORK_DISPATCH);
    let [first, ..] = driver.MajorFunction().read()?;
    if framework == Some(first.address()) {
        let what = format_args!("creates a device in a driver whose IRPs the framework handles: use WdfDeviceCreate");
        verify::find(Rule::FrameworkMisuse.named(Kmdf::MiniportOnlyWdmDevice), what);
    }
    place.set(create(driver, name, new, call.from)?)?;
    Ok(())
}

/// Creates a device, and adds it to those of its driver.
pub fn create(
    driver: GuestPtr<DRIVER_OBJECT>,
    name: String,
    new: &Description,
    from: u64,
) -> Outcome<GuestPtr<DEVICE_OBJECT>> {
    let device = new_device(driver, new.extension.into())?;
    if device.is_null() {
        return fail(NO_RESOURCES);
    }
    device.NextDevice().write(driver.DeviceObject().read()?)?;
    let named = if name.is_empty() { 0 } else { DO_DEVICE_HAS_NAME };
    device.Flags().write(DO_DEVICE_INITIALIZING | named | if new.exclusive { DO_EXCLUSIVE } else { 0 })?;
    device.Characteristics().write(new.characteristics)?;
    device.DeviceExtension().write(if new.extension == 0 { GuestPtr::NULL } else { device.after() })?;
    device.DeviceType().write(new.kind)?;
    driver.DeviceObject().write(device)?;
    lock(&kernel().io).devices.push(Device { object: device, name, from, owner: Owner::Driver });
    Ok(device)
}

/// Ends the initialisation of a device that transfers data through system buffers.
pub fn is_initialized(device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
    device.Flags().change(|flags| flags & !DO_DEVICE_INITIALIZING | DO_BUFFERED_IO).map(drop)
}

/// Allocates a device object. The I/O manager's extension follows the driver's extension. Returns NULL if there is not
/// enough memory.
pub fn new_device(driver: GuestPtr<DRIVER_OBJECT>, extension: u64) -> Result<GuestPtr<DEVICE_OBJECT>, Fault> {
    let own = size_of::<DEVICE_OBJECT>() as u64 + extension;
    let size = own.next_multiple_of(16) + size_of::<DEVOBJ_EXTENSION>() as u64;
    let device = GuestPtr::<DEVICE_OBJECT>::new(lock(&kernel().pool).object(size));
    if device.is_null() {
        return Ok(device);
    }
    let hidden = device.cast::<u8>().at(own.next_multiple_of(16)).cast::<DEVOBJ_EXTENSION>();
    hidden.Type().write(IO_TYPE_DEVICE_OBJECT_EXTENSION)?;
    hidden.DeviceObject().write(device)?;
    device.Type().write(IO_TYPE_DEVICE)?;
    device.Size().write(own as u16)?;
    device.DriverObject().write(driver)?;
    device.StackSize().write(1)?;
    device.DeviceObjectExtension().write(hidden)?;
    device.DeviceLock().Header().initialize(1, 1)?;
    Ok(device)
}

/// Deletes a device, and frees its memory when nothing uses it any more.
pub fn delete(device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
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
    release(device)
}

/// Frees the memory of a deleted device when nothing uses the device any more. As in Windows, these are: the driver's
/// references and handles, open files, and what the host holds.
pub fn release(device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
    lock(&kernel().io).deleted.push(device);
    free_if_unused(device)
}

/// Called when a file of a device is closed or when the host no longer holds the device.
pub(super) fn free_if_unused(device: GuestPtr<DEVICE_OBJECT>) -> Result<(), Fault> {
    /// The object manager frees the memory when the driver has no references and handles.
    const UNREFERENCED: object::Lifetime = object::Lifetime { last_handle: |_| (), last_reference: free };
    let Kernel { io, .. } = kernel();
    if is_idle(io, device)? {
        object::manage(device.address(), UNREFERENCED);
        object::end_if_unused(device.address());
    }
    Ok(())
}

/// Returns whether a device is deleted, has no open files, and is not held by the host.
fn is_idle(io: &Mutex<Io>, device: GuestPtr<DEVICE_OBJECT>) -> Result<bool, Fault> {
    let is_candidate = {
        let io = lock(io);
        io.deleted.contains(&device) && !io.held.contains(&device)
    };
    Ok(is_candidate && device.ReferenceCount().read()? <= 0)
}

/// Called when the driver has released its last reference to a deleted device.
fn free(object: u64) {
    let Kernel { io, pool, .. } = kernel();
    let device = GuestPtr::<DEVICE_OBJECT>::new(object);
    if !is_idle(io, device).or_stop() {
        return;
    }
    lock(io).deleted.retain(|known| *known != device);
    lock(pool).free_object(object);
}

/// Keeps a device's memory until `body` returns. On Windows, the Plug and Play manager holds a reference to the device
/// while it sends an IRP to it. So a driver can delete the device, pass the IRP on, and still use the device extension.
pub(super) fn hold<R>(device: GuestPtr<DEVICE_OBJECT>, body: impl FnOnce() -> R) -> R {
    let held = Held::new(device);
    let result = body();
    drop(held);
    result
}

/// A reference of the host to a device, which keeps the device's memory.
pub(super) struct Held(GuestPtr<DEVICE_OBJECT>);

impl Held {
    pub(super) fn new(device: GuestPtr<DEVICE_OBJECT>) -> Self {
        lock(&kernel().io).held.push(device);
        Self(device)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        {
            let mut io = lock(&kernel().io);
            let last = io.held.iter().rposition(|held| *held == self.0);
            last.map(|position| io.held.remove(position));
        }
        free_if_unused(self.0).or_stop();
    }
}

fn link(call: &Call, name: GuestPtr<UNICODE_STRING>, target: GuestPtr<UNICODE_STRING>) -> Outcome {
    let name = name.text()?;
    let target = target.text()?;
    let mut io = lock(&kernel().io);
    if io.links.iter().any(|link| names::are_same(&link.name, &name)) {
        return fail(NtStatus::ObjectNameCollision);
    }
    io.links.push(Link { name, target, from: call.from });
    Ok(())
}

/// Returns the name of a device of the host, by which a test scripts it; `None` for a device of the driver under test. A
/// physical device is scripted as the device below the driver's, so its name is empty here.
pub fn name_of_others(device: GuestPtr<DEVICE_OBJECT>) -> Option<String> {
    let io = lock(&kernel().io);
    let known = io.devices.iter().find(|known| known.object == device)?;
    match known.owner {
        Owner::Driver => None,
        Owner::Bus => Some(String::new()),
        Owner::Other => Some(known.name.clone()),
    }
}

/// Returns the name of a device.
pub fn name_of(device: GuestPtr<DEVICE_OBJECT>) -> Option<String> {
    lock(&kernel().io).devices.iter().find(|known| known.object == device).map(|known| known.name.clone())
}

/// Returns whether a device exists and is not deleted.
pub fn exists(device: GuestPtr<DEVICE_OBJECT>) -> bool {
    lock(&kernel().io).devices.iter().any(|known| known.object == device)
}

/// Returns whether the memory of a device exists. A deleted device receives the requests of its open files.
pub(super) fn is_in_memory(device: GuestPtr<DEVICE_OBJECT>) -> bool {
    exists(device) || lock(&kernel().io).deleted.contains(&device)
}

/// Returns the first device of the driver. A client that has no device name opens this one. A framework also has devices
/// for its own use, without a name and never initialised; they come last.
pub fn first() -> Option<GuestPtr<DEVICE_OBJECT>> {
    let (driver, devices): (_, Vec<_>) = {
        let io = lock(&kernel().io);
        (io.driver, io.devices.iter().map(|device| device.object).collect())
    };
    let own = devices.into_iter().filter(|device| device.DriverObject().read().or_stop() == driver);
    own.min_by_key(|device| {
        device.Flags().read().or_stop() & (DO_DEVICE_INITIALIZING | DO_DEVICE_HAS_NAME) == DO_DEVICE_INITIALIZING
    })
}
