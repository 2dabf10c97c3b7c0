//! IRPs: who makes them, their way down a device stack and back up, how they are canceled, and what drivers must not do with
//! them. [`client`] sends those of the host.

mod activity;
pub mod build;
pub mod cancel;
pub mod client;
mod contract;
mod csq;
pub mod dispatching;
mod driver_calls;
pub mod exchange;
mod history;
mod irp;
pub mod rules;
mod start_io;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::image::Leaving;
use nt_processor::layout::{CONFIGURATION_INFORMATION, DEVICE_OBJECT, DRIVER_OBJECT, GUID, IO_STACK_LOCATION, IRP};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{DISPATCH, Ignored, Routine, routines};
use nt_verifier::verify::{self, Rule, Wdm};
use windows_constants::request::{
    IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE, IRP_MJ_PNP, IRP_MJ_POWER, IRP_MN_WAIT_WAKE, SL_INVOKE_ON_CANCEL,
    SL_INVOKE_ON_ERROR, SL_INVOKE_ON_SUCCESS, SL_PENDING_RETURNED,
};

use crate::io::device::below;
use crate::io::device::remove_lock::{self, RemoveLocks};
use crate::io::device::{self, Device, Link, Owner};
use crate::io::file::volume::Volume;
use crate::io::pnp::bus;
use crate::io::pnp::manager::{Action, Child};
use crate::sync::event;
use crate::sync::process::SYSTEM;
use crate::{Kernel, RequestKind, call_back, kernel, lock};

use build::{Built, Power};
use contract::Buffers;
use dispatching::Dispatch;
use history::{History, Origin};
use rules::Ran;

pub use cancel::cancel;

/// What findings call a dispatch routine.
pub const DISPATCH_ROUTINE: &str = "dispatch routine";

pub(super) const ROUTINES: &[&[Routine]] = &[
    OWN,
    activity::ROUTINES,
    build::ROUTINES,
    cancel::ROUTINES,
    csq::ROUTINES,
    driver_calls::ROUTINES,
    start_io::ROUTINES,
];

routines! { OWN;
    #[irql(DISPATCH)]
    fn IoGetRequestorProcessId(irp: GuestPtr<IRP>) -> u32 {
        requestor(irp) as u32
    }

    #[irql(DISPATCH), fixed]
    fn IoIs32bitProcess(_irp: Ignored<GuestPtr<IRP>>) -> bool {
        false
    }

    #[irql(DISPATCH), fixed]
    fn IoSetThreadHardErrorMode(_enable: Ignored<bool>) -> bool {
        true
    }
}

/// The state of an IRP.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    pub(super) completed: bool,
    /// The first driver called `IoMarkIrpPending`. Known after the completion.
    pub(super) is_marked: bool,
    /// A dispatch routine or preprocess callback of the driver received the IRP.
    pub(super) reached: bool,
    /// The stack location of the driver that has the IRP, counted from 1. It is one more than the number of locations
    /// for the driver that allocated it.
    pub(super) location: u8,
    /// The buffers, if the I/O manager made the IRP.
    pub(super) buffers: Option<Buffers>,
    /// The I/O manager built the IRP for the driver.
    pub(super) built: Option<Built>,
    /// A driver says with `PoSetSystemWake` that the IRP woke the system.
    pub(super) wakes: bool,
    /// The driver requested the IRP with `PoRequestPowerIrp`.
    pub(super) power: Option<Power>,
    pub(super) history: History,
    /// The process that the sender was in; 0 if the driver made the IRP.
    pub(super) process: u64,
}

/// Returns the process that an IRP comes from.
pub(super) fn requestor(irp: GuestPtr<IRP>) -> u64 {
    let known = lock(&kernel().io).requests.get(&irp).map(|request| request.process);
    known.filter(|process| *process != 0).unwrap_or(SYSTEM)
}

