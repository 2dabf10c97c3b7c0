//! The driver's beginning and end.

use wdk_etw::NtStatus;
use wdk_kmdf::{DeviceInit, Driver, DriverHandle, create_driver};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

use crate::admin;
use crate::device;
use crate::events;

/// The driver as the framework sees it.
struct Sample;

impl Driver for Sample {
    fn device_add(_driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        device::add(init)
    }

    fn unload() {
        events::driver_unload();
        // Last: nothing of this driver runs any more that could write.
        events::shut_down();
        admin::shut_down();
    }
}

/// Where the system enters the driver.
///
/// # Safety
///
/// Called by the system, once, with its driver object and the path of its registry key.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, registry_path: PCUNICODE_STRING) -> NTSTATUS {
    // First, so that everything below is traced.
    // SAFETY: shut down in `unload`, or below where that will not be called.
    unsafe { events::start_up() };
    // SAFETY: as above.
    unsafe { admin::start_up() };
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<Sample>(driver, registry_path) };
    let status = created.as_ref().err().copied().unwrap_or(NtStatus::Success);
    // SAFETY: the system's path is valid during this call.
    unsafe { events::driver_entry(registry_path, status) };
    if created.is_ok() {
        admin::driver_loaded(NtStatus::from_int(events::statuses().register));
    } else {
        events::shut_down();
        admin::shut_down();
    }
    status.as_signed()
}
