//! Device stacks: the physical device object of the bus at the bottom, the driver's device above it.

use nt_processor::layout::{DEVICE_OBJECT, DRIVER_OBJECT};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::verify::{self, Rule, Wdm};

use super::names;
use crate::io::device::{self, Device, Owner};
use crate::{Kernel, kernel, lock};

type Object = GuestPtr<DEVICE_OBJECT>;

/// Creates a physical device object, to which the driver attaches its device.
pub fn new_physical_device() -> Result<Object, Fault> {
    let number = {
        let mut io = lock(&kernel().io);
        let number = io.plugged;
        io.plugged += 1;
        number
    };
    new_device(&format!(r"\Device\NtHost{number}"), Owner::Bus)
}

/// Creates the named devices of other drivers that the configuration scripts.
pub fn add_scripted_devices() -> Result<(), Fault> {
    for name in kernel().config.below.iter().filter_map(|below| below.device.as_deref()) {
        if names::resolve(name).is_none() {
            new_device(name, Owner::Other)?;
        }
    }
    Ok(())
}

pub(in crate::io) fn new_device(name: &str, owner: Owner) -> Result<Object, Fault> {
    let Kernel { io, pool, .. } = kernel();
    let driver: GuestPtr<DRIVER_OBJECT> = lock(pool).new_object();
    let device = device::new_device(driver, 0)?;
    let entry = Device { object: device, name: name.to_owned(), from: 0, owner };
    lock(io).devices.push(entry);
    Ok(device)
}

/// Returns the device that the driver attached above a physical device.
pub(in crate::io) fn above(physical: Object) -> Result<Option<Object>, Fault> {
    Ok(Some(top(physical)?).filter(|found| *found != physical))
}

/// Returns the physical device below a device of the driver.
pub fn below(device: Object) -> Result<Option<Object>, Fault> {
    for physical in physical() {
        if top(physical)? == device {
            return Ok(Some(physical));
        }
    }
    Ok(None)
}

/// Returns the physical devices.
pub(in crate::io) fn physical() -> Vec<Object> {
    let io = lock(&kernel().io);
    io.devices.iter().filter(|device| device.owner == Owner::Bus).map(|device| device.object).collect()
}

/// Returns the device directly below another one.
pub(super) fn lower(device: Object) -> Result<Option<Object>, Fault> {
    match device.extension()?.non_null() {
        Some(extension) => Ok(extension.AttachedTo().read()?.non_null()),
        None => Ok(None),
    }
}

/// Removes a physical device. Reports a device that is still attached to it.
pub(in crate::io) fn forget(physical: Object) -> Result<(), Fault> {
    if !physical.AttachedDevice().read()?.is_null() {
        let what = format_args!("leaves a device attached to a physical device that was removed");
        verify::find_at(Rule::ObjectLeak, Some("IoAttachDeviceToDeviceStack"), 0, what);
    }
    unplug(physical);
    Ok(())
}

/// Removes a physical device from the list of devices. Its memory stays: a driver may still have its address.
pub fn unplug(physical: Object) {
    lock(&kernel().io).devices.retain(|device| device.object != physical);
}

/// Returns the device at the top of a stack.
pub fn top(device: Object) -> Result<Object, Fault> {
    let mut device = device;
    while let Some(upper) = device.AttachedDevice().read()?.non_null() {
        device = upper;
    }
    Ok(device)
}

/// Attaches a device to the top of a stack for a driver. Returns NULL if one of them is not a device, which is a finding.
pub(super) fn attach_for_driver(device: Object, to: Object) -> Result<Object, Fault> {
    for (object, name, which) in [(device, Wdm::AddDevice, "source"), (to, Wdm::PnpSameDeviceObject, "target")] {
        if !device::is_in_memory(object) {
            let what = format_args!("the {which} {object:#x} is not a device object");
            verify::find(Rule::BadArgument.named(name), what);
            return Ok(GuestPtr::NULL);
        }
    }
    attach(device, to)
}

/// Attaches a device to the top of a stack. Returns the device below it.
pub fn attach(device: Object, to: Object) -> Result<Object, Fault> {
    let lower = top(to)?;
    lower.AttachedDevice().write(device)?;
    if let Some(extension) = device.extension()?.non_null() {
        extension.AttachedTo().write(lower)?;
    }
    device.StackSize().write(lower.StackSize().read()?.wrapping_add(1))?;
    Ok(lower)
}

/// Detaches the device above another one.
pub fn detach(lower: Object) -> Result<(), Fault> {
    if let Some(upper) = lower.AttachedDevice().read()?.non_null() {
        upper.extension()?.AttachedTo().write(GuestPtr::NULL)?;
    }
    lower.AttachedDevice().write(GuestPtr::NULL)
}
