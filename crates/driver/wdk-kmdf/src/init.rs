//! The creation of a device.

use core::marker::PhantomData;
use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{_WDF_DEVICE_IO_TYPE, _WDF_EXECUTION_LEVEL, PWDFDEVICE_INIT, WDFDEVICE, WDFOBJECT};

use crate::call::wdf;
use crate::device::{cleanup, pnp_callbacks};
use crate::file::FileEvents;
use crate::text::unicode;
use crate::{Device, DeviceHandle, IoType, Passive, WakeEvents, check, context, file, power, user_buffers};

/// A device that has not been created yet.
#[derive(Debug)]
pub struct DeviceInit<'a> {
    raw: PWDFDEVICE_INIT,
    callback: PhantomData<*const &'a ()>,
}

/// The settings of a device with a context of type `T`, before it is created.
#[derive(Debug)]
pub struct DeviceBuilder<'a, T> {
    raw: PWDFDEVICE_INIT,
    is_passive: bool,
    callback: PhantomData<(*const &'a (), fn() -> T)>,
}

impl<'a> DeviceInit<'a> {
    /// # Safety
    ///
    /// `raw` must be the pointer that the framework passed to `EvtDriverDeviceAdd`, or one that it allocated. The result
    /// may use it until the device is created.
    pub(crate) unsafe fn from_raw(raw: PWDFDEVICE_INIT) -> Self {
        Self { raw, callback: PhantomData }
    }

    /// Returns the token for functions that need `PASSIVE_LEVEL`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub const fn passive(&self) -> Passive<'a> {
        Passive::assume()
    }

    /// Marks the driver as a filter: the device forwards what it does not handle (`WdfFdoInitSetFilter`).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn filter(self) -> Self {
        // SAFETY: the device has not been created yet.
        unsafe { wdf!(WdfFdoInitSetFilter, self.raw) };
        self
    }

    /// Allows one open handle at a time (`WdfDeviceInitSetExclusive`).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn exclusive(self) -> Self {
        // SAFETY: the device has not been created yet.
        unsafe { wdf!(WdfDeviceInitSetExclusive, self.raw, 1) };
        self
    }

    /// Sets the type of the device, for example `FILE_DEVICE_UNKNOWN` (`WdfDeviceInitSetDeviceType`).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn device_type(self, device_type: u32) -> Self {
        // SAFETY: the device has not been created yet.
        unsafe { wdf!(WdfDeviceInitSetDeviceType, self.raw, device_type) };
        self
    }

    /// Names the device, for example `\Device\MyDevice` (`WdfDeviceInitAssignName`). Use [`wide`](crate::wide) for constants.
    ///
    /// # Errors
    ///
    /// Returns the error of the framework.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn name(self, name: &[u16]) -> Result<Self, NtStatus> {
        let name = unicode(name)?;
        // SAFETY: the device has not been created yet; the framework copies the name.
        check(unsafe { wdf!(WdfDeviceInitAssignName, self.raw, ptr::from_ref(&name)) })?;
        Ok(self)
    }

    /// Chooses the type of the device's context, for more settings.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn device<T: Device>(self) -> DeviceBuilder<'a, T> {
        DeviceBuilder { raw: self.raw, is_passive: false, callback: PhantomData }
    }

    /// Creates the device. `build` makes its context, with timers, queues and other objects that belong to the device.
    ///
    /// If `build` or a later step fails, return the error from the callback. The framework then deletes the device with
    /// everything that belongs to it.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceCreate`, or of `build`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create<T: Device>(
        self,
        build: impl FnOnce(DeviceHandle<'_, T>) -> Result<T, NtStatus>,
    ) -> Result<DeviceHandle<'a, T>, NtStatus> {
        self.device().create(build)
    }

    /// Returns the framework's pointer. It must not be used after the device is created.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> PWDFDEVICE_INIT {
        self.raw
    }
}

impl<'a, T: Device> DeviceBuilder<'a, T> {
    /// Tells the device about files that are opened on it, and gives each a value of its own.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn files(self) -> Self
    where
        T: FileEvents,
    {
        // SAFETY: the device has not been created yet, and `create` gives it a context of type `T`.
        unsafe { file::set_config::<T>(self.raw) };
        self
    }

