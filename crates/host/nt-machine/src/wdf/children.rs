//! Bus drivers: child lists and the devices of the children.
//!
//! After the callback that reports a child as present, the driver creates the child's device in
//! `EvtChildListCreateDevice`, and the device is started. No function driver is loaded for it. The device of a child
//! that is reported as missing is removed by surprise. Children are removed before their parent, and in the same way.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::device::{self, with_device};
use super::init::{self, Init};
use super::object::{self, Data};
use super::{Handle, life, structures};
use crate::cpu::thread;
use crate::kernel::{self, call_back, kernel};
use crate::layout::{
    GUID, UNICODE_STRING, WDF_CHILD_LIST_CONFIG, WDF_CHILD_LIST_ITERATOR, WDF_CHILD_RETRIEVE_INFO,
    WDF_OBJECT_ATTRIBUTES,
};
use crate::memory::{Code, Fault, GuestPtr, Opaque};
use crate::routine::{DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, functions, status_of};
use crate::verify::{GapKind, gap};

/// `WDF_RETRIEVE_CHILD_FLAGS`: children that are present, that are missing, and whose devices are not created yet.
const PRESENT: u32 = 1;
const MISSING: u32 = 2;
const PENDING: u32 = 4;
/// `WDF_CHILD_LIST_RETRIEVE_DEVICE_STATUS`.
const SUCCESS: u32 = 1;
const NOT_YET_CREATED: u32 = 2;
const NO_SUCH_DEVICE: u32 = 3;

