//! I/O targets: the device below the driver's device, and devices that the driver opens by name or by device object.
//!
//! A target sends requests while it is started, keeps them while it is stopped, and refuses them while it is purged or
//! closed. The devices of other drivers are scripted, see [`below`](crate::kernel::io::below). A device of the driver
//! under test receives the requests itself. [`super::send`] sends the requests.

use std::collections::VecDeque;

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::device::{self, with_device};
use super::object::{self, Data, create, created};
use super::{Handle, file, request, send};
use crate::kernel::ex::object::KernelHandle;
use crate::kernel::io::{device as wdm, file as files, names};
use crate::kernel::kernel;
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT, WDF_IO_TARGET_OPEN_PARAMS};
use crate::memory::GuestPtr;
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, fixed, routine};
use crate::verify::{self, Rule};

/// `WDF_IO_TARGET_OPEN_TYPE`.
const EXISTING_DEVICE: u32 = 1;
const BY_NAME: u32 = 2;
const REOPEN: u32 = 3;
const LOCAL_BY_FILE: u32 = 4;
/// `WDF_IO_TARGET_SENT_IO_ACTION`.
const CANCEL_SENT: u32 = 1;
const WAIT_FOR_SENT: u32 = 2;
const LEAVE_SENT: u32 = 3;
/// `WDF_IO_TARGET_PURGE_IO_ACTION`.
const PURGE_AND_WAIT: u32 = 1;
/// `FILE_OPENED`.
const OPENED: u32 = 1;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDeviceGetIoTarget", DISPATCH, target_of),
    // Arguments: device, attributes, place for the target.
    routine!("WdfIoTargetCreate", PASSIVE, |call| {
        let device = call.handle(1);
        with_device(device, |_| ());
        let target = Target::new(device, State::CLOSED, Behind::Nothing);
        created(create(call, call.ptr(2), Some(device), Data::Target(Box::new(target))), call.ptr(3))
    })
    .fails(NtStatus::InsufficientResources),
    // Arguments: target, parameters.
    routine!("WdfIoTargetOpen", PASSIVE, open).fails(NtStatus::ObjectNameNotFound),
    routine!("WdfIoTargetClose", PASSIVE, |call| close(call.handle(1), State::CLOSED)),
    routine!("WdfIoTargetCloseForQueryRemove", PASSIVE, |call| close(call.handle(1), State::CLOSED_FOR_QUERY_REMOVE)),
    routine!("WdfIoTargetGetDevice", DISPATCH, |call| with_target(call.handle(1), |target| target.device)),
    routine!("WdfIoTargetWdmGetTargetDeviceObject", DISPATCH, |call| device_object(call.handle(1))),
    routine!("WdfIoTargetWdmGetTargetPhysicalDevice", DISPATCH, |call| device_object(call.handle(1))),
    // A framework device has no file object of the I/O manager here, so the result is NULL.
    routine!("WdfIoTargetWdmGetTargetFileObject", DISPATCH, |call| {
        with_target(call.handle(1), |target| match target.behind {
            Behind::Scripted { file, .. } | Behind::Packets { file, .. } => file,
            _ => GuestPtr::NULL,
        })
    }),
    routine!("WdfIoTargetWdmGetTargetFileHandle", DISPATCH, |call| {
        with_target(call.handle(1), |target| target.handle.as_int())
    }),
    // The scripted devices have no interfaces.
    fixed("WdfIoTargetQueryForInterface", PASSIVE, NtStatus::NotSupported.as_int() as u64),
    routine!("WdfIoTargetGetState", DISPATCH, |call| with_target(call.handle(1), |target| target.state.0)),
    routine!("WdfIoTargetStart", DISPATCH, |call| {
        let target = call.handle(1);
        let starts = with_target(target, |target| {
            let starts = matches!(target.state, State::STARTED | State::STOPPED | State::PURGED);
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
    }),
    // Arguments: target, what to do with the requests that were sent.
    routine!("WdfIoTargetStop", DISPATCH, |call| {
        let (target, action) = (call.handle(1), call.u32(2));
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
    }),
    // Arguments: target, whether to wait.
    routine!("WdfIoTargetPurge", DISPATCH, |call| {
        let (target, waits) = (call.handle(1), call.u32(2) == PURGE_AND_WAIT);
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
    }),
];

/// `WDF_IO_TARGET_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u32);

impl State {
    pub(super) const STARTED: Self = Self(1);
    pub(super) const STOPPED: Self = Self(2);
    const CLOSED_FOR_QUERY_REMOVE: Self = Self(3);
    const CLOSED: Self = Self(4);
    const DELETED: Self = Self(5);
    const PURGED: Self = Self(6);
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

/// An I/O target.
#[derive(Debug)]
pub(super) struct Target {
    /// The device that the target belongs to.
    device: Handle,
    pub(super) state: State,
    pub(super) behind: Behind,
    /// The handle of the file, if the target was opened by name.
    handle: KernelHandle,
    /// How the target was opened: open type, device object and name.
    opened: (u32, GuestPtr<DEVICE_OBJECT>, String),
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
            handle: KernelHandle::default(),
            opened: (0, GuestPtr::NULL, String::new()),
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

/// Returns the default I/O target of a device. The first call creates it.
fn target_of(call: &Call) -> Outcome<Handle> {
    let device = call.handle(1);
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

/// Arguments: target, parameters.
fn open(call: &Call) -> Outcome {
    let (target, params) = (call.handle(1), call.ptr::<WDF_IO_TARGET_OPEN_PARAMS>(2));
    let (device, state, before) = with_target(target, |target| (target.device, target.state, target.opened.clone()));
    if !matches!(state, State::CLOSED | State::CLOSED_FOR_QUERY_REMOVE) {
        return fail(NtStatus::InvalidDeviceState);
    }
    let (kind, object, name) = match params.Type().read()? {
        REOPEN => before,
        BY_NAME => (BY_NAME, GuestPtr::NULL, params.TargetDeviceName().text()?),
        EXISTING_DEVICE => (EXISTING_DEVICE, params.TargetDeviceObject().read()?, String::new()),
        LOCAL_BY_FILE => (LOCAL_BY_FILE, GuestPtr::NULL, String::new()),
        _ => return fail(NtStatus::InvalidParameter),
    };
    let mut handle = KernelHandle::default();
    let behind = match kind {
        BY_NAME => {
            let (behind, opened) = open_name(&name, call.from)?;
            handle = opened;
            params.FileInformation().write(OPENED)?;
            behind
        }
        EXISTING_DEVICE => existing(object, params.TargetFileObject().read()?)?,
        LOCAL_BY_FILE => below(device),
        // A reopen of a target that was never open.
        _ => return fail(NtStatus::InvalidDeviceState),
    };
    with_target(target, |target| {
        (target.behind, target.handle, target.state) = (behind, handle, State::STARTED);
        target.opened = (kind, object, name);
    });
    done(())
}

/// Opens a device by its name: a framework device, another device of the driver, or a scripted device.
fn open_name(name: &str, from: u64) -> Outcome<(Behind, KernelHandle)> {
    if let Some((device, rest)) = device::find(name) {
        return Ok((Behind::Framework { device, file: file::open(device, &rest)? }, KernelHandle::default()));
    }
    let Some((device, rest)) = names::resolve(name) else { return fail(NtStatus::ObjectNameNotFound) };
    let (file, handle) = files::open(device, &rest, from)?;
    Ok((packets(device, file), handle))
}

/// Returns whether a device receives IRPs or is scripted, with its file.
fn packets(device: GuestPtr<DEVICE_OBJECT>, file: GuestPtr<FILE_OBJECT>) -> Behind {
    match wdm::name_of_others(device) {
        Some(name) => Behind::Scripted { name: Some(name).filter(|name| !name.is_empty()), device, file },
        None => Behind::Packets { device, file },
    }
}

/// Returns the device for a device object. The device is not opened again, because the driver opened it to get the
/// pointer.
fn existing(object: GuestPtr<DEVICE_OBJECT>, file: GuestPtr<FILE_OBJECT>) -> Outcome<Behind> {
    let own = device::devices().into_iter().find(|device| with_device(*device, |device| device.wdm) == object);
    match own {
        Some(device) => Ok(Behind::Framework { device, file: Handle::NULL }),
        None if wdm::exists(object) => Ok(packets(object, file)),
        None => {
            verify::find(
                Rule::BadArgument,
                format_args!("{object:#x} is not a device object, or the device was deleted"),
            );
            fail(NtStatus::InvalidParameter)
        }
    }
}

/// Cancels the requests of a target, waits for them, and closes the target.
fn close(target: Handle, state: State) {
    with_target(target, |target| target.state = state);
    purge(target);
    wait(target);
    let (behind, handle, kind) = with_target(target, |target| {
        let behind = std::mem::replace(&mut target.behind, Behind::Nothing);
        (behind, std::mem::take(&mut target.handle), target.opened.0)
    });
    match behind {
        Behind::Framework { device, file } if kind == BY_NAME => file::close(device, file),
        _ if handle != KernelHandle::default() => drop(crate::kernel::ex::object::close(handle)),
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
