//! A control device that deletes itself in its own callbacks.

use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::NtStatus;
use wdk_kmdf::{
    ControlDevice, Device, DeviceHandle, DriverHandle, Memory, Passive, QueueConfig, QueueEvents, Request, SpinLock,
    WorkItem, WorkItemEvents, wide,
};

use crate::ALIVE;

static CONTROL: SpinLock<Option<ControlDevice<Control>>> = SpinLock::new(None);

struct Control {
    work: WorkItem,
    lives: AtomicU32,
}

/// Creates the control device.
pub(crate) fn create(driver: DriverHandle) -> Result<(), NtStatus> {
    let passive = Passive::current().ok_or(NtStatus::InvalidDeviceState)?;
    let init = driver.control_device(passive, &wide(b"D:P(A;;GA;;;SY)(A;;GA;;;BA)"))?;
    let device = init.name(&wide(br"\Device\Lifetimes"))?.create(|device: DeviceHandle<'_, Control>| {
        device.create_queue(QueueConfig::parallel().default_queue().not_power_managed())?;
        Ok(Control { work: device.create_work_item()?, lives: AtomicU32::new(ALIVE) })
    })?;
    CONTROL.with(|control| *control = Some(device));
    Ok(())
}

/// Lets the device's work item delete the device.
pub(crate) fn delete_in_work() {
    CONTROL.with(|control| {
        if let Some(control) = control {
            control.work.enqueue();
        }
    });
}

impl Control {
    /// Deletes the device, and then uses it.
    fn delete(&self, device: DeviceHandle<'_, Self>) {
        if let Some(control) = CONTROL.with(Option::take) {
            control.delete(device.passive());
        }
        // The work item is deleted with its device, so this does nothing.
        self.work.enqueue();
        let lives = self.lives.load(Ordering::Relaxed) == ALIVE;
        let has_value = device.value().is_some_and(|value| core::ptr::eq(value, self));
        wdk::println!("lifetimes: control deleted, alive {lives}, value {has_value}");
    }
}

impl Device for Control {
    fn cleanup(&self) {
        wdk::println!("lifetimes: control cleaned up");
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.lives.store(0, Ordering::Relaxed);
        wdk::println!("lifetimes: control dropped");
    }
}

impl WorkItemEvents for Control {
    fn work(&self, device: DeviceHandle<'_, Self>) {
        self.delete(device);
    }
}

impl QueueEvents for Control {
    /// Deletes the device while a client has it open: the framework waits with that until the client closes it.
    fn write(&self, request: Request) {
        request.complete(NtStatus::Success);
        let Some(passive) = Passive::current() else { return };
        if let Some(control) = CONTROL.with(Option::take) {
            control.delete(passive);
        }
        let lives = self.lives.load(Ordering::Relaxed) == ALIVE;
        wdk::println!("lifetimes: control deleted by its client, alive {lives}");
    }
}

/// A control device that nothing deletes. Its memory is older than the device, so the framework frees the memory first when it deletes
/// the driver object.
struct Forgotten {
    memory: Memory,
}

/// Creates the device, and forgets it.
pub(crate) fn forget(driver: DriverHandle) -> Result<(), NtStatus> {
    let passive = Passive::current().ok_or(NtStatus::InvalidDeviceState)?;
    let memory = Memory::copy_of(b"kept", *b"Life")?;
    driver.control_device(passive, &wide(b"D:P(A;;GA;;;SY)(A;;GA;;;BA)"))?.create(|_| Ok(Forgotten { memory }))?;
    Ok(())
}

impl Device for Forgotten {
    fn cleanup(&self) {
        wdk::println!("lifetimes: forgotten cleaned up, memory {}", *self.memory == *b"kept");
    }
}

impl Drop for Forgotten {
    fn drop(&mut self) {
        wdk::println!("lifetimes: forgotten dropped");
    }
}
