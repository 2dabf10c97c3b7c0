//! Loading and unloading of the driver.

use wdk_etw::NtStatus;
use wdk_kmdf::{DeviceInit, Driver, DriverHandle, Passive, create_driver};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

use crate::admin;
use crate::device;
use crate::events;

/// The implementation of the framework's driver callbacks.
struct Sample;

impl Driver for Sample {
    fn device_add(_driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        device::add(init)
    }

    fn unload(_: Passive<'_>) {
        events::driver_unload();
        // This must come last: no code of this driver that could write events runs any more.
        events::shut_down();
        admin::shut_down();
    }
}

/// The entry point of the driver.
///
/// # Safety
///
/// Only the system may call it, once, with the driver object and the path of the driver's registry key.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, registry_path: PCUNICODE_STRING) -> NTSTATUS {
    // This must come first, so that everything below is traced.
    // SAFETY: `unload` calls `shut_down`. If `unload` will not be called, the code below does.
    unsafe { events::start_up() };
    // SAFETY: as above.
    unsafe { admin::start_up() };
    // SAFETY: the arguments come from the system, and this is `DriverEntry`.
    let created = unsafe { create_driver::<Sample>(driver, registry_path) };
    let status = created.as_ref().err().copied().unwrap_or(NtStatus::Success);
    // SAFETY: the path from the system is valid during this call.
    unsafe { events::driver_entry(registry_path, status) };
    if created.is_ok() {
        admin::driver_loaded(NtStatus::from_int(events::statuses().register));
    } else {
        events::shut_down();
        admin::shut_down();
    }
    status.as_signed()
}
