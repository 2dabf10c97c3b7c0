//! Devices: creation, `PnP` and power callbacks, and the interface that clients open.

use core::marker::PhantomData;
use core::ptr;

use wdk_etw::{Guid, NtStatus};
use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, GUID, NTSTATUS, PWDFDEVICE_INIT, WDF_OBJECT_ATTRIBUTES,
    WDF_PNPPOWER_EVENT_CALLBACKS, WDF_POWER_DEVICE_STATE, WDFCMRESLIST, WDFDEVICE, WDFOBJECT,
    call_unsafe_wdf_function_binding,
};

use crate::context::{self, Context};
use crate::{answer, check, size_field};

/// What a device is told. `state` is the framework's `WDF_POWER_DEVICE_STATE`.
pub trait Device: Context {
    /// `EvtDevicePrepareHardware`.
    ///
    /// # Errors
    ///
    /// Keeps the device from starting.
    fn prepare_hardware(&self) -> Result<(), NtStatus> {
        Ok(())
    }

    /// `EvtDeviceReleaseHardware`.
    ///
    /// # Errors
    ///
    /// The framework regards the device as failed.
    fn release_hardware(&self) -> Result<(), NtStatus> {
        Ok(())
    }

    /// `EvtDeviceD0Entry`, with the state the device comes from.
    ///
    /// # Errors
    ///
    /// The framework regards the device as failed.
    fn d0_entry(&self, state: u32) -> Result<(), NtStatus> {
        let _ = state;
        Ok(())
    }

    /// `EvtDeviceD0Exit`, with the state the device goes to.
    ///
    /// # Errors
    ///
    /// The framework regards the device as failed.
    fn d0_exit(&self, state: u32) -> Result<(), NtStatus> {
        let _ = state;
        Ok(())
    }

    /// The device goes away.
    fn cleanup(&self) {}
}

/// A device that is about to be created.
#[derive(Debug)]
pub struct DeviceInit<'a> {
    raw: PWDFDEVICE_INIT,
    callback: PhantomData<&'a ()>,
}

/// A device that was just created, with its value of type `T`. It ends with the callback in which the device is made.
#[derive(Debug)]
pub struct DeviceHandle<'a, T> {
    raw: WDFDEVICE,
    callback: PhantomData<(&'a (), fn() -> T)>,
}

impl<'a> DeviceInit<'a> {
    /// # Safety
    ///
    /// `raw` is what the framework passed to `EvtDriverDeviceAdd`, and belongs to the result from here on.
    pub(crate) unsafe fn from_raw(raw: PWDFDEVICE_INIT) -> Self {
        Self { raw, callback: PhantomData }
    }

    /// Creates the device, with `value` behind it.
    ///
    /// If what follows fails, return the error: the framework deletes the device, with all that belongs to it, and calls
    /// [`Device::cleanup`].
    ///
    /// # Errors
    ///
    /// What `WdfDeviceCreate` returns; there is no device then, and `cleanup` is not called.
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
        // SAFETY: the device is not created yet, and the structure outlives the call.
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
        // SAFETY: the initialisation structure is ours; all structures outlive the call.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfDeviceCreate,
                ptr::from_mut(&mut self.raw),
                ptr::from_mut(&mut attributes),
                ptr::from_mut(&mut raw)
            )
        })?;
        // SAFETY: the device was created with a context of this type, and no callback of it runs before
        // `EvtDriverDeviceAdd` has returned.
        unsafe { context::fill(raw.cast(), value) };
        Ok(DeviceHandle { raw, callback: PhantomData })
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Offers the device under an interface class, for clients to find and open.
    ///
    /// # Errors
    ///
    /// What `WdfDeviceCreateDeviceInterface` returns.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_interface(&self, class: &Guid) -> Result<(), NtStatus> {
        let class = GUID { Data1: class.data1, Data2: class.data2, Data3: class.data3, Data4: class.data4 };
        // SAFETY: the device is alive, the GUID outlives the call, and no reference string is given.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfDeviceCreateDeviceInterface,
                self.raw,
                ptr::from_ref(&class),
                ptr::null()
            )
        })
    }

    /// The value behind the device.
    ///
    /// # IRQL
    ///
    /// Any up to `DISPATCH_LEVEL`.
    #[must_use]
    pub fn value(&self) -> Option<&T> {
        // SAFETY: the device was created with a context of this type, and lives as long as this handle.
        unsafe { context::get(self.raw.cast()) }
    }

    /// The raw handle, for the rest of this crate.
    pub(crate) const fn raw(&self) -> WDFDEVICE {
        self.raw
    }
}

/// Runs a callback on the context of a device; a device without one is not ready.
///
/// # Safety
///
/// `device` is alive and was created with a context of type `T`.
unsafe fn on<T: Device>(device: WDFDEVICE, event: impl FnOnce(&T) -> Result<(), NtStatus>) -> NTSTATUS {
    // SAFETY: by this function's contract.
    let context = unsafe { context::get::<T>(device.cast()) };
    answer(context.map_or(Err(NtStatus::DeviceNotReady), event))
}

unsafe extern "C" fn prepare_hardware<T: Device>(
    device: WDFDEVICE,
    _raw: WDFCMRESLIST,
    _translated: WDFCMRESLIST,
) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this was set.
    unsafe { on(device, T::prepare_hardware) }
}

unsafe extern "C" fn release_hardware<T: Device>(device: WDFDEVICE, _translated: WDFCMRESLIST) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this was set.
    unsafe { on(device, T::release_hardware) }
}

unsafe extern "C" fn d0_entry<T: Device>(device: WDFDEVICE, state: WDF_POWER_DEVICE_STATE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this was set.
    unsafe { on(device, |context: &T| context.d0_entry(power_state(state))) }
}

unsafe extern "C" fn d0_exit<T: Device>(device: WDFDEVICE, state: WDF_POWER_DEVICE_STATE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this was set.
    unsafe { on(device, |context: &T| context.d0_exit(power_state(state))) }
}

unsafe extern "C" fn cleanup<T: Device>(object: WDFOBJECT) {
    // SAFETY: the framework passes the device for which this was set, before it frees the context.
    if let Some(context) = unsafe { context::get::<T>(object) } {
        context.cleanup();
    }
}

/// The state as a number; the enumeration's type has a sign on some compilers.
fn power_state(state: WDF_POWER_DEVICE_STATE) -> u32 {
    u32::try_from(state).unwrap_or_default()
}
