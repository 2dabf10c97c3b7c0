//! The output of a request: the layer counts what is written.

use core::mem::{align_of, size_of};
use core::ptr::{self, NonNull};
use core::slice;

use wdk_etw::NtStatus;

// Tests include this file and `pod.rs` in a crate for the host, where both are in another module.
use super::Pod;

/// The output buffer of a request. What is written is appended and counted; completing the request reports exactly that many
/// bytes to the client. The rest of the buffer, which may hold old data of the system, never reaches the client.
#[derive(Debug)]
pub struct Output<'a> {
    start: NonNull<u8>,
    capacity: usize,
    /// The client can access the memory.
    is_shared: bool,
    written: &'a mut u32,
}

impl<'a> Output<'a> {
    /// Begins at the start of the buffer: what was written before does not count any more.
    ///
    /// # Safety
    ///
    /// For `'a`, the memory must be valid for writes of `capacity` bytes, and only this value may access it, apart from the
    /// client if it `is_shared`.
    pub(crate) unsafe fn new(start: NonNull<u8>, capacity: usize, is_shared: bool, written: &'a mut u32) -> Self {
        *written = 0;
        Self { start, capacity, is_shared, written }
    }

    /// Returns how many bytes can still be written.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.capacity.saturating_sub(self.written())
    }

    /// Returns how many bytes were written.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn written(&self) -> usize {
        *self.written as usize
    }

    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL`, and writes nothing, if they do not fit.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), NtStatus> {
        let place = self.reserve(bytes.len())?;
        // SAFETY: the place has room for the bytes. They do not overlap it: the request is borrowed mutably, so nothing else
        // refers to its buffer.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
        self.count(bytes.len());
        Ok(())
    }

    /// Appends a value.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn write_value<T: Pod>(&mut self, value: &T) -> Result<(), NtStatus> {
        // SAFETY: a `Pod` has no padding, so all of its bytes are initialised.
        self.write(unsafe { slice::from_raw_parts(ptr::from_ref(value).cast(), size_of::<T>()) })
    }

    /// Appends a value whose bytes are zero, to be filled in place.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if it does not fit, `STATUS_DATATYPE_MISALIGNMENT` if its place is not aligned for it,
    /// and `STATUS_INVALID_DEVICE_REQUEST` if the buffer is the client's own memory: no reference to that may exist.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn value<T: Pod>(&mut self) -> Result<&mut T, NtStatus> {
        if self.is_shared {
            return Err(NtStatus::InvalidDeviceRequest);
        }
        let place = self.reserve(size_of::<T>())?.cast::<T>();
        if !place.addr().get().is_multiple_of(align_of::<T>()) {
            return Err(NtStatus::DatatypeMisalignment);
        }
        // SAFETY: the place has room for the value.
        unsafe { place.write_bytes(0, 1) };
        self.count(size_of::<T>());
        // SAFETY: the place is aligned and initialised, zero is a valid value, and `self` is borrowed as long.
        Ok(unsafe { &mut *place.as_ptr() })
    }

    /// Counts bytes that were written to a [reserved](Self::reserve) place.
    fn count(&mut self, length: usize) {
        // A request's buffer has at most 32 bits of length.
        *self.written = self.written.wrapping_add(short(length));
    }

    /// Returns the place for `length` more bytes.
    fn reserve(&self, length: usize) -> Result<NonNull<u8>, NtStatus> {
        if length > self.remaining() {
            return Err(NtStatus::BufferTooSmall);
        }
        // SAFETY: the result is inside of the buffer or at its end.
        Ok(unsafe { self.start.add(self.written()) })
    }
}

/// Converts the length of a buffer, which has 32 bits in an IRP. A longer one would only become shorter than its buffer.
#[expect(clippy::cast_possible_truncation, reason = "a length in an IRP is a ULONG")]
pub(crate) const fn short(length: usize) -> u32 {
    length as u32
}
