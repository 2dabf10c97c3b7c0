//! Child lists: the children of a bus driver's device, and what their removal needs.

use nt_kernel::kernel;
use nt_processor::layout::WDF_CHILD_LIST_CONFIG;
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::Outcome;

use crate::device::{self, Device, with_device};
use crate::object::attributes::Attributes;
use crate::object::kind::Kind;
use crate::state::with;
use crate::{Handle, object};

/// A child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    pub(crate) identification: GuestPtr<u8>,
    pub(crate) address: GuestPtr<u8>,
    /// NULL until the driver has created the device.
    pub(crate) device: Handle,
    pub(crate) is_present: bool,
    /// The child was reported since the scan began.
    pub(crate) seen: bool,
}

/// A list of children.
#[derive(Clone, Debug)]
pub(crate) struct ChildList {
    pub(crate) device: Handle,
    pub(crate) config: WDF_CHILD_LIST_CONFIG,
    pub(crate) children: Vec<Child>,
    /// The number of scans that have begun and not ended.
    pub(crate) scans: u32,
    pub(crate) update: Update,
}

/// The state of the work item that updates the devices of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Update {
    #[default]
    None,
    Requested,
    Running,
    /// The work item runs, and the list has changed since its start.
    Again,
}

impl Kind for ChildList {
    fn name(&self) -> &'static str {
        "child list"
    }

    fn is_kept(&self) -> bool {
        true
    }

    fn free(&self) {
        // Only a list whose device was never started still has children.
        self.children.iter().for_each(free);
    }
}

pub(crate) fn with_list<R>(handle: Handle, body: impl FnOnce(&mut ChildList) -> R) -> R {
    object::part(handle, body)
}

/// Returns a child by its index, and the configuration of its list.
pub(crate) fn child_at(list: Handle, index: usize) -> Option<(Child, WDF_CHILD_LIST_CONFIG)> {
    with_list(list, |list| Some((*list.children.get(index)?, list.config)))
}

pub(crate) fn new_list(
    device: Handle,
    config: &WDF_CHILD_LIST_CONFIG,
    attributes: &Attributes,
    from: u64,
) -> Outcome<Handle> {
    let list = ChildList { device, config: *config, children: Vec::new(), scans: 0, update: Update::None };
    let list = object::create_with(from, attributes, Some(device), list)?;
    with_device(device, |device| device.lists.push(list));
    Ok(list)
}

/// Creates the default child list of a new device, if its init structure has a configuration for one.
pub(crate) fn device_created(device: Handle, from: u64) -> Outcome {
    if let Some((config, attributes)) = with_device(device, |device| device.init.children) {
        new_list(device, &config, &attributes, from)?;
    }
    Ok(())
}

/// Frees the descriptions of a child.
pub(crate) fn free(child: &Child) {
    let mut pool = nt_kernel::lock(&kernel().pool);
    pool.free_object(child.identification.address());
    pool.free_object(child.address.address());
}

/// Returns the lists of a device's children, and the children that are in none. Another thread may delete the device.
fn children(device: Handle) -> (Vec<Handle>, Vec<Handle>) {
    let both = |device: &mut Device| (device.lists.clone(), device.static_children.clone());
    with(|framework| framework.get_mut(device).map(both)).unwrap_or_default()
}

/// Returns a device and its descendants, each child before its parent.
pub(crate) fn with_descendants(device: Handle) -> Vec<Handle> {
    let (lists, single) = children(device);
    let listed = lists.into_iter().flat_map(|list| with_list(list, |list| list.children.clone()));
    let children = listed.map(|child| child.device).chain(single);
    let living = children.filter(|child| device::lives(*child, |_| true));
    living.flat_map(with_descendants).chain([device]).collect()
}

/// Marks the child with this device as missing in its list. Returns the list, or `None` if no list of the parent has the child.
pub(crate) fn mark_missing(parent: Handle, device: Handle) -> Option<Handle> {
    let mark = |list: Handle| {
        with_list(list, |list| {
            let child = list.children.iter_mut().find(|child| child.device == device)?;
            child.is_present = false;
            Some(())
        })
    };
    children(parent).0.into_iter().find(|list| mark(*list).is_some())
}

/// Returns whether a device is a child of a parent without being in a list.
pub(crate) fn is_static(parent: Handle, device: Handle) -> bool {
    children(parent).1.contains(&device)
}

/// Takes the children from a parent that is about to be removed, and returns their devices. Their descriptions go at once: the
/// driver can no longer find them.
pub(crate) fn take_children(parent: Handle) -> Vec<Handle> {
    let lists = with_device(parent, |parent| std::mem::take(&mut parent.lists));
    let listed: Vec<Child> =
        lists.into_iter().flat_map(|list| with_list(list, |list| std::mem::take(&mut list.children))).collect();
    listed.iter().for_each(free);
    let single = with_device(parent, |parent| std::mem::take(&mut parent.static_children));
    let devices = listed.into_iter().map(|child| child.device).chain(single);
    devices.filter(|device| device::lives(*device, |_| true)).collect()
}
