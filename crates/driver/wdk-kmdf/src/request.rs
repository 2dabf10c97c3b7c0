//! A request and its buffer.

use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::slice;

use wdk_etw::NtStatus;
use wdk_sys::{NTSTATUS, WDFREQUEST, call_unsafe_wdf_function_binding};

use crate::check;

/// A request with `METHOD_BUFFERED`. Dropped without [`complete`](Self::complete), it is cancelled: a client never waits
/// for a request that was forgotten.
#[derive(Debug)]
pub struct Request {
    raw: WDFREQUEST,
    input_length: usize,
    output_length: usize,
}

impl Request {
    /// # Safety
    ///
    /// `raw` is a request that the framework handed to the driver, with buffers of these lengths and `METHOD_BUFFERED`;
    /// it belongs to the result from here on.
    pub(crate) unsafe fn from_raw(raw: WDFREQUEST, input_length: usize, output_length: usize) -> Self {
        Self { raw, input_length, output_length }
    }

    /// Bytes that the client sent.
    #[must_use]
    pub fn input_length(&self) -> usize {
        self.input_length
    }

    /// Bytes that the client takes.
    #[must_use]
    pub fn output_length(&self) -> usize {
        self.output_length
    }

    /// What the client sent; empty where it sent nothing.
    ///
    /// # Errors
    ///
    /// What `WdfRequestRetrieveInputBuffer` returns.
    pub fn input(&self) -> Result<&[u8], NtStatus> {
        if self.input_length == 0 {
            return Ok(&[]);
        }
        let start = self.retrieve(Direction::Input, self.input_length)?;
        // SAFETY: the framework returns a buffer of at least this length, which the input filled and nobody changes
        // while `self` is borrowed: `reply` takes it mutably.
        Ok(unsafe { slice::from_raw_parts(start.as_ptr().cast_const(), self.input_length) })
    }

    /// Copies an answer to the client's buffer, and returns its length.
    ///
    /// In `METHOD_BUFFERED` this is the memory of the input: the input is gone afterwards, which `&mut` makes plain.
    ///
    /// # Errors
    ///
    /// `STATUS_BUFFER_TOO_SMALL` if the client takes less.
    pub fn reply(&mut self, answer: &[u8]) -> Result<usize, NtStatus> {
        if answer.is_empty() {
            return Ok(0);
        }
        let start = self.retrieve(Direction::Output, answer.len())?;
        // SAFETY: the framework returns a buffer of at least this length. `answer` is no part of it: a slice of the input
        // would borrow `self`.
        unsafe { ptr::copy_nonoverlapping(answer.as_ptr(), start.as_ptr(), answer.len()) };
        Ok(answer.len())
    }

    /// Lets the input be the answer: with one buffer for both there is nothing to copy.
    ///
    /// # Errors
    ///
    /// `STATUS_BUFFER_TOO_SMALL` if the client takes less than it sent.
    pub fn reply_with_input(&mut self) -> Result<usize, NtStatus> {
        if self.output_length < self.input_length {
            return Err(NtStatus::BufferTooSmall);
        }
        Ok(self.input_length)
    }

    /// Ends the request: its status, and how many bytes of the answer count.
    pub fn complete(self, status: NtStatus, information: usize) {
        let this = ManuallyDrop::new(self);
        this.complete_raw(status.as_signed(), information);
    }

    /// Ends the request. Called once: by `complete`, which forgets `self`, or by `drop`.
    fn complete_raw(&self, status: NTSTATUS, information: usize) {
        let information = u64::try_from(information).unwrap_or_default();
        // SAFETY: the request is ours, and this is the one place that gives it back.
        unsafe {
            call_unsafe_wdf_function_binding!(WdfRequestCompleteWithInformation, self.raw, status, information);
        }
    }

    /// The start of a buffer of at least `length` bytes.
    fn retrieve(&self, direction: Direction, length: usize) -> Result<NonNull<u8>, NtStatus> {
        let mut buffer: *mut c_void = ptr::null_mut();
        let buffer_place = ptr::from_mut(&mut buffer);
        let status = match direction {
            // SAFETY: the request is ours; the pointer's place outlives the call; the length is not wanted.
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

/// Which buffer of a request.
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
