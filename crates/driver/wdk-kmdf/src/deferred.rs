//! The handle of a child of a device, in the device's own value.
//!
//! The framework deletes children with their device. So that nobody uses a handle that is gone, it is kept behind a lock, and taken away when the
//! framework cleans the child up; that happens before its memory is freed.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, WDF_OBJECT_ATTRIBUTES, WDFOBJECT,
    call_unsafe_wdf_function_binding,
};

use crate::{Device, DeviceHandle, SpinLock, size_field};

/// The handle, or null before the child is created and after it is deleted.
#[derive(Debug)]
pub(crate) struct Child {
    handle: SpinLock<Handle>,
}

#[derive(Clone, Copy, Debug)]
struct Handle(WDFOBJECT);

// SAFETY: the framework's functions on these objects can be called from any thread.
unsafe impl Send for Handle {}

/// The attributes of a child of a device that calls `cleanup` when it is deleted.
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

    /// Whether a child can be created for this: it is a part of `value`, of the memory behind the device, and there is none yet.
    pub(crate) fn check_new<T>(&self, value: &T) -> Result<(), NtStatus> {
        let (start, own) = (ptr::from_ref(value).addr(), ptr::from_ref(self).addr());
        if own < start || own + size_of::<Self>() > start + size_of::<T>() {
            return Err(NtStatus::InvalidParameter);
        }
        if self.handle.lock().0.is_null() { Ok(()) } else { Err(NtStatus::InvalidDeviceRequest) }
    }

    /// Keeps the handle of a child that was created.
    pub(crate) fn set(&self, handle: WDFOBJECT) {
        self.handle.lock().0 = handle;
    }

    /// Forgets the handle, as the child is being deleted.
    pub(crate) fn forget(&self) {
        self.set(ptr::null_mut());
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
