//! How long objects live, and why no callback uses one that is gone. This page is the argument; the `SAFETY` comments of the crate
//! refer to it.
//!
//! # The two ends of an object
//!
//! An object of the framework ends in two steps. It is **cleaned up** when it or its parent is deleted: children first, then the
//! object's own cleanup callback ([`Device::cleanup`](crate::Device::cleanup)). It is **destroyed** when nothing refers to it any
//! more: the destroy callback drops the Rust value, and the memory of the context is freed. So code that has a reference to an
//! object can use its value, although the object was cleaned up: then its children are deleted, and their methods do nothing.
//!
//! The value must not be dropped earlier, at the cleanup: other processors may use it then.
//!
//! # Who frees what, while it is used
//!
//! | a callback uses | which can be deleted meanwhile by | and still exists because |
//! |---|---|---|
//! | the device, in a callback of a work item or a file | a control device by the callback itself, with `ControlDevice::delete`: the framework cannot wait for the thread that deletes | the callback has a reference ([`Kept`]) |
//! | the device, in a callback of Plug and Play, power, WMI, a child list or an interrupt | nothing: a control device has none of these (`needs_pnp` in [`handle`](crate::handle)), and no function of the crate deletes another device at once | the framework removes a device after them, in the thread that calls them or when it has disconnected the interrupt and deregistered the data blocks |
//! | the device, in a callback of a queue | its removal on another thread, after the request was completed | the framework waits for the callbacks of a queue before it cleans the queue up (`m_Dispatching` in `FxIoQueue::Dispose`); if the callback itself deletes its control device, the client's open handle keeps the device |
//! | the device, in a timer, an interrupt's DPC or service routine | its removal on another thread | the framework waits for them before their cleanup. They run above `PASSIVE_LEVEL`, so they cannot delete a device |
//! | the device, in the completion of a client's request ([`SendEvents`](crate::SendEvents)) | its removal, as soon as the callback completes the request, if the target belongs to another device | the callback takes a reference while it still has the request, and a device exists as long as its requests |
//! | the device, in the completion of the driver's own request ([`OwnRequestEvents`](crate::OwnRequestEvents)) | its removal while the target has the request: the framework waits for the targets of the device, not for those of others | a request that was sent has a reference to the device, which the completion releases |
//! | a child, by a [`Timer`](crate::Timer), [`Queue`](crate::Queue) and the like | its device | the value has a reference, and the child's context says whether it is deleted ([`child`](crate::child)) |
//! | the device, in a function of a [`WmiBlock`](crate::WmiBlock) or a [`ChildList`](crate::ChildList) | its removal on another thread: the framework's functions read the device of a data block or list, which has no reference to it (`FxWmiInstance::FireEvent`, `FxChildList::EndScan`) | a reference during the call, taken while the child is not deleted |
//! | a client's request | nothing: the value owns it | completing and giving away consume the value |
//! | the value of a file, in [`Request::file`](crate::Request::file) | closing the file | a file exists as long as its requests |
//!
//! # Safe functions that free, and safe functions that use what may be free
//!
//! | function | object | what keeps it sound |
//! |---|---|---|
//! | `ControlDevice::delete` | the control device | it consumes the only value that deletes the device; callbacks that run are in the table above, and a `&T` from the value borrows it |
//! | ending `DriverEntry` with an error, or [`Driver::unload`](crate::Driver::unload), without `ControlDevice::delete` | the control device, a `Memory` or `UnicodeString` in its value: children of the driver object, which the framework destroys in the order of their creation | a `ControlDevice` has a reference to its device, so the value is not dropped: its drop would delete a second time what is freed. Cleanup callbacks run before anything is destroyed |
//! | `ChildDevice::mark_missing`, `ChildList::remove`, `DeviceHandle::set_failed` | a device | the framework removes it later, in a thread of its own, as for every removal |
//! | `RemoteTarget::close` | the file of a target | the target stays: requests that were sent come back first, later ones are refused |
//! | `Request::complete`, `forward`, `send` and others | the request | they consume it; `input` and `output` borrow it |
//! | dropping a `Memory`, `UnicodeString` or `RegistryKey` | the framework's object | the value owns it, and what it lends borrows the value. A target that has a `Memory` has a reference, and the request keeps the value until it is completed |
//! | `OwnRequest::send` | its device | the reference is taken while the request cannot be deleted (`Child::locked`), so the device is not destroyed yet |
//! | methods of `DeviceRef`, `PowerReference`, `IoTarget`, `WaitLock`, `PendingRequest` | their object, after its device is removed | the value has a reference, and the framework refuses what a deleted object cannot do |
//! | `DeviceHandle` | its device | it cannot leave the callback or the borrow of the request that it comes from |
//! | `Interrupt::locked` | the connection of the interrupt | not its lifetime: the caller must be in D0, see there. Nothing in Rust depends on the lock: the closure gets no data from it |
//!
//! A device that is not finished has no value: every callback looks whether there is one (`filled` in
//! [`context`](crate::context)).
//!
//! The driver's image stays while a request of its own is on its way: the target is an object of a device of this driver, and
//! the framework cleans up a target only after its requests have come back and their completion routines have returned.
//!
//! The sources are Microsoft's public framework, below `src/framework/shared`: `object/fxobject.cpp` and
//! `fxobjectstatemachine.cpp` for the two ends, `irphandlers/io/fxioqueue.cpp`, `core/fxworkitem.cpp` (`FlushAndRundown`),
//! `core/fxtimer.cpp`, `core/fxdevice.cpp` (`DeleteObject`), `targets/general/fxiotarget.cpp`; below `src/framework/kmdf/src`:
//! `irphandlers/wmi/fxwmiinstance.cpp`, `core/fxchildlist.cpp`.

use core::ptr;

use wdk_sys::WDFOBJECT;

use crate::call::wdf;

/// A reference to an object until the end of a scope.
#[must_use]
pub(crate) struct Kept(WDFOBJECT);

impl Kept {
    /// Takes a reference.
    ///
    /// # Safety
    ///
    /// The object must exist.
    pub(crate) unsafe fn new(object: WDFOBJECT) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { reference(object) };
        Self(object)
    }

    /// Takes over a reference that [`reference`] took.
    ///
    /// # Safety
    ///
    /// The caller must have the reference, and not use it afterwards.
    pub(crate) unsafe fn take_over(object: WDFOBJECT) -> Self {
        Self(object)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: this value has a reference since its creation.
        unsafe { dereference(self.0) };
    }
}

/// Takes a reference to an object.
///
/// # Safety
///
/// The object must exist.
#[inline(never)]
pub(crate) unsafe fn reference(object: WDFOBJECT) {
    // SAFETY: guaranteed by the caller; tag, line and file are optional.
    unsafe { wdf!(WdfObjectReferenceActual, object, ptr::null_mut(), 0, ptr::null()) };
}

/// Releases a reference to an object.
///
/// # Safety
///
/// The caller must have a reference that [`reference`] took, and not use it afterwards.
#[inline(never)]
pub(crate) unsafe fn dereference(object: WDFOBJECT) {
    // SAFETY: guaranteed by the caller.
    unsafe { wdf!(WdfObjectDereferenceActual, object, ptr::null_mut(), 0, ptr::null()) };
}
