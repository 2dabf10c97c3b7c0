//! Requests: what they are, and what becomes of them.

use core::mem::{ManuallyDrop, size_of};
use core::ptr;

use wdk_etw::{Guid, IrpActivity, NtStatus};
use wdk_sys::{_WDF_REQUEST_TYPE, NTSTATUS, WDF_REQUEST_PARAMETERS, WDFQUEUE, WDFREQUEST};

use crate::call::wdf;
use crate::output::short;
use crate::{Queue, check, context};

/// What a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// `IRP_MJ_READ`.
    Read,
    /// `IRP_MJ_WRITE`.
    Write,
    /// `IRP_MJ_DEVICE_CONTROL`, with its control code.
    Control(u32),
    /// `IRP_MJ_INTERNAL_DEVICE_CONTROL`, with its control code.
    InternalControl(u32),
    /// Another request, with its `WDF_REQUEST_TYPE`.
    Other(u32),
}

/// A request that the driver owns. It can be moved to another thread and completed there.
///
/// Completing it reports the bytes that were written with [`output`](Self::output), so no other data reaches the client. A
/// request that is dropped is completed as cancelled: a client never waits for a forgotten request.
#[derive(Debug)]
pub struct Request {
    raw: WDFREQUEST,
    pub(crate) kind: RequestKind,
    /// Lengths are `ULONG` in an IRP. So a request has 32 bytes, which two instructions copy.
    input_length: u32,
    output_length: u32,
    /// The number of bytes that are reported to the client.
    pub(crate) information: u32,
    /// Reads and writes use the client's own memory.
    pub(crate) is_direct: bool,
}

// SAFETY: the framework's functions for requests can be called from any thread, and `self` owns the request.
unsafe impl Send for Request {}
// SAFETY: methods that take `&self` only read.
unsafe impl Sync for Request {}

impl Request {
    /// # Safety
    ///
    /// `raw` must be a request of this kind that the framework passed to the driver, with buffers of these lengths. `is_direct`
    /// must be set if the device's reads and writes are. The result takes ownership of it.
    pub(crate) unsafe fn from_raw(
        raw: WDFREQUEST,
        kind: RequestKind,
        input_length: usize,
        output_length: usize,
        is_direct: bool,
    ) -> Self {
        let input_length = short(input_length);
        let output_length = short(output_length);
        Self { raw, kind, input_length, output_length, information: 0, is_direct }
    }

    /// As [`from_raw`](Self::from_raw), with the parameters that the framework has.
    ///
    /// # Safety
    ///
    /// As [`from_raw`](Self::from_raw).
    pub(crate) unsafe fn with_parameters(raw: WDFREQUEST, is_direct: bool) -> Self {
        // SAFETY: the driver owns the request.
        let parameters = unsafe { parameters(raw) };
        let (kind, input_length, output_length) = match parameters.Type {
            // SAFETY: the type says which field of the union is valid.
            _WDF_REQUEST_TYPE::WdfRequestTypeRead => {
                (RequestKind::Read, 0, unsafe { parameters.Parameters.Read.Length })
            }
            _WDF_REQUEST_TYPE::WdfRequestTypeWrite => {
                // SAFETY: as above.
                (RequestKind::Write, unsafe { parameters.Parameters.Write.Length }, 0)
            }
            kind @ (_WDF_REQUEST_TYPE::WdfRequestTypeDeviceControl
            | _WDF_REQUEST_TYPE::WdfRequestTypeDeviceControlInternal) => {
                // SAFETY: as above.
                let control = unsafe { parameters.Parameters.DeviceIoControl };
                let make = if kind == _WDF_REQUEST_TYPE::WdfRequestTypeDeviceControl {
                    RequestKind::Control
                } else {
                    RequestKind::InternalControl
                };
                (make(control.IoControlCode), control.InputBufferLength, control.OutputBufferLength)
            }
            other => (RequestKind::Other(u32::try_from(other).unwrap_or_default()), 0, 0),
        };
        // SAFETY: guaranteed by the caller; the framework gave the parameters.
        unsafe { Self::from_raw(raw, kind, input_length, output_length, is_direct) }
    }

