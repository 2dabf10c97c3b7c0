//! The driver's parameters in the registry.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{KEY_READ, UNICODE_STRING, WDF_NO_OBJECT_ATTRIBUTES, WDFKEY, call_unsafe_wdf_function_binding};

use crate::{DriverHandle, check};

/// The `Parameters` key of the driver's service, open for reading.
#[derive(Debug)]
pub struct Parameters {
    key: WDFKEY,
}

impl Parameters {
    /// Opens the key.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDriverOpenParametersRegistryKey`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn open(driver: DriverHandle) -> Result<Self, NtStatus> {
        let mut key: WDFKEY = ptr::null_mut();
        // SAFETY: the driver object is alive, and `key` outlives the call.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfDriverOpenParametersRegistryKey,
                driver.raw(),
                KEY_READ,
                WDF_NO_OBJECT_ATTRIBUTES,
                ptr::from_mut(&mut key)
            )
        })?;
        Ok(Self { key })
    }

    /// Returns the `REG_DWORD` value called `name`. Use [`wide`] to define names as constants.
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
        let length = u16::try_from(size_of_val(name)).map_err(|_| NtStatus::InvalidParameter)?;
        let name = UNICODE_STRING { Length: length, MaximumLength: length, Buffer: name.as_ptr().cast_mut() };
        let mut value = 0;
        // SAFETY: the key is open. The name, which is only read, and `value` outlive the call.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfRegistryQueryULong,
                self.key,
                ptr::from_ref(&name),
                ptr::from_mut(&mut value)
            )
        })?;
        Ok(value)
    }
}

impl Drop for Parameters {
    fn drop(&mut self) {
        // SAFETY: this value opened the key and closes it only once.
        unsafe { call_unsafe_wdf_function_binding!(WdfRegistryClose, self.key) };
    }
}

/// Converts ASCII to UTF-16 in constants: `const INTERVAL: [u16; 8] = wide(b"Interval");`.
///
/// # IRQL
///
/// Any.
#[must_use]
pub const fn wide<const N: usize>(text: &[u8; N]) -> [u16; N] {
    let (mut units, mut rest, mut left) = ([0; N], text.as_slice(), N);
    let mut places = units.as_mut_slice();
    while left > 0 {
        if let ([unit, behind @ ..], [byte, tail @ ..]) = (places, rest) {
            *unit = *byte as u16;
            (places, rest) = (behind, tail);
        } else {
            break;
        }
        left -= 1;
    }
    units
}
