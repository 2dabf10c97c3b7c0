//! Sending a client's request to an I/O target.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::mem::ManuallyDrop;
use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_REQUEST_SEND_OPTIONS_FLAGS, PWDF_REQUEST_COMPLETION_PARAMS, WDF_REQUEST_SEND_OPTIONS, WDFCONTEXT, WDFDEVICE,
    WDFIOTARGET, WDFREQUEST,
};

use crate::call::wdf;
use crate::io_type::DeviceObject;
use crate::lifetime::Kept;
use crate::{Device, DeviceHandle, IoTarget, Passive, Request, context, size_field};

/// The callback for requests that were sent. A device that handles them in different ways implements this once for each, with
/// different `Tag`s.
pub trait SendEvents<Tag = ()>: Device {
    /// The target has completed the request with this status, and the driver owns it again. [`Request::information`] is the
    /// number of bytes that the target transferred; to pass both on, call [`Request::complete`] with the status. Runs at any
    /// IRQL up to `DISPATCH_LEVEL`.
    fn sent(&self, request: Request, status: NtStatus);
}

impl Request {
    /// Sends the request to a target, unchanged. The target's completion goes to the client; the driver does not see it.
    ///
    /// # Errors
    ///
    /// Returns the error if the request could not be sent. It is then completed with it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn send_and_forget(self, target: &IoTarget) -> Result<(), NtStatus> {
        let mut options = WDF_REQUEST_SEND_OPTIONS {
            Size: size_field::<WDF_REQUEST_SEND_OPTIONS>(),
            Flags: flag(_WDF_REQUEST_SEND_OPTIONS_FLAGS::WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET),
            ..WDF_REQUEST_SEND_OPTIONS::default()
        };
        // SAFETY: the driver owns the request.
        unsafe { wdf!(WdfRequestFormatRequestUsingCurrentType, self.raw()) };
        let result = send(self.raw(), target.raw(), &mut options);
        self.hand_over(result)
    }

    /// Sends the request to a target, unchanged. When the target has completed it, [`SendEvents::sent`] of the device gets it. After
    /// a timeout it is cancelled.
    ///
    /// # Errors
    ///
    /// Returns the error if the request could not be sent, `STATUS_INVALID_DEVICE_REQUEST` if it did not come from a queue of a
    /// device of type `T`. The request is then completed with the status.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn send<T: SendEvents<Tag>, Tag>(self, target: &IoTarget, timeout: Option<Duration>) -> Result<(), NtStatus> {
        let Some(device) = self.raw_device::<T>() else {
            self.complete(NtStatus::InvalidDeviceRequest);
            return Err(NtStatus::InvalidDeviceRequest);
        };
        // SAFETY: the driver owns the request.
        unsafe { wdf!(WdfRequestFormatRequestUsingCurrentType, self.raw()) };
        // SAFETY: as above. The device exists until its requests are completed.
        unsafe { wdf!(WdfRequestSetCompletionRoutine, self.raw(), Some(sent::<T, Tag>), device.cast()) };
        let raw = self.raw();
        // The completion routine may run before `WdfRequestSend` returns, and owns the request then.
        let this = ManuallyDrop::new(self);
        let result = send(raw, target.raw(), &mut send_options(timeout));
        if let Err(status) = result {
            ManuallyDrop::into_inner(this).complete(status);
        }
        result
    }

    /// Returns the device that the request came to. `None` if its context is not a `T`. The device exists as long as the driver
    /// has the request.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub fn device<'a, T: Device>(&'a self, _: Passive<'a>) -> Option<DeviceHandle<'a, T>> {
        let device = self.raw_device::<T>()?;
        // SAFETY: the context is a `T`. The framework does not delete a device while a driver has one of its requests.
        Some(unsafe { DeviceHandle::from_raw(device) })
    }

    fn raw_device<T: Device>(&self) -> Option<WDFDEVICE> {
        // SAFETY: the driver owns the request.
        let queue = unsafe { wdf!(WdfRequestGetIoQueue, self.raw()) };
        if queue.is_null() {
            return None;
        }
        // SAFETY: the queue of a request exists.
        let device = unsafe { wdf!(WdfIoQueueGetDevice, queue) };
        // SAFETY: the device exists as long as its requests.
        unsafe { context::get_checked::<T>(device.cast()) }?;
        Some(device)
    }
}

/// Returns the options for a request with a timeout.
pub(crate) fn send_options(timeout: Option<Duration>) -> WDF_REQUEST_SEND_OPTIONS {
    let mut options = WDF_REQUEST_SEND_OPTIONS {
        Size: size_field::<WDF_REQUEST_SEND_OPTIONS>(),
        ..WDF_REQUEST_SEND_OPTIONS::default()
    };
    if let Some(timeout) = timeout {
        options.Flags = flag(_WDF_REQUEST_SEND_OPTIONS_FLAGS::WDF_REQUEST_SEND_OPTION_TIMEOUT);
        options.Timeout = crate::relative_time(timeout);
    }
    options
}

/// The enumeration's type is signed with some compilers.
fn flag(flag: wdk_sys::WDF_REQUEST_SEND_OPTIONS_FLAGS) -> u32 {
    u32::try_from(flag).unwrap_or_default()
}

/// Sends a request that the caller owns.
pub(crate) fn send(
    request: WDFREQUEST,
    target: WDFIOTARGET,
    options: &mut WDF_REQUEST_SEND_OPTIONS,
) -> Result<(), NtStatus> {
    // SAFETY: the caller owns the request and keeps the target; the options outlive the call.
    let was_sent = unsafe { wdf!(WdfRequestSend, request, target, ptr::from_mut(options)) };
    if was_sent != 0 {
        return Ok(());
    }
    // SAFETY: the request was not sent, so the caller still owns it.
    let status = NtStatus::from_signed(unsafe { wdf!(WdfRequestGetStatus, request) });
    Err(if status.is_success() { NtStatus::Unsuccessful } else { status })
}

/// `EvtRequestCompletionRoutine`.
unsafe extern "C" fn sent<T: SendEvents<Tag>, Tag>(
    request: WDFREQUEST,
    _: WDFIOTARGET,
    parameters: PWDF_REQUEST_COMPLETION_PARAMS,
    device: WDFCONTEXT,
) {
    // SAFETY: the framework passes the completion's parameters, valid during this callback.
    let parameters = unsafe { &*parameters };
    // The device may be removed as soon as the callback has completed the request.
    // SAFETY: `send` passed the device, which exists until its requests are completed.
    let _kept = unsafe { Kept::new(device) };
    // SAFETY: as above.
    let device_object = unsafe { DeviceObject::of(device.cast()) };
    // SAFETY: as above.
    let is_direct = unsafe { device_object.is_direct() };
    // SAFETY: the framework returns ownership of the request.
    let mut request = unsafe { Request::with_parameters(request, is_direct) };
    request.set_transferred(usize::try_from(parameters.IoStatus.Information).unwrap_or_default());
    // SAFETY: the status of a completed request is valid.
    let status = NtStatus::from_signed(unsafe { parameters.IoStatus.__bindgen_anon_1.Status });
    // SAFETY: `send` passed a device with a context of this type, which is kept.
    match unsafe { context::get::<T>(device) } {
        Some(value) => value.sent(request, status),
        None => request.complete(status),
    }
}
