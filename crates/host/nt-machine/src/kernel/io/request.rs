//! Requests: IRPs through the devices of a stack, and back. The sender is in [`super::client`].

use std::collections::BTreeMap;

use etw_types::NtStatus;

use super::below;
use super::build::{self, Built, Power};
use super::device::{Device, Link};
use crate::cpu::thread;
use crate::kernel::sync::irql;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{CONFIGURATION_INFORMATION, DEVICE_OBJECT, DRIVER_OBJECT, IO_STACK_LOCATION, IRP};
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{APC, DISPATCH, Routine, fixed, routine};
use crate::verify::{self, Rule};

/// Major functions.
pub(super) const CREATE: u8 = 0x00;
pub(super) const CLOSE: u8 = 0x02;
pub(super) const CLEANUP: u8 = 0x12;
pub(super) const POWER: u8 = 0x16;
pub(super) const PNP: u8 = 0x1B;

/// Bits of `IO_STACK_LOCATION.Control`: `SL_PENDING_RETURNED` and `SL_INVOKE_ON_…`.
pub(crate) const PENDING_RETURNED: u8 = 0x01;
pub(super) const ON_CANCEL: u8 = 0x20;
pub(super) const ON_SUCCESS: u8 = 0x40;
pub(super) const ON_ERROR: u8 = 0x80;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("IofCallDriver", DISPATCH, |call| call_driver(call.ptr(0), call.ptr(1))),
    routine!("IoCallDriver", DISPATCH, |call| call_driver(call.ptr(0), call.ptr(1))),
    routine!("PoCallDriver", DISPATCH, |call| call_driver(call.ptr(0), call.ptr(1))),
    routine!("IofCompleteRequest", DISPATCH, |call| complete(call.ptr(0))),
    routine!("IoCompleteRequest", DISPATCH, |call| complete(call.ptr(0))),
    routine!("IoCancelIrp", DISPATCH, |call| cancel(call.ptr(0))),
    routine!("IoAcquireCancelSpinLock", DISPATCH, |call| call.ptr(0).write(irql::raise(DISPATCH))),
    routine!("IoReleaseCancelSpinLock", DISPATCH, |call| irql::lower(call.u8(0))),
    fixed("IoGetRequestorProcessId", DISPATCH, 4),
    fixed("IoIs32bitProcess", APC, 0),
    fixed("IoSetThreadHardErrorMode", APC, 1),
];

/// A request on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Request {
    pub(super) completed: bool,
    /// The driver had it built.
    pub(super) built: Option<Built>,
    /// The driver had it sent for power.
    pub(super) power: Option<Power>,
}

/// What a driver registered and must take back.
#[derive(Clone, Copy, Debug)]
struct Registration {
    what: &'static str,
    target: u64,
    from: u64,
}

/// The I/O manager's state.
#[derive(Default)]
pub(crate) struct Io {
    pub(crate) driver: GuestPtr<DRIVER_OBJECT>,
    pub(crate) devices: Vec<Device>,
    pub(crate) links: Vec<Link>,
    pub(crate) requests: BTreeMap<GuestPtr<IRP>, Request>,
    /// Packets that wait for `StartIo`, by device; a device without a packet is busy with one.
    pub(super) started: Vec<(GuestPtr<DEVICE_OBJECT>, GuestPtr<IRP>)>,
    /// Devices that the sender of a packet refers to, and those of them that were deleted meanwhile.
    pub(super) held: Vec<GuestPtr<DEVICE_OBJECT>>,
    pub(super) deleted: Vec<GuestPtr<DEVICE_OBJECT>>,
    registrations: Vec<Registration>,
    /// The counts of devices that drivers share, once a driver asked for them.
    pub(super) configuration: GuestPtr<CONFIGURATION_INFORMATION>,
    /// What runs when a packet ends.
    ends: BTreeMap<GuestPtr<IRP>, Box<dyn FnOnce() + Send>>,
    /// Who is told of the cancellation of a packet that the framework has.
    cancels: BTreeMap<GuestPtr<IRP>, Box<dyn FnOnce() + Send>>,
}

