//! Requests that a driver makes itself and sends without waiting.
//!
//! While the target has a request, its buffers are in the request's context, where nothing but the completion routine gets them.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{
    PWDF_REQUEST_COMPLETION_PARAMS, WDF_REQUEST_REUSE_PARAMS, WDFCONTEXT, WDFIOTARGET, WDFMEMORY, WDFREQUEST,
};

use crate::call::wdf;
use crate::child::{self, Child};
use crate::lifetime::{Kept, dereference, reference};
use crate::send::{send, send_options};
use crate::{Device, DeviceHandle, IoTarget, Memory, SpinLock, check, context, size_field};

/// The callback for requests of the driver's own. A device with several kinds implements this once for each, with different
/// `Tag`s.
pub trait OwnRequestEvents<Tag = ()>: Device {
    /// The target has completed a request, or has never got it, and its buffers are here again. Runs at any IRQL up to
    /// `DISPATCH_LEVEL`. If a target of another device has had the request, the device may be removed meanwhile: its value stays
    /// until this returns, but its timers, queues and other objects are deleted, and [`Device::cleanup`] has run.
    fn completed(&self, completion: Completion);
}

/// The result of a request of the driver's own.
#[derive(Debug)]
pub struct Completion {
    /// The status from the target.
    pub status: NtStatus,
    /// The number of bytes that were read or written, or that are in the output.
    pub transferred: usize,
    /// The input, if there was one.
    pub input: Option<Memory>,
    /// The output, if there was one.
    pub output: Option<Memory>,
}

/// What an own request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads to the output, at this offset.
    Read(i64),
    /// Writes the input, at this offset.
    Write(i64),
    /// A control request with this code.
    Control(u32),
    /// An internal control request with this code.
    InternalControl(u32),
}

/// The state of the request.
#[derive(Debug, Default)]
struct Sent {
    is_sent: bool,
    input: Option<Memory>,
    output: Option<Memory>,
}

/// A request of the driver's own, which can be sent again and again, one time after the other. The device owns the framework's
/// request: it is deleted with the device, and from then on nothing is sent. A request that is sent already comes back nevertheless, and
/// the device's value is not dropped before that.
#[derive(Debug)]
pub struct OwnRequest {
    child: Child<SpinLock<Sent>>,
    completed: wdk_sys::PFN_WDF_REQUEST_COMPLETION_ROUTINE,
    device: wdk_sys::WDFDEVICE,
}

// SAFETY: the handle of the device is used only while the request is not deleted, or the device has a reference.
unsafe impl Send for OwnRequest {}
// SAFETY: as above.
unsafe impl Sync for OwnRequest {}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a request. Its results go to [`OwnRequestEvents::completed`] with this `Tag`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_request<Tag>(&self, target: &IoTarget) -> Result<OwnRequest, NtStatus>
    where
        T: OwnRequestEvents<Tag>,
    {
        let mut attributes = child::attributes::<SpinLock<Sent>>(self.raw().cast());
        let mut raw: WDFREQUEST = ptr::null_mut();
        // SAFETY: the device and the target exist, and all structures outlive the call.
        check(unsafe {
            wdf!(WdfRequestCreate, ptr::from_mut(&mut attributes), target.raw(), ptr::from_mut(&mut raw))
        })?;
        // SAFETY: the request was just created with these attributes.
        let child = unsafe { Child::new(raw.cast(), self.raw(), SpinLock::new(Sent::default())) }?;
        Ok(OwnRequest { child, completed: Some(completed::<T, Tag>), device: self.raw() })
    }
}

