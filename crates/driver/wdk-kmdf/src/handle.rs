//! The handle of a device in callbacks at `PASSIVE_LEVEL`, and counted references to devices.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr;

use wdk_etw::{Guid, NtStatus};
use wdk_sys::{_WDF_DEVICE_FAILED_ACTION, _WDF_DEVICE_PNP_STATE, DEVICE_REGISTRY_PROPERTY, WDFDEVICE};

use crate::call::wdf;
use crate::text::unicode;
use crate::{Device, Passive, check, context, guid, lifetime};

/// A device with a context of type `T`, in a callback that runs at `PASSIVE_LEVEL`. It is valid until the callback returns.
pub struct DeviceHandle<'a, T> {
    raw: WDFDEVICE,
    callback: PhantomData<(*const &'a (), fn() -> T)>,
}

impl<T> Clone for DeviceHandle<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceHandle<'_, T> {}

impl<T> fmt::Debug for DeviceHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceHandle").field(&self.raw).finish()
    }
}

impl<'a, T: Device> DeviceHandle<'a, T> {
    /// # Safety
    ///
    /// `raw` must be a device with a context of type `T` that exists for `'a`. The IRQL must be `PASSIVE_LEVEL`.
    pub(crate) unsafe fn from_raw(raw: WDFDEVICE) -> Self {
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

    /// Returns the device's value, or `None` while it is being made.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn value(&self) -> Option<&'a T> {
        // SAFETY: the device was created with a context of this type and exists for `'a`.
        unsafe { context::get(self.raw.cast()) }
    }

    /// Returns a counted reference to the device and its value, which can be kept. Returns `None` while the value is being
    /// made.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn reference(&self) -> Option<DeviceRef<T>> {
        let value = ptr::from_ref(self.value()?);
        // SAFETY: the device exists.
        unsafe { lifetime::reference(self.raw.cast()) };
        Some(DeviceRef { raw: self.raw, value })
    }

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
        // SAFETY: the device exists, the GUID outlives the call, and the reference string is optional.
        check(unsafe { wdf!(WdfDeviceCreateDeviceInterface, self.raw, ptr::from_ref(guid(class)), ptr::null()) })
    }

    /// Enables or disables a device interface. The framework does it when the device starts and stops; this overrides it. Has no effect
    /// on a control device, or if the device has no such interface.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn set_interface_state(&self, class: &Guid, is_enabled: bool) {
        if self.needs_pnp().is_err() {
            return;
        }
        // SAFETY: the device exists, the GUID outlives the call, and the reference string is optional.
        unsafe {
            wdf!(
                WdfDeviceSetDeviceInterfaceState,
                self.raw,
                ptr::from_ref(guid(class)),
                ptr::null(),
                u8::from(is_enabled)
            );
        }
    }

    /// Creates a symbolic link to the device, for example `\DosDevices\MyDevice`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceCreateSymbolicLink`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_symbolic_link(&self, name: &[u16]) -> Result<(), NtStatus> {
        let name = unicode(name)?;
        // SAFETY: the device exists; the framework copies the name.
        check(unsafe { wdf!(WdfDeviceCreateSymbolicLink, self.raw, ptr::from_ref(&name)) })
    }

    /// Reads a property of the device into `buffer`. Returns its length in bytes.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceQueryProperty`: `STATUS_BUFFER_TOO_SMALL` if the property is longer than the buffer.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn query_property(&self, property: DeviceProperty, buffer: &mut [u8]) -> Result<usize, NtStatus> {
        let length = u32::try_from(buffer.len()).map_err(|_| NtStatus::InvalidParameter)?;
        let mut written = 0;
        // SAFETY: the device exists, and the buffer has this length.
        check(unsafe {
            wdf!(
                WdfDeviceQueryProperty,
                self.raw,
                DEVICE_REGISTRY_PROPERTY::Type::from(property as u8),
                length,
                buffer.as_mut_ptr().cast(),
                ptr::from_mut(&mut written)
            )
        })?;
        Ok(usize::try_from(written).unwrap_or_default())
    }

    /// Reports that the device has failed. The framework removes it, and restarts it if `restart` is set. Has no effect on a control
    /// device.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn set_failed(&self, restart: bool) {
        if self.needs_pnp().is_err() {
            return;
        }
        let action = if restart {
            _WDF_DEVICE_FAILED_ACTION::WdfDeviceFailedAttemptRestart
        } else {
            _WDF_DEVICE_FAILED_ACTION::WdfDeviceFailedNoRestart
        };
        // SAFETY: the device exists and is not a control device.
        unsafe { wdf!(WdfDeviceSetFailed, self.raw, action) };
    }

    /// Returns an error if this is a control device.
    pub(crate) fn needs_pnp(&self) -> Result<(), NtStatus> {
        // SAFETY: the device exists.
        unsafe { needs_pnp(self.raw) }
    }

    /// Returns the framework's handle, valid until the callback returns.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFDEVICE {
        self.raw
    }
}

