//! A counted reference to a child object of a device: a timer, a work item, a queue.
//!
//! The framework deletes children together with their device. A reference keeps the memory of a deleted object valid,
//! but most functions must not be called for it any more. So the child's own context says whether it still lives. The
//! child's cleanup callback changes that, under a lock that functions of the framework are called with.
//!
//! A child's callbacks find the device in the child's context, never with `WdfTimerGetParentObject` or
//! `WdfWorkItemGetParentObject`. The framework forgets the parent before it calls the cleanup callback, and these
//! functions then return NULL (Microsoft's public framework source: `FlushAndRundown` in `shared/core/fxtimer.cpp` and
//! `fxworkitem.cpp`). Using that NULL as a handle is bug check 0x10D.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

use wdk_etw::NtStatus;
use wdk_sys::{NTSTATUS, WDF_OBJECT_ATTRIBUTES, WDFDEVICE, WDFOBJECT};

use crate::context::{self, ObjectCallback, Place};
use crate::io_type::DeviceObject;
use crate::lifetime::{Kept, dereference, reference};
use crate::{SpinLock, check};

/// The context of a child, with what its kind needs.
#[derive(Debug)]
struct State<X> {
    device: WDFOBJECT,
    device_object: DeviceObject,
    /// Where the device's value is. The device outlives the callbacks of its children.
    value: Place,
    /// False from the child's cleanup on. It changes while `lock` is held.
    lives: AtomicBool,
    lock: SpinLock<()>,
    extra: X,
}

// SAFETY: the handle is only read, and the framework's functions for devices can be called from any thread.
unsafe impl<X: Send> Send for State<X> {}
// SAFETY: as above.
unsafe impl<X: Sync> Sync for State<X> {}

/// Returns the attributes of a child of `parent`, which is null if the framework chooses it.
pub(crate) fn attributes<X: 'static>(parent: WDFOBJECT) -> WDF_OBJECT_ATTRIBUTES {
    attributes_with_cleanup::<X>(parent, cleanup::<X>)
}

/// As [`attributes`], for a child with a callback of its own, which must call [`cleanup`].
pub(crate) fn attributes_with_cleanup<X: 'static>(parent: WDFOBJECT, cleanup: ObjectCallback) -> WDF_OBJECT_ATTRIBUTES {
    context::attributes::<State<X>>(parent, Some(cleanup))
}

/// A reference to a child that this crate created.
#[derive(Debug)]
pub(crate) struct Child<X = ()> {
    raw: WDFOBJECT,
    /// The child's context. It lives as long as the reference.
    state: NonNull<State<X>>,
}

// SAFETY: the framework's functions for these objects can be called from any thread.
unsafe impl<X: Send + Sync> Send for Child<X> {}
// SAFETY: as above.
unsafe impl<X: Send + Sync> Sync for Child<X> {}

impl<X: 'static> Child<X> {
    /// Takes a reference to a newly created child. `extra` can be read back with [`extra`](Self::extra).
    ///
    /// # Safety
    ///
    /// `raw` must have been created with [`attributes`] for `device`, and must not have been passed to this before.
    #[inline(never)]
    pub(crate) unsafe fn new(raw: WDFOBJECT, device: WDFDEVICE, extra: X) -> Result<Self, NtStatus> {
        // SAFETY: the device exists.
        let value = unsafe { context::place(device.cast()) }.ok_or(NtStatus::InternalError)?;
        // SAFETY: as above.
        let device_object = unsafe { DeviceObject::of(device) };
        let state = State {
            device: device.cast(),
            device_object,
            value,
            lives: AtomicBool::new(true),
            lock: SpinLock::new(()),
            extra,
        };
        // SAFETY: the attributes have a context of this type, and it is filled only here.
        let state = NonNull::from(unsafe { context::fill(raw, state) });
        // SAFETY: the object exists.
        unsafe { reference(raw) };
        Ok(Self { raw, state })
    }

    fn state(&self) -> &State<X> {
        // SAFETY: the context of an object lives as long as a reference to it.
        unsafe { self.state.as_ref() }
    }

    pub(crate) fn extra(&self) -> &X {
        &self.state().extra
    }

    pub(crate) fn device_object(&self) -> DeviceObject {
        self.state().device_object
    }

    pub(crate) const fn raw(&self) -> WDFOBJECT {
        self.raw
    }

    /// Calls `body` with the handle while its deletion is held off, that is, at `DISPATCH_LEVEL`. Returns `None` if the
    /// child was deleted. `body` must not wait and must not call back into the driver.
    pub(crate) fn locked<R>(&self, body: impl FnOnce(WDFOBJECT) -> R) -> Option<R> {
        let state = self.state();
        state.lock.with_any(|()| state.lives.load(Ordering::Relaxed).then(|| body(self.raw)))
    }

    /// Calls `body` with the handle if the child was not deleted before. For functions that wait or call back: those of
    /// queues, and stopping or flushing, are valid for an object that is being deleted, as long as it has a reference.
    pub(crate) fn unlocked<R>(&self, body: impl FnOnce(WDFOBJECT) -> R) -> Option<R> {
        self.state().lives.load(Ordering::Acquire).then(|| body(self.raw))
    }

    /// As [`unlocked`](Self::unlocked), for functions that use the device: those of data blocks and child lists.
    pub(crate) fn with_device<R>(&self, body: impl FnOnce(WDFOBJECT) -> R) -> Option<R> {
        let state = self.state();
        let keep = || {
            // SAFETY: while the child's deletion is held off, its device exists: the framework cleans up the children first.
            unsafe { Kept::new(state.device) }
        };
        let _kept = state.lock.with_any(|()| state.lives.load(Ordering::Relaxed).then(keep))?;
        Some(body(self.raw))
    }
}

