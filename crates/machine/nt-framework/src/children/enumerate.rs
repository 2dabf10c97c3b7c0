//! The devices of a bus driver's children.
//!
//! After the callback that reports a child as present, the driver creates the child's device in
//! `EvtChildListCreateDevice`, and the device is started. No function driver is loaded for it. The device of a child
//! that is reported as missing is removed by surprise. Children are removed before their parent, and in the same way.

use etw_types::NtStatus;
use nt_kernel::call_back;
use nt_kernel::sync::worker;
use nt_processor::layout::WDF_CHILD_LIST_CONFIG;
use nt_verifier::routine::{Outcome, PASSIVE};
use nt_verifier::verify::{GapKind, gap};

use crate::children::child_list::{Child, Update, child_at, free, with_list};
use crate::device::init::{self, Init};
use crate::device::{self, with_device};
use crate::object::{self, life};
use crate::{Handle, pnp};

/// Runs `work` in a work item.
pub(crate) fn submit(key: Handle, work: impl FnOnce() + Send + 'static) {
    worker::submit(key.as_int(), work);
}

/// Updates the devices of a list in a work item, after the callback that changed the list. Work items can run at the
/// same time, so a list has at most one.
pub(crate) fn later(list: Handle) {
    let is_new = with_list(list, |list| {
        let before = list.update;
        list.update = match before {
            Update::None | Update::Requested => Update::Requested,
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
                start_child(device);
            }
        }
    }
}

/// Calls the driver to create the device of a child. Returns `None` if the driver refuses or creates no device.
fn create(parent: Handle, list: Handle, child: &Child, config: &WDF_CHILD_LIST_CONFIG) -> Outcome<Option<Handle>> {
    let before = device::devices();
    let init = init::new(0, Init { parent, listed: true, ..Init::default() })?;
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

/// Starts a device and then its children.
pub(crate) fn start(device: Handle) -> Outcome {
    pnp::start(device, started)
}

/// Stops a device and starts it again, as the Plug and Play manager does when it assigns resources anew. The driver may
/// refuse. A device that does not start again is removed.
pub fn rebalance(device: Handle) -> Outcome {
    pnp::stop(device)?;
    start(device)
}

/// Starts a child, unless its device was deleted in the meantime. A failure is already reported.
pub(crate) fn start_child(child: Handle) {
    if object::exists(child) {
        let _ = start(child);
    }
}

/// Removes a device by surprise. A failure is already reported.
pub(crate) fn remove(device: Handle) {
    let _ = pnp::remove_device(device, true);
}

/// Lets the driver scan for children, as in `FxPkgPnp::PowerDmaEnableAndScan` (`shared/irphandlers/pnp/powerstatemachine.cpp`).
/// Reported children get their devices once the parent is started.
pub(crate) fn scan(parent: Handle) {
    for list in with_device(parent, |parent| parent.lists.clone()) {
        let scan = with_list(list, |list| list.config.EvtChildListScanForChildren);
        if !scan.is_null() {
            call_back("EvtChildListScanForChildren", PASSIVE, scan, &[list.as_int()]);
        }
        later(list);
    }
}

/// Called after a parent was started: the reported children get their devices.
fn started(parent: Handle) {
    let (lists, children) = with_device(parent, |parent| (parent.lists.clone(), parent.static_children.clone()));
    lists.into_iter().for_each(later);
    for child in children {
        submit(child, move || start_child(child));
    }
}
