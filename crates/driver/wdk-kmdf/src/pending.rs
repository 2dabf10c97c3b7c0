//! A request that waits, and that its client can cancel meanwhile.
//!
//! The request is in a slot behind a lock. Marking it cancelable, taking it back and the cancel callback all hold the lock, so
//! a request in the slot has not been completed: either the driver takes it, or the cancel callback does.

use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use wdk_etw::NtStatus;
use wdk_sys::call_unsafe_wdf_function_binding as wdf;
use wdk_sys::{_WDF_REQUEST_STOP_ACTION_FLAGS, NTSTATUS, WDFOBJECT, WDFREQUEST};

use crate::child::{dereference, reference};
use crate::{Device, DeviceHandle, Request, SpinLock, check, context};

/// The context of the slot's object.
#[derive(Debug)]
struct Slot {
    request: SpinLock<Option<Request>>,
}

/// The context of a request that was in a slot: the slot's object, which the request has a reference to while it is there.
#[derive(Debug)]
struct Link {
    slot: AtomicPtr<core::ffi::c_void>,
}

/// A place for one request that the driver completes later. While the request is there, its client can cancel it: then the layer
/// completes it with `STATUS_CANCELLED`.
///
/// For many requests, use a [manual queue](crate::DeviceHandle::create_manual_queue).
#[derive(Debug)]
pub struct PendingRequest {
    object: WDFOBJECT,
    /// The context of the object. It lives as long as the reference.
    slot: NonNull<Slot>,
}

// SAFETY: the slot is behind a lock, and the framework's functions for objects can be called from any thread.
unsafe impl Send for PendingRequest {}
// SAFETY: as above.
unsafe impl Sync for PendingRequest {}

/// A request that the driver has while its queue stops.
#[derive(Debug)]
pub struct StoppedRequest<'a> {
    pub(crate) raw: WDFREQUEST,
    pub(crate) flags: u32,
    pub(crate) callback: PhantomData<*const &'a ()>,
}

impl StoppedRequest<'_> {
    /// Returns whether the device is being removed, so that the request should be completed (`WdfRequestStopActionPurge`).
    /// Otherwise the device leaves D0.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn is_removal(&self) -> bool {
        let purge = u32::try_from(_WDF_REQUEST_STOP_ACTION_FLAGS::WdfRequestStopActionPurge).unwrap_or_default();
        self.flags & purge != 0
    }

    /// Returns the framework's handle. Another processor may complete the request at any time.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFREQUEST {
        self.raw
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a place for a request.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfObjectCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_pending_request(&self) -> Result<PendingRequest, NtStatus> {
        let mut attributes = context::child_attributes::<Slot>(self.raw().cast());
        let mut object: WDFOBJECT = ptr::null_mut();
        // SAFETY: the parent exists, and all structures outlive the call.
        check(unsafe { wdf!(WdfObjectCreate, ptr::from_mut(&mut attributes), ptr::from_mut(&mut object)) })?;
        // SAFETY: the object was just created with a context of this type.
        unsafe { context::fill(object, Slot { request: SpinLock::new(None) }) };
        // SAFETY: as above.
        let slot = unsafe { context::get::<Slot>(object) }.ok_or(NtStatus::InternalError)?;
        let slot = NonNull::from(slot);
        // SAFETY: the object exists.
        unsafe { reference(object) };
        Ok(PendingRequest { object, slot })
    }
}

