//! The hardware resources of a device.

use core::marker::PhantomData;

use wdk_sys::call_unsafe_wdf_function_binding as wdf;
use wdk_sys::{CM_PARTIAL_RESOURCE_DESCRIPTOR, WDFCMRESLIST};

/// The resources that the system assigned to a device, valid during [`prepare_hardware`](crate::Device::prepare_hardware).
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    raw: WDFCMRESLIST,
    translated: WDFCMRESLIST,
    callback: PhantomData<*const &'a ()>,
}

impl<'a> Resources<'a> {
    /// # Safety
    ///
    /// Both lists must be valid for `'a`.
    pub(crate) unsafe fn from_raw(raw: WDFCMRESLIST, translated: WDFCMRESLIST) -> Self {
        Self { raw, translated, callback: PhantomData }
    }

    /// Returns the number of resources.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn count(&self) -> u32 {
        // SAFETY: the list is valid for `'a`.
        unsafe { wdf!(WdfCmResourceListGetCount, self.translated) }
    }

    /// Returns a translated resource. Its union is that of the WDK: which field is valid follows from `Type`.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn translated(&self, index: u32) -> Option<&'a CM_PARTIAL_RESOURCE_DESCRIPTOR> {
        // SAFETY: the list is valid for `'a`; for an index out of range, the function returns NULL.
        let descriptor = unsafe { wdf!(WdfCmResourceListGetDescriptor, self.translated, index) };
        // SAFETY: NULL or a descriptor of the list.
        unsafe { descriptor.as_ref() }
    }

    /// Returns a resource as the bus sees it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn untranslated(&self, index: u32) -> Option<&'a CM_PARTIAL_RESOURCE_DESCRIPTOR> {
        // SAFETY: as above.
        let descriptor = unsafe { wdf!(WdfCmResourceListGetDescriptor, self.raw, index) };
        // SAFETY: as above.
        unsafe { descriptor.as_ref() }
    }

    /// Returns the framework's handle of the translated list.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFCMRESLIST {
        self.translated
    }
}