/// A registration that a driver must remove before it is unloaded.
#[derive(Clone, Copy, Debug)]
struct Registration {
    what: &'static str,
    target: u64,
    from: u64,
}

/// The I/O manager's state.
#[derive(Default)]
pub struct Io {
    /// The driver under test.
    pub driver: GuestPtr<DRIVER_OBJECT>,
    /// The driver objects of all images.
    pub drivers: Vec<GuestPtr<DRIVER_OBJECT>>,
    /// The devices of all drivers.
    pub devices: Vec<Device>,
    /// A device is being added, removed or powered.
    pub(super) is_busy: bool,
    /// Devices that the system put to sleep. They get no plug-and-play requests.
    pub(super) asleep: Vec<GuestPtr<DEVICE_OBJECT>>,
    /// What the Plug and Play manager does next, by physical device.
    pub(super) scheduled: Vec<(GuestPtr<DEVICE_OBJECT>, Action)>,
    /// What it does when a device wakes up.
    pub(super) postponed: Vec<(GuestPtr<DEVICE_OBJECT>, Action)>,
    /// The children of bus devices.
    pub(super) children: Vec<Child>,
    /// The power IRPs that drivers requested, by the device at the top of the stack. The first one is sent.
    pub(super) power: SortedMap<GuestPtr<DEVICE_OBJECT>, VecDeque<GuestPtr<IRP>>>,
    /// The wait/wake IRPs, by physical device.
    pub(super) wait_wake: SortedMap<GuestPtr<DEVICE_OBJECT>, GuestPtr<IRP>>,
    /// The number of physical devices that were created.
    pub(super) plugged: u32,
    /// The symbolic links.
    pub links: Vec<Link>,
    /// The IRPs that are not freed yet.
    pub requests: BTreeMap<GuestPtr<IRP>, Request>,
    /// The IRPs that wait for `StartIo`, by device. An entry with a NULL IRP means that the device is busy.
    pub(super) started: Vec<(GuestPtr<DEVICE_OBJECT>, GuestPtr<IRP>)>,
    /// Devices that the host uses, for example because it is sending an IRP. See [`Held`](crate::io::device::Held).
    pub(super) held: Vec<GuestPtr<DEVICE_OBJECT>>,
    /// Devices that the driver has deleted and whose memory is still in use. See [`release`](crate::io::device::release).
    pub(super) deleted: Vec<GuestPtr<DEVICE_OBJECT>>,
    registrations: Vec<Registration>,
    pub(super) remove_locks: RemoveLocks,
    /// The synchronous IRPs that are completed, and that the I/O manager has freed.
    pub(super) ended: BTreeMap<GuestPtr<IRP>, Origin>,
    /// The volume with its files.
    pub volume: Volume,
    /// The device counts that drivers share. Created when a driver requests them.
    pub(super) configuration: GuestPtr<CONFIGURATION_INFORMATION>,
    /// The activity ids of threads, by thread number: addresses in memory of the driver.
    pub(super) thread_activities: SortedMap<u32, GuestPtr<GUID>>,
    /// The functions that run when an IRP is completed.
    ends: SortedMap<GuestPtr<IRP>, Box<dyn FnOnce() + Send>>,
    /// The functions that run when an IRP is canceled that the framework or a device of the host has.
    pub(super) cancels: SortedMap<GuestPtr<IRP>, Box<dyn FnOnce() + Send>>,
}

impl Io {
    /// Records a registration that a driver must remove before it is unloaded.
    pub fn register(&mut self, what: &'static str, target: u64, from: u64) {
        self.registrations.push(Registration { what, target, from });
    }

    /// Records an IRP that was not sent yet, with this number of stack locations.
    pub(super) fn track(&mut self, irp: GuestPtr<IRP>, stack: u8, request: Request) {
        let history = History { lowest: stack.saturating_add(1), ..request.history };
        self.ended.remove(&irp);
        self.requests.insert(irp, Request { location: stack.saturating_add(1), history, ..request });
    }

