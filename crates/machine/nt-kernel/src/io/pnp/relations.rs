//! The Plug and Play manager and the children of a bus device: it asks the bus which devices there are, starts those that
//! are new, and removes those that are gone.
//!
//! The host has no drivers for the children, so each is a physical device that starts alone, as a raw device does.

use nt_processor::layout::{DEVICE_CAPABILITIES, DEVICE_OBJECT, DEVICE_RELATIONS};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Failure, Outcome};
use nt_verifier::verify::{GapKind, gap};
use windows_constants::plug_play::BusRelations;
use windows_constants::request::{
    IRP_MJ_PNP, IRP_MN_CANCEL_REMOVE_DEVICE, IRP_MN_EJECT, IRP_MN_QUERY_BUS_INFORMATION, IRP_MN_QUERY_CAPABILITIES,
    IRP_MN_QUERY_DEVICE_RELATIONS, IRP_MN_QUERY_DEVICE_TEXT, IRP_MN_QUERY_ID, IRP_MN_QUERY_REMOVE_DEVICE,
    IRP_MN_QUERY_RESOURCE_REQUIREMENTS, IRP_MN_QUERY_RESOURCES, IRP_MN_REMOVE_DEVICE, IRP_MN_START_DEVICE,
    IRP_MN_SURPRISE_REMOVAL,
};

use super::manager::Child;
use crate::ex::object;
use crate::io::device::{self, stack};
use crate::io::request::client::{self, Completion, Submission, announce, minor, send, send_for_status};
use crate::{Kernel, kernel, lock};

/// The language of the texts: English.
const LANGUAGE: u64 = 0x409;

type Object = GuestPtr<DEVICE_OBJECT>;

/// Returns the children of a bus device, oldest first. `bus` is its physical device.
pub(super) fn children(bus: Object) -> Vec<Object> {
    lock(&kernel().io).children.iter().filter(|child| child.bus == bus).map(|child| child.device).collect()
}

fn forget(child: Object) {
    lock(&kernel().io).children.retain(|known| known.device != child);
}

/// Asks a bus device for its children (`IRP_MN_QUERY_DEVICE_RELATIONS`). Starts the new ones, and removes by surprise
/// those that it no longer reports. `bus` is its physical device.
pub(super) fn enumerate(bus: Object) -> Result<(), Fault> {
    let above = if device::exists(bus) { stack::above(bus)? } else { None };
    let Some(reported) = above.map(query).transpose()?.flatten() else { return Ok(()) };
    let known = children(bus);
    for child in known.iter().filter(|child| !reported.contains(child)) {
        announce_if_there(*child, IRP_MN_SURPRISE_REMOVAL)?;
        announce_if_there(*child, IRP_MN_REMOVE_DEVICE)?;
        forget(*child);
    }
    for child in reported.iter().filter(|child| !known.contains(child)) {
        lock(&kernel().io).children.push(Child { bus, device: *child });
        start(*child)?;
    }
    // The bus driver has taken a reference to each device that it reported.
    for child in reported {
        object::dereference(child.address());
    }
    Ok(())
}

/// Returns the devices that a bus device reports, or `None` if it reports nothing.
fn query(device: Object) -> Result<Option<Vec<Object>>, Fault> {
    let submission = Submission { parameters: [BusRelations.into(), 0, 0, 0], ..minor(IRP_MN_QUERY_DEVICE_RELATIONS) };
    let Completion { status, information, .. } = device::hold(device, || send(device, &submission))?;
    let relations = GuestPtr::<DEVICE_RELATIONS>::new(information);
    if !status.is_success() || relations.is_null() {
        return Ok(None);
    }
    let count = relations.Count().read()?;
    let first = relations.Objects().address();
    let found = GuestPtr::<Object>::new(first).array(count.into()).read()?;
    lock(&kernel().pool).free_object(relations.address());
    Ok(Some(found))
}

