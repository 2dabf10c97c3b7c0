//! Registry keys of a driver and its devices.

use core::marker::PhantomData;
use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    KEY_READ, KEY_WRITE, PLUGPLAY_REGKEY_DEVICE, PLUGPLAY_REGKEY_DRIVER, REG_OPTION_NON_VOLATILE,
    WDF_NO_OBJECT_ATTRIBUTES, WDFKEY,
};

use crate::call::wdf;
use crate::text::unicode;
use crate::{Device, DeviceHandle, DriverHandle, Passive, check};

/// An open registry key. It is closed when it is dropped, which needs `PASSIVE_LEVEL`; so it cannot leave the callback.
#[derive(Debug)]
pub struct RegistryKey<'a> {
    key: WDFKEY,
    passive: PhantomData<Passive<'a>>,
}

/// What a key is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `KEY_READ`.
    Read,
    /// `KEY_READ` and `KEY_WRITE`.
    Write,
}

impl Access {
    const fn mask(self) -> u32 {
        match self {
            Self::Read => KEY_READ,
            Self::Write => KEY_READ | KEY_WRITE,
        }
    }
}

impl DriverHandle {
    /// Opens the `Parameters` key of the driver's service.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDriverOpenParametersRegistryKey`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn open_parameters<'a>(&self, _: Passive<'a>, access: Access) -> Result<RegistryKey<'a>, NtStatus> {
        let mut key: WDFKEY = ptr::null_mut();
        // SAFETY: the driver object exists, and `key` outlives the call.
        check(unsafe {
            wdf!(
                WdfDriverOpenParametersRegistryKey,
                self.raw(),
                access.mask(),
                WDF_NO_OBJECT_ATTRIBUTES,
                ptr::from_mut(&mut key)
            )
        })?;
        Ok(RegistryKey { key, passive: PhantomData })
    }
}

impl<'a, T: Device> DeviceHandle<'a, T> {
    /// Opens the device's hardware key, where the INF's `HW` section writes.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceOpenRegistryKey`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn open_hardware_key(&self, access: Access) -> Result<RegistryKey<'a>, NtStatus> {
        self.open_key(PLUGPLAY_REGKEY_DEVICE, access)
    }

    /// Opens the device's software key, also called driver key.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceOpenRegistryKey`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn open_software_key(&self, access: Access) -> Result<RegistryKey<'a>, NtStatus> {
        self.open_key(PLUGPLAY_REGKEY_DRIVER, access)
    }

    fn open_key(&self, kind: u32, access: Access) -> Result<RegistryKey<'a>, NtStatus> {
        let mut key: WDFKEY = ptr::null_mut();
        // SAFETY: the device exists, and `key` outlives the call.
        check(unsafe {
            wdf!(
                WdfDeviceOpenRegistryKey,
                self.raw(),
                kind,
                access.mask(),
                WDF_NO_OBJECT_ATTRIBUTES,
                ptr::from_mut(&mut key)
            )
        })?;
        Ok(RegistryKey { key, passive: PhantomData })
    }
}

impl RegistryKey<'_> {
    /// Returns the `REG_DWORD` value called `name`. Use [`wide`](crate::wide) to define names as constants.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryQueryULong`, or `STATUS_INVALID_PARAMETER` if the name has more than 32767
    /// UTF-16 code units.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn u32(&self, name: &[u16]) -> Result<u32, NtStatus> {
        let name = unicode(name)?;
        let mut value = 0;
        // SAFETY: the key is open. The name, which is only read, and `value` outlive the call.
        check(unsafe { wdf!(WdfRegistryQueryULong, self.key, ptr::from_ref(&name), ptr::from_mut(&mut value)) })?;
        Ok(value)
    }

    /// Sets the `REG_DWORD` value called `name`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryAssignULong`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn set_u32(&self, name: &[u16], value: u32) -> Result<(), NtStatus> {
        let name = unicode(name)?;
        // SAFETY: the key is open, and the name outlives the call.
        check(unsafe { wdf!(WdfRegistryAssignULong, self.key, ptr::from_ref(&name), value) })
    }

    /// Reads the data of a value of any type into `buffer`. Returns its length in bytes and its type, for example `REG_SZ`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryQueryValue`: `STATUS_BUFFER_OVERFLOW` if the data is longer than the buffer.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn value(&self, name: &[u16], buffer: &mut [u8]) -> Result<(usize, u32), NtStatus> {
        let name = unicode(name)?;
        let length = u32::try_from(buffer.len()).map_err(|_| NtStatus::InvalidParameter)?;
        let mut written = 0;
        let mut kind = 0;
        // SAFETY: the key is open, the buffer has this length, and everything outlives the call.
        check(unsafe {
            wdf!(
                WdfRegistryQueryValue,
                self.key,
                ptr::from_ref(&name),
                length,
                buffer.as_mut_ptr().cast(),
                ptr::from_mut(&mut written),
                ptr::from_mut(&mut kind)
            )
        })?;
        Ok((usize::try_from(written).unwrap_or_default(), kind))
    }

    /// Sets a value of any type.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryAssignValue`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn set_value(&self, name: &[u16], kind: u32, data: &[u8]) -> Result<(), NtStatus> {
        let name = unicode(name)?;
        let length = u32::try_from(data.len()).map_err(|_| NtStatus::InvalidParameter)?;
        // SAFETY: the key is open, and the data, which is only read, has this length.
        check(unsafe {
            wdf!(WdfRegistryAssignValue, self.key, ptr::from_ref(&name), kind, length, data.as_ptr().cast_mut().cast())
        })
    }

    /// Removes a value.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryRemoveValue`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn remove_value(&self, name: &[u16]) -> Result<(), NtStatus> {
        let name = unicode(name)?;
        // SAFETY: the key is open, and the name outlives the call.
        check(unsafe { wdf!(WdfRegistryRemoveValue, self.key, ptr::from_ref(&name)) })
    }

    /// Opens a key below this one, or creates it.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryCreateKey`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_key(&self, name: &[u16], access: Access) -> Result<Self, NtStatus> {
        let name = unicode(name)?;
        let mut key: WDFKEY = ptr::null_mut();
        // SAFETY: the key is open, and everything outlives the call. The disposition is optional.
        check(unsafe {
            wdf!(
                WdfRegistryCreateKey,
                self.key,
                ptr::from_ref(&name),
                access.mask(),
                REG_OPTION_NON_VOLATILE,
                ptr::null_mut(),
                WDF_NO_OBJECT_ATTRIBUTES,
                ptr::from_mut(&mut key)
            )
        })?;
        Ok(Self { key, passive: PhantomData })
    }

    /// Opens a key below this one.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryOpenKey`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn open_key(&self, name: &[u16], access: Access) -> Result<Self, NtStatus> {
        let name = unicode(name)?;
        let mut key: WDFKEY = ptr::null_mut();
        // SAFETY: the key is open, and everything outlives the call.
        check(unsafe {
            wdf!(
                WdfRegistryOpenKey,
                self.key,
                ptr::from_ref(&name),
                access.mask(),
                WDF_NO_OBJECT_ATTRIBUTES,
                ptr::from_mut(&mut key)
            )
        })?;
        Ok(Self { key, passive: PhantomData })
    }

    /// Returns the framework's handle, valid until the key is dropped.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFKEY {
        self.key
    }
}

impl Drop for RegistryKey<'_> {
    fn drop(&mut self) {
        // SAFETY: this value opened the key and closes it only once.
        unsafe { wdf!(WdfRegistryClose, self.key) };
    }
}
