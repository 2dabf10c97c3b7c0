//! Devices: their state and names. [`crate::device::create`] creates them, [`super::pnp`] starts and removes them.

pub(crate) mod control;
pub(crate) mod create;
pub(crate) mod file;
pub(crate) mod filter;
pub(crate) mod init;
pub(crate) mod interface;
pub(crate) mod property;
pub(crate) mod query_interface;
pub(crate) mod state;

use etw_types::{Guid, NtStatus};
use nt_kernel::RequestKind;
use nt_kernel::ex::object as references;
use nt_kernel::io::device::{self as wdm, names};
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT, UNICODE_STRING};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque, OrStop as _};
use nt_verifier::routine::{DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};
use windows_constants::device::FILE_DEVICE_SECURE_OPEN;
use windows_constants::power::PowerActionNone;

use crate::device::init::Init;
use crate::object::kind::Kind;
use crate::object::{self, lookup, needs_pnp};
use crate::pnp::states::{PnpState, PolicyState, PowerState};
use crate::state::with;
use crate::{Handle, misc, structures};

functions! { pub(super) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDeviceCreateSymbolicLink(device: Handle, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        // As in core/fxdeviceapi.cpp: a device has one link, which has a name.
        let has_no_name = name.Length().read()? == 0;
        let has_link = with_device(device, |device| !device.links.is_empty());
        if has_no_name {
            return fail(NtStatus::InvalidDeviceRequest);
        }
        misc::validate(name)?;
        if has_link {
            return fail(NtStatus::InvalidDeviceRequest);
        }
        let name = name.text()?;
        let is_taken = |device: &Device| device.links.iter().any(|link| names::are_same(link, &name));
        if any(is_taken) {
            return fail(NtStatus::ObjectNameCollision);
        }
        with_device(device, |device| device.links.push(name));
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceGetDriver(device: Handle) -> Handle {
        check(device);
        with(|framework| framework.driver())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceGetDefaultQueue(device: Handle) -> Handle {
        with_device(device, |device| device.default_queue)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceWdmGetDeviceObject(device: Handle) -> GuestPtr<DEVICE_OBJECT> {
        with_device(device, |device| device.wdm)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceWdmGetAttachedDevice(device: Handle) -> GuestPtr<DEVICE_OBJECT> {
        with_device(device, |device| device.init.physical)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceWdmGetPhysicalDevice(device: Handle) -> GuestPtr<DEVICE_OBJECT> {
        with_device(device, |device| device.init.physical)
    }

    #[irql(DISPATCH)]
    fn WdfWdmDeviceGetWdfDeviceHandle(object: GuestPtr<DEVICE_OBJECT>) -> Handle {
        by_device_object(object).unwrap_or_default()
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceGetSystemPowerAction(device: Handle) -> i32 {
        check(device);
        PowerActionNone
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetPnpCapabilities(device: Handle, capabilities: GuestPtr<Opaque>) -> Result<(), Fault> {
        check(device);
        structures::PNP_CAPABILITIES.fits(capabilities).map(drop)
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetPowerCapabilities(device: Handle, capabilities: GuestPtr<Opaque>) -> Result<(), Fault> {
        needs_pnp();
        check(device);
        structures::POWER_CAPABILITIES.fits(capabilities).map(drop)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceSetCharacteristics(device: Handle, characteristics: u32) -> Result<(), Fault> {
        with_device(device, |device| device.wdm).Characteristics().write(characteristics | FILE_DEVICE_SECURE_OPEN)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceGetCharacteristics(device: Handle) -> Result<u32, Fault> {
        with_device(device, |device| device.wdm).Characteristics().read()
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetAlignmentRequirement(device: Handle, _alignment: Ignored<u32>) {
        check(device);
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceGetAlignmentRequirement(device: Handle) -> u32 {
        check(device);
        0
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetStaticStopRemove(device: Handle, _stoppable: Ignored<bool>) {
        check(device);
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetSpecialFileSupport(device: Handle, _kind: Ignored<i32>, _supported: Ignored<bool>) {
        check(device);
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceSetDeviceState(device: Handle, state: GuestPtr<Opaque>) -> Result<(), Fault> {
        check(device);
        structures::DEVICE_STATE.fits(state).map(drop)
    }
}

/// A device.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    pub(super) init: Init,
    pub(super) default_queue: Handle,
    pub(super) queues: Vec<Handle>,
    /// `WDF_REQUEST_TYPE` and the queue for it.
    pub(super) dispatching: Vec<(RequestKind, Handle)>,
    links: Vec<String>,
    pub(super) interfaces: Vec<Interface>,
    /// The driver-defined interfaces, in the order in which they were added.
    pub(super) offers: Vec<Offer>,
    /// The number of open files.
    pub(super) opened: u32,
    /// The number of files that clients have closed and that still have requests.
    pub(super) closing: u32,
    /// The number of files that receive their close now. The device is deleted after them.
    pub(super) closes: u32,
    /// The device is about to be deleted, and no file receives its close any more.
    pub(super) is_going: bool,
    /// The driver has deleted the control device while clients have it open.
    pub(super) goes_when_closed: bool,
    /// The device is in D0. Power-managed queues deliver requests only then.
    pub(super) in_d0: bool,
    pub(super) started: bool,
    /// What is happening to the device.
    pub(super) phase: Option<Phase>,
    pub(super) io: SelfManagedIo,
    pub(super) pnp_state: PnpState,
    pub(super) power_state: PowerState,
    pub(super) policy_state: PolicyState,
    pub(super) idle: Idle,
    /// The system sleeps.
    pub(super) is_asleep: bool,
    /// `WDF_POWER_DEVICE_STATE`: the state for which the device last left D0.
    pub(super) left_for: u32,
    /// The device is in D0, so its parent stays there, too.
    pub(super) holds_parent: bool,
    /// The callback that last failed in a plug-and-play or power event, and its status.
    pub(super) failed: Option<(&'static str, NtStatus)>,
    /// The driver lets the device wake the system.
    pub(super) can_wake: bool,
    /// The device sleeps, and may wake itself or the system.
    pub(super) armed: Option<Wake>,
    /// The driver called `WdfDeviceSetFailed`, or one of its power callbacks failed.
    pub(super) is_failing: bool,
    pub(super) wdm: GuestPtr<DEVICE_OBJECT>,
    /// The child lists, the default one first.
    pub(super) lists: Vec<Handle>,
    /// The children that are not in a list.
    pub(super) static_children: Vec<Handle>,
    /// The callbacks that select queues.
    pub(super) dispatchers: Vec<Dispatcher>,
    /// Lets the driver look for children, each time that the device enters D0.
    pub(super) scan: Option<fn(Handle)>,
    /// Passes a request on to the device below; set for a filter.
    pub(super) forward: Option<fn(Handle, Handle)>,
    /// The default I/O target; NULL until the driver asks for it.
    pub(super) target: Handle,
    pub(super) interrupts: Vec<Handle>,
    /// `EvtDevicePrepareHardware` is running.
    pub(super) preparing: bool,
    /// The lists of hardware resources, raw and translated.
    pub(super) resources: [Handle; 2],
    /// Files, each with the file object that IRPs have for it.
    pub(super) file_objects: Vec<(Handle, GuestPtr<FILE_OBJECT>)>,
}

impl Device {
    pub(super) fn new(init: Init, wdm: GuestPtr<DEVICE_OBJECT>) -> Self {
        Self { init, wdm, ..Self::default() }
    }

    /// Returns whether the device is being removed.
    pub(super) fn is_going(&self) -> bool {
        self.phase == Some(Phase::Remove)
    }
}

/// A device interface, by which clients find a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) class: Guid,
    /// Distinguishes the interfaces of a class; often empty.
    pub(super) reference: String,
}

/// A callback that selects the queues of IRPs with a major function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatcher {
    pub(super) major: u8,
    pub(super) callback: GuestPtr<Code>,
    pub(super) context: u64,
}

/// How far the self-managed I/O of a device is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SelfManagedIo {
    #[default]
    Unused,
    /// `EvtDeviceSelfManagedIoInit` ran.
    Begun,
    /// `EvtDeviceSelfManagedIoFlush` ran after that.
    Flushed,
}

/// What a device can wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// Itself, while the system works.
    S0,
    /// The system.
    Sx,
}

/// When a device sleeps while the system works: `WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS`.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleSettings {
    /// In units of 100 ns.
    pub(super) timeout: u64,
    /// `WDF_POWER_DEVICE_STATE`: how the device sleeps.
    pub(super) state: u32,
    pub(super) can_wake: bool,
    /// The device is powered up when the system wakes.
    pub(super) powers_up: bool,
}

/// Whether a device is in use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idle {
    /// `None` if the device stays in D0.
    pub(super) settings: Option<IdleSettings>,
    /// The number of reasons to be in D0. It can be less than 0 for a moment, while one thread adds a reason that another
    /// thread removes.
    pub(super) references: i32,
    /// How many of them are the driver's (`WdfDeviceStopIdle`).
    pub(super) stops: u32,
    /// The timer runs.
    pub(super) has_timer: bool,
    /// The device must wake up, although nothing uses it.
    pub(super) wakes_up: bool,
    /// The device was idle for long enough.
    pub(super) timed_out: bool,
    /// Brings the device to the power state that its use requires; set for each device.
    pub(super) adjust: Option<fn(Handle)>,
}

/// What is happening to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Start,
    /// The device sleeps or wakes up because of its use.
    Idle,
    Sleep,
    Wake,
    /// The Plug and Play manager asks for the state of the device.
    Query,
    Stop,
    Remove,
}

/// An interface that a device offers.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) class: Guid,
    /// The driver's structure with its version; `None` if only the callback or the parent knows the interface.
    pub(super) interface: Option<(u16, Vec<u8>)>,
    pub(super) callback: GuestPtr<Code>,
    /// The asking driver passes data in its structure, so the structure is left to the callback.
    pub(super) imports: bool,
    /// The query goes on to the parent of a child.
    pub(super) to_parent: bool,
}

impl Kind for Device {
    fn name(&self) -> &'static str {
        "device"
    }

    fn waits(&self) -> bool {
        true
    }

    fn is_kept(&self) -> bool {
        // The driver may delete a child's device that it has not reported yet.
        !self.init.control && self.init.parent.is_null()
    }

    fn free(&self) {
        // The driver may have references to the device object and to its file objects.
        for (_, file) in &self.file_objects {
            references::free_when_unused(file.address());
        }
        wdm::release(self.wdm).or_stop();
    }
}

/// Reads or changes a device.
pub(super) fn with_device<R>(handle: Handle, body: impl FnOnce(&mut Device) -> R) -> R {
    object::part(handle, body)
}

/// Returns whether a device is a control device.
pub(super) fn is_control(handle: Handle) -> bool {
    with_device(handle, |device| device.init.control)
}

/// Fails if a device is a control device, as the functions for interfaces and properties do.
pub(super) fn refuse_control(handle: Handle) -> Outcome {
    if is_control(handle) { fail(NtStatus::InvalidDeviceRequest) } else { done(()) }
}

/// Stops the machine unless the object is a device.
pub(super) fn check(handle: Handle) {
    with_device(handle, |_| ());
}

/// Returns whether a device exists, its deletion has not begun, and `is_wanted` accepts it. Unlike [`with_device`], this is for code
/// that runs while another thread may delete the device.
pub(super) fn lives(handle: Handle, is_wanted: impl FnOnce(&Device) -> bool) -> bool {
    with(|framework| framework.living::<Device>(handle).is_some_and(|device| is_wanted(device)))
}

/// Returns whether there is a device that `is_wanted` accepts.
pub(super) fn any(is_wanted: impl Fn(&Device) -> bool) -> bool {
    with(|framework| framework.all().any(|(_, device)| is_wanted(device)))
}

/// Returns the device with this name, and the part of the name that follows the device's name.
pub fn find(name: &str) -> Option<(Handle, String)> {
    with(|framework| {
        framework.all::<Device>().find_map(|(handle, device)| {
            let physical = wdm::name_of(device.init.physical).unwrap_or_default();
            let mut own = device.links.iter().chain([&device.init.name, &physical]);
            own.find_map(|own| names::rest_behind(name, own)).map(|rest| (handle, rest))
        })
    })
}

/// Returns the names and symbolic links of all devices.
pub fn names() -> Vec<String> {
    let of = |handle| with_device(handle, |device| [vec![device.init.name.clone()], device.links.clone()].concat());
    devices().into_iter().flat_map(of).collect()
}

/// Returns the devices, oldest first.
pub fn devices() -> Vec<Handle> {
    with(|framework| framework.all::<Device>().map(|(handle, _)| handle).collect())
}

/// Returns the framework device of a device object.
pub(super) fn by_device_object(object: GuestPtr<DEVICE_OBJECT>) -> Option<Handle> {
    devices().into_iter().find(|device| with_device(*device, |device| device.wdm) == object)
}

/// Returns the device that an object belongs to: the object itself or its nearest ancestor that is a device.
pub(super) fn nearest(handle: Handle) -> Option<Handle> {
    let mut handle = handle;
    while object::exists(handle) {
        let (is_device, parent) = lookup(handle, |object| (object.is::<Device>(), object.parent));
        if is_device {
            return Some(handle);
        }
        handle = parent;
    }
    None
}

/// Called when the driver deletes an object. Returns whether it is a control device that clients have open: as in Microsoft's
/// `FxDevice::DeleteObject` (`shared/core/fxdevice.cpp`), it can no longer be opened, and is deleted when the last of them has closed
/// it.
pub(super) fn stays_open(handle: Handle) -> bool {
    with(|framework| {
        let device: Option<&mut Device> = framework.get_mut(handle);
        let Some(device) = device.filter(|device| device.init.control) else { return false };
        device.goes_when_closed |= device.opened > 0;
        device.goes_when_closed
    })
}