impl OwnRequest {
    /// Sends the request. When the target has completed it, the device's callback gets the result and the buffers. After a timeout
    /// the request is cancelled.
    ///
    /// # Errors
    ///
    /// Returns an error if the request was not sent, `STATUS_DEVICE_BUSY` if the target still has it from the last time. The
    /// buffers are freed then, and the callback is not called.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn send(
        &self,
        target: &IoTarget,
        operation: Operation,
        input: Option<Memory>,
        output: Option<Memory>,
        timeout: Option<Duration>,
    ) -> Result<(), NtStatus> {
        let handle = |memory: &Option<Memory>| memory.as_ref().map_or_else(ptr::null_mut, Memory::raw);
        let handles = (handle(&input), handle(&output));
        let is_mine = self.child.extra().with(|sent| !core::mem::replace(&mut sent.is_sent, true));
        if !is_mine {
            return Err(NtStatus::DeviceBusy);
        }
        // From here to the completion, or to `end`, no other code uses the request.
        self.child.extra().with(|sent| (sent.input, sent.output) = (input, output));
        let begin = |raw: wdk_sys::WDFOBJECT| self.begin(raw.cast(), target.raw(), operation, handles, timeout);
        if !self.keep_device() {
            drop(self.child.extra().with(core::mem::take));
            return Err(NtStatus::DeletePending);
        }
        let result = self.child.unlocked(begin).unwrap_or(Err(NtStatus::DeletePending));
        if result.is_err() {
            // The target does not have the request.
            drop(self.child.extra().with(core::mem::take));
            // SAFETY: the reference was taken above, and no completion releases it.
            unsafe { dereference(self.device.cast()) };
        }
        result
    }

    /// Takes a reference to the device, which the completion releases: the device can be removed while the target of another one
    /// has the request. Returns false if the request was deleted before.
    fn keep_device(&self) -> bool {
        // SAFETY: while the request's deletion is held off, its device exists: the framework cleans up the children first.
        self.child.locked(|_| unsafe { reference(self.device.cast()) }).is_some()
    }

    fn begin(
        &self,
        raw: WDFREQUEST,
        target: WDFIOTARGET,
        operation: Operation,
        (input, output): (WDFMEMORY, WDFMEMORY),
        timeout: Option<Duration>,
    ) -> Result<(), NtStatus> {
        let mut reuse = WDF_REQUEST_REUSE_PARAMS {
            Size: size_field::<WDF_REQUEST_REUSE_PARAMS>(),
            Status: NtStatus::NotSupported.as_signed(),
            ..WDF_REQUEST_REUSE_PARAMS::default()
        };
        // SAFETY: the request was made by the driver, and no target has it.
        check(unsafe { wdf!(WdfRequestReuse, raw, ptr::from_mut(&mut reuse)) })?;
        let none = ptr::null_mut();
        check(match operation {
            Operation::Read(mut offset) => {
                let offset = ptr::from_mut(&mut offset);
                // SAFETY: no target has the request, the caller keeps the target, and the memory lives in the request's
                // context until the request is completed.
                unsafe { wdf!(WdfIoTargetFormatRequestForRead, target, raw, output, none, offset) }
            }
            Operation::Write(mut offset) => {
                let offset = ptr::from_mut(&mut offset);
                // SAFETY: as above.
                unsafe { wdf!(WdfIoTargetFormatRequestForWrite, target, raw, input, none, offset) }
            }
            // SAFETY: as above.
            Operation::Control(code) => unsafe {
                wdf!(WdfIoTargetFormatRequestForIoctl, target, raw, code, input, none, output, none)
            },
            // SAFETY: as above.
            Operation::InternalControl(code) => unsafe {
                wdf!(WdfIoTargetFormatRequestForInternalIoctl, target, raw, code, input, none, output, none)
            },
        })?;
        // SAFETY: as above. The device has a reference until the completion routine has returned.
        unsafe { wdf!(WdfRequestSetCompletionRoutine, raw, self.completed, self.device.cast()) };
        send(raw, target, &mut send_options(timeout))
    }

    /// Asks the target to cancel the request. The callback still gets its result. Returns whether there is something to cancel.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn cancel(&self) -> bool {
        let cancel = |raw: wdk_sys::WDFOBJECT| {
            // SAFETY: this value has a reference to the request, which makes the call valid whether it is completed or not.
            unsafe { wdf!(WdfRequestCancelSentRequest, raw.cast()) != 0 }
        };
        self.child.unlocked(cancel).unwrap_or(false)
    }

    /// Returns the framework's handle. It is valid as long as this value; its device may have deleted the request.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFREQUEST {
        self.child.raw().cast()
    }
}

/// `EvtRequestCompletionRoutine`.
unsafe extern "C" fn completed<T: OwnRequestEvents<Tag>, Tag>(
    request: WDFREQUEST,
    _: WDFIOTARGET,
    parameters: PWDF_REQUEST_COMPLETION_PARAMS,
    device: WDFCONTEXT,
) {
    // SAFETY: `send` took a reference to the device, for this call.
    let _kept = unsafe { Kept::take_over(device) };
    // SAFETY: the framework passes the completion's parameters, valid during this callback.
    let parameters = unsafe { &*parameters };
    // SAFETY: the status of a completed request is valid.
    let status = NtStatus::from_signed(unsafe { parameters.IoStatus.__bindgen_anon_1.Status });
    // SAFETY: `create_request` gave the request a context with this.
    let sent = unsafe { child::extra::<SpinLock<Sent>>(request.cast()) };
    let Sent { input, output, .. } = sent.map(|sent| sent.with(core::mem::take)).unwrap_or_default();
    let transferred = usize::try_from(parameters.IoStatus.Information).unwrap_or_default();
    // SAFETY: `begin` passed the device, which has a context of this type and is kept.
    if let Some(value) = unsafe { context::get::<T>(device) } {
        value.completed(Completion { status, transferred, input, output });
    }
}
