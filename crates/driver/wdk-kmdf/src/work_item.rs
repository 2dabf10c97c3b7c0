//! Work that runs later at `PASSIVE_LEVEL`.

use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{WDF_WORKITEM_CONFIG, WDFOBJECT, WDFWORKITEM, call_unsafe_wdf_function_binding};

use crate::deferred::{Child, attributes, value_of_device};
use crate::{Device, DeviceHandle, check, size_field};

/// The callback of a work item. A device with several work items implements this once for each, with different `Tag`s.
pub trait WorkItemEvents<Tag = ()>: Device {
    /// Does the work. Runs at `PASSIVE_LEVEL` on a system thread.
    fn work(&self);

    /// Returns the work item, which must be a part of the device's context.
    fn work_item(&self) -> &WorkItem;
}

/// Work that runs on a system thread after it is [enqueued](Self::enqueue). It is stored in the device's context:
/// [`new`](Self::new) creates this value, and [`DeviceHandle::create_work_item`] creates the framework's work item for
/// it. Before that, and after the device is deleted, its methods do nothing.
#[derive(Debug)]
pub struct WorkItem {
    child: Child,
}

impl WorkItem {
    /// Creates the value. The framework's work item does not exist yet.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a value that does nothing is no useful default")]
    pub const fn new() -> Self {
        Self { child: Child::new() }
    }

    /// Queues the work. It runs once, even if this is called several times before it starts.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn enqueue(&self) {
        self.child.with(|item| {
            // SAFETY: the work item cannot be deleted while its handle is locked.
            unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemEnqueue, item.cast()) };
        });
    }

    /// Waits until the queued work has run. Do not call it from the work itself.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn flush(&self) {
        self.child.with_reference(|item| {
            // SAFETY: the reference keeps the work item's memory valid.
            unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemFlush, item.cast()) };
        });
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates the framework's work item for the [`WorkItem`] in the device's context. It is deleted with the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfWorkItemCreate`; `STATUS_INVALID_PARAMETER` if [`WorkItemEvents::work_item`] returns a
    /// work item that is not in the device's context; `STATUS_INVALID_DEVICE_REQUEST` if the work item has already been
    /// created.
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
        // SAFETY: the work item was just created with these attributes, and nothing else has its handle.
        unsafe { child.set(raw.cast(), self) };
        Ok(())
    }
}

unsafe extern "C" fn work<T: WorkItemEvents<Tag>, Tag>(object: WDFWORKITEM) {
    // SAFETY: the framework passes a work item that `create_work_item` created for a device with a context of this type.
    if let Some(value) = unsafe { value_of_device::<T>(object.cast()) } {
        value.work();
    }
}

unsafe extern "C" fn cleanup<T: WorkItemEvents<Tag>, Tag>(object: WDFOBJECT) {
    // SAFETY: the framework passes the work item for which this callback was set.
    if let Some(value) = unsafe { value_of_device::<T>(object) } {
        value.work_item().child.forget();
    }
}