    /// Supports `METHOD_NEITHER` control requests: the layer probes and locks their buffers in the client's thread
    /// (`EvtIoInCallerContext`) before the requests go to their queues. Without this, such a request has no buffers.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn lock_user_buffers(self) -> Self {
        // SAFETY: the device has not been created yet.
        unsafe { user_buffers::set_callback(self.raw) };
        self
    }

    /// Tells the device when it is armed to wake itself or the system (`WdfDeviceInitSetPowerPolicyEventCallbacks`).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn wakes(self) -> Self
    where
        T: WakeEvents,
    {
        // SAFETY: the device has not been created yet, and `create` gives it a context of type `T`.
        unsafe { power::set_wake_callbacks::<T>(self.raw) };
        self
    }

    /// Makes the framework call the device's queues at `PASSIVE_LEVEL` (`WdfExecutionLevelPassive`), where
    /// [`Passive::current`](crate::Passive::current) returns a token. Timers still tick at
    /// `DISPATCH_LEVEL`.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn passive_level(mut self) -> Self {
        self.is_passive = true;
        self
    }

    /// Returns the framework's pointer. It must not be used after the device is created.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> PWDFDEVICE_INIT {
        self.raw
    }

    /// As [`DeviceInit::create`].
    ///
    /// # Errors
    ///
    /// As [`DeviceInit::create`].
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create(
        mut self,
        build: impl FnOnce(DeviceHandle<'_, T>) -> Result<T, NtStatus>,
    ) -> Result<DeviceHandle<'a, T>, NtStatus> {
        // SAFETY: this value has the framework's pointer.
        let handle = unsafe { create_pnp(&mut self.raw, self.is_passive) }?;
        build_value(handle, build)?;
        Ok(handle)
    }
}

/// As [`create`], with the `PnP` and power callbacks of `T`.
///
/// # Safety
///
/// As [`create`].
pub(crate) unsafe fn create_pnp<'a, T: Device>(
    raw: &mut PWDFDEVICE_INIT,
    is_passive: bool,
) -> Result<DeviceHandle<'a, T>, NtStatus> {
    let mut callbacks = pnp_callbacks::<T>();
    // SAFETY: the device has not been created yet, and the structure outlives the call.
    unsafe { wdf!(WdfDeviceInitSetPnpPowerEventCallbacks, *raw, ptr::from_mut(&mut callbacks)) };
    // SAFETY: guaranteed by the caller.
    unsafe { create(raw, is_passive) }
}

/// Creates a device with the context of a `T`, which is still empty.
///
/// # Safety
///
/// `raw` must be valid. After a success it is not.
pub(crate) unsafe fn create<'a, T: Device>(
    raw: &mut PWDFDEVICE_INIT,
    is_passive: bool,
) -> Result<DeviceHandle<'a, T>, NtStatus> {
    if T::IO_TYPE == IoType::Direct {
        // SAFETY: the device has not been created yet.
        unsafe { wdf!(WdfDeviceInitSetIoType, *raw, _WDF_DEVICE_IO_TYPE::WdfDeviceIoDirect) };
    }
    let mut attributes = context::attributes::<T>(ptr::null_mut(), Some(cleanup::<T>));
    if is_passive {
        attributes.ExecutionLevel = _WDF_EXECUTION_LEVEL::WdfExecutionLevelPassive;
    }
    let mut device: WDFDEVICE = ptr::null_mut();
    // SAFETY: the caller guarantees that the pointer is valid, and all structures outlive the call.
    check(unsafe {
        wdf!(WdfDeviceCreate, ptr::from_mut(raw), ptr::from_mut(&mut attributes), ptr::from_mut(&mut device))
    })?;
    // SAFETY: the device was just created with a context of this type, at PASSIVE_LEVEL.
    Ok(unsafe { DeviceHandle::from_raw(device) })
}

/// Stores the device's value.
pub(crate) fn build_value<T: Device>(
    handle: DeviceHandle<'_, T>,
    build: impl FnOnce(DeviceHandle<'_, T>) -> Result<T, NtStatus>,
) -> Result<(), NtStatus> {
    let value = build(handle)?;
    let raw: WDFOBJECT = handle.raw().cast();
    // SAFETY: the device was created with a context of this type, and this is the only call. A callback that runs before
    // this finds no value.
    unsafe { context::fill(raw, value) };
    Ok(())
}
