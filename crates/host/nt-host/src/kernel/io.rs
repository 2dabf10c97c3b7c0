//! Requests: IRPs through the devices of a stack, and back. Who sends them is in [`super::packet_client`].

use std::collections::BTreeMap;

use super::build_packets::Built;
use super::devices::{Device, Link};
use super::packet::{irp, location};
use super::routine::{APC, DISPATCH, Routine, routine};
use super::{call_back, kernel, lock};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

pub(super) const PENDING: u32 = 0x103;
const INVALID_DEVICE_REQUEST: u32 = 0xC000_0010;
const MORE_PROCESSING_REQUIRED: u32 = 0xC000_0016;
pub(super) const POWER: u8 = 0x16;
pub(super) const PNP: u8 = 0x1B;

pub(super) const ROUTINES: &[Routine] = &[
    routine("IofCallDriver", DISPATCH, |call| call_driver(call.arg(0), call.arg(1)).into()),
    routine("IoCallDriver", DISPATCH, |call| call_driver(call.arg(0), call.arg(1)).into()),
    routine("PoCallDriver", DISPATCH, |call| call_driver(call.arg(0), call.arg(1)).into()),
    routine("IofCompleteRequest", DISPATCH, |call| {
        complete(call.arg(0));
        0
    }),
    routine("IoCompleteRequest", DISPATCH, |call| {
        complete(call.arg(0));
        0
    }),
    routine("IoCancelIrp", DISPATCH, |call| cancel(call.arg(0)).into()),
    routine("IoAcquireCancelSpinLock", DISPATCH, |call| {
        guest::write(call.arg(0), super::irql::raise(DISPATCH));
        0
    }),
    routine("IoReleaseCancelSpinLock", DISPATCH, |call| {
        super::irql::lower(call.u8(0));
        0
    }),
    routine("IoGetRequestorProcessId", DISPATCH, |_| 4).fixed(),
    routine("IoIs32bitProcess", APC, |_| 0).fixed(),
    routine("IoSetThreadHardErrorMode", APC, |_| 1).fixed(),
];

/// A request on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Request {
    pub(super) completed: bool,
    /// The driver had it built.
    pub(super) built: Option<Built>,
    /// The driver had it sent for power: device, minor function, state, callback, context.
    pub(super) power: Option<(u64, u8, u32, u64, u64)>,
}

/// The I/O manager's state.
#[derive(Default)]
pub(crate) struct Io {
    /// The driver object.
    pub(crate) driver: u64,
    pub(crate) devices: Vec<Device>,
    pub(crate) links: Vec<Link>,
    pub(crate) requests: BTreeMap<u64, Request>,
    /// Packets that wait for `StartIo`, by device; a device without a packet is busy with one.
    pub(super) started: Vec<(u64, u64)>,
    /// What the driver registered: what it is, its address, who registered it.
    registrations: Vec<(&'static str, u64, u64)>,
}

impl Io {
    /// Remembers what a driver must take back before it goes.
    pub(super) fn register(&mut self, what: &'static str, target: u64, from: u64) {
        self.registrations.push((what, target, from));
    }

    /// It took something back; whether it was there.
    pub(super) fn forget(&mut self, what: &'static str, target: u64) -> bool {
        let position = self.registrations.iter().position(|(known, address, _)| *known == what && *address == target);
        position.map(|position| self.registrations.swap_remove(position)).is_some()
    }

