//! Text in an object of the framework.

use core::ptr;
use core::slice;

use wdk_etw::{Guid, NtStatus};
use wdk_sys::{UNICODE_STRING, WDF_NO_OBJECT_ATTRIBUTES, WDFSTRING};

use crate::call::wdf;
use crate::text::unicode;
use crate::{Device, DeviceHandle, Passive, RegistryKey, check, guid};

/// UTF-16 text that the framework holds (`WDFSTRING`). It is freed when this is dropped.
///
/// The framework keeps the text in pageable memory, so it can be read at `PASSIVE_LEVEL` only.
#[derive(Debug)]
pub struct UnicodeString {
    raw: WDFSTRING,
}

// SAFETY: the text does not change while a reference to this value exists, and the framework's functions for strings can be called
// from any thread.
unsafe impl Send for UnicodeString {}
// SAFETY: as above.
unsafe impl Sync for UnicodeString {}

impl UnicodeString {
    /// Creates an object with a copy of `text`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfStringCreate`, or `STATUS_INVALID_PARAMETER` if the text has more than 32767 code units.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn new(_: Passive<'_>, text: &[u16]) -> Result<Self, NtStatus> {
        let text = unicode(text)?;
        // SAFETY: the text outlives the call, which copies it.
        unsafe { Self::create(&raw const text) }
    }

    /// Creates an empty object, for a function of the framework that stores a text in it.
    fn empty() -> Result<Self, NtStatus> {
        // SAFETY: the text is optional.
        unsafe { Self::create(ptr::null()) }
    }

    /// # Safety
    ///
    /// `text` must be null or valid, and the IRQL must be `PASSIVE_LEVEL`.
    unsafe fn create(text: *const UNICODE_STRING) -> Result<Self, NtStatus> {
        let mut raw: WDFSTRING = ptr::null_mut();
        // SAFETY: guaranteed by the caller; `raw` outlives the call.
        check(unsafe { wdf!(WdfStringCreate, text, WDF_NO_OBJECT_ATTRIBUTES, ptr::from_mut(&mut raw)) })?;
        Ok(Self { raw })
    }

    /// Returns the text.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn text<'a>(&'a self, _: Passive<'a>) -> &'a [u16] {
        let mut text = UNICODE_STRING::default();
        // SAFETY: this value has the object, and `text` outlives the call.
        unsafe { wdf!(WdfStringGetUnicodeString, self.raw, ptr::from_mut(&mut text)) };
        if text.Buffer.is_null() {
            return &[];
        }
        // SAFETY: a counted string has this many bytes at its buffer, which the object owns. It stays as it is while `self` is
        // borrowed: only the functions of this module that make a value change its text.
        unsafe { slice::from_raw_parts(text.Buffer, usize::from(text.Length / 2)) }
    }

    /// Returns the framework's handle, valid until this is dropped. Do not change the text with it while [`text`](Self::text) is
    /// in use.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFSTRING {
        self.raw
    }
}

impl Drop for UnicodeString {
    fn drop(&mut self) {
        // SAFETY: this value created the object and deletes it only once.
        unsafe { wdf!(WdfObjectDelete, self.raw.cast()) };
    }
}

impl RegistryKey<'_> {
    /// Returns the `REG_SZ` value called `name`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryQueryString`: `STATUS_OBJECT_TYPE_MISMATCH` if the value has another type.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn string(&self, name: &[u16]) -> Result<UnicodeString, NtStatus> {
        let name = unicode(name)?;
        let string = UnicodeString::empty()?;
        // SAFETY: the key is open, and the name outlives the call.
        check(unsafe { wdf!(WdfRegistryQueryString, self.raw(), ptr::from_ref(&name), string.raw) })?;
        Ok(string)
    }

    /// Sets the value called `name` to text (`REG_SZ`).
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRegistryAssignUnicodeString`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn set_string(&self, name: &[u16], text: &[u16]) -> Result<(), NtStatus> {
        let name = unicode(name)?;
        let text = unicode(text)?;
        // SAFETY: the key is open, and name and text outlive the call.
        check(unsafe { wdf!(WdfRegistryAssignUnicodeString, self.raw(), ptr::from_ref(&name), ptr::from_ref(&text)) })
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Returns the symbolic link of a device interface, which clients open.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceRetrieveDeviceInterfaceString`: the device has no interface of this class.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn interface_string(&self, class: &Guid) -> Result<UnicodeString, NtStatus> {
        let string = UnicodeString::empty()?;
        // SAFETY: the device exists, the GUID outlives the call, and the reference string is optional.
        check(unsafe {
            wdf!(
                WdfDeviceRetrieveDeviceInterfaceString,
                self.raw(),
                ptr::from_ref(guid(class)),
                ptr::null(),
                string.raw
            )
        })?;
        Ok(string)
    }
}
