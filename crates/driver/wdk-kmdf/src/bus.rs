//! Bus drivers: devices that a device reports to the Plug and Play manager.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr;

use wdk_etw::{Guid, NtStatus};
use wdk_sys::{PWDFDEVICE_INIT, WDFDEVICE};

use crate::call::wdf;
use crate::text::unicode;
use crate::{Device, DeviceHandle, DeviceRef, check, guid, init};

/// The locale of texts: English, United States.
const LOCALE: u32 = 0x409;

/// The ids of a device on a bus, before it is created.
#[derive(Debug)]
pub struct PdoInit<'a> {
    raw: PWDFDEVICE_INIT,
    callback: PhantomData<*const &'a ()>,
}

/// A device on a bus that has not been created yet. Dropping it frees it.
#[derive(Debug)]
pub struct ChildInit<'a, T> {
    init: PdoInit<'a>,
    bus: WDFDEVICE,
    device: PhantomData<fn() -> T>,
}

/// A device on a bus, with a context of type `T`: a counted reference, as [`DeviceRef`].
///
/// The framework's child refers to its bus until it is destroyed (Microsoft's public framework source: `~FxDevice` in
/// `shared/core/fxdevice.cpp`). So a bus that keeps this in its own value drops it in [`Device::cleanup`]; otherwise neither is
/// ever freed.
pub struct ChildDevice<T: Device> {
    device: DeviceRef<T>,
}

impl<'a, T: Device> DeviceHandle<'a, T> {
    /// Begins a device on this bus. [Fill in](ChildInit::describe) its ids, then [create](ChildInit::create) it.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_INSUFFICIENT_RESOURCES` if `WdfPdoInitAllocate` fails, and `STATUS_INVALID_DEVICE_REQUEST` for a control device.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn child_device<C: Device>(&self) -> Result<ChildInit<'a, C>, NtStatus> {
        self.needs_pnp()?;
        // SAFETY: the device exists and is not a control device.
        let raw = unsafe { wdf!(WdfPdoInitAllocate, self.raw()) };
        if raw.is_null() {
            return Err(NtStatus::InsufficientResources);
        }
        // SAFETY: the structure was just allocated.
        Ok(ChildInit { init: unsafe { PdoInit::from_raw(raw) }, bus: self.raw(), device: PhantomData })
    }
}

impl PdoInit<'_> {
    /// # Safety
    ///
    /// `raw` must be a structure for a device on a bus, whose device is not created while the result exists.
    pub(crate) unsafe fn from_raw(raw: PWDFDEVICE_INIT) -> Self {
        Self { raw, callback: PhantomData }
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

    /// Sets the device id, for example `MYBUS\Lamp`, and the instance id, which is unique on the bus.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfPdoInitAssignDeviceID` or `WdfPdoInitAssignInstanceID`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn id(&mut self, device: &[u16], instance: &[u16]) -> Result<(), NtStatus> {
        let device = unicode(device)?;
        let instance = unicode(instance)?;
        // SAFETY: the device has not been created yet; the framework copies the text.
        check(unsafe { wdf!(WdfPdoInitAssignDeviceID, self.raw, ptr::from_ref(&device)) })?;
        // SAFETY: as above.
        check(unsafe { wdf!(WdfPdoInitAssignInstanceID, self.raw, ptr::from_ref(&instance)) })
    }

    /// Adds a hardware id, the most specific first.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfPdoInitAddHardwareID`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn hardware_id(&mut self, id: &[u16]) -> Result<(), NtStatus> {
        let id = unicode(id)?;
        // SAFETY: the device has not been created yet; the framework copies the text.
        check(unsafe { wdf!(WdfPdoInitAddHardwareID, self.raw, ptr::from_ref(&id)) })
    }

    /// Adds a compatible id, the most specific first.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfPdoInitAddCompatibleID`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn compatible_id(&mut self, id: &[u16]) -> Result<(), NtStatus> {
        let id = unicode(id)?;
        // SAFETY: the device has not been created yet; the framework copies the text.
        check(unsafe { wdf!(WdfPdoInitAddCompatibleID, self.raw, ptr::from_ref(&id)) })
    }

    /// Sets the texts that users see until a driver is installed: a description and a location, in English.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfPdoInitAddDeviceText`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn text(&mut self, description: &[u16], location: &[u16]) -> Result<(), NtStatus> {
        let description = unicode(description)?;
        let location = unicode(location)?;
        // SAFETY: the device has not been created yet; the framework copies the texts.
        check(unsafe {
            wdf!(WdfPdoInitAddDeviceText, self.raw, ptr::from_ref(&description), ptr::from_ref(&location), LOCALE)
        })?;
        // SAFETY: as above.
        unsafe { wdf!(WdfPdoInitSetDefaultLocale, self.raw, LOCALE) };
        Ok(())
    }

    /// Makes the device usable without another driver, in this setup class.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfPdoInitAssignRawDevice`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn raw_device(&mut self, class: &Guid) -> Result<(), NtStatus> {
        // SAFETY: the device has not been created yet, and the GUID outlives the call.
        check(unsafe { wdf!(WdfPdoInitAssignRawDevice, self.raw, ptr::from_ref(guid(class))) })
    }
}