impl Io {
    /// Remembers what a driver must take back before it goes.
    pub(crate) fn register(&mut self, what: &'static str, target: u64, from: u64) {
        self.registrations.push(Registration { what, target, from });
    }

    /// Whether something is registered.
    pub(super) fn is_registered(&self, what: &str, target: u64) -> bool {
        self.registrations.iter().any(|known| known.what == what && known.target == target)
    }

    /// The driver took something back; whether it was there.
    pub(crate) fn forget(&mut self, what: &'static str, target: u64) -> bool {
        let same = |known: &Registration| known.what == what && known.target == target;
        let position = self.registrations.iter().position(same);
        position.map(|position| self.registrations.swap_remove(position)).is_some()
    }

    /// Reports what the driver left, and forgets it.
    pub(crate) fn report_leaks(&mut self) {
        for device in self.devices.drain(..).filter(|device| !device.of_host) {
            let what = format_args!("a device is not deleted");
            verify::find_at(Rule::ObjectLeak, Some("IoCreateDevice"), device.from, what);
        }
        for link in self.links.drain(..) {
            let what = format_args!("symbolic link {} is not deleted", link.name);
            verify::find_at(Rule::ObjectLeak, Some("IoCreateSymbolicLink"), link.from, what);
        }
        for Registration { what, from, .. } in self.registrations.drain(..) {
            verify::find_at(Rule::ObjectLeak, None, from, format_args!("a {what} is left"));
        }
        self.started.clear();
        self.ends.clear();
        self.cancels.clear();
        self.requests.clear();
    }
}

/// The driver's routine for a major function.
pub(crate) fn dispatch_routine(device: GuestPtr<DEVICE_OBJECT>, major: u8) -> Result<GuestPtr<Code>, Fault> {
    let routines = device.DriverObject().read()?.MajorFunction();
    routines.element(major.into()).map_or(Ok(GuestPtr::NULL), GuestPtr::read)
}

/// Completes a request that nobody has a routine for.
fn refuse(request: GuestPtr<IRP>, status: NtStatus) -> Result<NtStatus, Fault> {
    request.IoStatus().Status().write(status)?;
    complete(request)?;
    Ok(status)
}

/// `IoCallDriver`: goes to the next stack location and calls the device's driver.
pub(crate) fn call_driver(device: GuestPtr<DEVICE_OBJECT>, request: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
    let place = descend(device, request)?;
    dispatch(device, request, place)
}

/// The next stack location becomes that of a device.
pub(crate) fn descend(
    device: GuestPtr<DEVICE_OBJECT>,
    request: GuestPtr<IRP>,
) -> Result<GuestPtr<IO_STACK_LOCATION>, Fault> {
    let current = request.CurrentLocation().read()?;
    if current <= 1 {
        verify::stop(Rule::BugCheck, Some("IofCallDriver"), 0, format_args!("no more IRP stack locations"));
    }
    let place = request.next_location()?;
    request.CurrentLocation().write(current - 1)?;
    request.CurrentStackLocation().write(place)?;
    place.DeviceObject().write(device)?;
    Ok(place)
}

fn dispatch(
    device: GuestPtr<DEVICE_OBJECT>,
    request: GuestPtr<IRP>,
    place: GuestPtr<IO_STACK_LOCATION>,
) -> Result<NtStatus, Fault> {
    let major = place.MajorFunction().read()?.min(PNP);
    if device.DriverObject().read()? != lock(&kernel().io).driver {
        if let Some(status) = below::serve(request, place)? {
            return Ok(status);
        }
        // A device of the host, below the driver's: unless somebody says otherwise, it agrees to everything about plug and play and power, can be opened
        // and closed, and takes no other request.
        let agrees = matches!(major, PNP | POWER | CREATE | CLOSE | CLEANUP);
        return refuse(request, if agrees { NtStatus::Success } else { NtStatus::InvalidDeviceRequest });
    }
    let target = dispatch_routine(device, major)?;
    if target.is_null() {
        // What the I/O manager puts where a driver has no routine.
        return refuse(request, NtStatus::InvalidDeviceRequest);
    }
    let arguments = [device.address(), request.address()];
    Ok(NtStatus::from_int(call_back("dispatch routine", thread::irql(), target, &arguments) as u32))
}

