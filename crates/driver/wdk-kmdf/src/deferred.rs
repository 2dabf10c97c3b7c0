//! The handle of a child object of a device, stored in the device's context.
//!
//! The framework deletes children together with their device. To make sure that a deleted handle is never used, the
//! handle is protected by a lock and is cleared in the child's cleanup callback, which runs before its memory is freed.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, WDF_OBJECT_ATTRIBUTES, WDFOBJECT,
    call_unsafe_wdf_function_binding,
};

use crate::{Device, DeviceHandle, SpinLock, size_field};

/// The handle. It is null before the child is created and after it is deleted.
#[derive(Debug)]
pub(crate) struct Child {
    handle: SpinLock<Handle>,
}

#[derive(Clone, Copy, Debug)]
struct Handle(WDFOBJECT);

// SAFETY: the framework's functions for these objects can be called from any thread.
unsafe impl Send for Handle {}

/// Returns the attributes of a child of a device. The framework calls `cleanup` when it deletes the child.
pub(crate) fn attributes<T: Device>(
    device: &DeviceHandle<'_, T>,
    cleanup: unsafe extern "C" fn(WDFOBJECT),
) -> WDF_OBJECT_ATTRIBUTES {
    WDF_OBJECT_ATTRIBUTES {
        Size: size_field::<WDF_OBJECT_ATTRIBUTES>(),
        EvtCleanupCallback: Some(cleanup),
        ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelInheritFromParent,
        SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
        ParentObject: device.raw().cast(),
        ..WDF_OBJECT_ATTRIBUTES::default()
    }
}

impl Child {
    pub(crate) const fn new() -> Self {
        Self { handle: SpinLock::new(Handle(ptr::null_mut())) }
    }

    /// Checks that a child can be created: `self` must be a part of `value`, the device's context, and there must not
    /// be a child yet.
    pub(crate) fn check_new<T>(&self, value: &T) -> Result<(), NtStatus> {
        let (start, own) = (ptr::from_ref(value).addr(), ptr::from_ref(self).addr());
        if own < start || own + size_of::<Self>() > start + size_of::<T>() {
            return Err(NtStatus::InvalidParameter);
        }
        if self.handle.lock().0.is_null() { Ok(()) } else { Err(NtStatus::InvalidDeviceRequest) }
    }

    /// Stores the handle of a newly created child.
    pub(crate) fn set(&self, handle: WDFOBJECT) {
        self.handle.lock().0 = handle;
    }

    /// Clears the handle, because the child is being deleted.
    pub(crate) fn forget(&self) {
        self.set(ptr::null_mut());
    }

    /// Calls `body` with the handle while holding the lock, that is, at `DISPATCH_LEVEL`. Returns `None` if there is no
    /// child.
    pub(crate) fn with<R>(&self, body: impl FnOnce(WDFOBJECT) -> R) -> Option<R> {
        let handle = self.handle.lock();
        (!handle.0.is_null()).then(|| body(handle.0))
    }

    /// Calls `body` with the handle, without holding the lock. A reference keeps the child's memory valid. For
    /// functions that wait.
    pub(crate) fn with_reference<R>(&self, body: impl FnOnce(WDFOBJECT) -> R) -> Option<R> {
        let handle = self.with(|handle| {
            // SAFETY: the child cannot be deleted while the lock is held.
            unsafe {
                call_unsafe_wdf_function_binding!(WdfObjectReferenceActual, handle, ptr::null_mut(), 0, ptr::null());
            }
            handle
        })?;
        let result = body(handle);
        // SAFETY: this releases the reference that was taken above.
        unsafe {
            call_unsafe_wdf_function_binding!(WdfObjectDereferenceActual, handle, ptr::null_mut(), 0, ptr::null());
        }
        Some(result)
    }
}
