//! What drivers must not do with IRPs, by the names of Microsoft's rules. [`super`] calls these checks.

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_OBJECT, IO_STACK_LOCATION, IRP};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, PASSIVE, Routine};
use nt_verifier::verify::{self, At, Breach, Rule, Wdm};
use windows_constants::device::DO_POWER_PAGABLE;
use windows_constants::power::PowerSystemWorking;
use windows_constants::request::{
    IRP_MJ_DEVICE_CONTROL, IRP_MJ_INTERNAL_DEVICE_CONTROL, IRP_MJ_PNP, IRP_MJ_POWER, IRP_MJ_READ, IRP_MJ_WRITE,
    IRP_MN_CANCEL_REMOVE_DEVICE, IRP_MN_CANCEL_STOP_DEVICE, IRP_MN_QUERY_DEVICE_RELATIONS, IRP_MN_QUERY_INTERFACE,
    IRP_MN_QUERY_REMOVE_DEVICE, IRP_MN_QUERY_STOP_DEVICE, IRP_MN_REMOVE_DEVICE, IRP_MN_SET_POWER, IRP_MN_START_DEVICE,
    IRP_MN_SURPRISE_REMOVAL, IRP_MN_WAIT_WAKE, SL_PENDING_RETURNED,
};

use super::dispatching::{self, Dispatch};
use super::history::{self, History, Origin};
use crate::io::device::remove_lock;
use crate::{kernel, lock};

/// `PowerSystemWorking` and `PowerDeviceD0`.
const ON: u64 = PowerSystemWorking as u64;

type Packet = GuestPtr<IRP>;
type Location = GuestPtr<IO_STACK_LOCATION>;

/// Checks an IRP that a driver sends. `place` is the stack location of the driver that receives it.
pub(super) fn sends(irp: Packet, place: Location) -> Result<(), Fault> {
    let before = history::update(irp, |history| {
        let before = *history;
        (history.is_sent, history.registration) = (true, None);
        before
    });
    let History { origin, is_sent, registration, .. } = before.unwrap_or_default();
    let major = place.MajorFunction().read()?;
    let irql = thread::irql();
    if irql >= DISPATCH
        && !matches!(
            major,
            IRP_MJ_POWER | IRP_MJ_READ | IRP_MJ_WRITE | IRP_MJ_DEVICE_CONTROL | IRP_MJ_INTERNAL_DEVICE_CONTROL
        )
    {
        let breach = Rule::IrqlTooHigh.named(match origin {
            Origin::Manager | Origin::Power => Wdm::ForwardedAtBadIrql,
            Origin::Allocated => Wdm::ForwardedAtBadIrqlAllocate,
            Origin::Asynchronous => Wdm::ForwardedAtBadIrqlFsdAsync,
            Origin::Synchronous | Origin::Control => Wdm::ForwardedAtBadIrqlFsdSync,
        });
        verify::find(breach, format_args!("sends an IRP with major function {major:#x} at IRQL {irql}"));
    }
    if !is_sent && before.is_some() && place.CompletionRoutine().read()?.is_null() {
        let what = format_args!("sends an IRP that it made itself without a completion routine");
        match origin {
            Origin::Allocated => verify::find(Rule::RequestMisuse.named(Wdm::IoAllocateForward), what),
            Origin::Asynchronous => verify::find(Rule::RequestMisuse.named(Wdm::IoBuildFsdForward), what),
            _ => {}
        }
    }
    if registration == Some(false) {
        let names = [Wdm::IoSetCompletionExCompleteIrp, Wdm::IoSetCompletionRoutineExCheck];
        let breach = Breach::from(Rule::RequestMisuse).named_all(&names);
        verify::find(breach, format_args!("passes on an IRP although IoSetCompletionRoutineEx failed"));
    }
    match dispatching::current().filter(|call| call.irp == irp) {
        Some(call) => remove_lock::check_sent(&call),
        None => Ok(()),
    }
}