    /// Returns whether there is such a registration.
    pub(crate) fn is_registered(&self, what: &str, target: u64) -> bool {
        self.registrations.iter().any(|known| known.what == what && known.target == target)
    }

    /// Removes a registration. Returns whether there was one.
    pub fn forget(&mut self, what: &'static str, target: u64) -> bool {
        let same = |known: &Registration| known.what == what && known.target == target;
        let position = self.registrations.iter().position(same);
        position.map(|position| self.registrations.swap_remove(position)).is_some()
    }

    /// Reports the devices, links and registrations that an image did not remove. After the last image, removes
    /// everything.
    pub fn report_leaks(&mut self, leaving: Leaving) {
        for device in self.devices.extract_if(.., |device| device.owner == Owner::Driver && leaving.owns(device.from)) {
            let what = format_args!("does not delete a device");
            verify::find_at(Rule::ObjectLeak, Some("IoCreateDevice"), device.from, what);
        }
        for link in self.links.extract_if(.., |link| leaving.owns(link.from)) {
            let what = format_args!("does not delete symbolic link {}", link.name);
            verify::find_at(Rule::ObjectLeak, Some("IoCreateSymbolicLink"), link.from, what);
        }
        for Registration { what, from, .. } in self.registrations.extract_if(.., |known| leaving.owns(known.from)) {
            verify::find_at(Rule::ObjectLeak, None, from, format_args!("does not remove a {what}"));
        }
        if !leaving.is_last() {
            return;
        }
        self.devices.clear();
        self.asleep.clear();
        self.scheduled.clear();
        self.postponed.clear();
        self.children.clear();
        self.power.clear();
        self.wait_wake.clear();
        self.deleted.clear();
        self.started.clear();
        self.ends.clear();
        self.cancels.clear();
        self.requests.clear();
        self.ended.clear();
        self.remove_locks = RemoveLocks::default();
    }
}

/// Returns the driver's dispatch routine for a major function.
pub(crate) fn dispatch_routine(device: GuestPtr<DEVICE_OBJECT>, major: u8) -> Result<GuestPtr<Code>, Fault> {
    let routines = device.DriverObject().read()?.MajorFunction();
    routines.element(major.into()).map_or(Ok(GuestPtr::NULL), GuestPtr::read)
}

/// Completes a request with a status, without calling a dispatch routine.
fn refuse(request: GuestPtr<IRP>, status: NtStatus) -> Result<NtStatus, Fault> {
    request.IoStatus().Status().write(status)?;
    complete(request)?;
    Ok(status)
}

/// Completes a request with a status and `Information`. Returns the status.
pub fn complete_with(request: GuestPtr<IRP>, status: NtStatus, information: u64) -> Result<NtStatus, Fault> {
    request.IoStatus().Information().write(information)?;
    refuse(request, status)
}

/// `IoCallDriver`: advances to the next stack location and calls the driver of the device.
pub(crate) fn call_driver(device: GuestPtr<DEVICE_OBJECT>, request: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
    let place = descend(device, request)?;
    dispatch(device, request, place)
}

/// Passes an IRP on to the device below, with the stack location that it has.
pub fn forward(lower: GuestPtr<DEVICE_OBJECT>, request: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
    let current = request.CurrentLocation().read()?;
    let place = request.CurrentStackLocation().read()?;
    contract::move_to(request, current.wrapping_add(1), place.at(1))?;
    call_driver(lower, request)
}

/// Advances an IRP to its next stack location, and assigns that to a device.
pub fn descend(device: GuestPtr<DEVICE_OBJECT>, request: GuestPtr<IRP>) -> Result<GuestPtr<IO_STACK_LOCATION>, Fault> {
    let current = contract::check_sent(request)?;
    let place = request.next_location()?;
    contract::move_to(request, current - 1, place)?;
    place.DeviceObject().write(device)?;
    Ok(place)
}

