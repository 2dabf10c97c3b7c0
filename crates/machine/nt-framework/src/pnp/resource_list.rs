//! Lists of hardware resources: those that a device has, and those that it requires.

use etw_types::NtStatus;
use nt_kernel::kernel;
use nt_processor::layout::{CM_PARTIAL_RESOURCE_DESCRIPTOR, IO_RESOURCE_DESCRIPTOR};
use nt_processor::memory::{Fault, GuestPtr, Plain};
use nt_verifier::routine::{DISPATCH, NO_RESOURCES, Outcome, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::framework::WDF_INSERT_AT_END;

use crate::object::attributes::Attributes;
use crate::object::kind::Kind;
use crate::{Handle, object};

type Assigned = CM_PARTIAL_RESOURCE_DESCRIPTOR;
type Required = IO_RESOURCE_DESCRIPTOR;

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfCmResourceListGetCount(list: Handle) -> u32 {
        with_list(list, |list: &mut List<Assigned>| list.entries.len() as u32)
    }

    /// Returns NULL for an index after the last descriptor.
    #[irql(DISPATCH)]
    fn WdfCmResourceListGetDescriptor(list: Handle, index: u32) -> Result<Option<GuestPtr<Assigned>>, Fault> {
        get(list, index)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfCmResourceListAppendDescriptor(list: Handle, descriptor: GuestPtr<Assigned>) -> Outcome {
        insert(list, descriptor, WDF_INSERT_AT_END)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfCmResourceListInsertDescriptor(list: Handle, descriptor: GuestPtr<Assigned>, index: u32) -> Outcome {
        insert(list, descriptor, index)
    }

    #[irql(DISPATCH)]
    fn WdfCmResourceListRemove(list: Handle, index: u32) {
        remove::<Assigned>(list, index);
    }

    #[irql(DISPATCH)]
    fn WdfCmResourceListRemoveByDescriptor(list: Handle, descriptor: GuestPtr<Assigned>) -> Result<(), Fault> {
        remove_equal(list, descriptor)
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceListGetCount(list: Handle) -> u32 {
        with_list(list, |list: &mut List<Required>| list.entries.len() as u32)
    }

    /// Returns NULL for an index after the last descriptor.
    #[irql(DISPATCH)]
    fn WdfIoResourceListGetDescriptor(list: Handle, index: u32) -> Result<Option<GuestPtr<Required>>, Fault> {
        get(list, index)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfIoResourceListAppendDescriptor(list: Handle, descriptor: GuestPtr<Required>) -> Outcome {
        insert(list, descriptor, WDF_INSERT_AT_END)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfIoResourceListInsertDescriptor(list: Handle, descriptor: GuestPtr<Required>, index: u32) -> Outcome {
        insert(list, descriptor, index)
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceListUpdateDescriptor(
        list: Handle,
        descriptor: GuestPtr<Required>,
        index: u32,
    ) -> Result<(), Fault> {
        let value = descriptor.read()?;
        let entry = |list: &mut List<Required>| list.entries.get_mut(index as usize).map(|entry| entry.value = value);
        if with_list(list, entry).is_none() {
            misuse(format_args!("updates descriptor {index}, which the list does not have"));
        }
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceListRemove(list: Handle, index: u32) {
        remove::<Required>(list, index);
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceListRemoveByDescriptor(list: Handle, descriptor: GuestPtr<Required>) -> Result<(), Fault> {
        remove_equal(list, descriptor)
    }
}

/// A descriptor of a resource.
pub(crate) trait Descriptor: Plain + PartialEq + Send {
    /// The name of lists of such descriptors, for reports.
    const LIST: &'static str;
}

impl Descriptor for Assigned {
    const LIST: &'static str = "resource list";
}

impl Descriptor for Required {
    const LIST: &'static str = "resource range list";
}

/// The resources of a device, or a set of resources with which it would work.
struct List<T> {
    entries: Vec<Entry<T>>,
    /// Whether the driver may change the list.
    is_open: bool,
}

/// A descriptor, and the copy of it that the driver sees.
#[derive(Clone, Copy)]
struct Entry<T> {
    value: T,
    copy: GuestPtr<T>,
}

impl<T: Descriptor> Kind for List<T> {
    fn name(&self) -> &'static str {
        T::LIST
    }

    fn is_kept(&self) -> bool {
        true
    }

    fn free(&self) {
        for entry in &self.entries {
            free(entry.copy);
        }
    }
}

/// Creates a list of the resources of a device, which the driver may not change.
pub(crate) fn new(device: Handle, descriptors: impl IntoIterator<Item = Assigned>) -> Outcome<Handle> {
    let list = object::create_with(0, &Attributes::default(), Some(device), List::<Assigned>::new(false))?;
    fill(list, descriptors)?;
    Ok(list)
}

/// Creates an empty list of resources that a device requires.
pub(crate) fn new_required(from: u64, attributes: &Attributes, parent: Handle) -> Outcome<Handle> {
    object::create_with(from, attributes, Some(parent), List::<Required>::new(true))
}

impl<T> List<T> {
    const fn new(is_open: bool) -> Self {
        Self { entries: Vec::new(), is_open }
    }
}

/// Adds descriptors at the end of a list.
pub(crate) fn fill<T: Descriptor>(list: Handle, descriptors: impl IntoIterator<Item = T>) -> Outcome {
    for value in descriptors {
        let copy = nt_kernel::lock(&kernel().pool).try_new_object()?;
        with_list(list, |list: &mut List<T>| list.entries.push(Entry { value, copy }));
    }
    Ok(())
}

/// Calls `body` with lists of resources that the driver may change meanwhile. Afterwards, they are as before.
pub(crate) fn opened<R>(lists: [Handle; 2], body: impl FnOnce() -> R) -> Outcome<R> {
    let before = lists.map(|list| {
        with_list(list, |list: &mut List<Assigned>| {
            list.is_open = true;
            list.entries.iter().map(|entry| entry.value).collect::<Vec<_>>()
        })
    });
    let result = body();
    for (list, descriptors) in lists.into_iter().zip(before) {
        let gone = with_list(list, |list: &mut List<Assigned>| {
            list.is_open = false;
            std::mem::take(&mut list.entries)
        });
        for entry in gone {
            free(entry.copy);
        }
        fill(list, descriptors)?;
    }
    Ok(result)
}

/// Stops the machine unless the object is a list of resources that a device requires.
pub(crate) fn check_required(list: Handle) {
    with_list(list, |_: &mut List<Required>| ());
}

/// Returns whether a device has no resources.
pub(crate) fn is_empty(list: Handle) -> bool {
    with_list(list, |list: &mut List<Assigned>| list.entries.is_empty())
}

/// Returns the descriptors of a list.
pub(crate) fn descriptors<T: Descriptor>(list: Handle) -> Vec<T> {
    with_list(list, |list: &mut List<T>| list.entries.iter().map(|entry| entry.value).collect())
}

/// Returns the resource whose descriptor the driver got at an address.
pub(crate) fn by_copy(list: Handle, copy: GuestPtr<Assigned>) -> Option<Assigned> {
    with_list(list, |list: &mut List<Assigned>| {
        list.entries.iter().find(|entry| entry.copy == copy).map(|entry| entry.value)
    })
}

fn with_list<T: Descriptor, R>(list: Handle, body: impl FnOnce(&mut List<T>) -> R) -> R {
    object::part(list, body)
}

fn free<T>(copy: GuestPtr<T>) {
    nt_kernel::lock(&kernel().pool).free_object(copy.address());
}

fn misuse(what: std::fmt::Arguments<'_>) {
    verify::find(Rule::FrameworkMisuse, what);
}

/// Returns the address of a copy. What the driver writes there does not change the list.
fn get<T: Descriptor>(list: Handle, index: u32) -> Result<Option<GuestPtr<T>>, Fault> {
    let entry = with_list(list, |list: &mut List<T>| list.entries.get(index as usize).copied());
    let Some(Entry { value, copy }) = entry else { return Ok(None) };
    copy.write(value)?;
    Ok(Some(copy))
}

/// Returns whether the driver may change a list; otherwise, reports that it tries to.
fn may_change<T: Descriptor>(list: Handle) -> bool {
    let may_change = with_list(list, |list: &mut List<T>| list.is_open);
    if !may_change {
        misuse(format_args!("changes the resources of a device outside of EvtDeviceRemoveAddedResources"));
    }
    may_change
}

fn insert<T: Descriptor>(list: Handle, descriptor: GuestPtr<T>, index: u32) -> Outcome {
    let value = descriptor.read()?;
    if !may_change::<T>(list) {
        return fail(NtStatus::AccessDenied);
    }
    let copy = nt_kernel::lock(&kernel().pool).try_new_object()?;
    let has_place = with_list(list, |list: &mut List<T>| {
        let place = place(index, list.entries.len());
        place.map(|place| list.entries.insert(place, Entry { value, copy })).is_some()
    });
    if !has_place {
        free(copy);
        return fail(NtStatus::ArrayBoundsExceeded);
    }
    Ok(())
}

/// Returns the position for an index in a list of this length; `None` if the list is too short.
pub(crate) fn place(index: u32, length: usize) -> Option<usize> {
    if index == WDF_INSERT_AT_END { Some(length) } else { Some(index as usize).filter(|place| *place <= length) }
}

fn remove<T: Descriptor>(list: Handle, index: u32) {
    if may_change::<T>(list) {
        let is_index = |position: usize, _: &T| position == index as usize;
        if !remove_first(list, is_index) {
            misuse(format_args!("removes descriptor {index}, which the list does not have"));
        }
    }
}

fn remove_equal<T: Descriptor>(list: Handle, descriptor: GuestPtr<T>) -> Result<(), Fault> {
    let value = descriptor.read()?;
    if may_change::<T>(list) {
        remove_first(list, |_, known: &T| *known == value);
    }
    Ok(())
}

/// Removes the first descriptor that `is_it` accepts. Returns whether there is one.
fn remove_first<T: Descriptor>(list: Handle, is_it: impl Fn(usize, &T) -> bool) -> bool {
    let gone = with_list(list, |list: &mut List<T>| {
        let mut entries = list.entries.iter().enumerate();
        let position = entries.find(|(position, entry)| is_it(*position, &entry.value)).map(|(position, _)| position);
        position.map(|position| list.entries.remove(position))
    });
    gone.map(|entry| free(entry.copy)).is_some()
}