/// Notes the status that the driver below returned for an IRP.
pub(super) fn sent(irp: Packet, status: NtStatus) -> Result<(), Fault> {
    let mut is_dispatched = false;
    dispatching::note(irp, |call| {
        call.sent = Some(status);
        is_dispatched = true;
    });
    if is_dispatched {
        history::update(irp, |history| history.returned = Some(status));
    }
    let Some(origin) = history::origin(irp).filter(|_| status == NtStatus::Pending) else { return Ok(()) };
    dispatching::is_pending(origin);
    if matches!(origin, Origin::Synchronous | Origin::Control) {
        let event = irp.UserEvent().read()?.address();
        let from = thread::site().map_or(0, |site| site.from);
        history::update(irp, |history| history.waiting = Some((thread::number(), event, from)));
    }
    Ok(())
}

/// Checks an IRP that a driver completes. Returns whether the driver may complete it. `location` is that of the driver
/// which has the IRP, and `place` its stack location.
pub(super) fn completes(irp: Packet, location: u8, place: Location) -> Result<bool, Fault> {
    if lock(&kernel().locks).holds_spin_lock(thread::number()) {
        let breach = Rule::LockMisuse.named(Wdm::SpinLockSafe);
        verify::find(breach, format_args!("completes a request while it holds a spin lock"));
    }
    let History { origin, registration, lowest, .. } = history::update(irp, |history| *history).unwrap_or_default();
    if location > irp.StackCount().read()? {
        let what = format_args!("completes an IRP that it made itself, and that no other driver has");
        match origin {
            Origin::Allocated => verify::find(Rule::RequestMisuse.named(Wdm::IoAllocateComplete), what),
            Origin::Asynchronous => verify::find(Rule::RequestMisuse.named(Wdm::IoBuildFsdComplete), what),
            _ => {}
        }
        return Ok(true);
    }
    if is_of_others(place.DeviceObject().read()?) {
        use Wdm::{CompleteRequest, PendedCompletedRequest2, PendedCompletedRequest3, PendedCompletedRequestEx};
        let names = [CompleteRequest, PendedCompletedRequest2, PendedCompletedRequest3, PendedCompletedRequestEx];
        let breach = Breach::from(Rule::RequestMisuse).named_all(&names);
        verify::find(breach, format_args!("completes a request that the driver below has"));
        return Ok(false);
    }
    if registration == Some(true) {
        let breach = Rule::RequestMisuse.named(Wdm::CompletionRoutineRegistered);
        let what =
            format_args!("completes a request after IoSetCompletionRoutineEx, whose memory is freed when it returns");
        verify::find(breach, what);
    }
    // A driver at the bottom of the stack has nowhere to send the request.
    let may_send = location > 1 && lowest >= location;
    let status = irp.IoStatus().Status().read()?;
    match (place.MajorFunction().read()?, place.MinorFunction().read()?) {
        (IRP_MJ_PNP, minor) => check_plug_and_play(minor, status, may_send),
        (IRP_MJ_POWER, IRP_MN_SET_POWER) if may_send && status.is_error() => {
            let [_, _, state, _] = place.Parameters().read()?;
            let name = if state == ON { Wdm::PowerUpFail } else { Wdm::PowerDownFail };
            verify::find(Rule::RequestMisuse.named(name), format_args!("fails IRP_MN_SET_POWER with {status}"));
        }
        _ => {}
    }
    Ok(true)
}

