//! Work that runs later at `PASSIVE_LEVEL`.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{WDF_WORKITEM_CONFIG, WDFWORKITEM};

use crate::call::wdf;
use crate::child::{self, Child};
use crate::lifetime::Kept;
use crate::{Device, DeviceHandle, Passive, check, device, size_field};

/// The callback of a work item. A device with several work items implements this once for each, with different `Tag`s.
pub trait WorkItemEvents<Tag = ()>: Device {
    /// Does the work. Runs at `PASSIVE_LEVEL` on a system thread.
    fn work(&self, device: DeviceHandle<'_, Self>);
}

/// Work that runs on a system thread after it is [enqueued](Self::enqueue), created by [`DeviceHandle::create_work_item`]. The
/// device owns the framework's work item: it is deleted with the device, and from then on the methods do nothing.
#[derive(Debug)]
pub struct WorkItem {
    child: Child,
}

impl WorkItem {
    /// Queues the work. It runs once, even if this is called several times before it starts.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn enqueue(&self) {
        self.child.locked(|item| {
            // SAFETY: the work item cannot be deleted while it is locked.
            unsafe { wdf!(WdfWorkItemEnqueue, item.cast()) };
        });
    }

    /// Waits until the queued work has run. Do not call it from the work itself: that is a deadlock.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn flush(&self, _: Passive<'_>) {
        self.child.unlocked(|item| {
            // SAFETY: this value has a reference to the work item.
            unsafe { wdf!(WdfWorkItemFlush, item.cast()) };
        });
    }

    /// Returns the framework's handle. It is valid as long as this value; its device may have deleted the work item.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFWORKITEM {
        self.child.raw().cast()
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a work item.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfWorkItemCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_work_item<Tag>(&self) -> Result<WorkItem, NtStatus>
    where
        T: WorkItemEvents<Tag>,
    {
        let mut config = WDF_WORKITEM_CONFIG {
            Size: size_field::<WDF_WORKITEM_CONFIG>(),
            EvtWorkItemFunc: Some(work::<T, Tag>),
            ..WDF_WORKITEM_CONFIG::default()
        };
        let mut attributes = child::attributes::<()>(self.raw().cast());
        let mut raw: WDFWORKITEM = ptr::null_mut();
        // SAFETY: the parent exists, and all structures outlive the call.
        check(unsafe {
            wdf!(WdfWorkItemCreate, ptr::from_mut(&mut config), ptr::from_mut(&mut attributes), ptr::from_mut(&mut raw))
        })?;
        // SAFETY: the work item was just created with these attributes.
        let child = unsafe { Child::new(raw.cast(), self.raw(), ()) }?;
        Ok(WorkItem { child })
    }
}

unsafe extern "C" fn work<T: WorkItemEvents<Tag>, Tag>(object: WDFWORKITEM) {
    // SAFETY: the framework passes a work item that was created for a device with a context of this type.
    let Some(device) = (unsafe { child::device::<()>(object.cast()) }) else { return };
    // The callback of a control device may delete the device, and the framework does not wait for the thread that does so.
    // SAFETY: the framework waits for this callback before it cleans the device up, if another thread deletes it.
    let _kept = unsafe { Kept::new(device.cast()) };
    // SAFETY: the device is kept, and work items run at PASSIVE_LEVEL.
    let _ = unsafe { device::on(device, T::work) };
}
