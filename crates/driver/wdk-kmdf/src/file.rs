//! Files: the handles that clients open on a device.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::marker::PhantomData;
use core::ptr;
use core::slice;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_FILEOBJECT_CLASS, _WDF_TRI_STATE, PWDFDEVICE_INIT, WDF_FILEOBJECT_CONFIG, WDFDEVICE, WDFFILEOBJECT, WDFREQUEST,
};

use crate::call::wdf;
use crate::lifetime::Kept;
use crate::{Device, DeviceHandle, Request, RequestKind, context, device, size_field};

/// The callbacks for files. Register them with [`DeviceBuilder::files`](crate::DeviceBuilder::files).
///
/// Opening is completed by the layer, so a filter driver, which must pass it on, cannot use this.
pub trait FileEvents: Device {
    /// The value that each open file has. [`Request::file`] returns it, and it is dropped when the file is closed and no request
    /// is left.
    type File: Send + Sync + 'static;

    /// `EvtDeviceFileCreate`: a client opens the device. Runs at `PASSIVE_LEVEL`, in the client's thread.
    ///
    /// # Errors
    ///
    /// The client gets the error, and the file is not opened.
    fn file_open(&self, device: DeviceHandle<'_, Self>, file: FileHandle<'_>) -> Result<Self::File, NtStatus>;

    /// `EvtFileCleanup`: the last handle was closed. Requests may still be on their way.
    fn file_cleanup(&self, file: &Self::File) {
        let _ = file;
    }

    /// `EvtFileClose`: there are no more requests for this file.
    fn file_close(&self, file: &Self::File) {
        let _ = file;
    }
}

/// A file that a client opens.
#[derive(Clone, Copy, Debug)]
pub struct FileHandle<'a> {
    raw: WDFFILEOBJECT,
    callback: PhantomData<*const &'a ()>,
}

impl<'a> FileHandle<'a> {
    /// Returns the part of the name that follows the device's name, or an empty string.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn name(&self) -> &'a [u16] {
        // SAFETY: the file exists for `'a`.
        let name = unsafe { wdf!(WdfFileObjectGetFileName, self.raw) };
        // SAFETY: null or the name, which lives as long as the file.
        let Some(name) = (unsafe { name.as_ref() }) else { return &[] };
        if name.Buffer.is_null() {
            return &[];
        }
        // SAFETY: a counted string has this many bytes at its buffer.
        unsafe { slice::from_raw_parts(name.Buffer, usize::from(name.Length / 2)) }
    }

    /// Returns the framework's handle, valid until the callback returns.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFFILEOBJECT {
        self.raw
    }
}

/// Registers the callbacks.
///
/// # Safety
///
/// The device must not have been created, and must be created with a context of type `T`.
pub(crate) unsafe fn set_config<T: FileEvents>(init: PWDFDEVICE_INIT) {
    let mut config = WDF_FILEOBJECT_CONFIG {
        Size: size_field::<WDF_FILEOBJECT_CONFIG>(),
        EvtDeviceFileCreate: Some(open::<T>),
        EvtFileClose: Some(close::<T>),
        EvtFileCleanup: Some(cleanup::<T>),
        AutoForwardCleanupClose: _WDF_TRI_STATE::WdfUseDefault,
        FileObjectClass: _WDF_FILEOBJECT_CLASS::WdfFileObjectWdfCannotUseFsContexts,
    };
    let mut attributes = context::attributes::<T::File>(ptr::null_mut(), None);
    // SAFETY: guaranteed by the caller; the structures outlive the call.
    unsafe {
        wdf!(WdfDeviceInitSetFileObjectConfig, init, ptr::from_mut(&mut config), ptr::from_mut(&mut attributes));
    }
}

unsafe extern "C" fn open<T: FileEvents>(raw: WDFDEVICE, request: WDFREQUEST, file: WDFFILEOBJECT) {
    // SAFETY: the framework passes ownership of the request, which has no buffers.
    let request = unsafe { Request::from_raw(request, RequestKind::Other(0), 0, 0, false) };
    let handle = FileHandle { raw: file, callback: PhantomData };
    // The callback of a control device may delete the device.
    // SAFETY: the framework passes the device for which this callback was set.
    let _kept = unsafe { Kept::new(raw.cast()) };
    // SAFETY: the framework passes the device for which this callback was set, at PASSIVE_LEVEL.
    let value = unsafe { device::on(raw, |value: &T, device| value.file_open(device, handle)) };
    let result = value.unwrap_or(Err(NtStatus::DeviceNotReady)).map(|value| {
        // SAFETY: the file was created with a context of this type, and is filled only here.
        unsafe { context::fill(file.cast(), value) };
    });
    request.finish(result);
}

/// Calls `event` with the values of a file and of its device, unless opening failed.
///
/// # Safety
///
/// `file` must be a file of a device with a context of type `T` that was created with [`set_config`].
unsafe fn on<T: FileEvents>(file: WDFFILEOBJECT, event: impl FnOnce(&T, &T::File)) {
    // SAFETY: guaranteed by the caller.
    let device = unsafe { wdf!(WdfFileObjectGetDevice, file) };
    // A callback of a control device may delete the device.
    // SAFETY: the device of a file exists.
    let _kept = unsafe { Kept::new(device.cast()) };
    // SAFETY: as above, with a context of this type.
    let device = unsafe { context::get::<T>(device.cast()) };
    // SAFETY: the file has a context of this type.
    let value = unsafe { context::get::<T::File>(file.cast()) };
    if let (Some(device), Some(value)) = (device, value) {
        event(device, value);
    }
}

unsafe extern "C" fn cleanup<T: FileEvents>(file: WDFFILEOBJECT) {
    // SAFETY: the framework passes a file for which this callback was set.
    unsafe { on(file, T::file_cleanup) };
}

unsafe extern "C" fn close<T: FileEvents>(file: WDFFILEOBJECT) {
    // SAFETY: the framework passes a file for which this callback was set.
    unsafe { on(file, T::file_close) };
}