/// Asks a new child what Windows asks before it looks for a driver, and starts it.
fn start(child: Object) -> Result<(), Fault> {
    let ids = (0..4).map(|kind| (IRP_MN_QUERY_ID, [kind, 0, 0, 0]));
    let texts = (0..2).map(|kind| (IRP_MN_QUERY_DEVICE_TEXT, [kind, LANGUAGE, 0, 0]));
    let rest = [IRP_MN_QUERY_RESOURCES, IRP_MN_QUERY_RESOURCE_REQUIREMENTS, IRP_MN_QUERY_BUS_INFORMATION]
        .map(|minor| (minor, [0; 4]));
    for (minor, parameters) in ids.chain(texts).chain(rest) {
        query_memory(child, minor, parameters)?;
    }
    query_capabilities(child)?;
    match send_for_status(child, IRP_MJ_PNP, IRP_MN_START_DEVICE, [0; 4]) {
        Ok(()) => {}
        Err(Failure::Fault(fault)) => return Err(fault),
        Err(Failure::Status(status)) => {
            gap::add(GapKind::NotStarted, format!("a child device did not start: {status}"));
            announce_if_there(child, IRP_MN_REMOVE_DEVICE)?;
            forget(child);
        }
    }
    Ok(())
}

/// Sends a query whose result is memory, which the sender frees.
fn query_memory(child: Object, minor: u8, parameters: [u64; 4]) -> Result<(), Fault> {
    let submission = Submission { parameters, ..client::minor(minor) };
    let Completion { status, information, .. } = device::hold(child, || send(child, &submission))?;
    if status.is_success() && information != 0 {
        lock(&kernel().pool).free_object(information);
    }
    Ok(())
}

/// Asks a device for its capabilities (`IRP_MN_QUERY_CAPABILITIES`).
pub(super) fn query_capabilities(device: Object) -> Result<(), Fault> {
    let Kernel { pool, .. } = kernel();
    let Some(place) = lock(pool).new_object::<DEVICE_CAPABILITIES>().non_null() else { return Ok(()) };
    let size = size_of::<DEVICE_CAPABILITIES>() as u16;
    // The sender sets the first members and those with a default, as documented. The memory is zeroed.
    place.Size().write(size)?;
    place.Version().write(1)?;
    place.Address().write(u32::MAX)?;
    place.UINumber().write(u32::MAX)?;
    let submission = Submission { parameters: [place.address(), 0, 0, 0], ..minor(IRP_MN_QUERY_CAPABILITIES) };
    device::hold(device, || send(device, &submission))?;
    lock(pool).free_object(place.address());
    Ok(())
}

pub(super) fn is_child(device: Object) -> bool {
    lock(&kernel().io).children.iter().any(|child| child.device == device)
}

/// Removes a child, unless its driver refuses, and lets the bus eject it.
pub(super) fn eject(child: Object) -> Outcome {
    if let Err(refused) = send_for_status(child, IRP_MJ_PNP, IRP_MN_QUERY_REMOVE_DEVICE, [0; 4]) {
        announce_if_there(child, IRP_MN_CANCEL_REMOVE_DEVICE)?;
        return Err(refused);
    }
    forget(child);
    announce_if_there(child, IRP_MN_REMOVE_DEVICE)?;
    announce_if_there(child, IRP_MN_EJECT)?;
    Ok(())
}

fn announce_if_there(child: Object, minor: u8) -> Result<(), Fault> {
    if device::exists(child) { announce(child, minor) } else { Ok(()) }
}

/// Asks the children of a bus device, then the device itself, whether they can be removed. If one refuses, tells all that
/// were asked that nothing is removed.
pub(super) fn query_remove(bus: Object, device: Object) -> Outcome {
    let mut requested = Vec::new();
    for one in children(bus).into_iter().chain([device]) {
        requested.push(one);
        if let Err(refused) = send_for_status(one, IRP_MJ_PNP, IRP_MN_QUERY_REMOVE_DEVICE, [0; 4]) {
            for one in requested {
                announce_if_there(one, IRP_MN_CANCEL_REMOVE_DEVICE)?;
            }
            return Err(refused);
        }
    }
    Ok(())
}

/// Tells the children of a bus device that they are gone.
pub(super) fn surprise(bus: Object) -> Result<(), Fault> {
    children(bus).into_iter().try_for_each(|child| announce_if_there(child, IRP_MN_SURPRISE_REMOVAL))
}

/// Removes the children of a bus device, which were asked or told before.
pub(super) fn remove(bus: Object) -> Result<(), Fault> {
    for child in children(bus) {
        announce_if_there(child, IRP_MN_REMOVE_DEVICE)?;
        forget(child);
    }
    Ok(())
}
