//! The driver object.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING, PWDFDEVICE_INIT, WDF_DRIVER_CONFIG, WDF_NO_HANDLE,
    WDF_NO_OBJECT_ATTRIBUTES, WDFDRIVER, call_unsafe_wdf_function_binding,
};

use super::{DeviceInit, answer, check, size_field};

/// What a driver is asked to do.
pub(crate) trait DriverEvents {
    /// `EvtDriverDeviceAdd`: there is a device for this driver.
    fn device_add(init: DeviceInit<'_>) -> Result<(), NtStatus>;

    /// `EvtDriverUnload`: all devices are gone, and the image goes next.
    fn unload();
}

/// Creates the framework's driver object.
///
/// # Safety
///
/// Both arguments are those of `DriverEntry`, and this is called from there.
pub(crate) unsafe fn create_driver<D: DriverEvents>(
    driver: *mut DRIVER_OBJECT,
    registry_path: PCUNICODE_STRING,
) -> Result<(), NtStatus> {
    let mut config = WDF_DRIVER_CONFIG {
        Size: size_field::<WDF_DRIVER_CONFIG>(),
        EvtDriverDeviceAdd: Some(device_add::<D>),
        EvtDriverUnload: Some(unload::<D>),
        ..WDF_DRIVER_CONFIG::default()
    };
    // SAFETY: the first two are valid by this function's contract; the configuration outlives the call.
    check(unsafe {
        call_unsafe_wdf_function_binding!(
            WdfDriverCreate,
            driver,
            registry_path,
            WDF_NO_OBJECT_ATTRIBUTES,
            ptr::from_mut(&mut config),
            WDF_NO_HANDLE.cast::<WDFDRIVER>()
        )
    })
}

unsafe extern "C" fn device_add<D: DriverEvents>(_: WDFDRIVER, init: PWDFDEVICE_INIT) -> NTSTATUS {
    // SAFETY: the framework passes an initialisation structure that is ours until the device is created.
    answer(D::device_add(unsafe { DeviceInit::from_raw(init) }))
}

unsafe extern "C" fn unload<D: DriverEvents>(_: WDFDRIVER) {
    D::unload();
}
