//! The hardware resources of a device.

use core::marker::PhantomData;

use wdk_sys::{CM_PARTIAL_RESOURCE_DESCRIPTOR, WDFCMRESLIST};

use crate::call::wdf;

/// `CmResourceTypePort`.
const PORT: u8 = 1;
/// `CmResourceTypeInterrupt`.
const INTERRUPT: u8 = 2;
/// `CmResourceTypeMemory`.
const MEMORY: u8 = 3;

/// The resources that the system assigned to a device, valid during [`prepare_hardware`](crate::Device::prepare_hardware).
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    raw: WDFCMRESLIST,
    translated: WDFCMRESLIST,
    callback: PhantomData<*const &'a ()>,
}

/// A hardware resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Registers or memory of the device, by physical address.
    Memory {
        /// The first address.
        start: u64,
        /// The number of bytes.
        length: u32,
    },
    /// I/O ports.
    Port {
        /// The first port.
        start: u64,
        /// The number of ports.
        length: u32,
    },
    /// An interrupt, which the framework connects to an [`Interrupt`](crate::Interrupt).
    Interrupt,
    /// Another resource, with its `CmResourceType`.
    Other(u8),
}

impl Resource {
    fn new(descriptor: &CM_PARTIAL_RESOURCE_DESCRIPTOR) -> Self {
        match descriptor.Type {
            MEMORY => {
                // SAFETY: the type says which field of the union is valid.
                let memory = unsafe { descriptor.u.Memory };
                // SAFETY: every part of this union is valid.
                let start = unsafe { memory.Start.QuadPart };
                Self::Memory { start: start.cast_unsigned(), length: memory.Length }
            }
            PORT => {
                // SAFETY: as above.
                let port = unsafe { descriptor.u.Port };
                // SAFETY: as above.
                let start = unsafe { port.Start.QuadPart };
                Self::Port { start: start.cast_unsigned(), length: port.Length }
            }
            INTERRUPT => Self::Interrupt,
            other => Self::Other(other),
        }
    }
}

impl Resources<'_> {
    /// # Safety
    ///
    /// Both lists must be valid for the lifetime.
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
        // SAFETY: the list is valid.
        unsafe { wdf!(WdfCmResourceListGetCount, self.translated) }
    }

    /// Returns a translated resource: as the processor sees it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn translated(&self, index: u32) -> Option<Resource> {
        // SAFETY: the list is valid; for an index out of range, the function returns NULL.
        let descriptor = unsafe { wdf!(WdfCmResourceListGetDescriptor, self.translated, index) };
        // SAFETY: NULL or a descriptor of the list.
        unsafe { descriptor.as_ref() }.map(Resource::new)
    }

    /// Returns a resource as the bus sees it.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn untranslated(&self, index: u32) -> Option<Resource> {
        // SAFETY: as above.
        let descriptor = unsafe { wdf!(WdfCmResourceListGetDescriptor, self.raw, index) };
        // SAFETY: as above.
        unsafe { descriptor.as_ref() }.map(Resource::new)
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
