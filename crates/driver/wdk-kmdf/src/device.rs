//! Devices: creation, `PnP` and power callbacks, and the device interface.

use core::marker::PhantomData;
use core::ptr;

use wdk_etw::{Guid, NtStatus};
use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, GUID, NTSTATUS, PWDFDEVICE_INIT, WDF_OBJECT_ATTRIBUTES,
    WDF_PNPPOWER_EVENT_CALLBACKS, WDF_POWER_DEVICE_STATE, WDFCMRESLIST, WDFDEVICE, WDFOBJECT,
    call_unsafe_wdf_function_binding,
};

use crate::context::{self, Context};
use crate::{check, size_field, status_of};

/// The callbacks of a device. `state` is a `WDF_POWER_DEVICE_STATE` of the framework.
pub trait Device: Context {
    /// `EvtDevicePrepareHardware`.
    ///
    /// # Errors
    ///
    /// An error prevents the device from starting.
    fn prepare_hardware(&self) -> Result<(), NtStatus> {
        Ok(())
    }

    /// `EvtDeviceReleaseHardware`.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn release_hardware(&self) -> Result<(), NtStatus> {
        Ok(())
    }

    /// `EvtDeviceD0Entry`, with the previous power state.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn d0_entry(&self, state: u32) -> Result<(), NtStatus> {
        let _ = state;
        Ok(())
    }

    /// `EvtDeviceD0Exit`, with the power state that the device enters.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn d0_exit(&self, state: u32) -> Result<(), NtStatus> {
        let _ = state;
        Ok(())
    }

    /// `EvtCleanupCallback`: the device is being deleted.
    fn cleanup(&self) {}
}

/// A device that has not been created yet.
#[derive(Debug)]
pub struct DeviceInit<'a> {
    raw: PWDFDEVICE_INIT,
    callback: PhantomData<&'a ()>,
}

/// A newly created device with a context of type `T`. It is valid until the callback that creates the device returns.
#[derive(Debug)]
pub struct DeviceHandle<'a, T> {
    raw: WDFDEVICE,
    callback: PhantomData<(&'a (), fn() -> T)>,
}

impl<'a> DeviceInit<'a> {
    /// # Safety
    ///
    /// `raw` must be the pointer that the framework passed to `EvtDriverDeviceAdd`. The result takes ownership of it.
    pub(crate) unsafe fn from_raw(raw: PWDFDEVICE_INIT) -> Self {
        Self { raw, callback: PhantomData }
    }

    /// Creates the device with `value` as its context.
    ///
    /// If a later step fails, return the error from the callback. The framework then deletes the device with everything
    /// that belongs to it and calls [`Device::cleanup`].
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceCreate`. There is no device then, and `cleanup` is not called.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create<T: Device>(mut self, value: T) -> Result<DeviceHandle<'a, T>, NtStatus> {
        let mut callbacks = WDF_PNPPOWER_EVENT_CALLBACKS {
            Size: size_field::<WDF_PNPPOWER_EVENT_CALLBACKS>(),
            EvtDevicePrepareHardware: Some(prepare_hardware::<T>),
            EvtDeviceReleaseHardware: Some(release_hardware::<T>),
            EvtDeviceD0Entry: Some(d0_entry::<T>),
            EvtDeviceD0Exit: Some(d0_exit::<T>),
            ..WDF_PNPPOWER_EVENT_CALLBACKS::default()
        };
        // SAFETY: the device has not been created yet, and the structure outlives the call.
        unsafe {
            call_unsafe_wdf_function_binding!(
                WdfDeviceInitSetPnpPowerEventCallbacks,
                self.raw,
                ptr::from_mut(&mut callbacks)
            );
        }
        let mut attributes = WDF_OBJECT_ATTRIBUTES {
            Size: size_field::<WDF_OBJECT_ATTRIBUTES>(),
            EvtCleanupCallback: Some(cleanup::<T>),
            ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelInheritFromParent,
            SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
            ContextTypeInfo: T::INFO().as_raw(),
            ..WDF_OBJECT_ATTRIBUTES::default()
        };
        let mut raw: WDFDEVICE = ptr::null_mut();
        // SAFETY: this value owns the initialisation structure, and all structures outlive the call.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfDeviceCreate,
                ptr::from_mut(&mut self.raw),
                ptr::from_mut(&mut attributes),
                ptr::from_mut(&mut raw)
            )
        })?;
        // SAFETY: the device was created with a context of this type. None of its callbacks runs before
        // `EvtDriverDeviceAdd` has returned.
        unsafe { context::fill(raw.cast(), value) };
        Ok(DeviceHandle { raw, callback: PhantomData })
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Registers a device interface of this class, so that clients can find and open the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceCreateDeviceInterface`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_interface(&self, class: &Guid) -> Result<(), NtStatus> {
        let class = GUID { Data1: class.data1, Data2: class.data2, Data3: class.data3, Data4: class.data4 };
        // SAFETY: the device is alive, the GUID outlives the call, and the reference string is optional.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfDeviceCreateDeviceInterface,
                self.raw,
                ptr::from_ref(&class),
                ptr::null()
            )
        })
    }

    /// Returns the context of the device.
    ///
    /// # IRQL
    ///
    /// Any up to `DISPATCH_LEVEL`.
    #[must_use]
    pub fn value(&self) -> Option<&T> {
        // SAFETY: the device was created with a context of this type and lives as long as this handle.
        unsafe { context::get(self.raw.cast()) }
    }

    /// Returns the raw handle, for the other modules of this crate.
    pub(crate) const fn raw(&self) -> WDFDEVICE {
        self.raw
    }
}

/// Calls `event` with the context of a device. Returns `STATUS_DEVICE_NOT_READY` if there is no context yet.
///
/// # Safety
///
/// `device` must be alive and have been created with a context of type `T`.
unsafe fn on<T: Device>(device: WDFDEVICE, event: impl FnOnce(&T) -> Result<(), NtStatus>) -> NTSTATUS {
    // SAFETY: guaranteed by the caller.
    let context = unsafe { context::get::<T>(device.cast()) };
    status_of(context.map_or(Err(NtStatus::DeviceNotReady), event))
}

unsafe extern "C" fn prepare_hardware<T: Device>(
    device: WDFDEVICE,
    _raw: WDFCMRESLIST,
    _translated: WDFCMRESLIST,
) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { on(device, T::prepare_hardware) }
}

unsafe extern "C" fn release_hardware<T: Device>(device: WDFDEVICE, _translated: WDFCMRESLIST) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { on(device, T::release_hardware) }
}

unsafe extern "C" fn d0_entry<T: Device>(device: WDFDEVICE, state: WDF_POWER_DEVICE_STATE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { on(device, |context: &T| context.d0_entry(power_state(state))) }
}

unsafe extern "C" fn d0_exit<T: Device>(device: WDFDEVICE, state: WDF_POWER_DEVICE_STATE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { on(device, |context: &T| context.d0_exit(power_state(state))) }
}

unsafe extern "C" fn cleanup<T: Device>(object: WDFOBJECT) {
    // SAFETY: the framework passes the device for which this callback was set and frees the context only afterwards.
    if let Some(context) = unsafe { context::get::<T>(object) } {
        context.cleanup();
    }
}

/// Converts the state to a number. The enumeration's type is signed with some compilers.
fn power_state(state: WDF_POWER_DEVICE_STATE) -> u32 {
    u32::try_from(state).unwrap_or_default()
}
