//! Memory of the framework.

use core::ffi::c_void;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};
use core::slice;

use wdk_etw::NtStatus;
use wdk_sys::{_POOL_TYPE, WDF_NO_OBJECT_ATTRIBUTES, WDFMEMORY};

use crate::call::wdf;
use crate::check;

/// Bytes in nonpaged pool (`WDFMEMORY`). They are freed when this is dropped.
pub struct Memory {
    raw: WDFMEMORY,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: this value owns its bytes, and the framework's functions for memory can be called from any thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates zeroed memory. `tag` is the pool tag, for example `*b"Echo"`.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfMemoryCreate`, `STATUS_INVALID_PARAMETER` if the length is 0.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn new(length: usize, tag: [u8; 4]) -> Result<Self, NtStatus> {
        let memory = Self::allocate(length, tag)?;
        // SAFETY: the memory has this length, and nothing else refers to it.
        unsafe { memory.start.write_bytes(0, length) };
        Ok(memory)
    }

    /// Allocates memory with a copy of `bytes`. As [`new`](Self::new), without zeroing it first.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn copy_of(bytes: &[u8], tag: [u8; 4]) -> Result<Self, NtStatus> {
        let memory = Self::allocate(bytes.len(), tag)?;
        // SAFETY: the memory has this length, and is new, so it does not overlap the bytes.
        unsafe { memory.start.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Ok(memory)
    }

    /// Allocates memory, which the caller initialises.
    fn allocate(length: usize, tag: [u8; 4]) -> Result<Self, NtStatus> {
        if length == 0 {
            return Err(NtStatus::InvalidParameter);
        }
        let mut raw: WDFMEMORY = ptr::null_mut();
        let mut start: *mut c_void = ptr::null_mut();
        // The parent is the driver object, so only this value deletes the memory while the driver runs.
        // SAFETY: the variables for the handle and the address outlive the call.
        check(unsafe {
            wdf!(
                WdfMemoryCreate,
                WDF_NO_OBJECT_ATTRIBUTES,
                _POOL_TYPE::NonPagedPoolNx,
                u32::from_le_bytes(tag),
                length,
                ptr::from_mut(&mut raw),
                ptr::from_mut(&mut start)
            )
        })?;
        // SAFETY: the call succeeded, so it has stored the address of the memory.
        let start = unsafe { NonNull::new_unchecked(start.cast()) };
        Ok(Self { raw, start, length })
    }

    /// Returns the framework's handle, valid until this is dropped.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFMEMORY {
        self.raw
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory is initialised and has this length.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this value is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this value created the memory and deletes it only once.
        unsafe { wdf!(WdfObjectDelete, self.raw.cast()) };
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("length", &self.length).finish_non_exhaustive()
    }
}
