//! Lists of a device's hardware resources.

use super::attributes::Attributes;
use super::kind::Kind;
use super::{Handle, object};
use crate::kernel::{self, kernel};
use crate::layout::CM_PARTIAL_RESOURCE_DESCRIPTOR;
use crate::memory::GuestPtr;
use crate::routine::{DISPATCH, Outcome, functions};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfCmResourceListGetCount(list: Handle) -> u32 {
        with_descriptors(list, |list| list.len() as u32)
    }

    /// Returns NULL for an index after the last descriptor.
    #[irql(DISPATCH)]
    fn WdfCmResourceListGetDescriptor(list: Handle, index: u32) -> Option<GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>> {
        with_descriptors(list, |list| list.get(index as usize).copied())
    }
}

/// The descriptors of a device's hardware resources.
struct Resources(Vec<GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>>);

impl Kind for Resources {
    fn name(&self) -> &'static str {
        "resource list"
    }

    fn is_kept(&self) -> bool {
        true
    }

    fn free(&self) {
        for descriptor in &self.0 {
            kernel::lock(&kernel().pool).free_object(descriptor.address());
        }
    }
}

/// Creates a list of a device.
pub(super) fn new(
    device: Handle,
    descriptors: impl IntoIterator<Item = CM_PARTIAL_RESOURCE_DESCRIPTOR>,
) -> Outcome<Handle> {
    let mut places = Vec::new();
    for descriptor in descriptors {
        let place: GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR> = kernel::lock(&kernel().pool).new_object();
        place.write(descriptor)?;
        places.push(place);
    }
    object::create_with(0, &Attributes::default(), Some(device), Resources(places))
}

/// Passes the descriptors of a resource list to `body`.
pub(super) fn with_descriptors<R>(
    list: Handle,
    body: impl FnOnce(&[GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>]) -> R,
) -> R {
    object::part(list, |list: &mut Resources| body(&list.0))
}
