//! Bus drivers: child lists and the devices of the children.
//!
//! After the callback that reports a child as present, the driver creates the child's device in
//! `EvtChildListCreateDevice`, and the device is started. No function driver is loaded for it. The device of a child
//! that is reported as missing is removed by surprise. Children are removed before their parent, and in the same way.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::device::{self, with_device};
use super::init::Init;
use super::object::{self, Data};
use super::{Handle, life, structures};
use crate::cpu::thread;
use crate::kernel::{self, call_back, kernel};
use crate::layout::{UNICODE_STRING, WDF_CHILD_LIST_CONFIG, WDF_CHILD_LIST_ITERATOR, WDF_CHILD_RETRIEVE_INFO};
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, routine};
use crate::verify::{GapKind, gap};

/// `WDF_RETRIEVE_CHILD_FLAGS`: children that are present, that are missing, and whose devices are not created yet.
const PRESENT: u32 = 1;
const MISSING: u32 = 2;
const PENDING: u32 = 4;
/// `WDF_CHILD_LIST_RETRIEVE_DEVICE_STATUS`.
const SUCCESS: u32 = 1;
const NOT_YET_CREATED: u32 = 2;
const NO_SUCH_DEVICE: u32 = 3;

pub(super) const FUNCTIONS: &[Routine] = &[
    // Arguments: init structure of the device, configuration, attributes.
    routine!("WdfFdoInitSetDefaultChildListConfig", PASSIVE, |call| {
        if !structures::CHILD_LIST_CONFIG.fits(call.ptr::<WDF_CHILD_LIST_CONFIG>(2))? {
            return done(());
        }
        let config = call.ptr(2).read()?;
        let attributes = Attributes::read(call.ptr(3))?;
        object::part(call.handle(1), |data| match data {
            Data::Init(init) => {
                init.children = Some((config, attributes));
                Some(())
            }
            _ => None,
        });
        done(())
    }),
    routine!("WdfFdoGetDefaultChildList", DISPATCH, |call| with_device(call.handle(1), |device| device
        .lists
        .first()
        .copied()
        .unwrap_or_default())),
    // Arguments: device, configuration, attributes, place for the list.
    routine!("WdfChildListCreate", PASSIVE, |call| {
        structures::CHILD_LIST_CONFIG.check(call.ptr::<WDF_CHILD_LIST_CONFIG>(2))?;
        let (config, attributes) = (call.ptr(2).read()?, Attributes::read(call.ptr(3))?);
        let list = new_list(call.handle(1), &config, &attributes, call.from)?;
        call.ptr(4).write(list)?;
        done(())
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfChildListGetDevice", DISPATCH, |call| with_list(call.handle(1), |list| list.device)),
    // Arguments: list, identification, address.
    routine!("WdfChildListAddOrUpdateChildDescriptionAsPresent", DISPATCH, |call| {
        let (list, identification) = (call.handle(1), call.ptr(2));
        let config = with_list(list, |list| list.config);
        if let Some(index) = find(list, identification, GuestPtr::NULL)? {
            let (address, was_present) = with_list(list, |list| {
                list.children.get_mut(index).map_or((GuestPtr::NULL, false), |child| {
                    child.seen = true;
                    (child.address, std::mem::replace(&mut child.is_present, true))
                })
            });
            if let Some(given) = call.ptr::<u8>(3).non_null() {
                address.array(config.AddressDescriptionSize.into()).copy_from(given)?;
            }
            if was_present {
                return done(NtStatus::ObjectNameExists);
            }
        } else {
            let identification = duplicate(identification, config.IdentificationDescriptionSize)?;
            let address = duplicate(call.ptr(3), config.AddressDescriptionSize)
                .inspect_err(|_| kernel::lock(&kernel().pool).free_object(identification.address()))?;
            let child = Child { identification, address, device: Handle::NULL, is_present: true, seen: true };
            with_list(list, |list| list.children.push(child));
        }
        later(list);
        done(NtStatus::Success)
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfChildListUpdateChildDescriptionAsMissing", DISPATCH, |call| {
        let list = call.handle(1);
        let Some(index) = find(list, call.ptr(2), GuestPtr::NULL)? else { return fail(NtStatus::NoSuchDevice) };
        with_list(list, |list| {
            if let Some(child) = list.children.get_mut(index) {
                child.is_present = false;
            }
        });
        later(list);
        done(())
    }),
    routine!("WdfChildListBeginScan", DISPATCH, |call| with_list(call.handle(1), |list| {
        list.scans += 1;
        for child in &mut list.children {
            child.seen = false;
        }
    })),
    routine!("WdfChildListEndScan", DISPATCH, |call| {
        with_list(call.handle(1), |list| {
            list.scans = list.scans.saturating_sub(1);
            for child in &mut list.children {
                child.is_present &= child.seen;
            }
        });
        later(call.handle(1));
    }),
    routine!("WdfChildListUpdateAllChildDescriptionsAsPresent", DISPATCH, |call| with_list(call.handle(1), |list| {
        for child in &mut list.children {
            (child.is_present, child.seen) = (true, true);
        }
    })),
    // Arguments: list, iterator. The iterator's flags select the children.
    routine!("WdfChildListBeginIteration", DISPATCH, |call| {
        with_list(call.handle(1), |_| ());
        call.ptr::<WDF_CHILD_LIST_ITERATOR>(2).Reserved().write([0; 4])
    }),
    routine!("WdfChildListEndIteration", DISPATCH, |call| with_list(call.handle(1), |_| ())),
    // Arguments: list, iterator, place for the device, place for the descriptions.
    routine!("WdfChildListRetrieveNextDevice", DISPATCH, |call| {
        let (iterator, info) = (call.ptr::<WDF_CHILD_LIST_ITERATOR>(2), call.ptr::<WDF_CHILD_RETRIEVE_INFO>(4));
        let (flags, position) = (iterator.Flags().read()?, iterator.Reserved().cast::<u64>());
        loop {
            let index = position.read()?;
            let Some((child, config)) = child_at(call.handle(1), index as usize) else {
                call.ptr(3).write_if(Handle::NULL)?;
                return fail(NtStatus::NoMoreEntries);
            };
            position.write(index + 1)?;
            let kind = match (child.is_present, child.device) {
                (false, _) => MISSING,
                (true, Handle::NULL) => PENDING,
                (true, _) => PRESENT,
            };
            if flags & kind == 0 {
                continue;
            }
            if let Some(info) = info.non_null() {
                describe(&child, &config, info)?;
            }
            call.ptr(3).write_if(child.device)?;
            return done(());
        }
    }),
    // Arguments: list, information: the identification of the child, and the place for its descriptions.
    routine!("WdfChildListRetrievePdo", DISPATCH, |call| {
        let info = call.ptr::<WDF_CHILD_RETRIEVE_INFO>(2);
        let compare = info.EvtChildListIdentificationDescriptionCompare().read()?;
        let found = find(call.handle(1), info.IdentificationDescription().read()?, compare)?;
        let Some((child, config)) = found.and_then(|index| child_at(call.handle(1), index)) else {
            info.Status().write(NO_SUCH_DEVICE)?;
            return done(Handle::NULL);
        };
        describe(&child, &config, info)?;
        done(child.device)
    }),
    routine!("WdfPdoInitAllocate", DISPATCH, |call| {
        let init = Init { parent: call.handle(1), ..Init::default() };
        let made = object::create_with(call.from, &Attributes::default(), None, Data::Init(Box::new(init)));
        made.ok().unwrap_or_default()
    })
    .fails_with_zero(),
    routine!("WdfPdoInitAssignDeviceID", PASSIVE, identify).fails(NtStatus::InsufficientResources),
    routine!("WdfPdoInitAssignInstanceID", PASSIVE, identify).fails(NtStatus::InsufficientResources),
    routine!("WdfPdoInitAddHardwareID", PASSIVE, identify).fails(NtStatus::InsufficientResources),
    routine!("WdfPdoInitAddCompatibleID", PASSIVE, identify).fails(NtStatus::InsufficientResources),
    routine!("WdfPdoInitAssignContainerID", PASSIVE, identify).fails(NtStatus::InsufficientResources),
    routine!("WdfPdoInitAddDeviceText", PASSIVE, identify).fails(NtStatus::InsufficientResources),
    routine!("WdfPdoInitAssignRawDevice", PASSIVE, ignore).fails(NtStatus::InsufficientResources).fixed(),
    routine!("WdfPdoInitSetDefaultLocale", DISPATCH, ignore).fixed(),
    routine!("WdfPdoInitSetEventCallbacks", DISPATCH, ignore).fixed(),
    routine!("WdfPdoInitAllowForwardingRequestToParent", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceSetBusInformationForChildren", DISPATCH, |call| with_device(call.handle(1), |_| ())).fixed(),
    routine!("WdfPdoGetParent", DISPATCH, |call| with_device(call.handle(1), |device| device.init.parent)),
    // Arguments: parent, child.
    routine!("WdfFdoAddStaticChild", PASSIVE, |call| {
        let child = call.handle(2);
        with_device(call.handle(1), |device| device.static_children.push(child));
        if with_device(call.handle(1), |device| device.started) {
            submit(child, move || start(child));
        }
        NtStatus::Success
    }),
    routine!("WdfPdoMarkMissing", DISPATCH, |call| {
        let child = call.handle(1);
        with_device(child, |_| ());
        submit(child, move || remove(child));
        NtStatus::Success
    }),
    // Arguments: device, place for the description.
    routine!("WdfPdoRetrieveIdentificationDescription", DISPATCH, |call| {
        let device = call.handle(1);
        let lists = with_device(with_device(device, |device| device.init.parent), |parent| parent.lists.clone());
        for list in lists {
            let (children, size) = with_list(list, |list| (list.children.clone(), list.config));
            if let Some(child) = children.iter().find(|child| child.device == device) {
                let size = size.IdentificationDescriptionSize.into();
                call.ptr::<u8>(2).array(size).copy_from(child.identification)?;
                return done(());
            }
        }
        fail(NtStatus::InvalidParameter)
    }),
];

/// A child.
#[derive(Clone, Copy, Debug)]
struct Child {
    identification: GuestPtr<u8>,
    address: GuestPtr<u8>,
    /// NULL until the driver has created the device.
    device: Handle,
    is_present: bool,
    /// The child was reported since the scan began.
    seen: bool,
}

/// A list of children.
#[derive(Clone, Debug)]
pub(super) struct ChildList {
    device: Handle,
    config: WDF_CHILD_LIST_CONFIG,
    children: Vec<Child>,
    /// The number of scans that have begun and not ended.
    scans: u32,
    update: Update,
}

/// The state of the work item that updates the devices of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Update {
    #[default]
    None,
    Asked,
    Running,
    /// The work item runs, and the list has changed since its start.
    Again,
}

fn with_list<R>(handle: Handle, body: impl FnOnce(&mut ChildList) -> R) -> R {
    object::part(handle, |data| match data {
        Data::ChildList(list) => Some(body(list)),
        _ => None,
    })
}

fn child_at(list: Handle, index: usize) -> Option<(Child, WDF_CHILD_LIST_CONFIG)> {
    with_list(list, |list| Some((*list.children.get(index)?, list.config)))
}

fn new_list(device: Handle, config: &WDF_CHILD_LIST_CONFIG, attributes: &Attributes, from: u64) -> Outcome<Handle> {
    let list = ChildList { device, config: *config, children: Vec::new(), scans: 0, update: Update::None };
    let list = object::create_with(from, attributes, Some(device), Data::ChildList(Box::new(list)))?;
    with_device(device, |device| device.lists.push(list));
    Ok(list)
}

/// Creates the default child list of a new device, if its init structure has a configuration for one.
pub(super) fn device_created(device: Handle, from: u64) -> Outcome {
    if let Some((config, attributes)) = with_device(device, |device| device.init.children) {
        new_list(device, &config, &attributes, from)?;
    }
    Ok(())
}

/// Copies a description; without one, the copy is zeroed.
fn duplicate(source: GuestPtr<u8>, size: u32) -> Outcome<GuestPtr<u8>> {
    let copy: GuestPtr<u8> = kernel::lock(&kernel().pool).try_new_objects(u64::from(size).max(1))?;
    if !source.is_null() {
        copy.array(size.into()).copy_from(source)?;
    }
    Ok(copy)
}

/// Returns the index of a child. Uses `compare`, or else the callback of the list, or else compares the bytes.
fn find(list: Handle, wanted: GuestPtr<u8>, compare: GuestPtr<Code>) -> Result<Option<usize>, Fault> {
    let (children, config) = with_list(list, |list| (list.children.clone(), list.config));
    let compare = compare.non_null().unwrap_or(config.EvtChildListIdentificationDescriptionCompare);
    let size = u64::from(config.IdentificationDescriptionSize);
    for (index, child) in children.iter().enumerate() {
        let is_same = if compare.is_null() {
            wanted.array(size).read()? == child.identification.array(size).read()?
        } else {
            let arguments = [list.as_int(), wanted.address(), child.identification.address()];
            let irql = thread::irql();
            call_back("EvtChildListIdentificationDescriptionCompare", irql, compare, &arguments) as u8 != 0
        };
        if is_same {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Copies the descriptions of a child to the places in `info`, and sets the status there.
fn describe(
    child: &Child,
    config: &WDF_CHILD_LIST_CONFIG,
    info: GuestPtr<WDF_CHILD_RETRIEVE_INFO>,
) -> Result<(), Fault> {
    let asked = info.read()?;
    for (place, from, size) in [
        (asked.IdentificationDescription, child.identification, config.IdentificationDescriptionSize),
        (asked.AddressDescription, child.address, config.AddressDescriptionSize),
    ] {
        if let Some(place) = place.non_null() {
            place.array(size.into()).copy_from(from)?;
        }
    }
    info.Status().write(if child.device.is_null() { NOT_YET_CREATED } else { SUCCESS })
}

fn ignore(call: &Call) -> NtStatus {
    object::part(call.handle(1), |data| matches!(data, Data::Init(_)).then_some(NtStatus::Success))
}

/// Checks that the ID or text is a valid string, and ignores it. Windows uses it to select a driver, which this host
/// does not do.
fn identify(call: &Call) -> Outcome<NtStatus> {
    call.ptr::<UNICODE_STRING>(2).units()?;
    Ok(ignore(call))
}

fn submit(key: Handle, work: impl FnOnce() + Send + 'static) {
    kernel::submit(key.as_int(), work);
}

/// Updates the devices of a list in a work item, after the callback that changed the list. Work items can run at the
/// same time, so a list has at most one.
fn later(list: Handle) {
    let is_new = with_list(list, |list| {
        let before = list.update;
        list.update = match before {
            Update::None | Update::Asked => Update::Asked,
            Update::Running | Update::Again => Update::Again,
        };
        before == Update::None
    });
    if is_new {
        submit(list, move || update(list));
    }
}

/// Enumerates until the list does not change during an enumeration.
fn update(list: Handle) {
    while object::exists(list) {
        with_list(list, |list| list.update = Update::Running);
        enumerate(list);
        if object::exists(list) {
            let is_over = with_list(list, |list| {
                let is_over = list.update == Update::Running;
                if is_over {
                    list.update = Update::None;
                }
                is_over
            });
            if is_over {
                return;
            }
        }
    }
}

/// Removes the devices of missing children, and creates the devices of present ones.
fn enumerate(list: Handle) {
    let (parent, scans) = with_list(list, |list| (list.device, list.scans));
    if scans != 0 || !with_device(parent, |parent| parent.started) {
        return;
    }
    let missing = with_list(list, |list| {
        let missing: Vec<Child> = list.children.iter().filter(|child| !child.is_present).copied().collect();
        list.children.retain(|child| child.is_present);
        missing
    });
    for child in missing {
        remove(child.device);
        free(&child);
    }
    let mut index = 0;
    while let Some((child, config)) = child_at(list, index) {
        index += 1;
        if child.device.is_null() {
            let made = create(parent, list, &child, &config).ok().flatten();
            with_list(list, |list| {
                let same = |known: &&mut Child| known.identification == child.identification;
                if let Some(known) = list.children.iter_mut().find(same) {
                    known.device = made.unwrap_or_default();
                }
            });
            if let Some(device) = made {
                start(device);
            }
        }
    }
}

fn free(child: &Child) {
    let mut pool = kernel::lock(&kernel().pool);
    pool.free_object(child.identification.address());
    pool.free_object(child.address.address());
}

/// Calls the driver to create the device of a child. Returns `None` if the driver refuses or creates no device.
fn create(parent: Handle, list: Handle, child: &Child, config: &WDF_CHILD_LIST_CONFIG) -> Outcome<Option<Handle>> {
    let before = device::devices();
    let init = Init { parent, ..Init::default() };
    let init = object::create_with(0, &Attributes::default(), None, Data::Init(Box::new(init)))?;
    let arguments = [list.as_int(), child.identification.address(), init.as_int()];
    gap::forget_notes();
    let status = call_back("EvtChildListCreateDevice", PASSIVE, config.EvtChildListCreateDevice, &arguments) as u32;
    if object::exists(init) {
        life::delete(init);
    }
    let made = device::devices().into_iter().find(|device| !before.contains(device));
    let status = NtStatus::from_int(status);
    if status.is_success() {
        return Ok(made);
    }
    gap::add(GapKind::NotAdded, format!("EvtChildListCreateDevice returned {status}"));
    if let Some(device) = made {
        life::delete(device);
    }
    Ok(None)
}

fn start(device: Handle) {
    if object::exists(device) {
        let _ = device::start(device);
    }
}

fn remove(device: Handle) {
    let _ = device::remove_device(device, true);
}

/// Called after a parent was started: the driver scans for children, and the reported children get their devices.
pub(super) fn parent_started(parent: Handle) {
    let (lists, children) = with_device(parent, |parent| (parent.lists.clone(), parent.static_children.clone()));
    for list in lists {
        let scan = with_list(list, |list| list.config.EvtChildListScanForChildren);
        if !scan.is_null() {
            call_back("EvtChildListScanForChildren", PASSIVE, scan, &[list.as_int()]);
        }
        later(list);
    }
    for child in children {
        submit(child, move || start(child));
    }
}

/// Returns a device and its descendants, each child before its parent.
pub(super) fn with_descendants(device: Handle) -> Vec<Handle> {
    let (lists, single) = with_device(device, |device| (device.lists.clone(), device.static_children.clone()));
    let listed = lists.into_iter().flat_map(|list| with_list(list, |list| list.children.clone()));
    let children = listed.map(|child| child.device).chain(single);
    let existing = children.filter(|child| object::exists(*child));
    existing.flat_map(with_descendants).chain([device]).collect()
}

/// Removes the children of a parent with `remove`. Called before the parent is removed.
pub(super) fn parent_goes(parent: Handle, remove: fn(Handle) -> Outcome) -> Outcome {
    for list in with_device(parent, |parent| std::mem::take(&mut parent.lists)) {
        for child in with_list(list, |list| std::mem::take(&mut list.children)) {
            let removed = remove(child.device);
            free(&child);
            removed?;
        }
    }
    with_device(parent, |parent| std::mem::take(&mut parent.static_children)).into_iter().try_for_each(remove)
}

/// Frees the children of a list that is about to be deleted. Only a list whose device was never started still has
/// children then.
pub(super) fn before_delete(handle: Handle) {
    let children = object::lookup(handle, |object| match &object.data {
        Data::ChildList(list) => list.children.clone(),
        _ => Vec::new(),
    });
    for child in &children {
        free(child);
    }
    if !children.is_empty() {
        object::change(handle, |object| {
            if let Data::ChildList(list) = &mut object.data {
                list.children.clear();
            }
        });
    }
}
