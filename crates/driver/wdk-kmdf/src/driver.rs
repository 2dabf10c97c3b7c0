//! The driver object.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING, PWDFDEVICE_INIT, WDF_DRIVER_CONFIG, WDF_NO_OBJECT_ATTRIBUTES, WDFDRIVER,
    call_unsafe_wdf_function_binding,
};

use crate::request::IRP_ACTIVITY;
use crate::{DeviceInit, check, size_field, status_of};

/// The callbacks of a driver.
pub trait Driver {
    /// `EvtDriverDeviceAdd`: the system found a device for this driver.
    ///
    /// # Errors
    ///
    /// An error prevents the device from being added. The framework deletes what has already been created for it.
    fn device_add(driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus>;

    /// `EvtDriverUnload`: all devices have been removed, and the driver's image is unloaded after this.
    fn unload();
}

/// The framework's driver object. It is valid as long as code of this driver runs.
#[derive(Clone, Copy, Debug)]
pub struct DriverHandle {
    raw: WDFDRIVER,
}

// SAFETY: the framework's functions for drivers can be called from any thread.
unsafe impl Send for DriverHandle {}
// SAFETY: as above.
unsafe impl Sync for DriverHandle {}

impl DriverHandle {
    /// Returns the raw handle, for the other modules of this crate.
    pub(crate) const fn raw(self) -> WDFDRIVER {
        self.raw
    }
}

/// Creates the framework's driver object.
///
/// # Errors
///
/// Returns the error of `WdfDriverCreate`.
///
/// # IRQL
///
/// `PASSIVE_LEVEL`.
///
/// # Safety
///
/// Both arguments must be those of `DriverEntry`, and `DriverEntry` must call this.
pub unsafe fn create_driver<D: Driver>(
    driver: *mut DRIVER_OBJECT,
    registry_path: PCUNICODE_STRING,
) -> Result<DriverHandle, NtStatus> {
    let mut config = WDF_DRIVER_CONFIG {
        Size: size_field::<WDF_DRIVER_CONFIG>(),
        EvtDriverDeviceAdd: Some(device_add::<D>),
        EvtDriverUnload: Some(unload::<D>),
        ..WDF_DRIVER_CONFIG::default()
    };
    let mut raw: WDFDRIVER = ptr::null_mut();
    // SAFETY: the caller guarantees that the first two arguments are valid; the configuration outlives the call.
    check(unsafe {
        call_unsafe_wdf_function_binding!(
            WdfDriverCreate,
            driver,
            registry_path,
            WDF_NO_OBJECT_ATTRIBUTES,
            ptr::from_mut(&mut config),
            ptr::from_mut(&mut raw)
        )
    })?;
    // A Windows without the routines has no activity ids of requests.
    let _ = IRP_ACTIVITY.look_up();
    Ok(DriverHandle { raw })
}

unsafe extern "C" fn device_add<D: Driver>(raw: WDFDRIVER, init: PWDFDEVICE_INIT) -> NTSTATUS {
    // SAFETY: the framework passes an initialisation structure that this callback owns until the device is created.
    status_of(D::device_add(DriverHandle { raw }, unsafe { DeviceInit::from_raw(init) }))
}

unsafe extern "C" fn unload<D: Driver>(_: WDFDRIVER) {
    D::unload();
}
