//! A request that waits, and that its client can cancel meanwhile.
//!
//! The request is in a slot behind a lock. Marking it cancelable, taking it back and the cancel callback all hold the lock, so
//! a request in the slot has not been completed: either the driver takes it, or the cancel callback does.
//!
//! The cancel callback gets only the request. It looks for it in the list of all slots, so keeping a request needs neither a
//! context of the request nor a reference to the slot. The lock of the list is taken before that of a slot.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use wdk_etw::NtStatus;
use wdk_sys::{_WDF_REQUEST_STOP_ACTION_FLAGS, NTSTATUS, WDFOBJECT, WDFREQUEST};

use crate::call::wdf;
use crate::lifetime::{dereference, reference};
use crate::{Device, DeviceHandle, Request, SpinLock, check, context};

/// The context of the slot's object.
#[derive(Debug)]
struct Slot {
    held: SpinLock<Held>,
    /// The next slot in the list. Only code that holds the lock of [`SLOTS`] uses it.
    next: Cell<*const Self>,
}

/// What is in a slot.
#[derive(Debug)]
struct Held {
    request: Option<Request>,
    /// The slot's object, or null. The [`PendingRequest`] was dropped while the framework cancelled the request, and the cancel
    /// callback releases its reference.
    abandoned: WDFOBJECT,
}

// SAFETY: the framework's functions for objects can be called from any thread.
unsafe impl Send for Held {}

impl Held {
    /// Takes the request, unless its client has cancelled it.
    fn take(&mut self) -> Option<Request> {
        let raw = self.request.as_ref()?.raw();
        // SAFETY: a request in the slot has not been completed, because that takes it out first, under the lock.
        let status: NTSTATUS = unsafe { wdf!(WdfRequestUnmarkCancelable, raw) };
        // If it was cancelled, the cancel callback waits for the lock or will do so, and completes it.
        if status == NtStatus::Cancelled.as_signed() { None } else { self.request.take() }
    }
}

/// All slots of the driver: the first one, or null.
struct Slots(*const Slot);

// SAFETY: a slot is removed from the list before it is destroyed, and its parts are only used under locks.
unsafe impl Send for Slots {}

static SLOTS: SpinLock<Slots> = SpinLock::new(Slots(ptr::null()));

impl Slot {
    /// Adds the slot to the list.
    fn insert(&self) {
        SLOTS.with_any(|slots| {
            self.next.set(slots.0);
            slots.0 = self;
        });
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        SLOTS.with_any(|slots| {
            if ptr::eq(slots.0, self) {
                slots.0 = self.next.get();
                return;
            }
            let mut before = slots.0;
            // SAFETY: the slots in the list exist, because they are removed here, under its lock.
            while let Some(slot) = unsafe { before.as_ref() } {
                if ptr::eq(slot.next.get(), self) {
                    slot.next.set(self.next.get());
                    return;
                }
                before = slot.next.get();
            }
        });
    }
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

// SAFETY: its methods only return what it has. So a driver can look for the request in data behind a `SpinLock`.
unsafe impl Sync for StoppedRequest<'_> {}

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
        let mut attributes = context::attributes::<Slot>(self.raw().cast(), None);
        let mut object: WDFOBJECT = ptr::null_mut();
        // SAFETY: the parent exists, and all structures outlive the call.
        check(unsafe { wdf!(WdfObjectCreate, ptr::from_mut(&mut attributes), ptr::from_mut(&mut object)) })?;
        // SAFETY: the object was just created with a context of this type.
        let slot = unsafe {
            context::fill(
                object,
                Slot {
                    held: SpinLock::new(Held { request: None, abandoned: ptr::null_mut() }),
                    next: Cell::new(ptr::null()),
                },
            )
        };
        slot.insert();
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
    #[inline]
    pub fn keep(&self, request: Request) -> Result<(), NtStatus> {
        let refused = self.slot().held.with_any(|held| {
            if held.request.is_some() {
                return Some((request, NtStatus::DeviceBusy));
            }
            let raw = held.request.insert(request).raw();
            // SAFETY: the driver owns the request. The cancel callback waits for the lock.
            let status = check(unsafe { wdf!(WdfRequestMarkCancelableEx, raw, Some(cancel)) });
            status.err().and_then(|status| Some((held.request.take()?, status)))
        });
        match refused {
            None => Ok(()),
            Some((request, status)) => {
                request.complete(status);
                Err(status)
            }
        }
    }

    /// Takes the request back, to complete it. Returns `None` if there is none, or if its client has cancelled it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn take(&self) -> Option<Request> {
        self.slot().held.with_any(Held::take)
    }

    /// Returns whether there is a request.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.slot().held.with_any(|held| held.request.is_some())
    }

    /// Allows the device to leave D0 although the driver keeps this request (`WdfRequestStopAcknowledge`). Returns whether it is
    /// here.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn acknowledge(&self, stopped: &StoppedRequest<'_>) -> bool {
        self.slot().held.with_any(|held| {
            let is_here = held.request.as_ref().is_some_and(|request| request.raw() == stopped.raw);
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
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let (request, is_abandoned) = self.slot().held.with_any(|held| {
            let request = held.take();
            let is_abandoned = held.request.is_some();
            if is_abandoned {
                held.abandoned = self.object;
            }
            (request, is_abandoned)
        });
        drop(request);
        if !is_abandoned {
            // SAFETY: this value has a reference since its creation.
            unsafe { dereference(self.object) };
        }
    }
}

/// `EvtRequestCancel`.
unsafe extern "C" fn cancel(raw: WDFREQUEST) {
    let found = SLOTS.with_any(|slots| {
        let mut next = slots.0;
        // SAFETY: the slots in the list exist, because they are removed under its lock.
        while let Some(slot) = unsafe { next.as_ref() } {
            let request = slot.held.with_any(|held| {
                let request = held.request.take_if(|request| request.raw() == raw)?;
                Some((request, held.abandoned))
            });
            if request.is_some() {
                return request;
            }
            next = slot.next.get();
        }
        None
    });
    if let Some((request, abandoned)) = found {
        request.complete(NtStatus::Cancelled);
        if !abandoned.is_null() {
            // SAFETY: the reference of the `PendingRequest` that was dropped.
            unsafe { dereference(abandoned) };
        }
    }
}
