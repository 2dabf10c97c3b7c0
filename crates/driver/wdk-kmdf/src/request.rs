//! Requests and their buffers.

use core::ffi::c_void;
use core::mem::{ManuallyDrop, size_of};
use core::ptr::{self, NonNull};
use core::slice;

use wdk_etw::{Guid, IrpActivity, NtStatus};
use wdk_sys::call_unsafe_wdf_function_binding as wdf;
use wdk_sys::{_WDF_REQUEST_TYPE, WDF_REQUEST_PARAMETERS, WDFQUEUE, WDFREQUEST};

use crate::{Output, Pod, Queue, check, context};

/// The bits of a control code that say how its buffers are passed.
const METHOD_MASK: u32 = 3;
/// `METHOD_BUFFERED`: both buffers are one buffer of the system.
const METHOD_BUFFERED: u32 = 0;
/// `METHOD_IN_DIRECT`: the output buffer is the client's memory, and contains more input.
const METHOD_IN_DIRECT: u32 = 1;

/// The routines for the activity ids of requests. `create_driver` looks them up.
pub(crate) static IRP_ACTIVITY: IrpActivity = IrpActivity::new();

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
    kind: RequestKind,
    input_length: usize,
    output_length: usize,
    /// Reads and writes use the client's own memory.
    is_direct: bool,
    /// The number of bytes that are reported to the client.
    information: usize,
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
        Self { raw, kind, input_length, output_length, is_direct, information: 0 }
    }

    /// As [`from_raw`](Self::from_raw), with the parameters that the framework has.
    ///
    /// # Safety
    ///
    /// As [`from_raw`](Self::from_raw).
    pub(crate) unsafe fn with_parameters(raw: WDFREQUEST, is_direct: bool) -> Self {
        let mut parameters = WDF_REQUEST_PARAMETERS {
            Size: u16::try_from(size_of::<WDF_REQUEST_PARAMETERS>()).unwrap_or_default(),
            ..WDF_REQUEST_PARAMETERS::default()
        };
        // SAFETY: the driver owns the request, and the structure outlives the call.
        unsafe { wdf!(WdfRequestGetParameters, raw, ptr::from_mut(&mut parameters)) };
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
        self.input_length
    }

    /// Returns the size of the client's output buffer in bytes.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn output_length(&self) -> usize {
        self.output_length
    }

    /// Returns the number of bytes that completing the request reports to the client.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn information(&self) -> usize {
        self.information
    }

    /// Returns the activity id of the request (`IoGetActivityIdIrp`), for the `related_id` of the driver's own activity. A
    /// request has one only while a session traces I/O activities, or if another driver has set one. The framework has no
    /// function of its own for this in kernel mode.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn activity_id(&self) -> Option<Guid> {
        // SAFETY: `self` owns the request, so its IRP is valid.
        let irp = unsafe { wdf!(WdfRequestWdmGetIrp, self.raw) };
        // SAFETY: as above; it is valid until the request is completed.
        unsafe { IRP_ACTIVITY.get(irp.cast()) }.ok()
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

    /// Returns the client's input. It is empty if the client sent none.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestRetrieveInputBuffer`, and `STATUS_INVALID_DEVICE_REQUEST` if the input is in the client's
    /// own memory: use [`copy_input`](Self::copy_input).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn input(&self) -> Result<&[u8], NtStatus> {
        if self.input_length == 0 {
            return Ok(&[]);
        }
        if self.has_shared_input() {
            return Err(NtStatus::InvalidDeviceRequest);
        }
        let start = self.retrieve_input()?;
        // SAFETY: the framework returns a buffer of at least this length, which contains the input. It is not changed
        // while `self` is borrowed, because `output` takes `&mut self`.
        Ok(unsafe { slice::from_raw_parts(start.as_ptr().cast_const(), self.input_length) })
    }

    /// Returns the input as a value. Input behind the value is ignored.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if the input is shorter than the value, or an error of [`input`](Self::input).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn input_value<T: Pod>(&self) -> Result<T, NtStatus> {
        let bytes = self.input()?.get(..size_of::<T>()).ok_or(NtStatus::BufferTooSmall)?;
        // SAFETY: there are enough bytes, and any bytes are a valid `Pod`.
        Ok(unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) })
    }

    /// Returns the input as a reference to a value, without copying it.
    ///
    /// # Errors
    ///
    /// As [`input_value`](Self::input_value), and `STATUS_DATATYPE_MISALIGNMENT` if the input is not aligned for the value.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn input_ref<T: Pod>(&self) -> Result<&T, NtStatus> {
        let bytes = self.input()?.get(..size_of::<T>()).ok_or(NtStatus::BufferTooSmall)?;
        let value = bytes.as_ptr().cast::<T>();
        if !value.is_aligned() {
            return Err(NtStatus::DatatypeMisalignment);
        }
        // SAFETY: there are enough bytes, aligned; any bytes are a valid `Pod`; `self` is borrowed as long.
        Ok(unsafe { &*value })
    }

    /// Copies input, from `offset` on, to `buffer`. Returns the number of bytes. This also works if the input is in the client's
    /// own memory, which the client can change at any time: check the copy, and copy once.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestRetrieveInputBuffer`.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn copy_input(&self, offset: usize, buffer: &mut [u8]) -> Result<usize, NtStatus> {
        let length = self.input_length.saturating_sub(offset).min(buffer.len());
        if length == 0 {
            return Ok(0);
        }
        let start = self.retrieve_input()?;
        // SAFETY: the framework returns a buffer of at least `input_length` bytes, and `offset` is inside of it.
        let from = unsafe { start.add(offset) };
        // SAFETY: both have at least `length` bytes; a slice of the driver does not overlap a request's buffer that it can
        // only borrow immutably.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr().cast_const(), buffer.as_mut_ptr(), length) };
        Ok(length)
    }

    /// Copies from the second buffer of a `METHOD_IN_DIRECT` control request, which is in the client's own memory: large input
    /// beside the first, small one. As [`copy_input`](Self::copy_input).
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestRetrieveOutputBuffer`, `STATUS_INVALID_DEVICE_REQUEST` if the request is of another kind.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn copy_direct_input(&self, offset: usize, buffer: &mut [u8]) -> Result<usize, NtStatus> {
        if !self.has_direct_input() {
            return Err(NtStatus::InvalidDeviceRequest);
        }
        let length = self.output_length.saturating_sub(offset).min(buffer.len());
        if length == 0 {
            return Ok(0);
        }
        let start = self.retrieve_output()?;
        // SAFETY: the framework returns a buffer of at least `output_length` bytes, and `offset` is inside of it.
        let from = unsafe { start.add(offset) };
        // SAFETY: both have at least `length` bytes, and a slice of the driver does not overlap the client's memory.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr().cast_const(), buffer.as_mut_ptr(), length) };
        Ok(length)
    }

    /// Reports how many bytes of a write, or of the second buffer of a `METHOD_IN_DIRECT` control request, the driver took. For
    /// other requests, this does nothing.
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn consume(&mut self, length: usize) {
        if self.kind == RequestKind::Write {
            self.information = length.min(self.input_length);
        } else if self.has_direct_input() {
            self.information = length.min(self.output_length);
        }
    }

    /// Returns the client's output buffer, from its start. What is written to it is reported when the request is completed.
    ///
    /// With `METHOD_BUFFERED`, input and output use the same memory, so writing overwrites the input. That is why this takes
    /// `&mut self`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestRetrieveOutputBuffer`.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn output(&mut self) -> Result<Output<'_>, NtStatus> {
        let start = if self.output_length == 0 { NonNull::dangling() } else { self.retrieve_output()? };
        let is_shared = match self.kind {
            RequestKind::Control(code) | RequestKind::InternalControl(code) => code & METHOD_MASK != METHOD_BUFFERED,
            _ => self.is_direct,
        };
        // SAFETY: the framework returns a buffer of at least this length, and `self` is borrowed mutably.
        Ok(unsafe { Output::new(start, self.output_length, is_shared, &mut self.information) })
    }

    /// Replies with bytes.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if the client's buffer is smaller than the reply, or an error of
    /// [`output`](Self::output).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn reply(&mut self, bytes: &[u8]) -> Result<(), NtStatus> {
        self.output()?.write(bytes)
    }

    /// Replies with a value.
    ///
    /// # Errors
    ///
    /// As [`reply`](Self::reply).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn reply_value<T: Pod>(&mut self, value: &T) -> Result<(), NtStatus> {
        self.output()?.write_value(value)
    }

    /// Replies with the input. Both use the same buffer, so nothing is copied.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if the client's output buffer is smaller than its input, and
    /// `STATUS_INVALID_DEVICE_REQUEST` if the request is not a `METHOD_BUFFERED` control request: then the buffers differ.
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn reply_with_input(&mut self) -> Result<(), NtStatus> {
        match self.kind {
            RequestKind::Control(code) if code & METHOD_MASK == METHOD_BUFFERED => {}
            _ => return Err(NtStatus::InvalidDeviceRequest),
        }
        if self.information != 0 {
            // The output has overwritten the input.
            return Err(NtStatus::InvalidDeviceRequest);
        }
        if self.output_length < self.input_length {
            return Err(NtStatus::BufferTooSmall);
        }
        self.information = self.input_length;
        Ok(())
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
        self.given(result)
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
        self.given(result)
    }

    /// Forgets a request that the framework owns again, or completes it if the framework did not take it.
    pub(crate) fn given(self, result: Result<(), NtStatus>) -> Result<(), NtStatus> {
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
        self.information = length.min(room);
    }

    /// Completes the request. It is called once, either by `complete`, which forgets `self`, or by `drop`.
    fn complete_raw(&self, status: NtStatus) {
        let information = if status.is_error() { 0 } else { self.information };
        // SAFETY: `self` owns the request, and the request is completed only here.
        unsafe { wdf!(WdfRequestCompleteWithInformation, self.raw, status.as_signed(), information as u64) };
    }

    /// Only writes have their input in the client's memory: the input of a control request is always a copy.
    const fn has_shared_input(&self) -> bool {
        self.is_direct && matches!(self.kind, RequestKind::Write)
    }

    const fn has_direct_input(&self) -> bool {
        match self.kind {
            RequestKind::Control(code) | RequestKind::InternalControl(code) => code & METHOD_MASK == METHOD_IN_DIRECT,
            _ => false,
        }
    }

    fn retrieve_input(&self) -> Result<NonNull<u8>, NtStatus> {
        let mut buffer: *mut c_void = ptr::null_mut();
        let place = ptr::from_mut(&mut buffer);
        // SAFETY: `self` owns the request, `buffer` outlives the call, and the length is an optional output.
        check(unsafe { wdf!(WdfRequestRetrieveInputBuffer, self.raw, self.input_length, place, ptr::null_mut()) })?;
        NonNull::new(buffer.cast()).ok_or(NtStatus::BufferTooSmall)
    }

    fn retrieve_output(&self) -> Result<NonNull<u8>, NtStatus> {
        let mut buffer: *mut c_void = ptr::null_mut();
        let place = ptr::from_mut(&mut buffer);
        // SAFETY: as above.
        check(unsafe { wdf!(WdfRequestRetrieveOutputBuffer, self.raw, self.output_length, place, ptr::null_mut()) })?;
        NonNull::new(buffer.cast()).ok_or(NtStatus::BufferTooSmall)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.complete_raw(NtStatus::Cancelled);
    }
}
