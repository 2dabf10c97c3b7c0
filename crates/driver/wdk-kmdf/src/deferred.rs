//! The handle of a child of a device, in the device's own value.
//!
//! The framework deletes children with their device. So that nobody uses a handle that is gone, it is kept behind a lock, and taken away when the
//! framework cleans the child up; that happens before its memory is freed.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{WDFOBJECT, call_unsafe_wdf_function_binding};

use crate::SpinLock;

/// The handle, or null before the child is created and after it is deleted.
#[derive(Debug)]
pub(crate) struct Child {
    handle: SpinLock<Handle>,
}

#[derive(Clone, Copy, Debug)]
struct Handle(WDFOBJECT);

// SAFETY: the framework's functions on these objects can be called from any thread.
unsafe impl Send for Handle {}

impl Child {
    pub(crate) const fn new() -> Self {
        Self { handle: SpinLock::new(Handle(ptr::null_mut())) }
    }

    /// Whether this is a part of `value`: of the memory behind the device.
    pub(crate) fn is_part_of<T>(&self, value: &T) -> bool {
        let (start, own) = (ptr::from_ref(value).addr(), ptr::from_ref(self).addr());
        own >= start && own + size_of::<Self>() <= start + size_of::<T>()
    }

    /// Keeps the handle of a child that was created.
    pub(crate) fn set(&self, handle: WDFOBJECT) {
        self.handle.lock().0 = handle;
    }

    /// Forgets the handle, as the child is being deleted.
    pub(crate) fn forget(&self) {
        self.set(ptr::null_mut());
    }

    /// Whether there is a child already.
    pub(crate) fn check_empty(&self) -> Result<(), NtStatus> {
        if self.handle.lock().0.is_null() { Ok(()) } else { Err(NtStatus::InvalidDeviceRequest) }
    }

    /// Calls `body` with the handle, locked; `None` if there is no child. `body` runs at `DISPATCH_LEVEL`.
    pub(crate) fn with<R>(&self, body: impl FnOnce(WDFOBJECT) -> R) -> Option<R> {
        let handle = self.handle.lock();
        (!handle.0.is_null()).then(|| body(handle.0))
    }

    /// Calls `body` with the handle, not locked, and a reference that keeps its memory; for functions that wait.
    pub(crate) fn with_reference<R>(&self, body: impl FnOnce(WDFOBJECT) -> R) -> Option<R> {
        let handle = self.with(|handle| {
            // SAFETY: the child is not deleted while the lock is held.
            unsafe {
                call_unsafe_wdf_function_binding!(WdfObjectReferenceActual, handle, ptr::null_mut(), 0, ptr::null());
            }
            handle
        })?;
        let result = body(handle);
        // SAFETY: the reference that was taken above.
        unsafe {
            call_unsafe_wdf_function_binding!(WdfObjectDereferenceActual, handle, ptr::null_mut(), 0, ptr::null());
        }
        Some(result)
    }
}