impl PendingRequest {
    /// Keeps a request. From now on, its client can cancel it.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_CANCELLED` if the client has already cancelled the request, `STATUS_DEVICE_BUSY` if there is a request
    /// already, or the error of the framework. The request is then completed with the status.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn keep(&self, request: Request) -> Result<(), NtStatus> {
        if let Err(status) = self.link(request.raw()) {
            request.complete(status);
            return Err(status);
        }
        // The request's reference to the slot.
        // SAFETY: this value has a reference, so the object exists.
        unsafe { reference(self.object) };
        let mut refused = Some(request);
        let result = self.slot().request.with(|slot| {
            if slot.is_some() {
                return Err(NtStatus::DeviceBusy);
            }
            let Some(raw) = refused.as_ref().map(Request::raw) else { return Ok(()) };
            // SAFETY: the driver owns the request. The cancel callback waits for the lock.
            check(unsafe { wdf!(WdfRequestMarkCancelableEx, raw, Some(cancel)) })?;
            *slot = refused.take();
            Ok(())
        });
        if let (Err(status), Some(request)) = (result, refused) {
            request.complete(status);
            // SAFETY: the reference from above.
            unsafe { dereference(self.object) };
        }
        result
    }

    /// Takes the request back, to complete it. Returns `None` if there is none, or if its client has cancelled it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn take(&self) -> Option<Request> {
        let request = self.slot().request.with(|slot| {
            let raw = slot.as_ref()?.raw();
            // SAFETY: a request in the slot has not been completed, because that takes it out first, under the lock.
            let status: NTSTATUS = unsafe { wdf!(WdfRequestUnmarkCancelable, raw) };
            // If it was cancelled, the cancel callback waits for the lock or will do so, and completes it.
            if status == NtStatus::Cancelled.as_signed() { None } else { slot.take() }
        })?;
        // SAFETY: the request's reference to the slot, which it does not need any more.
        unsafe { dereference(self.object) };
        Some(request)
    }

    /// Returns whether there is a request.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.slot().request.with(|slot| slot.is_some())
    }

    /// Allows the device to leave D0 although the driver keeps this request (`WdfRequestStopAcknowledge`). Returns whether it is
    /// here.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn acknowledge(&self, stopped: &StoppedRequest<'_>) -> bool {
        self.slot().request.with(|slot| {
            let is_here = slot.as_ref().is_some_and(|request| request.raw() == stopped.raw);
            if is_here {
                // SAFETY: a request in the slot has not been completed; the driver keeps it.
                unsafe { wdf!(WdfRequestStopAcknowledge, stopped.raw, 0) };
            }
            is_here
        })
    }

    /// Returns the framework's handle of the slot's object.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFOBJECT {
        self.object
    }

    fn slot(&self) -> &Slot {
        // SAFETY: the context of an object lives as long as a reference to it.
        unsafe { self.slot.as_ref() }
    }

    /// Makes the cancel callback find the slot.
    fn link(&self, request: WDFREQUEST) -> Result<(), NtStatus> {
        let mut attributes = context::attributes::<Link>();
        // SAFETY: the driver owns the request, and the attributes outlive the call; the address is optional.
        let status =
            unsafe { wdf!(WdfObjectAllocateContext, request.cast(), ptr::from_mut(&mut attributes), ptr::null_mut()) };
        check(status)?;
        if status != NtStatus::ObjectNameExists.as_signed() {
            // SAFETY: the context was just allocated for this type.
            unsafe { context::fill(request.cast(), Link { slot: AtomicPtr::new(ptr::null_mut()) }) };
        }
        // SAFETY: only this function gives requests a context of this crate.
        let link = unsafe { context::get::<Link>(request.cast()) }.ok_or(NtStatus::InternalError)?;
        link.slot.store(self.object, Ordering::Release);
        Ok(())
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        drop(self.take());
        // SAFETY: this value has a reference since its creation.
        unsafe { dereference(self.object) };
    }
}

/// `EvtRequestCancel`.
unsafe extern "C" fn cancel(raw: WDFREQUEST) {
    // SAFETY: the framework passes a request that `keep` gave this context.
    let Some(link) = (unsafe { context::get::<Link>(raw.cast()) }) else { return };
    let object: WDFOBJECT = link.slot.load(Ordering::Acquire);
    // SAFETY: the request has a reference to the slot as long as it is in the slot.
    let Some(slot) = (unsafe { context::get::<Slot>(object) }) else { return };
    let request = slot.request.with(|slot| slot.take_if(|request| request.raw() == raw));
    if let Some(request) = request {
        request.complete(NtStatus::Cancelled);
        // SAFETY: the request's reference, which it does not need any more.
        unsafe { dereference(object) };
    }
}