/// Checks a plug-and-play request that a driver completes. `unsent` says that a driver below should have got it.
fn check_plug_and_play(minor: u8, status: NtStatus, unsent: bool) {
    let is_untouched = status == NtStatus::NotSupported;
    if matches!(
        minor,
        IRP_MN_SURPRISE_REMOVAL | IRP_MN_CANCEL_REMOVE_DEVICE | IRP_MN_CANCEL_STOP_DEVICE | IRP_MN_REMOVE_DEVICE
    ) && status.is_error()
    {
        let breach = match minor {
            IRP_MN_REMOVE_DEVICE if is_untouched => Rule::RequestMisuse.named(Wdm::NsRemoveLockMnRemove),
            IRP_MN_SURPRISE_REMOVAL if is_untouched => Rule::RequestMisuse.named(Wdm::NsRemoveLockMnSurpriseRemove),
            _ => Rule::RequestMisuse.into(),
        };
        let what = format_args!("completes a plug-and-play request that cannot fail with {status}: minor {minor:#x}");
        verify::find(breach.named(Wdm::PnpRemove), what);
    } else if minor == IRP_MN_QUERY_REMOVE_DEVICE && is_untouched && unsent {
        let breach = Rule::RequestMisuse.named(Wdm::NsRemoveLockQueryMnRemove);
        verify::find(breach, format_args!("completes IRP_MN_QUERY_REMOVE_DEVICE with {status}"));
    } else if !matches!(minor, IRP_MN_QUERY_INTERFACE | IRP_MN_QUERY_STOP_DEVICE | IRP_MN_QUERY_REMOVE_DEVICE)
        && unsent
        && (status.is_success() || is_untouched && minor != IRP_MN_START_DEVICE)
    {
        let breach = Rule::RequestMisuse.named(Wdm::PnpIrpCompletion);
        let what =
            format_args!("completes a plug-and-play request that the driver below has not seen: minor {minor:#x}");
        verify::find(breach, what);
    }
}

/// Returns whether a device belongs to the host, as another driver. The memory of a deleted device may be gone.
fn is_of_others(device: GuestPtr<DEVICE_OBJECT>) -> bool {
    let driver = device.non_null().and_then(|device| device.DriverObject().read().ok());
    driver.is_some_and(|driver| !lock(&kernel().io).drivers.contains(&driver))
}

/// A completion routine that has returned.
pub(super) struct Ran {
    pub(super) routine: u64,
    pub(super) result: NtStatus,
    /// Whether the driver below marked the IRP as pending.
    pub(super) pending: bool,
    /// Whether the driver of the completion routine had already marked it.
    pub(super) was_marked: bool,
    /// Whether it has marked it now.
    pub(super) is_marked: bool,
    /// Whether the routine set an event.
    pub(super) signaled: bool,
}

/// Checks what a completion routine did. `upper` is the stack location of its driver, which is valid unless the routine continues
/// the request.
pub(super) fn completion_ran(ran: &Ran, upper: Location) -> Result<(), Fault> {
    let is_continued = ran.result == NtStatus::MoreProcessingRequired;
    let find = |name, what| {
        let breach = Breach::from(Rule::RequestMisuse).named_all(name);
        verify::find_at(breach, Some("completion routine"), At::Code(ran.routine), what);
    };
    if ran.pending && !ran.is_marked && !is_continued {
        let names = pending_names(upper)?;
        find(names, format_args!("does not call IoMarkIrpPending, although PendingReturned is set"));
    }
    if ran.is_marked && !ran.was_marked && ran.signaled && is_continued {
        let what = format_args!("calls IoMarkIrpPending and sets the event that the dispatch routine waits for");
        find(&[Wdm::CompletionEventChecking], what);
    }
    Ok(())
}

/// Returns the rules about a request that is not marked as pending.
fn pending_names(place: Location) -> Result<&'static [Wdm], Fault> {
    let [_, kind, state, _] = place.Parameters().read()?;
    Ok(match (place.MajorFunction().read()?, place.MinorFunction().read()?) {
        (IRP_MJ_PNP, IRP_MN_START_DEVICE) => &[Wdm::MarkStartDevice],
        (IRP_MJ_PNP, IRP_MN_QUERY_DEVICE_RELATIONS) => &[Wdm::MarkQueryRelations],
        (IRP_MJ_POWER, IRP_MN_SET_POWER) if kind != 0 => &[Wdm::MarkDevicePower],
        (IRP_MJ_POWER, IRP_MN_SET_POWER) if state == ON => &[Wdm::MarkPower, Wdm::MarkDevicePower],
        (IRP_MJ_POWER, IRP_MN_SET_POWER) => &[Wdm::MarkPowerDown],
        _ => &[Wdm::MarkIrpPending2],
    })
}

