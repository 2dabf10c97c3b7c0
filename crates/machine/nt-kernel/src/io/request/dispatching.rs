//! The dispatch routines that run on this thread, and what they did with their IRPs.

use std::cell::{Cell, RefCell};

use etw_types::NtStatus;
use nt_processor::layout::{DEVICE_OBJECT, IRP};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::verify::{Breach, Rule, Wdm};

use super::history::Origin;

/// A call of a dispatch routine.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    /// The device that the request was sent to.
    pub device: GuestPtr<DEVICE_OBJECT>,
    /// The request.
    pub irp: GuestPtr<IRP>,
    /// The major function.
    pub major: u8,
    /// The minor function.
    pub minor: u8,
    /// The stack location of the driver, counted from 1.
    pub location: u8,
    /// The status that the driver below returned, if the routine passed on the IRP.
    pub sent: Option<NtStatus>,
    /// The IRP was completed on this thread.
    pub is_completed: bool,
    /// The request comes from a program.
    pub(crate) is_for_user: bool,
}

thread_local! {
    static CALLS: RefCell<Vec<Dispatch>> = const { RefCell::new(Vec::new()) };
    /// The origin of the last IRP that is pending below, which the thread may wait for.
    static PENDING: Cell<Option<Origin>> = const { Cell::new(None) };
}

impl Dispatch {
    /// Describes the call of a dispatch routine for the current stack location of an IRP.
    pub(super) fn new(device: GuestPtr<DEVICE_OBJECT>, irp: GuestPtr<IRP>) -> Result<Self, Fault> {
        let place = irp.CurrentStackLocation().read()?;
        Ok(Self {
            device,
            irp,
            major: place.MajorFunction().read()?,
            minor: place.MinorFunction().read()?,
            location: irp.CurrentLocation().read()?,
            sent: None,
            is_completed: false,
            is_for_user: irp.RequestorMode().read()? != 0,
        })
    }
}

/// Runs a dispatch routine. Returns its result, and what it did.
pub(super) fn run<R>(dispatch: Dispatch, routine: impl FnOnce() -> R) -> (R, Dispatch) {
    let depth = CALLS.with_borrow_mut(|calls| {
        calls.push(dispatch);
        calls.len() - 1
    });
    let result = routine();
    // An exception that the caller handles leaves calls behind.
    let ended = CALLS.with_borrow_mut(|calls| {
        let ended = calls.get(depth).copied();
        calls.truncate(depth);
        ended
    });
    if depth == 0 {
        PENDING.set(None);
    }
    (result, ended.unwrap_or(dispatch))
}

/// Returns the innermost dispatch routine.
pub fn current() -> Option<Dispatch> {
    CALLS.with_borrow(|calls| calls.last().copied())
}

/// Returns the device of the innermost dispatch routine if it handles a request of this kind.
pub(super) fn device_of(major: u8, minor: u8) -> Option<GuestPtr<DEVICE_OBJECT>> {
    CALLS.with_borrow(|calls| {
        let call = calls.last().filter(|call| (call.major, call.minor) == (major, minor));
        call.map(|call| call.device)
    })
}

/// Returns whether a dispatch routine that this thread runs handles a request of this kind.
pub(super) fn handles(major: u8, minor: u8) -> bool {
    CALLS.with_borrow(|calls| calls.iter().any(|call| (call.major, call.minor) == (major, minor)))
}

/// Changes what is known about the innermost dispatch routine with this IRP.
pub(super) fn note(irp: GuestPtr<IRP>, body: impl FnOnce(&mut Dispatch)) {
    CALLS.with_borrow_mut(|calls| calls.iter_mut().rev().find(|call| call.irp == irp).map(body));
}

/// Notes that an IRP of this origin is completed on this thread.
pub(super) fn completed(irp: GuestPtr<IRP>) {
    CALLS.with_borrow_mut(|calls| {
        for call in calls.iter_mut().filter(|call| call.irp == irp) {
            call.is_completed = true;
        }
    });
}

/// Notes that the driver below returned `STATUS_PENDING` for an IRP.
pub(super) fn is_pending(origin: Origin) {
    PENDING.set(Some(origin));
}

/// Returns the rule that this thread breaks by waiting forever. Signal handlers may call this.
pub(crate) fn endless_wait() -> Breach {
    use Wdm as W;
    let names: &[Wdm] = match PENDING.get() {
        None | Some(Origin::Power) => &[],
        Some(Origin::Manager) => {
            &[W::SignalEventInCompletion, W::SignalEventInCompletion2, W::SignalEventInCompletion3]
        }
        Some(Origin::Allocated) => &[
            W::IoAllocateIrpSignalEventInCompletion,
            W::IoAllocateIrpSignalEventInCompletion2,
            W::IoAllocateIrpSignalEventInCompletion3,
            W::IoAllocateIrpSignalEventInCompletionTimeout,
        ],
        Some(Origin::Asynchronous) => &[
            W::IoBuildFsdIrpSignalEventInCompletion,
            W::IoBuildFsdIrpSignalEventInCompletion2,
            W::IoBuildFsdIrpSignalEventInCompletion3,
            W::IoBuildFsdIrpSignalEventInCompletionTimeout,
        ],
        Some(Origin::Synchronous) => &[W::IoBuildSynchronousFsdRequestWaitTimeout],
        Some(Origin::Control) => &[W::IoBuildDeviceControlWaitTimeout],
    };
    Breach::from(Rule::Hang).named_all(names)
}