    /// Reports what the driver left, and forgets it.
    pub(super) fn report_leaks(&mut self) {
        for device in self.devices.drain(..).filter(|device| !device.of_host) {
            let what = format_args!("a device is not deleted");
            verify::find_at(Rule::ObjectLeak, Some("IoCreateDevice"), device.from, what);
        }
        for link in self.links.drain(..) {
            let what = format_args!("symbolic link {} is not deleted", link.name);
            verify::find_at(Rule::ObjectLeak, Some("IoCreateSymbolicLink"), link.from, what);
        }
        for (what, _, from) in self.registrations.drain(..) {
            verify::find_at(Rule::ObjectLeak, None, from, format_args!("a {what} is left"));
        }
        self.started.clear();
        self.requests.clear();
    }
}

/// The driver's routine for a major function.
pub(super) fn dispatch_routine(device: u64, major: u8) -> u64 {
    let driver: u64 = guest::read(device + super::devices::DRIVER);
    guest::read(driver + super::devices::MAJOR_FUNCTIONS + u64::from(major) * 8)
}

/// `IoCallDriver`: goes to the next stack location and calls the device's driver.
pub(crate) fn call_driver(device: u64, request: u64) -> u32 {
    let current: u8 = guest::read(request + irp::CURRENT_LOCATION);
    if current <= 1 {
        verify::stop(Rule::BugCheck, Some("IofCallDriver"), 0, format_args!("no more IRP stack locations"));
    }
    let place = guest::read::<u64>(request + irp::CURRENT_STACK) - location::SIZE;
    guest::write(request + irp::CURRENT_LOCATION, current - 1);
    guest::write(request + irp::CURRENT_STACK, place);
    guest::write(place + location::DEVICE, device);
    let major = guest::read::<u8>(place + location::MAJOR).min(PNP);
    let driver: u64 = guest::read(device + super::devices::DRIVER);
    if driver != lock(&kernel().io).driver {
        // A device of the host, below the driver's: it agrees to everything about plug and play and power, can be opened
        // and closed, and takes no other request.
        let status = if matches!(major, PNP | POWER | 0x00 | 0x02 | 0x12) { 0 } else { INVALID_DEVICE_REQUEST };
        guest::write(request + irp::STATUS, status);
        complete(request);
        return status;
    }
    match dispatch_routine(device, major) {
        0 => {
            // What the I/O manager puts where a driver has no routine.
            guest::write(request + irp::STATUS, INVALID_DEVICE_REQUEST);
            complete(request);
            INVALID_DEVICE_REQUEST
        }
        target => call_back("dispatch routine", thread::irql(), target, &[device, request]) as u32,
    }
}

/// `IoCompleteRequest`: runs completion routines upwards, then ends the request.
pub(crate) fn complete(request: u64) {
    let known = lock(&kernel().io).requests.get(&request).copied();
    match known {
        Some(Request { completed: false, .. }) => {}
        Some(_) => return verify::find(Rule::RequestTwice, format_args!("the request was completed before")),
        None => {
            return verify::find(Rule::RequestTwice, format_args!("{request:#x} is no request, or one that has ended"));
        }
    }
    let status: u32 = guest::read(request + irp::STATUS);
    if status == PENDING {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed with STATUS_PENDING"));
    }
    if guest::read::<u64>(request + irp::CANCEL_ROUTINE) != 0 {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed with its cancel routine set"));
    }
    let count: u8 = guest::read(request + irp::STACK_COUNT);
    loop {
        let current: u8 = guest::read(request + irp::CURRENT_LOCATION);
        if current > count {
            break;
        }
        let place: u64 = guest::read(request + irp::CURRENT_STACK);
        guest::write(request + irp::CURRENT_LOCATION, current + 1);
        guest::write(request + irp::CURRENT_STACK, place + location::SIZE);
        let control: u8 = guest::read(place + location::CONTROL);
        guest::write(request + irp::PENDING_RETURNED, control & 1);
        let wanted = if guest::read::<u8>(request + irp::CANCEL) != 0 && control & 0x20 != 0 {
            true
        } else if status & 0x8000_0000 == 0 {
            control & 0x40 != 0
        } else {
            control & 0x80 != 0
        };
        let routine: u64 = guest::read(place + location::COMPLETION);
        if routine != 0 && wanted {
            let context: u64 = guest::read(place + location::CONTEXT);
            let upper = if current < count { guest::read(place + location::SIZE + location::DEVICE) } else { 0 };
            let answer = call_back("completion routine", thread::irql(), routine, &[upper, request, context]);
            if answer as u32 == MORE_PROCESSING_REQUIRED {
                return;
            }
        }
    }
    match known {
        Some(Request { built: Some(built), .. }) => super::build_packets::ended(request, built),
        Some(Request { power: Some(power), .. }) => super::build_packets::power_ended(request, power),
        _ => {
            if let Some(known) = lock(&kernel().io).requests.get_mut(&request) {
                known.completed = true;
            }
        }
    }
    kernel().scheduler.change(|_| ());
}

/// Asks the driver to give up a request.
pub(crate) fn cancel(request: u64) -> bool {
    guest::write(request + irp::CANCEL, 1_u8);
    let routine = guest::atomic64(request + irp::CANCEL_ROUTINE).swap(0, std::sync::atomic::Ordering::SeqCst);
    if routine == 0 {
        return false;
    }
    let old = super::irql::raise(DISPATCH);
    guest::write(request + irp::CANCEL_IRQL, old);
    let place: u64 = guest::read(request + irp::CURRENT_STACK);
    let device: u64 = guest::read(place + location::DEVICE);
    // The routine releases the cancel lock, which lowers the IRQL again.
    thread::call(routine, &[device, request]);
    thread::set_irql(old);
    true
}
