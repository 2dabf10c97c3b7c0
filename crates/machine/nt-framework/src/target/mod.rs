//! I/O targets: the device below the driver's device, and devices that the driver opens by name or by device object.
//!
//! A target sends requests while it is started, keeps them while it is stopped, and refuses them while it is purged or
//! closed. The devices of other drivers are scripted, see [`below`](nt_kernel::io::device::below). A device of the driver
//! under test receives the requests itself. [`crate::target::send`] sends the requests, [`crate::target::open`] opens targets, and
//! [`crate::target::state`] starts and stops them.

pub(crate) mod format;
pub(crate) mod open;
pub(crate) mod send;
pub(crate) mod state;

use std::collections::VecDeque;

use nt_kernel::ex::handle::KernelHandle;
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT};
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::routine::{DISPATCH, functions};

use crate::device::with_device;
use crate::{Handle, object};

functions! { pub(super) FUNCTIONS;
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

    #[irql(DISPATCH)]
    fn WdfIoTargetGetState(target: Handle) -> i32 {
        with_target(target, |target| target.state.0)
    }
}

/// `WDF_IO_TARGET_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(i32);

impl State {
    pub(super) const STARTED: Self = Self(1);
    pub(super) const STOPPED: Self = Self(2);
    pub(super) const CLOSED_FOR_QUERY_REMOVE: Self = Self(3);
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
    pub(super) fn new(device: Handle, state: State, behind: Behind) -> Self {
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
    object::part(handle, body)
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