impl<T: Device> ChildInit<'_, T> {
    /// Returns the framework's pointer. It must not be used after the device is created.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> PWDFDEVICE_INIT {
        self.init.raw
    }

    /// Fills in the ids of the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `describe`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn describe(
        mut self,
        describe: impl FnOnce(&mut PdoInit<'_>) -> Result<(), NtStatus>,
    ) -> Result<Self, NtStatus> {
        describe(&mut self.init)?;
        Ok(self)
    }

    /// Creates the device and reports it. `build` makes its context, as in [`DeviceInit::create`](crate::DeviceInit::create).
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceCreate`, of `build` or of `WdfFdoAddStaticChild`. The device is then deleted.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create(
        mut self,
        build: impl FnOnce(DeviceHandle<'_, T>) -> Result<T, NtStatus>,
    ) -> Result<ChildDevice<T>, NtStatus> {
        // SAFETY: this value has the framework's pointer.
        let handle = unsafe { init::create_pnp::<T>(&mut self.init.raw, false) }?;
        let bus = self.bus;
        // The device has taken over the structure.
        let _ = ManuallyDrop::new(self);
        let device = init::build_value(handle, build).and_then(|()| handle.reference().ok_or(NtStatus::InternalError));
        let reported = device.and_then(|device| {
            // SAFETY: the bus exists for `'a`, and the device was just created for it.
            check(unsafe { wdf!(WdfFdoAddStaticChild, bus, handle.raw()) })?;
            Ok(ChildDevice { device })
        });
        if reported.is_err() {
            // SAFETY: the device was not reported, so the driver deletes it.
            unsafe { wdf!(WdfObjectDelete, handle.raw().cast()) };
        }
        reported
    }
}

impl<T> Drop for ChildInit<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the structure was allocated and no device was created with it.
        unsafe { wdf!(WdfDeviceInitFree, self.init.raw) };
    }
}

impl<T: Device> ChildDevice<T> {
    /// Reports that the device is gone from the bus. The framework then removes and deletes it.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfPdoMarkMissing`.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn mark_missing(self) -> Result<(), NtStatus> {
        // SAFETY: this value has a reference to the device, which was reported to the framework.
        check(unsafe { wdf!(WdfPdoMarkMissing, self.device.raw()) })
    }

    /// Returns the framework's handle. It is valid as long as this value; the device may have been removed.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFDEVICE {
        self.device.raw()
    }
}

impl<T: Device> Deref for ChildDevice<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.device
    }
}

impl<T: Device> fmt::Debug for ChildDevice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildDevice").field(&self.device.raw()).finish()
    }
}
