//! The driver object.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_DRIVER_INIT_FLAGS, DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING, PWDFDEVICE_INIT, WDF_DRIVER_CONFIG,
    WDF_DRIVER_VERSION_AVAILABLE_PARAMS, WDF_NO_OBJECT_ATTRIBUTES, WDFDRIVER,
};

use crate::call::wdf;
use crate::{DeviceInit, Passive, check, size_field, status_of};

/// The callbacks of a driver. The framework calls both at `PASSIVE_LEVEL`.
pub trait Driver {
    /// Whether the driver has Plug and Play devices. A driver without them has [control devices](crate::ControlDevice) only,
    /// and [`device_add`](Self::device_add) is not called (`WdfDriverInitNonPnpDriver`).
    const HAS_DEVICES: bool = true;

    /// `EvtDriverDeviceAdd`: the system found a device for this driver.
    ///
    /// # Errors
    ///
    /// An error prevents the device from being added. The framework deletes what has already been created for it.
    fn device_add(driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus>;

    /// `EvtDriverUnload`: all devices have been removed, and the driver's image is unloaded after this.
    fn unload(passive: Passive<'_>);
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
    /// Returns whether the framework has at least this version (`WdfDriverIsVersionAvailable`).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn is_version_available(self, _: Passive<'_>, major: u32, minor: u32) -> bool {
        let mut version = WDF_DRIVER_VERSION_AVAILABLE_PARAMS {
            Size: size_field::<WDF_DRIVER_VERSION_AVAILABLE_PARAMS>(),
            MajorVersion: major,
            MinorVersion: minor,
        };
        // SAFETY: the driver object exists, and the structure outlives the call.
        unsafe { wdf!(WdfDriverIsVersionAvailable, self.raw, ptr::from_mut(&mut version)) != 0 }
    }

    /// Returns the framework's handle.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(self) -> WDFDRIVER {
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
        EvtDriverUnload: Some(unload::<D>),
        ..WDF_DRIVER_CONFIG::default()
    };
    if D::HAS_DEVICES {
        config.EvtDriverDeviceAdd = Some(device_add::<D>);
    } else {
        config.DriverInitFlags |= u32::try_from(_WDF_DRIVER_INIT_FLAGS::WdfDriverInitNonPnpDriver).unwrap_or_default();
    }
    let mut raw: WDFDRIVER = ptr::null_mut();
    // SAFETY: the caller guarantees that the first two arguments are valid; the configuration outlives the call.
    check(unsafe {
        wdf!(
            WdfDriverCreate,
            driver,
            registry_path,
            WDF_NO_OBJECT_ATTRIBUTES,
            ptr::from_mut(&mut config),
            ptr::from_mut(&mut raw)
        )
    })?;
    Ok(DriverHandle { raw })
}

unsafe extern "C" fn device_add<D: Driver>(raw: WDFDRIVER, init: PWDFDEVICE_INIT) -> NTSTATUS {
    // SAFETY: the framework passes an initialisation structure that this callback owns until the device is created.
    status_of(D::device_add(DriverHandle { raw }, unsafe { DeviceInit::from_raw(init) }))
}

unsafe extern "C" fn unload<D: Driver>(_: WDFDRIVER) {
    D::unload(Passive::assume());
}