/// Returns `STATUS_INVALID_DEVICE_REQUEST` for a control device. Most of the framework's functions for Plug and Play, power and WMI do not
/// check that: they use a part of the device that a control device does not have (`m_PkgPnp` in Microsoft's public framework source,
/// `shared/core/fxdeviceapi.cpp`).
///
/// # Safety
///
/// The device must exist.
#[inline(never)]
pub(crate) unsafe fn needs_pnp(device: WDFDEVICE) -> Result<(), NtStatus> {
    // SAFETY: guaranteed by the caller.
    let state = unsafe { wdf!(WdfDeviceGetDevicePnpState, device) };
    // Only a control device stays in this state after its creation.
    if state == _WDF_DEVICE_PNP_STATE::WdfDevStatePnpObjectCreated {
        Err(NtStatus::InvalidDeviceRequest)
    } else {
        Ok(())
    }
}

/// A property that the system has of a device (`DEVICE_REGISTRY_PROPERTY`). Texts are UTF-16 with a terminator.
///
/// The numbers are here and not taken from `wdk_sys`, because bindings that are generated with the annotations for code analysis
/// have additional bits in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DeviceProperty {
    /// The description, from the INF.
    Description = 0,
    /// The hardware ids: several texts.
    HardwareId = 1,
    /// The compatible ids: several texts.
    CompatibleIds = 2,
    /// The name of the setup class.
    ClassName = 5,
    /// The manufacturer, from the INF.
    Manufacturer = 8,
    /// The name to show to users.
    FriendlyName = 9,
    /// The place of the device on its bus.
    LocationInformation = 10,
    /// The name of the physical device object.
    PhysicalDeviceObjectName = 11,
    /// The number of the bus: a `u32`.
    BusNumber = 14,
    /// The name of the bus driver.
    EnumeratorName = 15,
    /// The address on the bus: a `u32`.
    Address = 16,
}

/// A counted reference to a device. The device's value lives at least as long, also after the device was removed.
///
/// A device that keeps a reference to itself is never freed.
pub struct DeviceRef<T: Device> {
    raw: WDFDEVICE,
    value: *const T,
}

// SAFETY: the framework's functions for devices can be called from any thread, and the value is `Send` and `Sync`.
unsafe impl<T: Device> Send for DeviceRef<T> {}
// SAFETY: as above.
unsafe impl<T: Device> Sync for DeviceRef<T> {}

impl<T: Device> DeviceRef<T> {
    /// Returns the framework's handle. It is valid as long as this value; the device may have been removed.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFDEVICE {
        self.raw
    }
}

impl<T: Device> Deref for DeviceRef<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value is dropped when the device is destroyed, which the reference prevents.
        unsafe { &*self.value }
    }
}

impl<T: Device> Clone for DeviceRef<T> {
    fn clone(&self) -> Self {
        // SAFETY: this reference keeps the device.
        unsafe { lifetime::reference(self.raw.cast()) };
        Self { raw: self.raw, value: self.value }
    }
}

impl<T: Device> Drop for DeviceRef<T> {
    fn drop(&mut self) {
        // SAFETY: this value has a reference since its creation.
        unsafe { lifetime::dereference(self.raw.cast()) };
    }
}

impl<T: Device> fmt::Debug for DeviceRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceRef").field(&self.raw).finish()
    }
}
