//! Requests and their buffers.

use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::slice;

use wdk_etw::{Guid, IrpActivity, NtStatus};
use wdk_sys::{NTSTATUS, WDFREQUEST, call_unsafe_wdf_function_binding};

use crate::check;

/// The bits of a control code that say how its buffers are passed; 0 is `METHOD_BUFFERED`.
const METHOD_MASK: u32 = 3;

/// The routines for the activity ids of requests. `create_driver` looks them up.
pub(crate) static IRP_ACTIVITY: IrpActivity = IrpActivity::new();

/// A control request. If it is dropped without [`complete`](Self::complete), it is completed as cancelled, so
/// that a client never waits for a forgotten request.
#[derive(Debug)]
pub struct Request {
    raw: WDFREQUEST,
    code: u32,
    input_length: usize,
    output_length: usize,
}

impl Request {
    /// # Safety
    ///
    /// `raw` must be a request with this control code that the framework passed to the driver, with buffers of these
    /// lengths. The result takes ownership of it.
    pub(crate) unsafe fn from_raw(raw: WDFREQUEST, code: u32, input_length: usize, output_length: usize) -> Self {
        Self { raw, code, input_length, output_length }
    }

    /// Returns the size of the client's input in bytes.
    #[must_use]
    pub fn input_length(&self) -> usize {
        self.input_length
    }

    /// Returns the size of the client's output buffer in bytes.
    #[must_use]
    pub fn output_length(&self) -> usize {
        self.output_length
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
        let irp = unsafe { call_unsafe_wdf_function_binding!(WdfRequestWdmGetIrp, self.raw) };
        // SAFETY: as above; it is valid until the request is completed.
        unsafe { IRP_ACTIVITY.get(irp.cast()) }.ok()
    }

    /// Returns the client's input. It is empty if the client sent none.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestRetrieveInputBuffer`.
    pub fn input(&self) -> Result<&[u8], NtStatus> {
        if self.input_length == 0 {
            return Ok(&[]);
        }
        let start = self.retrieve(Direction::Input, self.input_length)?;
        // SAFETY: the framework returns a buffer of at least this length, which contains the input. It is not changed
        // while `self` is borrowed, because `reply` takes `&mut self`.
        Ok(unsafe { slice::from_raw_parts(start.as_ptr().cast_const(), self.input_length) })
    }

    /// Copies a reply to the client's buffer and returns its length.
    ///
    /// With `METHOD_BUFFERED`, input and output use the same memory, so this overwrites the input. That is why it takes
    /// `&mut self`.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if the client's buffer is smaller than the reply.
    pub fn reply(&mut self, output: &[u8]) -> Result<usize, NtStatus> {
        if output.is_empty() {
            return Ok(0);
        }
        let start = self.retrieve(Direction::Output, output.len())?;
        // SAFETY: the framework returns a buffer of at least this length. `output` does not overlap it, because a slice
        // of the input would borrow `self`.
        unsafe { ptr::copy_nonoverlapping(output.as_ptr(), start.as_ptr(), output.len()) };
        Ok(output.len())
    }

    /// Replies with the input. Both use the same buffer, so nothing is copied. Returns the length of the reply.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if the client's output buffer is smaller than its input, and
    /// `STATUS_INVALID_DEVICE_REQUEST` if the control code is not a `METHOD_BUFFERED` one: then the buffers differ.
    pub fn reply_with_input(&mut self) -> Result<usize, NtStatus> {
        if self.code & METHOD_MASK != 0 {
            return Err(NtStatus::InvalidDeviceRequest);
        }
        if self.output_length < self.input_length {
            return Err(NtStatus::BufferTooSmall);
        }
        Ok(self.input_length)
    }

    /// Completes the request with a status and the number of valid bytes in the reply.
    pub fn complete(self, status: NtStatus, information: usize) {
        let this = ManuallyDrop::new(self);
        this.complete_raw(status.as_signed(), information);
    }

    /// Completes the request. It is called once, either by `complete`, which forgets `self`, or by `drop`.
    fn complete_raw(&self, status: NTSTATUS, information: usize) {
        let information = u64::try_from(information).unwrap_or_default();
        // SAFETY: `self` owns the request, and the request is completed only here.
        unsafe {
            call_unsafe_wdf_function_binding!(WdfRequestCompleteWithInformation, self.raw, status, information);
        }
    }

    /// Returns the start of a buffer of at least `length` bytes.
    fn retrieve(&self, direction: Direction, length: usize) -> Result<NonNull<u8>, NtStatus> {
        let mut buffer: *mut c_void = ptr::null_mut();
        let buffer_place = ptr::from_mut(&mut buffer);
        let status = match direction {
            // SAFETY: `self` owns the request, `buffer` outlives the call, and the length is an optional output.
            Direction::Input => unsafe {
                call_unsafe_wdf_function_binding!(
                    WdfRequestRetrieveInputBuffer,
                    self.raw,
                    length,
                    buffer_place,
                    ptr::null_mut()
                )
            },
            // SAFETY: as above.
            Direction::Output => unsafe {
                call_unsafe_wdf_function_binding!(
                    WdfRequestRetrieveOutputBuffer,
                    self.raw,
                    length,
                    buffer_place,
                    ptr::null_mut()
                )
            },
        };
        check(status)?;
        NonNull::new(buffer.cast()).ok_or(NtStatus::BufferTooSmall)
    }
}

/// A buffer of a request.
#[derive(Clone, Copy)]
enum Direction {
    Input,
    Output,
}

impl Drop for Request {
    fn drop(&mut self) {
        self.complete_raw(NtStatus::Cancelled.as_signed(), 0);
    }
}
