//! Control devices: devices without hardware, which a driver creates itself.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{PWDFDEVICE_INIT, WDFDEVICE};

use crate::call::wdf;
use crate::file::FileEvents;
use crate::lifetime::{self, Kept};
use crate::text::unicode;
use crate::{Device, DeviceHandle, DriverHandle, Passive, check, context, file, init};

/// A control device that has not been created yet. Dropping it frees it.
#[derive(Debug)]
pub struct ControlInit<'a, T> {
    raw: PWDFDEVICE_INIT,
    callback: PhantomData<(*const &'a (), fn() -> T)>,
}

/// A control device with a context of type `T`. Keep it in a static, and [delete](Self::delete) it before the driver unloads. The
/// value of one that is not deleted is never dropped, like that of a static.
///
/// A driver that also has Plug and Play devices deletes it when the last of them is dropped: until then, Windows does not
/// unload the driver, and never calls [`Driver::unload`](crate::Driver::unload).
pub struct ControlDevice<T: Device> {
    raw: WDFDEVICE,
    value: *const T,
}

// SAFETY: the framework's functions for devices can be called from any thread, and the value is `Send` and `Sync`.
unsafe impl<T: Device> Send for ControlDevice<T> {}
// SAFETY: as above.
unsafe impl<T: Device> Sync for ControlDevice<T> {}

impl DriverHandle {
    /// Begins a control device. `sddl` says who may open it, for example `D:P(A;;GA;;;SY)(A;;GA;;;BA)`.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_INSUFFICIENT_RESOURCES` if `WdfControlDeviceInitAllocate` fails.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn control_device<'a, T: Device>(&self, _: Passive<'a>, sddl: &[u16]) -> Result<ControlInit<'a, T>, NtStatus> {
        let sddl = unicode(sddl)?;
        // SAFETY: the driver object exists; the framework copies the string.
        let raw = unsafe { wdf!(WdfControlDeviceInitAllocate, self.raw(), ptr::from_ref(&sddl)) };
        if raw.is_null() {
            Err(NtStatus::InsufficientResources)
        } else {
            Ok(ControlInit { raw, callback: PhantomData })
        }
    }
}

impl<T: Device> ControlInit<'_, T> {
    /// Returns the framework's pointer. It must not be used after the device is created.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> PWDFDEVICE_INIT {
        self.raw
    }

    /// Names the device, for example `\Device\MyControl`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceInitAssignName`.
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

    /// Creates the device. `build` makes its context, with its queue. When that has succeeded, clients can open the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceCreate`, or of `build`. The device is then deleted.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create(
        mut self,
        build: impl FnOnce(DeviceHandle<'_, T>) -> Result<T, NtStatus>,
    ) -> Result<ControlDevice<T>, NtStatus> {
        // SAFETY: this value has the framework's pointer, and the device gets a context of type `T`.
        let handle = unsafe { init::create::<T>(&mut self.raw, false) }?;
        // The device has taken over the structure.
        let _ = ManuallyDrop::new(self);
        let raw = handle.raw();
        let built = init::build_value(handle, build);
        // SAFETY: the device has a context of this type, and `delete` or the code below deletes it.
        let value = unsafe { context::get::<T>(raw.cast()) };
        match (built, value) {
            (Ok(()), Some(value)) => {
                let value = ptr::from_ref(value);
                // Without `delete`, the framework deletes the device with the driver object, and drops no value: it may have freed what
                // the value uses.
                // SAFETY: the device was just created.
                unsafe { lifetime::reference(raw.cast()) };
                // SAFETY: the device was just created and has its queue.
                unsafe { wdf!(WdfControlFinishInitializing, raw) };
                Ok(ControlDevice { raw, value })
            }
            (result, _) => {
                // SAFETY: this function created the device, and nothing else has its handle.
                unsafe { wdf!(WdfObjectDelete, raw.cast()) };
                Err(result.err().unwrap_or(NtStatus::InternalError))
            }
        }
    }
}

impl<T> Drop for ControlInit<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the structure was allocated and no device was created with it.
        unsafe { wdf!(WdfDeviceInitFree, self.raw) };
    }
}

impl<T: Device> ControlDevice<T> {
    /// Deletes the device.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn delete(self, _: Passive<'_>) {
        // SAFETY: `create` took the reference, which is released when this returns.
        let _kept = unsafe { Kept::take_over(self.raw.cast()) };
        // SAFETY: this value owns the device, and does not use it any more.
        unsafe { wdf!(WdfObjectDelete, self.raw.cast()) };
    }

    /// Returns the framework's handle, valid as long as this value.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFDEVICE {
        self.raw
    }
}

impl<T: Device> Deref for ControlDevice<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this value has a reference to the device until it is deleted.
        unsafe { &*self.value }
    }
}

impl<T: Device> fmt::Debug for ControlDevice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ControlDevice").field(&self.raw).finish()
    }
}
