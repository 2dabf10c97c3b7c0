//! Stacks of devices: the bus's device at the bottom, the driver's above it.

use super::devices::{ATTACHED, DEVICE_SIZE, DRIVER, DRIVER_SIZE, Device, STACK_SIZE};
use super::{kernel, lock};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// A device of the bus, for the driver to attach to.
pub(crate) fn new_physical_device() -> u64 {
    let mut pool = lock(&kernel().pool);
    let (device, driver) = (pool.object(DEVICE_SIZE), pool.object(DRIVER_SIZE));
    drop(pool);
    guest::write(device, 3_u16);
    guest::write(device + DRIVER, driver);
    guest::write(device + STACK_SIZE, 1_u8);
    let entry = Device { address: device, name: String::new(), from: 0, of_host: true };
    lock(&kernel().io).devices.push(entry);
    device
}

/// The device that the driver attached above a device of the bus.
pub(super) fn above(physical: u64) -> Option<u64> {
    let found = top(physical);
    (found != physical).then_some(found)
}

/// The device of the bus below a device of the driver.
pub(super) fn below(device: u64) -> Option<u64> {
    physical().into_iter().find(|physical| top(*physical) == device)
}

/// The devices of the bus.
pub(super) fn physical() -> Vec<u64> {
    let io = lock(&kernel().io);
    io.devices.iter().filter(|device| device.of_host).map(|device| device.address).collect()
}

/// The device right below another.
pub(super) fn lower(device: u64) -> Option<u64> {
    let all: Vec<u64> = lock(&kernel().io).devices.iter().map(|device| device.address).collect();
    all.into_iter().find(|known| guest::read::<u64>(known + ATTACHED) == device)
}

/// A device of the bus is gone.
pub(super) fn forget(physical: u64) {
    if guest::read::<u64>(physical + ATTACHED) != 0 {
        let what = format_args!("a device stays attached to a device that is gone");
        verify::find_at(Rule::ObjectLeak, Some("IoAttachDeviceToDeviceStack"), 0, what);
    }
    lock(&kernel().io).devices.retain(|device| device.address != physical);
}

/// The device on top of a stack.
pub(super) fn top(device: u64) -> u64 {
    let mut device = device;
    while let upper @ 1.. = guest::read::<u64>(device + ATTACHED) {
        device = upper;
    }
    device
}

/// Puts a device on top of a stack; answers the one below it.
pub(super) fn attach(device: u64, to: u64) -> u64 {
    let lower = top(to);
    guest::write(lower + ATTACHED, device);
    guest::write(device + STACK_SIZE, guest::read::<u8>(lower + STACK_SIZE) + 1);
    lower
}
