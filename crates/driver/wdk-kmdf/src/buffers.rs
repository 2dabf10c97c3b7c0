//! The input and output of a request.

use core::ffi::c_void;
use core::mem::size_of;
use core::ptr::{self, NonNull};
use core::slice;

use wdk_etw::NtStatus;

use crate::call::wdf;
use crate::{Output, Pod, Request, RequestKind, check, user_buffers};

/// The bits of a control code that say how its buffers are passed.
const METHOD_MASK: u32 = 3;
/// `METHOD_BUFFERED`: both buffers are one buffer of the system.
const METHOD_BUFFERED: u32 = 0;
/// `METHOD_NEITHER`: both buffers are addresses in the client's process.
const METHOD_NEITHER: u32 = 3;
/// `METHOD_IN_DIRECT`: the output buffer is the client's memory, and contains more input.
const METHOD_IN_DIRECT: u32 = 1;

impl Request {
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
        if self.input_length() == 0 {
            return Ok(&[]);
        }
        if self.has_shared_input() {
            return Err(NtStatus::InvalidDeviceRequest);
        }
        let start = self.retrieve_input()?;
        // SAFETY: the framework returns a buffer of at least this length, which contains the input. It is not changed
        // while `self` is borrowed, because `output` takes `&mut self`.
        Ok(unsafe { slice::from_raw_parts(start.as_ptr().cast_const(), self.input_length()) })
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
    /// Returns the error of `WdfRequestRetrieveInputBuffer`, and `STATUS_INVALID_DEVICE_REQUEST` for a `METHOD_NEITHER` request
    /// whose buffers were not [locked](crate::DeviceBuilder::lock_user_buffers).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn copy_input(&self, offset: usize, buffer: &mut [u8]) -> Result<usize, NtStatus> {
        let length = self.input_length().saturating_sub(offset).min(buffer.len());
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
        let length = self.output_length().saturating_sub(offset).min(buffer.len());
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
            self.set_information(length.min(self.input_length()));
        } else if self.has_direct_input() {
            self.set_information(length.min(self.output_length()));
        }
    }

    /// Returns the client's output buffer, from its start. What is written to it is reported when the request is completed.
    ///
    /// With `METHOD_BUFFERED`, input and output use the same memory, so writing overwrites the input. That is why this takes
    /// `&mut self`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfRequestRetrieveOutputBuffer`, and `STATUS_INVALID_DEVICE_REQUEST` for a `METHOD_NEITHER` request
    /// whose buffers were not [locked](crate::DeviceBuilder::lock_user_buffers).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn output(&mut self) -> Result<Output<'_>, NtStatus> {
        let start = self.output_start()?;
        let is_shared = match self.kind {
            RequestKind::Control(code) | RequestKind::InternalControl(code) => code & METHOD_MASK != METHOD_BUFFERED,
            _ => self.is_direct,
        };
        // SAFETY: the framework returns a buffer of at least this length, and `self` is borrowed mutably.
        Ok(unsafe { Output::new(start, self.output_length(), is_shared, &mut self.information) })
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
        // As `output` and `write`, without counting in between.
        let start = self.output_start()?;
        self.set_information(0);
        if bytes.len() > self.output_length() {
            return Err(NtStatus::BufferTooSmall);
        }
        // SAFETY: the framework returns a buffer of at least this length, and `self` is borrowed mutably, so nothing else refers to it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), bytes.len()) };
        self.set_information(bytes.len());
        Ok(())
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
        if self.output_length() < self.input_length() {
            return Err(NtStatus::BufferTooSmall);
        }
        self.set_information(self.input_length());
        Ok(())
    }

    /// Only direct writes and `METHOD_NEITHER` requests have their input in the client's memory: that of other control requests is
    /// a copy.
    const fn has_shared_input(&self) -> bool {
        self.is_direct && matches!(self.kind, RequestKind::Write) || self.has_user_buffers()
    }

    /// Returns whether the buffers are addresses in the client's process.
    pub(crate) const fn has_user_buffers(&self) -> bool {
        match self.kind {
            RequestKind::Control(code) | RequestKind::InternalControl(code) => code & METHOD_MASK == METHOD_NEITHER,
            _ => false,
        }
    }

    const fn has_direct_input(&self) -> bool {
        match self.kind {
            RequestKind::Control(code) | RequestKind::InternalControl(code) => code & METHOD_MASK == METHOD_IN_DIRECT,
            _ => false,
        }
    }

    fn retrieve_input(&self) -> Result<NonNull<u8>, NtStatus> {
        if self.has_user_buffers() {
            return user_buffers::input(self);
        }
        let mut buffer: *mut c_void = ptr::null_mut();
        let place = ptr::from_mut(&mut buffer);
        // SAFETY: `self` owns the request, `buffer` outlives the call, and the length is an optional output.
        check(unsafe { wdf!(WdfRequestRetrieveInputBuffer, self.raw(), self.input_length(), place, ptr::null_mut()) })?;
        // SAFETY: the call succeeded, so it has stored the address of a buffer.
        Ok(unsafe { NonNull::new_unchecked(buffer.cast()) })
    }

    /// Returns where the output begins. Without output, there is no buffer.
    fn output_start(&self) -> Result<NonNull<u8>, NtStatus> {
        if self.output_length() == 0 { Ok(NonNull::dangling()) } else { self.retrieve_output() }
    }

    fn retrieve_output(&self) -> Result<NonNull<u8>, NtStatus> {
        if self.has_user_buffers() {
            return user_buffers::output(self);
        }
        let mut buffer: *mut c_void = ptr::null_mut();
        let place = ptr::from_mut(&mut buffer);
        // SAFETY: as above.
        check(unsafe {
            wdf!(WdfRequestRetrieveOutputBuffer, self.raw(), self.output_length(), place, ptr::null_mut())
        })?;
        // SAFETY: as above.
        Ok(unsafe { NonNull::new_unchecked(buffer.cast()) })
    }
}