    /// Returns what the client requests.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn kind(&self) -> RequestKind {
        self.kind
    }

    /// Returns the size of the client's input in bytes.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn input_length(&self) -> usize {
        self.input_length as usize
    }

    /// Returns the size of the client's output buffer in bytes.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn output_length(&self) -> usize {
        self.output_length as usize
    }

    /// Returns the number of bytes that completing the request reports to the client.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn information(&self) -> usize {
        self.information as usize
    }

    /// Returns the offset on the device of a read or write.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn offset(&self) -> Option<i64> {
        // SAFETY: `self` owns the request.
        let parameters = unsafe { parameters(self.raw) }.Parameters;
        match self.kind {
            // SAFETY: the kind says which field of the union is valid.
            RequestKind::Read => Some(unsafe { parameters.Read.DeviceOffset }),
            // SAFETY: as above.
            RequestKind::Write => Some(unsafe { parameters.Write.DeviceOffset }),
            _ => None,
        }
    }

    /// Returns whether a driver has sent the request, and not a program (`WdfRequestGetRequestorMode`).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn is_from_kernel(&self) -> bool {
        // SAFETY: `self` owns the request.
        let mode = unsafe { wdf!(WdfRequestGetRequestorMode, self.raw) };
        // `KernelMode` is 0.
        mode == 0
    }

    /// Returns the activity id of the request (`IoGetActivityIdIrp`), for the `related_id` of the driver's own activity. A
    /// request has one only while a session traces I/O activities, or if another driver has set one. The framework has no
    /// function of its own for this in kernel mode. `DriverEntry` looks up the routines with
    /// [`IrpActivity::look_up`].
    ///
    /// # Errors
    ///
    /// Returns `STATUS_NOT_FOUND` if the request has no id, and `STATUS_NOT_SUPPORTED` if the routines were not looked up or this
    /// Windows does not have them.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn activity_id(&self, routines: &IrpActivity) -> Result<Guid, NtStatus> {
        // SAFETY: `self` owns the request, so its IRP is valid.
        let irp = unsafe { wdf!(WdfRequestWdmGetIrp, self.raw) };
        // SAFETY: as above; it is valid until the request is completed.
        unsafe { routines.get(irp.cast()) }
    }

    /// Returns the value of the file that the request was sent to, made by [`FileEvents::file_open`](crate::FileEvents). `None`
    /// if there is no file, or its value has another type.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn file<F: Send + Sync + 'static>(&self) -> Option<&F> {
        // SAFETY: `self` owns the request.
        let file = unsafe { wdf!(WdfRequestGetFileObject, self.raw) };
        if file.is_null() {
            return None;
        }
        // SAFETY: a file lives as long as the requests that were sent to it.
        unsafe { context::get_checked(file.cast()) }
    }

    /// Returns whether the client cancelled the request. Only a request that the framework does not cancel itself, that is, one
    /// that the driver works on, needs this.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // SAFETY: `self` owns the request.
        unsafe { wdf!(WdfRequestIsCanceled, self.raw) != 0 }
    }

    /// Completes the request with a status, and unless that is an error, with the number of bytes that were written or
    /// [consumed](Self::consume).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn complete(self, status: NtStatus) {
        ManuallyDrop::new(self).complete_raw(status);
    }

    /// Completes the request with the status of a result.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn finish(self, result: Result<(), NtStatus>) {
        self.complete(result.err().unwrap_or(NtStatus::Success));
    }

    /// Moves the request to another queue of its device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestForwardToIoQueue`, or `STATUS_DELETE_PENDING` if the queue was deleted. The request is then completed with it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn forward(self, queue: &Queue) -> Result<(), NtStatus> {
        let forward = |queue: WDFQUEUE| {
            // SAFETY: `self` owns the request, and the queue is referenced. The framework refuses a queue of another device.
            check(unsafe { wdf!(WdfRequestForwardToIoQueue, self.raw, queue) })
        };
        let result = queue.if_live(forward).unwrap_or(Err(NtStatus::DeletePending));
        self.hand_over(result)
    }

    /// Returns the request to the head of the manual queue that it was taken from.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestRequeue`. The request is then completed with it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn requeue(self) -> Result<(), NtStatus> {
        // SAFETY: `self` owns the request.
        let result = check(unsafe { wdf!(WdfRequestRequeue, self.raw) });
        self.hand_over(result)
    }

    /// Forgets a request that the framework owns again, or completes it if the framework did not take it.
    pub(crate) fn hand_over(self, result: Result<(), NtStatus>) -> Result<(), NtStatus> {
        match result {
            Ok(()) => {
                let _ = ManuallyDrop::new(self);
            }
            Err(status) => self.complete(status),
        }
        result
    }

    /// Returns the framework's handle, valid until the request is completed or given away. Completing it with `wdk_sys` is not
    /// allowed: this value does it.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFREQUEST {
        self.raw
    }

    /// Reports what the driver below has written, as far as the client has room for it.
    pub(crate) fn set_transferred(&mut self, length: usize) {
        let room = if self.kind == RequestKind::Write { self.input_length } else { self.output_length };
        self.set_information(length.min(room as usize));
    }

    /// Sets the number of bytes to report, which is at most the length of a buffer.
    pub(crate) fn set_information(&mut self, length: usize) {
        self.information = short(length);
    }

    /// Completes the request. It is called once, either by `complete`, which forgets `self`, or by `drop`.
    fn complete_raw(&self, status: NtStatus) {
        let information = if status.is_error() { 0 } else { self.information };
        // SAFETY: `self` owns the request, and the request is completed only here.
        unsafe { complete(self.raw, status.as_signed(), information) };
    }
}

/// Completes a request. A driver does so in many places, so the code is not repeated there.
///
/// # Safety
///
/// The driver must own the request, and loses it.
#[inline(never)]
unsafe fn complete(raw: WDFREQUEST, status: NTSTATUS, information: u32) {
    // SAFETY: guaranteed by the caller.
    unsafe { wdf!(WdfRequestCompleteWithInformation, raw, status, information.into()) };
}

impl Drop for Request {
    fn drop(&mut self) {
        self.complete_raw(NtStatus::Cancelled);
    }
}

/// Returns the parameters that the framework has.
///
/// # Safety
///
/// The driver must own the request.
unsafe fn parameters(raw: WDFREQUEST) -> WDF_REQUEST_PARAMETERS {
    let mut parameters = WDF_REQUEST_PARAMETERS {
        Size: u16::try_from(size_of::<WDF_REQUEST_PARAMETERS>()).unwrap_or_default(),
        ..WDF_REQUEST_PARAMETERS::default()
    };
    // SAFETY: guaranteed by the caller; the structure outlives the call.
    unsafe { wdf!(WdfRequestGetParameters, raw, ptr::from_mut(&mut parameters)) };
    parameters
}
