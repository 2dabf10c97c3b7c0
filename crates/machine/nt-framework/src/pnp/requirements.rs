//! The resources that a device requires, as lists of alternatives. A function driver can change them before the device gets
//! its resources (`IRP_MN_FILTER_RESOURCE_REQUIREMENTS`), in the order of `FxPkgFdo::PnpFilterResourceRequirements`
//! (`shared/irphandlers/pnp/km/fxpkgfdokm.cpp`). The device gets its own resources, whatever the driver makes of the list.

use etw_types::NtStatus;
use nt_kernel::call_back;
use nt_kernel::io::hardware::resources;
use nt_processor::layout::{IO_RESOURCE_DESCRIPTOR, WDF_OBJECT_ATTRIBUTES};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, Failure, NO_RESOURCES, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::framework::WDF_INSERT_AT_END;

use crate::Handle;
use crate::device::with_device;
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::{self, life};
use crate::pnp::resource_list;

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfIoResourceRequirementsListSetSlotNumber(requirements: Handle, slot: u32) {
        with_requirements(requirements, |known| {
            known.is_changed |= known.slot != slot;
            known.slot = slot;
        });
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceRequirementsListSetInterfaceType(requirements: Handle, interface: i32) {
        with_requirements(requirements, |known| {
            known.is_changed |= known.interface != interface;
            known.interface = interface;
        });
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfIoResourceRequirementsListAppendIoResList(requirements: Handle, list: Handle) -> Outcome {
        insert(requirements, list, WDF_INSERT_AT_END)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfIoResourceRequirementsListInsertIoResList(requirements: Handle, list: Handle, index: u32) -> Outcome {
        insert(requirements, list, index)
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceRequirementsListGetCount(requirements: Handle) -> u32 {
        with_requirements(requirements, |requirements| requirements.lists.len() as u32)
    }

    /// Returns NULL for an index after the last list.
    #[irql(DISPATCH)]
    fn WdfIoResourceRequirementsListGetIoResList(requirements: Handle, index: u32) -> Handle {
        with_requirements(requirements, |requirements| requirements.lists.get(index as usize).copied()).unwrap_or_default()
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceRequirementsListRemove(requirements: Handle, index: u32) {
        if !remove_first(requirements, |position, _| position == index as usize) {
            verify::find(Rule::FrameworkMisuse, format_args!("removes list {index}, which the requirements do not have"));
        }
    }

    #[irql(DISPATCH)]
    fn WdfIoResourceRequirementsListRemoveByIoResList(requirements: Handle, list: Handle) {
        resource_list::check_required(list);
        remove_first(requirements, |_, known| known == list);
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfIoResourceListCreate(
        &call,
        requirements: Handle,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        with_requirements(requirements, |_| ());
        object::needs_place(place);
        place.write(Handle::NULL)?;
        let attributes = Attributes::read(attributes, Options::WITHOUT_PARENT)?;
        object::created(resource_list::new_required(call.from, &attributes, requirements), place)
    }
}

/// Alternative lists of resources with which a device would work.
#[derive(Default)]
struct Requirements {
    lists: Vec<Handle>,
    /// `INTERFACE_TYPE`.
    interface: i32,
    slot: u32,
    is_changed: bool,
}

impl Kind for Requirements {
    fn name(&self) -> &'static str {
        "resource requirements list"
    }

    fn is_kept(&self) -> bool {
        true
    }
}

fn with_requirements<R>(requirements: Handle, body: impl FnOnce(&mut Requirements) -> R) -> R {
    object::part(requirements, body)
}

fn insert(requirements: Handle, list: Handle, index: u32) -> Outcome {
    let length = with_requirements(requirements, |requirements| requirements.lists.len());
    resource_list::check_required(list);
    if object::lookup(list, |list| list.parent) != requirements {
        return fail(NtStatus::InvalidDeviceRequest);
    }
    let Some(place) = resource_list::place(index, length) else {
        // As `FxResourceCollection::AddAt` does, without the driver's callbacks.
        object::change(list, |list| list.farewells.clear());
        life::delete(list);
        return fail(NtStatus::ArrayBoundsExceeded);
    };
    with_requirements(requirements, |requirements| {
        requirements.lists.insert(place, list);
        requirements.is_changed = true;
    });
    Ok(())
}

/// Deletes the first list that `is_it` accepts. Returns whether there is one.
fn remove_first(requirements: Handle, is_it: impl Fn(usize, Handle) -> bool) -> bool {
    let gone = with_requirements(requirements, |requirements| {
        let position = requirements.lists.iter().enumerate().position(|(position, list)| is_it(position, *list))?;
        requirements.is_changed = true;
        Some(requirements.lists.remove(position))
    });
    gone.map(life::delete).is_some()
}

/// The callbacks of `WDF_FDO_EVENT_CALLBACKS`.
#[derive(Clone, Copy)]
struct Callbacks {
    filter_add: GuestPtr<Code>,
    filter_remove: GuestPtr<Code>,
    remove_added: GuestPtr<Code>,
}

fn callbacks(device: Handle) -> Callbacks {
    let [filter_add, filter_remove, remove_added] = with_device(device, |device| device.init.fdo_callbacks);
    Callbacks { filter_add, filter_remove, remove_added }
}

/// Lets the driver change what a new device requires. If it fails to remove something, it is not asked to add anything.
pub(crate) fn filter(device: Handle) -> Result<(), Fault> {
    let Callbacks { filter_add, filter_remove, .. } = callbacks(device);
    let required = resources::required();
    let mut lists = if required.is_empty() { Vec::new() } else { vec![required] };
    for (name, callback) in [
        ("EvtDeviceFilterRemoveResourceRequirements", filter_remove),
        ("EvtDeviceFilterAddResourceRequirements", filter_add),
    ] {
        if !callback.is_null() {
            lists = match filter_with(device, (name, callback), lists) {
                Ok(lists) => lists,
                Err(Failure::Status(_)) => return Ok(()),
                Err(Failure::Fault(fault)) => return Err(fault),
            };
        }
    }
    Ok(())
}

/// Passes lists of resources to a callback. Returns what it makes of them.
fn filter_with(
    device: Handle,
    (name, callback): (&'static str, GuestPtr<Code>),
    lists: Vec<Vec<IO_RESOURCE_DESCRIPTOR>>,
) -> Outcome<Vec<Vec<IO_RESOURCE_DESCRIPTOR>>> {
    let requirements = object::create_with(0, &Attributes::default(), Some(device), Requirements::default())?;
    for required in lists {
        let list = resource_list::new_required(0, &Attributes::default(), requirements)?;
        resource_list::fill(list, required)?;
        with_requirements(requirements, |requirements| requirements.lists.push(list));
    }
    let status = call_back(name, PASSIVE, callback, &[device.as_int(), requirements.as_int()]) as u32;
    let (lists, is_changed) =
        with_requirements(requirements, |requirements| (requirements.lists.clone(), requirements.is_changed));
    let lists: Vec<_> = lists.into_iter().map(resource_list::descriptors).collect();
    life::delete(requirements);
    NtStatus::from_int(status).ok()?;
    // `FxIoResReqList::CreateWdmList` makes no list without alternatives.
    if is_changed && lists.is_empty() { fail(NO_RESOURCES) } else { Ok(lists) }
}

/// Lets the driver remove the resources that it added, before the bus sees them. The driver gets all of them when it prepares
/// the hardware.
pub(crate) fn remove_added(device: Handle, lists: [Handle; 2]) -> Outcome {
    const NAME: &str = "EvtDeviceRemoveAddedResources";
    let callback = callbacks(device).remove_added;
    if callback.is_null() || lists.into_iter().any(resource_list::is_empty) {
        return Ok(());
    }
    let [raw, translated] = lists.map(Handle::as_int);
    let call = || call_back(NAME, PASSIVE, callback, &[device.as_int(), raw, translated]) as u32;
    let status = NtStatus::from_int(resource_list::opened(lists, call)?);
    if status.is_error() {
        with_device(device, |device| device.failed = Some((NAME, status)));
        return fail(status);
    }
    Ok(())
}
