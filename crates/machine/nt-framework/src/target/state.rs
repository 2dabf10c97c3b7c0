//! Creates, starts, stops, purges and closes I/O targets.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object as references;
use nt_kernel::{Kernel, kernel};
use nt_processor::layout::WDF_OBJECT_ATTRIBUTES;
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{DISPATCH, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::framework::{
    WdfIoTargetCancelSentIo, WdfIoTargetLeaveSentIoPending, WdfIoTargetOpenByName, WdfIoTargetPurgeIoAndWait,
    WdfIoTargetWaitForSentIoToComplete,
};

use crate::Handle;
use crate::device::file;
use crate::device::{self, with_device};
use crate::object::attributes::Attributes;
use crate::object::kind::Kind;
use crate::object::{self, create, created};
use crate::state::with;
use crate::target::send;
use crate::target::{Behind, State, Target, with_target};

functions! { pub(crate) FUNCTIONS;
    /// The first call creates the target.
    #[irql(DISPATCH)]
    fn WdfDeviceGetIoTarget(&call, device: Handle) -> Outcome<Handle> {
        default_target(call.from, device)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfIoTargetCreate(
        &call,
        device: Handle,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        device::check(device);
        // As in Microsoft's framework (targets/general/fxiotarget.cpp), a target is started before it is first opened.
        let target = Target::new(device, State::STARTED, Behind::Nothing);
        created(create(call, attributes, Some(device), target), place)
    }

    /// Drivers before 1.9 see the state that they knew.
    #[irql(PASSIVE)]
    fn WdfIoTargetClose(target: Handle) {
        let is_old = with(|framework| framework.client_minor()) < 9;
        close(target, if is_old { State::CLOSED_FOR_QUERY_REMOVE } else { State::CLOSED });
        with_target(target, |target| target.watched = None);
    }

    #[irql(PASSIVE)]
    fn WdfIoTargetCloseForQueryRemove(target: Handle) {
        close(target, State::CLOSED_FOR_QUERY_REMOVE);
    }

    /// Also starts a target that is not open.
    #[irql(DISPATCH)]
    fn WdfIoTargetStart(target: Handle) -> Outcome {
        let starts = with_target(target, |target| {
            let starts = target.state != State::DELETED;
            if starts {
                target.state = State::STARTED;
            }
            starts
        });
        if !starts {
            return fail(NtStatus::InvalidDeviceState);
        }
        send::resend(target)?;
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfIoTargetStop(target: Handle, action: i32) {
        if !matches!(action, WdfIoTargetCancelSentIo | WdfIoTargetWaitForSentIoToComplete | WdfIoTargetLeaveSentIoPending) {
            verify::find(
                Rule::BadArgument,
                format_args!("invalid WDF_IO_TARGET_SENT_IO_ACTION {action}: expected 1 to 3"),
            );
        }
        object::needs_passive(action != WdfIoTargetLeaveSentIoPending);
        with_target(target, |target| {
            if matches!(target.state, State::STARTED | State::PURGED) {
                target.state = State::STOPPED;
            }
        });
        if action == WdfIoTargetCancelSentIo {
            cancel_sent(target);
        }
        if action != WdfIoTargetLeaveSentIoPending {
            wait(target);
        }
    }

    #[irql(DISPATCH)]
    fn WdfIoTargetPurge(target: Handle, action: i32) {
        let waits = action == WdfIoTargetPurgeIoAndWait;
        object::needs_passive(waits);
        with_target(target, |target| {
            if matches!(target.state, State::STARTED | State::STOPPED) {
                target.state = State::PURGED;
            }
        });
        purge(target);
        if waits {
            wait(target);
        }
    }
}

impl Kind for Target {
    fn name(&self) -> &'static str {
        "I/O target"
    }

    fn waits(&self) -> bool {
        true
    }

    fn end(&self) -> fn(Handle) {
        end
    }
}

/// Returns the device below a device of the driver.
fn below(device: Handle) -> Behind {
    let physical = with_device(device, |device| device.init.physical);
    Behind::Scripted { name: None, device: physical, file: GuestPtr::NULL }
}

/// Returns the default I/O target of a device, which it creates if there is none.
pub(crate) fn default_target(from: u64, device: Handle) -> Outcome<Handle> {
    let known = with_device(device, |device| device.target);
    if object::exists(known) {
        return Ok(known);
    }
    let target = Target::new(device, State::STARTED, below(device));
    let target = object::create_with(from, &Attributes::default(), Some(device), target)?;
    with_device(device, |device| device.target = target);
    Ok(target)
}

/// Cancels the requests of a target, waits for them, and closes the target.
pub(crate) fn close(target: Handle, state: State) {
    with_target(target, |target| {
        let is_open = !matches!(target.behind, Behind::Nothing);
        target.state = if is_open || state == State::DELETED { state } else { State::CLOSED };
    });
    purge(target);
    wait(target);
    let (behind, handle, kind, physical) = with_target(target, |target| {
        let behind = std::mem::replace(&mut target.behind, Behind::Nothing);
        if state != State::CLOSED_FOR_QUERY_REMOVE {
            target.watched = None;
        }
        (behind, std::mem::take(&mut target.handle), target.opened.0, std::mem::take(&mut target.physical))
    });
    if !physical.is_null() {
        references::dereference(physical.address());
    }
    match behind {
        Behind::Framework { device, file } if kind == WdfIoTargetOpenByName => file::close(device, file),
        _ if handle != KernelHandle::default() => drop(references::close(handle)),
        _ => {}
    }
}

/// Called before a target is deleted.
fn end(target: Handle) {
    close(target, State::DELETED);
}

/// Cancels the waiting requests and the sent ones.
fn purge(target: Handle) {
    for request in with_target(target, |target| target.waiting.clone()) {
        send::cancel_sent(request);
    }
    cancel_sent(target);
}

fn cancel_sent(target: Handle) {
    for request in with_target(target, |target| target.sent.clone()) {
        send::cancel_sent(request);
    }
}

/// Waits until every request that was sent is completed and the driver's completion routine has returned.
fn wait(target: Handle) {
    let Kernel { config, scheduler, .. } = kernel();
    let soon = scheduler.now() + config.give_up_after();
    let back = |_: &mut _| with_target(target, |target| target.sent.is_empty()).then_some(());
    if scheduler.wait(Some(soon), back).is_none() {
        let what = format_args!("waits for an I/O target to stop, but a request that was sent to it is not completed");
        verify::find(Rule::RequestNever, what);
    }
}