/// Checks what a dispatch routine left behind.
pub(super) fn dispatched(call: &Dispatch) -> Result<(), Fault> {
    remove_lock::ended(call)?;
    let returned_to = thread::driver_stack();
    let is_gone = |event: u64| event < returned_to && thread::stack().is_some_and(|stack| stack.contains(event));
    let abandoned: Vec<(Packet, Origin, u64)> = {
        let mut io = lock(&kernel().io);
        let all = io.requests.iter_mut().filter_map(|(irp, request)| {
            let (thread, event, from) = request.history.waiting?;
            let is_lost = thread == thread::number() && is_gone(event);
            is_lost.then_some((*irp, request.history.origin, from)).inspect(|_| request.history.waiting = None)
        });
        all.collect()
    };
    for (irp, origin, from) in abandoned {
        let name = if origin == Origin::Control {
            Wdm::IoBuildDeviceControlWait
        } else {
            Wdm::IoBuildSynchronousFsdRequestWait
        };
        let what = format_args!("returns without waiting for an IRP, whose event was on the stack");
        verify::find_at(Rule::RequestMisuse.named(name), Some("IofCallDriver"), from, what);
        irp.UserEvent().write(GuestPtr::NULL)?;
        irp.UserIosb().write(GuestPtr::NULL)?;
    }
    Ok(())
}

/// Checks, when a spin lock is released, that an IRP which was queued meanwhile is marked as pending.
pub(crate) fn lock_released() -> Result<(), Fault> {
    let Some(call) = unmarked()? else { return Ok(()) };
    let entry = call.irp.ListEntry();
    let next = entry.Flink().read()?;
    if next.non_null().is_some_and(|next| next.Blink().read() == Ok(entry)) {
        let is_interlocked = thread::site().is_some_and(|site| site.routine.starts_with("ExInterlocked"));
        let name = if is_interlocked { Wdm::MarkingInterlockedQueuedIrps } else { Wdm::MarkingQueuedIrps };
        let what = format_args!("queues an IRP, and releases the lock before it calls IoMarkIrpPending");
        verify::find(Rule::RequestMisuse.named(name), what);
    }
    Ok(())
}

/// Returns the dispatch routine that runs on this thread, if its IRP is neither completed, sent nor marked as pending.
fn unmarked() -> Result<Option<Dispatch>, Fault> {
    let Some(call) = dispatching::current().filter(|call| !call.is_completed && call.sent.is_none()) else {
        return Ok(None);
    };
    let is_live = lock(&kernel().io).requests.get(&call.irp).is_some_and(|request| !request.completed);
    let place = call.irp.after::<IO_STACK_LOCATION>().at(call.location.into()).before(1);
    let is_unmarked = is_live && place.Control().read()? & SL_PENDING_RETURNED == 0;
    Ok(Some(call).filter(|_| is_unmarked))
}

/// Checks a call of a routine while the driver handles `IRP_MN_SET_POWER`, which can arrive at `DISPATCH_LEVEL` unless the
/// driver says with `DO_POWER_PAGABLE` that it must not.
pub fn calls(routine: &Routine) {
    if routine.irql != PASSIVE {
        return;
    }
    let flags = dispatching::device_of(IRP_MJ_POWER, IRP_MN_SET_POWER).and_then(|device| device.Flags().read().ok());
    if flags.is_some_and(|flags| flags & DO_POWER_PAGABLE == 0) {
        let what = format_args!("needs PASSIVE_LEVEL, but IRP_MN_SET_POWER can arrive at DISPATCH_LEVEL");
        verify::find(Rule::RequestMisuse.named(Wdm::PowerIrpDDIs), what);
    }
}

/// Returns whether a dispatch routine runs on this thread for a client, and not for a manager of the system.
pub(crate) fn is_for_client() -> bool {
    dispatching::current().is_some_and(|call| !matches!(call.major, IRP_MJ_POWER | IRP_MJ_PNP))
}

/// Returns whether a dispatch routine runs on this thread for a program.
pub(crate) fn is_for_user() -> bool {
    dispatching::current().is_some_and(|call| call.is_for_user)
}

