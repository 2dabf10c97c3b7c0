//! Bus drivers: the functions of child lists. [`crate::children::enumerate`] creates and removes the devices of the children.

pub(crate) mod child_list;
pub(crate) mod enumerate;
pub(crate) mod pdo;

use etw_types::NtStatus;
use nt_kernel::{call_back, kernel};
use nt_processor::cpu::thread;
use nt_processor::layout::{
    WDF_CHILD_LIST_CONFIG, WDF_CHILD_LIST_ITERATOR, WDF_CHILD_RETRIEVE_INFO, WDF_OBJECT_ATTRIBUTES,
};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, functions, status_of};
use windows_constants::framework::{
    WdfChildListRetrieveDeviceNoSuchDevice, WdfChildListRetrieveDeviceNotYetCreated, WdfChildListRetrieveDeviceSuccess,
    WdfRetrieveMissingChildren, WdfRetrievePendingChildren, WdfRetrievePresentChildren,
};

use crate::children::child_list::{Child, child_at, new_list, with_list};
use crate::children::enumerate::later;
use crate::device::init::{self, Use};
use crate::device::{self, with_device};
use crate::object::attributes::{Attributes, Options};
use crate::{Handle, object, structures};

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
        let config = config.read()?;
        let attributes = Attributes::read(attributes, Options::WITHOUT_PARENT)?;
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

    /// Each description begins with its size.
    #[irql(DISPATCH)]
    fn WdfChildListRetrieveAddressDescription(
        list: Handle,
        identification: GuestPtr<u8>,
        address: GuestPtr<u8>,
    ) -> Outcome {
        let config = with_list(list, |list| list.config);
        let size = config.AddressDescriptionSize;
        let sizes = (identification.cast::<u32>().read()?, address.cast::<u32>().read()?);
        if size == 0 || sizes != (config.IdentificationDescriptionSize, size) {
            return fail(NtStatus::InvalidDeviceRequest);
        }
        let found = find(list, identification, GuestPtr::NULL)?.and_then(|index| child_at(list, index));
        let Some((child, _)) = found else { return fail(NtStatus::NoSuchDevice) };
        address.array(size.into()).copy_from(child.address)?;
        done(())
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
        let flags = iterator.Flags().read()?;
        let position = iterator.Reserved().cast::<u64>();
        loop {
            let index = position.read()?;
            let Some((child, config)) = child_at(list, index as usize) else {
                device.set_if_wanted(Handle::NULL)?;
                return fail(NtStatus::NoMoreEntries);
            };
            position.write(index + 1)?;
            let kind = match (child.is_present, child.device) {
                (false, _) => WdfRetrieveMissingChildren,
                (true, Handle::NULL) => WdfRetrievePendingChildren,
                (true, _) => WdfRetrievePresentChildren,
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
            info.Status().write(WdfChildListRetrieveDeviceNoSuchDevice)?;
            return Ok(Handle::NULL);
        };
        describe(&child, &config, info)?;
        Ok(child.device)
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetBusInformationForChildren(device: Handle, information: GuestPtr<Opaque>) {
        device::check(device);
        object::needs_place(information);
    }
}

/// Copies a description; without one, the copy is zeroed.
fn duplicate(source: GuestPtr<u8>, size: u32) -> Outcome<GuestPtr<u8>> {
    let copy: GuestPtr<u8> = nt_kernel::lock(&kernel().pool).try_new_objects(u64::from(size).max(1))?;
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
    let requested = info.read()?;
    for (place, from, size) in [
        (requested.IdentificationDescription, child.identification, config.IdentificationDescriptionSize),
        (requested.AddressDescription, child.address, config.AddressDescriptionSize),
    ] {
        if let Some(place) = place.non_null() {
            place.array(size.into()).copy_from(from)?;
        }
    }
    info.Status().write(if child.device.is_null() {
        WdfChildListRetrieveDeviceNotYetCreated
    } else {
        WdfChildListRetrieveDeviceSuccess
    })
}

fn set_default_list(
    init: Handle,
    config: GuestPtr<WDF_CHILD_LIST_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
) -> Outcome {
    structures::CHILD_LIST_CONFIG.check(config)?;
    let config = config.read()?;
    let attributes = Attributes::read(attributes, Options::WITHOUT_PARENT)?;
    init::used_as(init, Use::SetChildList, |init| init.children = Some((config, attributes)));
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
            .inspect_err(|_| nt_kernel::lock(&kernel().pool).free_object(identification.address()))?;
        let child = Child { identification, address, device: Handle::NULL, is_present: true, seen: true };
        with_list(list, |list| list.children.push(child));
    }
    later(list);
    done(NtStatus::Success)
}