/// Calls the driver of a device for an IRP.
pub(super) fn dispatch(
    device: GuestPtr<DEVICE_OBJECT>,
    request: GuestPtr<IRP>,
    place: GuestPtr<IO_STACK_LOCATION>,
) -> Result<NtStatus, Fault> {
    let major = place.MajorFunction().read()?.min(IRP_MJ_PNP);
    if !lock(&kernel().io).drivers.contains(&device.DriverObject().read()?) {
        if let Some(status) = below::serve(request, place)? {
            return Ok(status);
        }
        // This is a device of the host. If no script matches, it accepts power, open and close requests, and refuses
        // all others except plug and play.
        let status = match major {
            IRP_MJ_PNP => bus::serve(device, request, place)?,
            IRP_MJ_POWER if place.MinorFunction().read()? == IRP_MN_WAIT_WAKE => {
                return bus::wait_for_wake(device, request, place);
            }
            IRP_MJ_POWER | IRP_MJ_CREATE | IRP_MJ_CLOSE | IRP_MJ_CLEANUP => NtStatus::Success,
            _ => {
                let [_, _, code, _] = place.Parameters().read()?;
                below::note_refused(device::name_of_others(device), RequestKind::from_int(major), code as u32);
                NtStatus::InvalidDeviceRequest
            }
        };
        return refuse(request, status);
    }
    let target = dispatch_routine(device, major)?;
    if target.is_null() {
        // The I/O manager's default routine does the same.
        return refuse(request, NtStatus::InvalidDeviceRequest);
    }
    dispatch_to(device, request, target)
}

/// Calls a dispatch routine of the driver of a device.
pub fn dispatch_to(
    device: GuestPtr<DEVICE_OBJECT>,
    request: GuestPtr<IRP>,
    target: GuestPtr<Code>,
) -> Result<NtStatus, Fault> {
    reached(request);
    let arguments = [device.address(), request.address()];
    let call = Dispatch::new(device, request)?;
    remove_lock::begins(&call);
    let routine = || call_back(DISPATCH_ROUTINE, thread::irql(), target, &arguments);
    let (status, call) = dispatching::run(call, routine);
    rules::dispatched(&call)?;
    Ok(NtStatus::from_int(status as u32))
}

/// Records that the driver receives an IRP.
pub fn reached(request: GuestPtr<IRP>) {
    if let Some(known) = lock(&kernel().io).requests.get_mut(&request) {
        known.reached = true;
    }
}

/// `IoCompleteRequest`: runs the completion routines from the current location upwards, then finishes the request.
pub fn complete(request: GuestPtr<IRP>) -> Result<(), Fault> {
    let Kernel { io, scheduler, .. } = kernel();
    let known = lock(io).requests.get(&request).copied();
    let Some(known) = known else {
        let breach = Rule::RequestTwice.named(Wdm::DoubleCompletion);
        verify::find(breach, format_args!("{request:#x} is not an IRP, or the IRP is already completed"));
        return Ok(());
    };
    if known.completed {
        let breach = Rule::RequestTwice.named(Wdm::DoubleCompletion);
        verify::find(breach, format_args!("completes a request that is already completed"));
        return Ok(());
    }
    contract::check_location(request, known.location)?;
    if request.IoStatus().Status().read()? == NtStatus::Pending {
        let breach = Rule::RequestMisuse.named(Wdm::CompleteRequestStatusCheck);
        verify::find(breach, format_args!("completes a request with STATUS_PENDING"));
    }
    if !request.CancelRoutine().read()?.is_null() {
        verify::find(Rule::RequestMisuse, format_args!("completes a request whose cancel routine is set"));
    }
    if !ascend(io, request)? {
        return Ok(());
    }
    dispatching::completed(request);
    if let Some(buffers) = &known.buffers {
        contract::check_completed(request, buffers)?;
    }
    if let Some(built) = known.built {
        build::ended(request, built, &known.buffers.unwrap_or_default())?;
    } else if let Some(power) = known.power {
        build::power_ended(request, power);
    } else if let Some(known) = lock(io).requests.get_mut(&request) {
        known.completed = true;
    }
    let then = {
        let mut io = lock(io);
        io.cancels.remove(&request);
        io.ends.remove(&request)
    };
    if let Some(then) = then {
        then();
    }
    scheduler.change(|_| ());
    Ok(())
}

