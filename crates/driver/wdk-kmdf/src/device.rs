//! A device: the callbacks that a driver implements for it.

use wdk_etw::NtStatus;
use wdk_sys::{NTSTATUS, WDF_PNPPOWER_EVENT_CALLBACKS, WDF_POWER_DEVICE_STATE, WDFCMRESLIST, WDFDEVICE, WDFOBJECT};

use crate::{DeviceHandle, IoType, PowerState, Resources, context, size_field, status_of};

/// The callbacks of a device. The type is the device's context: every callback gets the same value.
///
/// The framework calls all of them at `PASSIVE_LEVEL`. Each does nothing unless a driver implements it.
pub trait Device: Send + Sync + Sized + 'static {
    /// How the buffers of reads and writes are passed. A filter has the type of the device below instead, so its driver must
    /// expect both: [`Request::input`](crate::Request::input) and [`Output::value`](crate::Output::value) return an error for the
    /// client's own memory, [`copy_input`](crate::Request::copy_input) and [`reply`](crate::Request::reply) do not.
    const IO_TYPE: IoType = IoType::Buffered;

    /// `EvtDevicePrepareHardware`, with the device's translated resources.
    ///
    /// # Errors
    ///
    /// An error prevents the device from starting.
    fn prepare_hardware(&self, device: DeviceHandle<'_, Self>, resources: Resources<'_>) -> Result<(), NtStatus> {
        let _ = (device, resources);
        Ok(())
    }

    /// `EvtDeviceReleaseHardware`.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn release_hardware(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceD0Entry`, with the previous power state.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn d0_entry(&self, device: DeviceHandle<'_, Self>, from: PowerState) -> Result<(), NtStatus> {
        let _ = (device, from);
        Ok(())
    }

    /// `EvtDeviceD0Exit`, with the power state that the device enters.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn d0_exit(&self, device: DeviceHandle<'_, Self>, to: PowerState) -> Result<(), NtStatus> {
        let _ = (device, to);
        Ok(())
    }

    /// `EvtDeviceSelfManagedIoInit`: the device starts for the first time.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn self_managed_io_init(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceSelfManagedIoSuspend`: the device leaves D0.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn self_managed_io_suspend(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceSelfManagedIoRestart`: the device is in D0 again.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn self_managed_io_restart(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceSelfManagedIoFlush`: the device was removed; complete the requests that the framework does not hold.
    fn self_managed_io_flush(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }

    /// `EvtDeviceSelfManagedIoCleanup`: the last callback for self-managed I/O.
    fn self_managed_io_cleanup(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }

    /// `EvtDeviceQueryStop`: may the device be stopped, to give it other resources?
    ///
    /// # Errors
    ///
    /// An error means that it must not.
    fn query_stop(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceQueryRemove`: may the device be removed?
    ///
    /// # Errors
    ///
    /// An error means that it must not.
    fn query_remove(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceSurpriseRemoval`: the device is gone.
    fn surprise_removal(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }

    /// `EvtCleanupCallback`: the device is being deleted. After this, the value is dropped as soon as nothing refers to the
    /// device any more, at any IRQL up to `DISPATCH_LEVEL`. What needs `PASSIVE_LEVEL` belongs here. An [own
    /// request](crate::OwnRequest) that a target still has refers to the device, so
    /// [`completed`](crate::OwnRequestEvents::completed) can run after this.
    fn cleanup(&self) {}
}

/// Returns the `PnP` and power callbacks of a device of type `T`.
pub(crate) fn pnp_callbacks<T: Device>() -> WDF_PNPPOWER_EVENT_CALLBACKS {
    WDF_PNPPOWER_EVENT_CALLBACKS {
        Size: size_field::<WDF_PNPPOWER_EVENT_CALLBACKS>(),
        EvtDevicePrepareHardware: Some(prepare_hardware::<T>),
        EvtDeviceReleaseHardware: Some(release_hardware::<T>),
        EvtDeviceD0Entry: Some(d0_entry::<T>),
        EvtDeviceD0Exit: Some(d0_exit::<T>),
        EvtDeviceSelfManagedIoInit: Some(self_managed_io_init::<T>),
        EvtDeviceSelfManagedIoSuspend: Some(self_managed_io_suspend::<T>),
        EvtDeviceSelfManagedIoRestart: Some(self_managed_io_restart::<T>),
        EvtDeviceSelfManagedIoFlush: Some(self_managed_io_flush::<T>),
        EvtDeviceSelfManagedIoCleanup: Some(self_managed_io_cleanup::<T>),
        EvtDeviceQueryStop: Some(query_stop::<T>),
        EvtDeviceQueryRemove: Some(query_remove::<T>),
        EvtDeviceSurpriseRemoval: Some(surprise_removal::<T>),
        ..WDF_PNPPOWER_EVENT_CALLBACKS::default()
    }
}

