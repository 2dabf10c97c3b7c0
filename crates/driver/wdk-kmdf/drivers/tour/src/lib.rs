//! Uses what the other drivers do not: several queues, direct I/O, I/O targets, the registry, resources and interrupts.
#![no_std]

extern crate wdk_panic;

mod device;
mod helper;
mod lamp;
mod requests;

use wdk_etw::NtStatus;
use wdk_kmdf::{DeviceHandle, DeviceInit, Driver, DriverHandle, Passive, QueueConfig, create_driver};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

use device::Tour;

/// `FILE_DEVICE_UNKNOWN`.
const DEVICE_TYPE: u32 = 0x22;

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<TourDriver>(driver, path) };
    created.err().unwrap_or(NtStatus::Success).as_signed()
}

struct TourDriver;

impl Driver for TourDriver {
    fn device_add(driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        let passive = init.passive();
        if !driver.is_version_available(passive, 1, 25) || driver.is_version_available(passive, 1, 99) {
            return Err(NtStatus::InternalError);
        }
        helper::create(driver)?;
        let init = init.exclusive().device_type(DEVICE_TYPE);
        let created = init.device().files().wakes().lock_user_buffers().passive_level().create(
            |device: DeviceHandle<'_, Tour>| {
                device.create_queue::<()>(QueueConfig::parallel_up_to(4).allow_zero_length().default_queue())?;
                let internal =
                    device.create_queue::<requests::Internal>(QueueConfig::sequential().not_power_managed())?;
                device.dispatch(&internal, wdk_kmdf::Dispatch::InternalControl)?;
                let writes = device.create_io_default_queue::<()>(QueueConfig::sequential().allow_zero_length())?;
                device.dispatch(&writes, wdk_kmdf::Dispatch::Write)?;
                Tour::new(device, internal)
            },
        );
        let device = created.inspect_err(|_| helper::delete())?;
        device.assign_idle_settings(core::time::Duration::from_secs(10), false)?;
        // A device on a bus without wake signals works, too.
        let _ = device.assign_wake_settings();
        Ok(())
    }

    fn unload(_: Passive<'_>) {}
}
