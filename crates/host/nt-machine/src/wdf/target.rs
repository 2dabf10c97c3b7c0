//! I/O targets: the device below the driver's device, and devices that the driver opens by name or by device object.
//!
//! A target sends requests while it is started, keeps them while it is stopped, and refuses them while it is purged or
//! closed. The devices of other drivers are scripted, see [`below`](crate::kernel::io::below). A device of the driver
//! under test receives the requests itself. [`super::send`] sends the requests.

use std::collections::VecDeque;

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::device::{self, with_device};
use super::object::{self, Data, Object, create, created};
use super::{Handle, file, query_interface, request, send, target_open, with};
use crate::kernel::ex::TargetEvent;
use crate::kernel::ex::object::{self as references, KernelHandle};
use crate::kernel::io::{bus, names, pnp};
use crate::kernel::{call_back, kernel};
use crate::layout::{
    DEVICE_OBJECT, FILE_OBJECT, GUID, INTERFACE, IRP, WDF_IO_TARGET_OPEN_PARAMS, WDF_OBJECT_ATTRIBUTES,
};
use crate::memory::{Code, GuestPtr, Opaque, OrStop as _};
use crate::routine::{Call, DISPATCH, Failure, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};
use crate::verify::{self, Rule};

/// `WDF_IO_TARGET_SENT_IO_ACTION`.
const CANCEL_SENT: i32 = 1;
const WAIT_FOR_SENT: i32 = 2;
const LEAVE_SENT: i32 = 3;
/// `WDF_IO_TARGET_PURGE_IO_ACTION`.
const PURGE_AND_WAIT: i32 = 1;