functions! { pub(super) FUNCTIONS;
    #[irql(PASSIVE)]
    fn WdfFdoInitSetDefaultChildListConfig(
        init: Handle,
        config: GuestPtr<WDF_CHILD_LIST_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    ) -> Result<(), Fault> {
        // A wrong size has no effect, apart from the finding.
        status_of(set_default_list(init, config, attributes)).map(drop)
    }

    #[irql(DISPATCH)]
    fn WdfFdoGetDefaultChildList(device: Handle) -> Handle {
        with_device(device, |device| device.lists.first().copied().unwrap_or_default())
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfChildListCreate(
        &call,
        device: Handle,
        config: GuestPtr<WDF_CHILD_LIST_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        structures::CHILD_LIST_CONFIG.check(config)?;
        let (config, attributes) = (config.read()?, Attributes::read(attributes)?);
        let list = new_list(device, &config, &attributes, call.from)?;
        place.write(list)?;
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfChildListGetDevice(list: Handle) -> Handle {
        with_list(list, |list| list.device)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfChildListAddOrUpdateChildDescriptionAsPresent(
        list: Handle,
        identification: GuestPtr<u8>,
        address: GuestPtr<u8>,
    ) -> Outcome<NtStatus> {
        add_or_update(list, identification, address)
    }

    #[irql(DISPATCH)]
    fn WdfChildListUpdateChildDescriptionAsMissing(list: Handle, identification: GuestPtr<u8>) -> Outcome {
        let Some(index) = find(list, identification, GuestPtr::NULL)? else { return fail(NtStatus::NoSuchDevice) };
        with_list(list, |list| {
            if let Some(child) = list.children.get_mut(index) {
                child.is_present = false;
            }
        });
        later(list);
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfChildListBeginScan(list: Handle) {
        with_list(list, |list| {
            list.scans += 1;
            for child in &mut list.children {
                child.seen = false;
            }
        });
    }

    #[irql(DISPATCH)]
    fn WdfChildListEndScan(list: Handle) {
        with_list(list, |list| {
            list.scans = list.scans.saturating_sub(1);
            for child in &mut list.children {
                child.is_present &= child.seen;
            }
        });
        later(list);
    }

    #[irql(DISPATCH)]
    fn WdfChildListUpdateAllChildDescriptionsAsPresent(list: Handle) {
        with_list(list, |list| {
            for child in &mut list.children {
                (child.is_present, child.seen) = (true, true);
            }
        });
    }

    /// The iterator's flags select the children.
    #[irql(DISPATCH)]
    fn WdfChildListBeginIteration(list: Handle, iterator: GuestPtr<WDF_CHILD_LIST_ITERATOR>) -> Result<(), Fault> {
        with_list(list, |_| ());
        iterator.Reserved().write([0; 4])
    }

    #[irql(DISPATCH)]
    fn WdfChildListEndIteration(list: Handle, _iterator: Ignored<GuestPtr<WDF_CHILD_LIST_ITERATOR>>) {
        with_list(list, |_| ());
    }

    #[irql(DISPATCH)]
    fn WdfChildListRetrieveNextDevice(
        list: Handle,
        iterator: GuestPtr<WDF_CHILD_LIST_ITERATOR>,
        device: Out<Handle>,
        info: Option<GuestPtr<WDF_CHILD_RETRIEVE_INFO>>,
    ) -> Outcome {
        let (flags, position) = (iterator.Flags().read()?, iterator.Reserved().cast::<u64>());
        loop {
            let index = position.read()?;
            let Some((child, config)) = child_at(list, index as usize) else {
                device.set_if_wanted(Handle::NULL)?;
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
            if let Some(info) = info {
                describe(&child, &config, info)?;
            }
            device.set_if_wanted(child.device)?;
            return done(());
        }
    }

    /// `info` has the identification of the child, and the places for its descriptions.
    #[irql(DISPATCH)]
    fn WdfChildListRetrievePdo(list: Handle, info: GuestPtr<WDF_CHILD_RETRIEVE_INFO>) -> Result<Handle, Fault> {
        let compare = info.EvtChildListIdentificationDescriptionCompare().read()?;
        let found = find(list, info.IdentificationDescription().read()?, compare)?;
        let Some((child, config)) = found.and_then(|index| child_at(list, index)) else {
            info.Status().write(NO_SUCH_DEVICE)?;
            return Ok(Handle::NULL);
        };
        describe(&child, &config, info)?;
        Ok(child.device)
    }

    #[irql(DISPATCH), fails_with_zero]
    fn WdfPdoInitAllocate(&call, parent: Handle) -> Handle {
        let init = Init { parent, ..Init::default() };
        let made = object::create_with(call.from, &Attributes::default(), None, Data::Init(Box::new(init)));
        made.ok().unwrap_or_default()
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfPdoInitAssignDeviceID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfPdoInitAssignInstanceID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfPdoInitAddHardwareID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfPdoInitAddCompatibleID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfPdoInitAssignContainerID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfPdoInitAddDeviceText(
        init: Handle,
        description: GuestPtr<UNICODE_STRING>,
        location: GuestPtr<UNICODE_STRING>,
        _locale: Ignored<u32>,
    ) -> Outcome {
        location.units()?;
        identify(init, description)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES), fixed]
    fn WdfPdoInitAssignRawDevice(init: Handle, _class: Ignored<GuestPtr<GUID>>) -> NtStatus {
        init::check(init);
        NtStatus::Success
    }

    #[irql(DISPATCH), fixed]
    fn WdfPdoInitSetDefaultLocale(init: Handle, _locale: Ignored<u32>) {
        init::check(init);
    }

    #[irql(DISPATCH), fixed]
    fn WdfPdoInitSetEventCallbacks(init: Handle, _callbacks: Ignored<GuestPtr<Opaque>>) {
        init::check(init);
    }

    #[irql(DISPATCH), fixed]
    fn WdfPdoInitAllowForwardingRequestToParent(init: Handle) {
        init::check(init);
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetBusInformationForChildren(device: Handle, _information: Ignored<GuestPtr<Opaque>>) {
        device::check(device);
    }

    #[irql(DISPATCH)]
    fn WdfPdoGetParent(device: Handle) -> Handle {
        with_device(device, |device| device.init.parent)
    }

    #[irql(PASSIVE)]
    fn WdfFdoAddStaticChild(parent: Handle, child: Handle) -> NtStatus {
        with_device(parent, |device| device.static_children.push(child));
        if with_device(parent, |device| device.started) {
            submit(child, move || start(child));
        }
        NtStatus::Success
    }

    #[irql(DISPATCH)]
    fn WdfPdoMarkMissing(child: Handle) -> NtStatus {
        device::check(child);
        submit(child, move || remove(child));
        NtStatus::Success
    }

    #[irql(DISPATCH)]
    fn WdfPdoRetrieveIdentificationDescription(device: Handle, place: GuestPtr<u8>) -> Outcome {
        let lists = with_device(with_device(device, |device| device.init.parent), |parent| parent.lists.clone());
        for list in lists {
            let (children, size) = with_list(list, |list| (list.children.clone(), list.config));
            if let Some(child) = children.iter().find(|child| child.device == device) {
                let size = size.IdentificationDescriptionSize.into();
                place.array(size).copy_from(child.identification)?;
                return done(());
            }
        }
        fail(NtStatus::InvalidParameter)
    }
}

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

/// Checks that the ID or text is a valid string, and ignores it. Windows uses it to select a driver, which this host
/// does not do.
fn identify(init: Handle, text: GuestPtr<UNICODE_STRING>) -> Outcome {
    text.units()?;
    init::check(init);
    done(())
}

fn set_default_list(
    init: Handle,
    config: GuestPtr<WDF_CHILD_LIST_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
) -> Outcome {
    structures::CHILD_LIST_CONFIG.check(config)?;
    let (config, attributes) = (config.read()?, Attributes::read(attributes)?);
    init::with_init(init, |init| init.children = Some((config, attributes)));
    done(())
}

/// Reports a child as present. A child that is already present gets the new address.
fn add_or_update(list: Handle, identification: GuestPtr<u8>, address: GuestPtr<u8>) -> Outcome<NtStatus> {
    let config = with_list(list, |list| list.config);
    if let Some(index) = find(list, identification, GuestPtr::NULL)? {
        let (known, was_present) = with_list(list, |list| {
            list.children.get_mut(index).map_or((GuestPtr::NULL, false), |child| {
                child.seen = true;
                (child.address, std::mem::replace(&mut child.is_present, true))
            })
        });
        if let Some(given) = address.non_null() {
            known.array(config.AddressDescriptionSize.into()).copy_from(given)?;
        }
        if was_present {
            return done(NtStatus::ObjectNameExists);
        }
    } else {
        let identification = duplicate(identification, config.IdentificationDescriptionSize)?;
        let address = duplicate(address, config.AddressDescriptionSize)
            .inspect_err(|_| kernel::lock(&kernel().pool).free_object(identification.address()))?;
        let child = Child { identification, address, device: Handle::NULL, is_present: true, seen: true };
        with_list(list, |list| list.children.push(child));
    }
    later(list);
    done(NtStatus::Success)
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