/// Checks that a driver does not delete or detach a device while it handles `IRP_MN_SURPRISE_REMOVAL`.
pub(in crate::io) fn removes_device() {
    if dispatching::handles(IRP_MJ_PNP, IRP_MN_SURPRISE_REMOVAL) {
        let breach = Rule::RequestMisuse.named(Wdm::PnpSurpriseRemove);
        verify::find(breach, format_args!("removes a device in IRP_MN_SURPRISE_REMOVAL: IRP_MN_REMOVE_DEVICE follows"));
    }
}

/// Checks an IRP that a driver frees. Returns whether the driver may free it.
pub(super) fn frees(irp: Packet) -> bool {
    let known = history::update(irp, |history| (history.origin, history.is_sent));
    let ended = lock(&kernel().io).ended.get(&irp).map(|origin| (*origin, true));
    let breach = match known.or(ended) {
        Some((Origin::Manager | Origin::Power, _)) => {
            Rule::RequestMisuse.named(Wdm::IoAllocateFree).named(Wdm::IoBuildFsdFree)
        }
        Some((Origin::Control, true)) => Rule::RequestMisuse.named(Wdm::IoBuildDeviceControlNoFree),
        Some((Origin::Synchronous, true)) => Rule::RequestMisuse.named(Wdm::IoBuildSynchronousFsdRequestNoFree),
        _ => return true,
    };
    verify::find(breach, format_args!("frees an IRP that the I/O manager frees"));
    false
}

/// Checks an IRP that a driver reuses. Returns whether the driver may reuse it.
pub(super) fn reuses(irp: Packet) -> bool {
    let names: &[Wdm] = match history::origin(irp) {
        Some(Origin::Allocated) | None => return true,
        Some(Origin::Manager | Origin::Power) => &[Wdm::IoReuseIrp, Wdm::IoReuseIrp2],
        Some(Origin::Asynchronous | Origin::Synchronous | Origin::Control) => &[Wdm::IoReuseIrp],
    };
    let breach = Breach::from(Rule::RequestMisuse).named_all(names);
    verify::find(breach, format_args!("reuses an IRP that IoAllocateIrp did not make"));
    false
}

/// Checks that a driver does not set the event of an IRP that the I/O manager sets.
pub(crate) fn sets_event(event: u64) {
    let is_managers = |history: &History| history.origin == Origin::Control && history.event == event;
    if lock(&kernel().io).requests.values().any(|request| is_managers(&request.history)) {
        let breach = Rule::RequestMisuse.named(Wdm::IoBuildDeviceIoControlSetEvent);
        verify::find(breach, format_args!("sets the event of an IRP that the I/O manager sets when it is completed"));
    }
}

/// Checks the device that a driver passes to `IoSetCompletionRoutineEx`, which keeps that device until the routine runs.
pub(super) fn registers(device: GuestPtr<DEVICE_OBJECT>, irp: Packet) -> Result<(), Fault> {
    history::update(irp, |history| history.registration = Some(true));
    let is_sent = irp.CurrentLocation().read()? <= irp.StackCount().read()?;
    if is_sent && is_of_others(device) {
        let breach = Rule::RequestMisuse.named(Wdm::IoSetCompletionRoutineExCheckDeviceObject);
        verify::find(breach, format_args!("passes the device of another driver, so its own may be deleted meanwhile"));
    }
    Ok(())
}

/// Notes that `IoSetCompletionRoutineEx` failed for an IRP.
pub(super) fn fails_to_register(irp: Packet) {
    history::update(irp, |history| history.registration = Some(false));
}

/// Checks a call of `PoRequestPowerIrp`. Only `IRP_MN_WAIT_WAKE` returns an IRP that the driver may use.
pub(super) fn requests_power(minor: u8, wants_irp: bool) {
    if wants_irp && minor != IRP_MN_WAIT_WAKE {
        let breach = Rule::RequestMisuse.named(Wdm::RequestedPowerIrp);
        verify::find(breach, format_args!("asks for the IRP, which can be completed before the routine returns"));
    }
}
