//! Work that is done later, at `PASSIVE_LEVEL`.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{WDF_WORKITEM_CONFIG, WDFOBJECT, WDFWORKITEM, call_unsafe_wdf_function_binding};

use crate::context;
use crate::deferred::{Child, attributes};
use crate::{Device, DeviceHandle, check, size_field};

/// What a work item does. A device with several has one implementation for each, with another `Tag`.
pub trait WorkItemEvents<Tag = ()>: Device {
    /// The work. Runs at `PASSIVE_LEVEL`, on a thread of the system.
    fn work(&self);

    /// Where it is in the device's value.
    fn work_item(&self) -> &WorkItem;
}

/// Work that a system thread does when it is [enqueued](Self::enqueue). It is a part of the device's value: [`new`](Self::new) makes the part, and
/// [`DeviceHandle::create_work_item`] what it stands for. Until then, and when the device goes away, its methods do nothing.
#[derive(Debug)]
pub struct WorkItem {
    child: Child,
}

impl WorkItem {
    /// One that is not created yet.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a value that does nothing is no useful default")]
    pub const fn new() -> Self {
        Self { child: Child::new() }
    }

    /// Has the work done soon, once, however often this is called before it begins.
    ///
    /// # IRQL
    ///
    /// Up to `DISPATCH_LEVEL`.
    pub fn enqueue(&self) {
        self.child.with(|item| {
            // SAFETY: the work item is not deleted while its handle is locked.
            unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemEnqueue, item.cast()) };
        });
    }

    /// Waits for work that was enqueued. Not from the work itself.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn flush(&self) {
        self.child.with_reference(|item| {
            // SAFETY: the reference keeps the work item's memory.
            unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemFlush, item.cast()) };
        });
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates the work item of the device's value; it is deleted with the device.
    ///
    /// # Errors
    ///
    /// What `WdfWorkItemCreate` returns; `STATUS_INVALID_PARAMETER` if [`WorkItemEvents::work_item`] is no part of the device's value, and
    /// `STATUS_INVALID_DEVICE_REQUEST` if it is created already.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_work_item<Tag>(&self) -> Result<(), NtStatus>
    where
        T: WorkItemEvents<Tag>,
    {
        let value = self.value().ok_or(NtStatus::DeviceNotReady)?;
        let child = &value.work_item().child;
        child.check_new(value)?;
        let mut config = WDF_WORKITEM_CONFIG {
            Size: size_field::<WDF_WORKITEM_CONFIG>(),
            EvtWorkItemFunc: Some(work::<T, Tag>),
            ..WDF_WORKITEM_CONFIG::default()
        };
        let mut attributes = attributes(self, cleanup::<T, Tag>);
        let mut raw: WDFWORKITEM = ptr::null_mut();
        // SAFETY: the parent is alive, and all structures outlive the call.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfWorkItemCreate,
                ptr::from_mut(&mut config),
                ptr::from_mut(&mut attributes),
                ptr::from_mut(&mut raw)
            )
        })?;
        child.set(raw.cast());
        Ok(())
    }
}

unsafe extern "C" fn work<T: WorkItemEvents<Tag>, Tag>(object: WDFWORKITEM) {
    // SAFETY: the framework passes an object of this driver.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemGetParentObject, object) };
    // SAFETY: the parent is the device that it was created for, with a context of this type.
    if let Some(value) = unsafe { context::get::<T>(device) } {
        value.work();
    }
}

unsafe extern "C" fn cleanup<T: WorkItemEvents<Tag>, Tag>(object: WDFOBJECT) {
    // SAFETY: the framework passes the object for which this was set, whose parent is not deleted before it.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemGetParentObject, object.cast()) };
    // SAFETY: as above, with a context of this type.
    if let Some(value) = unsafe { context::get::<T>(device) } {
        value.work_item().child.forget();
    }
}