/// Calls `run` when an IRP is canceled.
pub fn when_canceled(request: GuestPtr<IRP>, run: impl FnOnce() + Send + 'static) {
    lock(&kernel().io).cancels.insert(request, Box::new(run));
}

/// Removes the function for the cancellation of an IRP.
pub fn not_cancelable(request: GuestPtr<IRP>) {
    lock(&kernel().io).cancels.remove(&request);
}

/// Calls `run` when an IRP is completed; immediately if it already is.
pub fn then(request: GuestPtr<IRP>, run: impl FnOnce() + Send + 'static) {
    let mut io = lock(&kernel().io);
    if io.requests.get(&request).is_none_or(|request| request.completed) {
        drop(io);
        return run();
    }
    io.ends.insert(request, Box::new(run));
}

/// Runs the completion routines up to the top of the stack. Returns `false` if one of them returned
/// `STATUS_MORE_PROCESSING_REQUIRED`.
fn ascend(io: &Mutex<Io>, request: GuestPtr<IRP>) -> Result<bool, Fault> {
    let status = request.IoStatus().Status().read()?;
    let count = request.StackCount().read()?;
    loop {
        let current = request.CurrentLocation().read()?;
        if current > count {
            return Ok(true);
        }
        let place = request.CurrentStackLocation().read()?;
        contract::move_to(request, current + 1, place.at(1))?;
        // As in Windows, a location that the IRP has left has no flags.
        let control = place.Control().change(|_| 0)?;
        if let Some(known) = lock(io).requests.get_mut(&request).filter(|_| current == count) {
            known.is_marked = control & SL_PENDING_RETURNED != 0;
        }
        request.PendingReturned().write(control & SL_PENDING_RETURNED)?;
        let canceled = request.Cancel().read()? != 0 && control & SL_INVOKE_ON_CANCEL != 0;
        let wanted =
            canceled || control & if status.is_success() { SL_INVOKE_ON_SUCCESS } else { SL_INVOKE_ON_ERROR } != 0;
        if let Some(routine) = place.CompletionRoutine().read()?.non_null().filter(|_| wanted) {
            let upper = if current < count { place.at(1).DeviceObject().read()? } else { GuestPtr::NULL };
            let arguments = [upper.address(), request.address(), place.Context().read()?];
            let was_marked = current < count && place.at(1).Control().read()? & SL_PENDING_RETURNED != 0;
            let signals = event::signals();
            let result = call_back("completion routine", thread::irql(), routine, &arguments);
            let result = NtStatus::from_int(result as u32);
            // The routine, or a thread that it has woken, may free the IRP: its memory is valid while it is listed.
            let is_marked = {
                let io = lock(io);
                let is_live = current < count && io.requests.contains_key(&request);
                if is_live { Some(place.at(1).Control().read()? & SL_PENDING_RETURNED != 0) } else { None }
            };
            if let Some(is_marked) = is_marked {
                let pending = control & SL_PENDING_RETURNED != 0;
                let signaled = event::signals() != signals;
                let ran = Ran { routine: routine.address(), result, pending, was_marked, is_marked, signaled };
                rules::completion_ran(&ran, place.at(1))?;
            }
            if result == NtStatus::MoreProcessingRequired {
                return Ok(false);
            }
        } else if control & SL_PENDING_RETURNED != 0 && current < count {
            // The I/O manager marks the IRP for a driver without a completion routine.
            place.at(1).Control().change(|control| control | SL_PENDING_RETURNED)?;
        }
    }
}