impl Child {
    /// Creates a child whose parent the framework chooses: the device, or an object below it. The framework rejects any other value
    /// in the attributes.
    ///
    /// # Safety
    ///
    /// `create` must create an object of `device` with these attributes and store its handle, unless it returns an error.
    pub(crate) unsafe fn create(
        device: WDFDEVICE,
        create: impl FnOnce(*mut WDF_OBJECT_ATTRIBUTES, *mut WDFOBJECT) -> NTSTATUS,
    ) -> Result<Self, NtStatus> {
        let mut attributes = attributes::<()>(ptr::null_mut());
        let mut raw: WDFOBJECT = ptr::null_mut();
        check(create(ptr::from_mut(&mut attributes), ptr::from_mut(&mut raw)))?;
        // SAFETY: the object was just created with these attributes.
        unsafe { Self::new(raw, device, ()) }
    }
}

impl<X> Drop for Child<X> {
    fn drop(&mut self) {
        // SAFETY: this value has a reference since `new`.
        unsafe { dereference(self.raw) };
    }
}

/// Returns what the kind of a child needs.
///
/// # Safety
///
/// `child` must have been created with [`attributes`] for `X`, and must not be destroyed during `'a`.
pub(crate) unsafe fn extra<'a, X: 'static>(child: WDFOBJECT) -> Option<&'a X> {
    // SAFETY: the child's attributes have a context of this type.
    let state = unsafe { context::get::<State<X>>(child) }?;
    Some(&state.extra)
}

/// Returns the device that a child was created for.
///
/// # Safety
///
/// `child` must have been created with [`attributes`] for `X`, and must exist.
pub(crate) unsafe fn device<X: 'static>(child: WDFOBJECT) -> Option<WDFDEVICE> {
    // SAFETY: the child's attributes have a context of this type.
    let state = unsafe { context::get::<State<X>>(child) }?;
    Some(state.device.cast())
}

/// Returns the context of the device that a child was created for, and its device object. It can be called in every callback of the
/// child.
///
/// # Safety
///
/// `child` must have been created with [`attributes`] for `()` and for a device whose context is a `T`, and must not be
/// destroyed during `'a`.
pub(crate) unsafe fn device_value<'a, T: 'static>(child: WDFOBJECT) -> Option<(&'a T, DeviceObject)> {
    // SAFETY: the child's attributes have a context of this type.
    let state = unsafe { context::get::<State<()>>(child) }?;
    // SAFETY: the framework cleans up a device after its children and destroys its context after that, so the device
    // outlives the callbacks of its children, as `lifetime` explains. Its context is a `T`.
    let value = unsafe { context::get_at::<T>(state.value) }?;
    Some((value, state.device_object))
}

/// `EvtCleanupCallback`: marks a child as deleted.
///
/// # Safety
///
/// `child` must have been created with [`attributes`] for `X`, and its cleanup callback must be running.
#[inline(never)]
pub(crate) unsafe extern "C" fn cleanup<X: 'static>(child: WDFOBJECT) {
    // SAFETY: the attributes have a context of this type.
    if let Some(state) = unsafe { context::get::<State<X>>(child) } {
        state.lock.with_any(|()| state.lives.store(false, Ordering::Release));
    }
}
