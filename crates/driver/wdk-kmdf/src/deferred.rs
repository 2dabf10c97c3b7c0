//! The handle of a child object of a device, stored in the device's context.
//!
//! The framework deletes children together with their device. To make sure that a deleted handle is never used, the
//! handle is protected by a lock and is cleared in the child's cleanup callback, which runs before its memory is freed.
//!
//! A child's callbacks find the device in the child's own context, never with `WdfTimerGetParentObject` or
//! `WdfWorkItemGetParentObject`. The framework forgets the parent before it calls the cleanup callback, and these
//! functions then return NULL (Microsoft's public framework source: `FlushAndRundown` in `shared/core/fxtimer.cpp` and
//! `fxworkitem.cpp`). Using that NULL as a handle is bug check 0x10D.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, WDF_OBJECT_ATTRIBUTES, WDFOBJECT,
    call_unsafe_wdf_function_binding,
};

use crate::context::{self, Context as _};
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

/// The context of a child: the device that it was created for.
#[derive(Debug)]
struct Owner {
    device: WDFOBJECT,
}

// SAFETY: the handle is only read, and the framework's functions for devices can be called from any thread.
unsafe impl Sync for Owner {}

crate::context!(Owner, c"wdk_kmdf::Owner");

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
        ContextTypeInfo: Owner::INFO().as_raw(),
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

    /// Stores the handle of a newly created child, and the child's device in the child's context.
    ///
    /// # Safety
    ///
    /// `handle` must be a child of `device` that was just created with [`attributes`]. No other code may use it yet.
    pub(crate) unsafe fn set<T: Device>(&self, handle: WDFOBJECT, device: &DeviceHandle<'_, T>) {
        // The context is filled first: no callback of the child can run before the handle is stored.
        // SAFETY: the attributes have a context of this type, and no other code uses the child yet.
        unsafe { context::fill(handle, Owner { device: device.raw().cast() }) };
        self.handle.lock().0 = handle;
    }

    /// Clears the handle, because the child is being deleted.
    pub(crate) fn forget(&self) {
        self.handle.lock().0 = ptr::null_mut();
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

/// Returns the context of the device that a child was created for. It can be called in every callback of the child, also
/// in its cleanup callback.
///
/// # Safety
///
/// `child` must have been created with [`attributes`] for a device whose context is a `T`, and must not be destroyed
/// during `'a`.
pub(crate) unsafe fn value_of_device<'a, T: Device>(child: WDFOBJECT) -> Option<&'a T> {
    // SAFETY: the child's attributes have a context of this type.
    let owner = unsafe { context::get::<Owner>(child) }?;
    // SAFETY: the framework cleans up a device after its children and frees the device's context after that, so the
    // device outlives the callbacks of its children. Its context is a `T`.
    unsafe { context::get::<T>(owner.device) }
}