/// `IoCompleteRequest`: runs completion routines upwards, then ends the request.
pub(crate) fn complete(request: GuestPtr<IRP>) -> Result<(), Fault> {
    let known = lock(&kernel().io).requests.get(&request).copied();
    let Some(known) = known else {
        verify::find(Rule::RequestTwice, format_args!("{request:#x} is no request, or one that has ended"));
        return Ok(());
    };
    if known.completed {
        verify::find(Rule::RequestTwice, format_args!("the request was completed before"));
        return Ok(());
    }
    if request.IoStatus().Status().read()? == NtStatus::Pending {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed with STATUS_PENDING"));
    }
    if !request.CancelRoutine().read()?.is_null() {
        verify::find(Rule::RequestMisuse, format_args!("a request is completed with its cancel routine set"));
    }
    if !ascend(request)? {
        return Ok(());
    }
    if let Some(built) = known.built {
        build::ended(request, built)?;
    } else if let Some(power) = known.power {
        build::power_ended(request, power);
    } else if let Some(known) = lock(&kernel().io).requests.get_mut(&request) {
        known.completed = true;
    }
    let then = {
        let mut io = lock(&kernel().io);
        io.cancels.remove(&request);
        io.ends.remove(&request)
    };
    if let Some(then) = then {
        then();
    }
    kernel().scheduler.change(|_| ());
    Ok(())
}

/// Runs something when a packet is canceled.
pub(crate) fn when_canceled(request: GuestPtr<IRP>, run: impl FnOnce() + Send + 'static) {
    lock(&kernel().io).cancels.insert(request, Box::new(run));
}

/// Runs something when a packet has ended, maybe at once.
pub(crate) fn then(request: GuestPtr<IRP>, run: impl FnOnce() + Send + 'static) {
    let mut io = lock(&kernel().io);
    if io.requests.get(&request).is_none_or(|request| request.completed) {
        drop(io);
        return run();
    }
    io.ends.insert(request, Box::new(run));
}

/// Runs the completion routines of the locations up to the top; whether no routine took the request back.
fn ascend(request: GuestPtr<IRP>) -> Result<bool, Fault> {
    let status = request.IoStatus().Status().read()?;
    let count = request.StackCount().read()?;
    loop {
        let current = request.CurrentLocation().read()?;
        if current > count {
            return Ok(true);
        }
        let place = request.CurrentStackLocation().read()?;
        request.CurrentLocation().write(current + 1)?;
        request.CurrentStackLocation().write(place.at(1))?;
        let control = place.Control().read()?;
        request.PendingReturned().write(control & PENDING_RETURNED)?;
        let canceled = request.Cancel().read()? != 0 && control & ON_CANCEL != 0;
        let wanted = canceled || control & if status.is_success() { ON_SUCCESS } else { ON_ERROR } != 0;
        if let Some(routine) = place.CompletionRoutine().read()?.non_null().filter(|_| wanted) {
            let upper = if current < count { place.at(1).DeviceObject().read()? } else { GuestPtr::NULL };
            let arguments = [upper.address(), request.address(), place.Context().read()?];
            let answer = call_back("completion routine", thread::irql(), routine, &arguments);
            if NtStatus::from_int(answer as u32) == NtStatus::MoreProcessingRequired {
                return Ok(false);
            }
        }
    }
}

/// Asks the driver to give up a request; whether it has a routine for that.
pub(crate) fn cancel(request: GuestPtr<IRP>) -> Result<bool, Fault> {
    request.Cancel().write(1)?;
    let routine = request.CancelRoutine().cast::<u64>().swap(0)?;
    if routine == 0 {
        let run = lock(&kernel().io).cancels.remove(&request);
        return Ok(run.map(|run| run()).is_some());
    }
    let old = irql::raise(DISPATCH);
    request.CancelIrql().write(old)?;
    let device = request.CurrentStackLocation().read()?.DeviceObject().read()?;
    // The routine releases the cancel lock, which lowers the IRQL again.
    thread::call(routine, &[device.address(), request.address()]);
    thread::set_irql(old);
    Ok(true)
}