functions! { pub(super) FUNCTIONS;
    /// The first call creates the target.
    #[irql(DISPATCH)]
    fn WdfDeviceGetIoTarget(&call, device: Handle) -> Outcome<Handle> {
        default_target(call, device)
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
        created(create(call, attributes, Some(device), Data::Target(Box::new(target))), place)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn WdfIoTargetOpen(&call, target: Handle, params: GuestPtr<WDF_IO_TARGET_OPEN_PARAMS>) -> Outcome {
        target_open::open(target, params, call.from)
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

    #[irql(DISPATCH)]
    fn WdfIoTargetGetDevice(target: Handle) -> Handle {
        with_target(target, |target| target.device)
    }

    #[irql(DISPATCH)]
    fn WdfIoTargetWdmGetTargetDeviceObject(target: Handle) -> GuestPtr<DEVICE_OBJECT> {
        device_object(target)
    }

    /// The device that the opened device returned as its target device; NULL if it returned none.
    #[irql(DISPATCH)]
    fn WdfIoTargetWdmGetTargetPhysicalDevice(target: Handle) -> GuestPtr<DEVICE_OBJECT> {
        physical(target)
    }

    /// A framework device has no file object of the I/O manager here, so the result is NULL.
    #[irql(DISPATCH)]
    fn WdfIoTargetWdmGetTargetFileObject(target: Handle) -> GuestPtr<FILE_OBJECT> {
        with_target(target, |target| match target.behind {
            Behind::Scripted { file, .. } | Behind::Packets { file, .. } => file,
            _ => GuestPtr::NULL,
        })
    }

    #[irql(DISPATCH)]
    fn WdfIoTargetWdmGetTargetFileHandle(target: Handle) -> KernelHandle {
        with_target(target, |target| target.handle)
    }

    /// The devices of other drivers have no interfaces.
    #[irql(PASSIVE), fails(NtStatus::NotSupported)]
    fn WdfIoTargetQueryForInterface(
        target: Handle,
        class: GuestPtr<GUID>,
        place: GuestPtr<INTERFACE>,
        size: u16,
        version: u16,
        data: GuestPtr<Opaque>,
    ) -> Outcome {
        let parameters = query_interface::parameters(class, place, size, version, data);
        match with_target(target, |target| target.behind.clone()) {
            Behind::Packets { device, .. } => pnp::query_interface(device, parameters),
            Behind::Framework { device, .. } => query_interface::query(device, parameters),
            _ => fail(NtStatus::NotSupported),
        }
    }

    #[irql(DISPATCH)]
    fn WdfIoTargetGetState(target: Handle) -> i32 {
        with_target(target, |target| target.state.0)
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
        if !matches!(action, CANCEL_SENT | WAIT_FOR_SENT | LEAVE_SENT) {
            verify::find(
                Rule::BadArgument,
                format_args!("invalid WDF_IO_TARGET_SENT_IO_ACTION {action}: expected 1 to 3"),
            );
        }
        object::needs_passive(action != LEAVE_SENT);
        with_target(target, |target| {
            if matches!(target.state, State::STARTED | State::PURGED) {
                target.state = State::STOPPED;
            }
        });
        if action == CANCEL_SENT {
            cancel_sent(target);
        }
        if action != LEAVE_SENT {
            wait(target);
        }
    }

    #[irql(DISPATCH)]
    fn WdfIoTargetPurge(target: Handle, action: i32) {
        let waits = action == PURGE_AND_WAIT;
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

/// `WDF_IO_TARGET_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(i32);

impl State {
    pub(super) const STARTED: Self = Self(1);
    pub(super) const STOPPED: Self = Self(2);
    const CLOSED_FOR_QUERY_REMOVE: Self = Self(3);
    pub(super) const CLOSED: Self = Self(4);
    pub(super) const DELETED: Self = Self(5);
    pub(super) const PURGED: Self = Self(6);
}

/// The device behind a target.
#[derive(Clone, Debug)]
pub(super) enum Behind {
    /// The target is not open.
    Nothing,
    /// A device of another driver: the one below the driver's device, or one with a name.
    Scripted { name: Option<String>, device: GuestPtr<DEVICE_OBJECT>, file: GuestPtr<FILE_OBJECT> },
    /// A framework device, and its file.
    Framework { device: Handle, file: Handle },
    /// A device of the driver that receives IRPs.
    Packets { device: GuestPtr<DEVICE_OBJECT>, file: GuestPtr<FILE_OBJECT> },
}

/// The driver's callbacks for the removal of the target's device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TargetEvents {
    pub(super) query_remove: GuestPtr<Code>,
    pub(super) remove_canceled: GuestPtr<Code>,
    pub(super) remove_complete: GuestPtr<Code>,
}

/// An I/O target.
#[derive(Debug)]
pub(super) struct Target {
    /// The device that the target belongs to.
    device: Handle,
    pub(super) state: State,
    pub(super) behind: Behind,
    /// The physical device of an opened target, which has a reference to it.
    pub(super) physical: GuestPtr<DEVICE_OBJECT>,
    /// The handle of the file, if the target was opened by name.
    pub(super) handle: KernelHandle,
    /// How the target was opened: open type and name.
    pub(super) opened: (u32, String),
    /// The device of another driver whose removal the target is notified of. It stays set while the target is closed
    /// for a query-remove.
    pub(super) watched: Option<String>,
    pub(super) events: TargetEvents,
    /// Requests that are sent when the target is started.
    pub(super) waiting: VecDeque<Handle>,
    /// Requests that have not come back.
    pub(super) sent: Vec<Handle>,
}

impl Target {
    fn new(device: Handle, state: State, behind: Behind) -> Self {
        Self {
            device,
            state,
            behind,
            physical: GuestPtr::NULL,
            handle: KernelHandle::default(),
            opened: (0, String::new()),
            watched: None,
            events: TargetEvents::default(),
            waiting: VecDeque::new(),
            sent: Vec::new(),
        }
    }
}

/// Reads or changes a target.
pub(super) fn with_target<R>(handle: Handle, body: impl FnOnce(&mut Target) -> R) -> R {
    object::part(handle, |data| match data {
        Data::Target(target) => Some(body(target)),
        _ => None,
    })
}

/// Returns the device below a device of the driver.
fn below(device: Handle) -> Behind {
    let physical = with_device(device, |device| device.init.physical);
    Behind::Scripted { name: None, device: physical, file: GuestPtr::NULL }
}

/// Returns the default I/O target of a device, which it creates if there is none.
fn default_target(call: &Call, device: Handle) -> Outcome<Handle> {
    let known = with_device(device, |device| device.target);
    if object::exists(known) {
        return Ok(known);
    }
    let data = Data::Target(Box::new(Target::new(device, State::STARTED, below(device))));
    let target = object::create_with(call.from, &Attributes::default(), Some(device), data)?;
    with_device(device, |device| device.target = target);
    Ok(target)
}

fn device_object(target: Handle) -> GuestPtr<DEVICE_OBJECT> {
    match with_target(target, |target| target.behind.clone()) {
        Behind::Nothing => GuestPtr::NULL,
        Behind::Scripted { device, .. } | Behind::Packets { device, .. } => device,
        Behind::Framework { device, .. } => with_device(device, |device| device.wdm),
    }
}

/// Returns the physical device of a target: the device below, or the one that an opened device returned.
pub(super) fn physical(target: Handle) -> GuestPtr<DEVICE_OBJECT> {
    with_target(target, |target| match &target.behind {
        Behind::Scripted { name: None, device, .. } => *device,
        _ => target.physical,
    })
}

/// Completes a query for the relations of a framework device. It keeps its status if the device has no physical device.
pub(super) fn reply(device: Handle, irp: GuestPtr<IRP>, parameters: [u64; 4], untouched: NtStatus) -> NtStatus {
    let physical = with_device(device, |device| device.init.physical);
    if physical.is_null() || !bus::asks_for_target(parameters) {
        return untouched;
    }
    bus::relate(physical, irp).or_stop()
}

/// Notifies the targets of a device that it is removed: calls the driver's callback, or else does what the framework
/// does by default. Returns a status for each target.
pub(crate) fn target_changed(device: &str, event: TargetEvent) -> Vec<NtStatus> {
    let is_watching = |object: &Object| match &object.data {
        Data::Target(target) => target.watched.as_ref().is_some_and(|watched| names::are_same(watched, device)),
        _ => false,
    };
    let targets: Vec<Handle> = with(|framework| {
        framework.objects.iter().filter(|(_, object)| is_watching(object)).map(|(handle, _)| *handle).collect()
    });
    targets.into_iter().filter(|target| object::exists(*target)).map(|target| changed(target, event)).collect()
}

fn changed(target: Handle, event: TargetEvent) -> NtStatus {
    let events = with_target(target, |target| target.events);
    let (name, callback) = match event {
        TargetEvent::QueryRemove => ("EvtIoTargetQueryRemove", events.query_remove),
        TargetEvent::RemoveCanceled => ("EvtIoTargetRemoveCanceled", events.remove_canceled),
        TargetEvent::RemoveComplete => ("EvtIoTargetRemoveComplete", events.remove_complete),
    };
    if !callback.is_null() {
        let status = NtStatus::from_int(call_back(name, PASSIVE, callback, &[target.as_int()]) as u32);
        // Only EvtIoTargetQueryRemove returns a status.
        return if event == TargetEvent::QueryRemove { status } else { NtStatus::Success };
    }
    match event {
        TargetEvent::QueryRemove => close(target, State::CLOSED_FOR_QUERY_REMOVE),
        TargetEvent::RemoveComplete => close(target, State::CLOSED),
        TargetEvent::RemoveCanceled => {
            let name = with_target(target, |target| target.opened.1.clone());
            if let Err(Failure::Status(status)) = target_open::reopen(target, name, 0) {
                return status;
            }
        }
    }
    NtStatus::Success
}

/// Cancels the requests of a target, waits for them, and closes the target.
pub(super) fn close(target: Handle, state: State) {
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
        Behind::Framework { device, file } if kind == target_open::BY_NAME => file::close(device, file),
        _ if handle != KernelHandle::default() => drop(references::close(handle)),
        _ => {}
    }
}

/// Called before an object is deleted. If it is a target, closes it.
pub(super) fn close_before_delete(handle: Handle) {
    if object::lookup(handle, |object| matches!(object.data, Data::Target(_))) {
        close(handle, State::DELETED);
    }
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
    let soon = kernel().scheduler.now() + request::PATIENCE;
    let back = |_: &mut _| with_target(target, |target| target.sent.is_empty()).then_some(());
    if kernel().scheduler.wait(Some(soon), back).is_none() {
        let what = format_args!("an I/O target cannot stop: a request that was sent is not completed");
        verify::find(Rule::RequestNever, what);
    }
}