/// Calls `event` with the context of a device. Returns `None` if there is no context: the driver's `device_add` ignored that
/// the value could not be made.
///
/// # Safety
///
/// `raw` must be the device that the framework passed to a callback at `PASSIVE_LEVEL`, and have been created with a context
/// of type `T`.
pub(crate) unsafe fn on<T: Device, R>(raw: WDFDEVICE, event: impl FnOnce(&T, DeviceHandle<'_, T>) -> R) -> Option<R> {
    // SAFETY: guaranteed by the caller.
    let context = unsafe { context::get::<T>(raw.cast()) }?;
    // SAFETY: guaranteed by the caller; the handle is passed on for the callback only.
    Some(event(context, unsafe { DeviceHandle::from_raw(raw) }))
}

/// As [`on`], for a callback with a status.
///
/// # Safety
///
/// As [`on`].
pub(crate) unsafe fn status<T: Device>(
    raw: WDFDEVICE,
    event: impl FnOnce(&T, DeviceHandle<'_, T>) -> Result<(), NtStatus>,
) -> NTSTATUS {
    // SAFETY: guaranteed by the caller.
    status_of(unsafe { on(raw, event) }.unwrap_or(Err(NtStatus::DeviceNotReady)))
}

unsafe extern "C" fn prepare_hardware<T: Device>(
    device: WDFDEVICE,
    raw: WDFCMRESLIST,
    translated: WDFCMRESLIST,
) -> NTSTATUS {
    // SAFETY: both lists are those of the framework, valid until this callback returns.
    let resources = unsafe { Resources::from_raw(raw, translated) };
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, |value: &T, handle| value.prepare_hardware(handle, resources)) }
}

unsafe extern "C" fn release_hardware<T: Device>(device: WDFDEVICE, _translated: WDFCMRESLIST) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, T::release_hardware) }
}

unsafe extern "C" fn d0_entry<T: Device>(device: WDFDEVICE, state: WDF_POWER_DEVICE_STATE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, |value: &T, handle| value.d0_entry(handle, PowerState::from_raw(state))) }
}

unsafe extern "C" fn d0_exit<T: Device>(device: WDFDEVICE, state: WDF_POWER_DEVICE_STATE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, |value: &T, handle| value.d0_exit(handle, PowerState::from_raw(state))) }
}

unsafe extern "C" fn self_managed_io_init<T: Device>(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, T::self_managed_io_init) }
}

unsafe extern "C" fn self_managed_io_suspend<T: Device>(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, T::self_managed_io_suspend) }
}

unsafe extern "C" fn self_managed_io_restart<T: Device>(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, T::self_managed_io_restart) }
}

unsafe extern "C" fn self_managed_io_flush<T: Device>(device: WDFDEVICE) {
    // SAFETY: the framework passes the device for which this callback was set.
    let _ = unsafe { on(device, T::self_managed_io_flush) };
}

unsafe extern "C" fn self_managed_io_cleanup<T: Device>(device: WDFDEVICE) {
    // SAFETY: the framework passes the device for which this callback was set.
    let _ = unsafe { on(device, T::self_managed_io_cleanup) };
}

unsafe extern "C" fn query_stop<T: Device>(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, T::query_stop) }
}

unsafe extern "C" fn query_remove<T: Device>(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { status(device, T::query_remove) }
}

unsafe extern "C" fn surprise_removal<T: Device>(device: WDFDEVICE) {
    // SAFETY: the framework passes the device for which this callback was set.
    let _ = unsafe { on(device, T::surprise_removal) };
}

pub(crate) unsafe extern "C" fn cleanup<T: Device>(object: WDFOBJECT) {
    // SAFETY: the framework passes the device for which this callback was set and destroys the context only afterwards.
    if let Some(context) = unsafe { context::get::<T>(object) } {
        context.cleanup();
    }
}
