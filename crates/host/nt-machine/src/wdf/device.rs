//! Devices: creation, plug and play, names and interfaces.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::init::Init;
use super::misc::set_string;
use super::object::{self, Data, create, created, lookup};
use super::query_interface::Offer;
use super::turn::{Phase, Turn};
use super::{Handle, children, driver, life, power, preprocess, structures, with};
use crate::kernel::RequestKind;
use crate::kernel::io::request::{PNP, POWER};
use crate::kernel::io::{device as wdm, names, stack};
use crate::kernel::{self, call_back, kernel};
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT, GUID, UNICODE_STRING};
use crate::memory::GuestPtr;
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, fixed, routine};
use crate::verify::{self, At, GapKind, Rule, gap};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDeviceCreate", PASSIVE, create_device).fails(NtStatus::InsufficientResources),
    routine!("WdfDeviceCreateDeviceInterface", PASSIVE, |call| {
        with_device(call.handle(1), |device| device.interfaces += 1);
        NtStatus::Success
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfDeviceSetDeviceInterfaceState", PASSIVE, ignore).fixed(),
    routine!("WdfDeviceSetDeviceInterfaceStateEx", PASSIVE, ignore).fixed(),
    routine!("WdfDeviceCreateSymbolicLink", PASSIVE, |call| {
        let name = call.ptr::<UNICODE_STRING>(2).text()?;
        let taken = with(|framework| {
            let mut devices = framework.objects.values();
            devices.any(|object| matches!(&object.data, Data::Device(device) if device.links.iter().any(|link| names::are_same(link, &name))))
        });
        if taken {
            return fail(NtStatus::ObjectNameCollision);
        }
        with_device(call.handle(1), |device| device.links.push(name));
        done(())
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfDeviceGetDriver", DISPATCH, |_| with(|framework| framework.driver())),
    routine!("WdfDeviceGetDefaultQueue", DISPATCH, |call| with_device(call.handle(1), |device| device.default_queue)),
    routine!("WdfDeviceConfigureRequestDispatching", DISPATCH, |call| {
        let (queue, kind) = (call.handle(2), RequestKind::from_int(call.u8(3)));
        with_device(call.handle(1), |device| device.dispatching.push((kind, queue)));
        NtStatus::Success
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfDeviceWdmGetDeviceObject", DISPATCH, |call| with_device(call.handle(1), |device| device.wdm)),
    routine!("WdfDeviceWdmGetAttachedDevice", DISPATCH, |call| with_device(call.handle(1), |device| device
        .init
        .physical)),
    routine!("WdfDeviceWdmGetPhysicalDevice", DISPATCH, |call| with_device(call.handle(1), |device| device
        .init
        .physical)),
    routine!("WdfWdmDeviceGetWdfDeviceHandle", DISPATCH, |call| {
        of_object(call.ptr(1)).unwrap_or_default()
    }),
    fixed("WdfDeviceGetSystemPowerAction", DISPATCH, 0),
    // Arguments: device, class, reference string, string object.
    routine!("WdfDeviceRetrieveDeviceInterfaceString", PASSIVE, |call| {
        with_device(call.handle(1), |_| ());
        let mut text = format!("\\??\\ROOT#NTHOST#0000#{{{}}}", call.ptr::<GUID>(2).id()?);
        if let Some(reference) = call.ptr::<UNICODE_STRING>(3).non_null() {
            text = format!("{text}\\{}", reference.text()?);
        }
        set_string(call.handle(4), &text.encode_utf16().collect::<Vec<u16>>())?;
        done(())
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfDeviceSetPnpCapabilities", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceSetPowerCapabilities", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceSetCharacteristics", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceGetCharacteristics", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceSetAlignmentRequirement", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceGetAlignmentRequirement", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceSetStaticStopRemove", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceSetSpecialFileSupport", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceSetDeviceState", DISPATCH, ignore).fixed(),
    // Arguments: device, request.
    routine!("WdfDeviceEnqueueRequest", DISPATCH, |call| {
        let kind = super::request::with_request(call.handle(2), |request| request.kind);
        match super::queue::for_kind(call.handle(1), kind) {
            Handle::NULL => NtStatus::InvalidDeviceRequest,
            queue if super::deliver::add(queue, call.handle(2), super::deliver::End::Back) => NtStatus::Success,
            _ => NtStatus::WdfBusy,
        }
    })
    .fails(NtStatus::InvalidDeviceRequest),
    routine!("WdfDeviceAssignS0IdleSettings", PASSIVE, |call| {
        structures::IDLE_SETTINGS.check(call.ptr::<u32>(2))?;
        done(ignore(call))
    })
    .fails(NtStatus::InvalidDeviceState)
    .fixed(),
    routine!("WdfDeviceAssignSxWakeSettings", PASSIVE, |call| {
        structures::WAKE_SETTINGS.check(call.ptr::<u32>(2))?;
        done(ignore(call))
    })
    .fails(NtStatus::InvalidDeviceState)
    .fixed(),
    routine!("WdfDeviceStopIdleNoTrack", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceStopIdleActual", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceResumeIdleNoTrack", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceResumeIdleActual", DISPATCH, ignore).fixed(),
    routine!("WdfControlFinishInitializing", PASSIVE, |call| {
        with_device(call.handle(1), |device| device.in_d0 = true);
        super::queue_state::start_all(call.handle(1));
    }),
];

/// A device.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    pub(super) init: Init,
    pub(super) default_queue: Handle,
    pub(super) queues: Vec<Handle>,
    /// `WDF_REQUEST_TYPE` and the queue for it.
    pub(super) dispatching: Vec<(RequestKind, Handle)>,
    links: Vec<String>,
    interfaces: u32,
    /// The driver-defined interfaces, in the order in which they were added.
    pub(super) offers: Vec<Offer>,
    /// The number of open files.
    pub(super) opened: u32,
    /// The device is in D0. Power-managed queues deliver requests only then.
    pub(super) in_d0: bool,
    pub(super) started: bool,
    /// What is happening to the device.
    pub(super) phase: Option<Phase>,
    pub(super) io: SelfManagedIo,
    /// The callback that last failed in a plug-and-play or power event, and its status.
    pub(super) failed: Option<(&'static str, NtStatus)>,
    /// The driver called `WdfDeviceSetFailed`.
    pub(super) is_failing: bool,
    pub(super) wdm: GuestPtr<DEVICE_OBJECT>,
    /// The child lists, the default one first.
    pub(super) lists: Vec<Handle>,
    /// The children that are not in a list.
    pub(super) static_children: Vec<Handle>,
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

/// Reads or changes a device.
pub(super) fn with_device<R>(handle: Handle, body: impl FnOnce(&mut Device) -> R) -> R {
    object::part(handle, |data| match data {
        Data::Device(device) => Some(body(device)),
        _ => None,
    })
}

fn ignore(call: &Call) -> NtStatus {
    with_device(call.handle(1), |_| NtStatus::Success)
}

/// Arguments: place of the init structure, attributes, place for the handle.
fn create_device(call: &Call) -> Outcome {
    let handle: Handle = call.ptr(1).read()?;
    let init = object::part(handle, |data| match data {
        Data::Init(init) => Some((**init).clone()),
        _ => None,
    });
    let taken = with(|framework| {
        let same = |object: &object::Object| match &object.data {
            Data::Device(device) => device.init.name.eq_ignore_ascii_case(&init.name),
            _ => false,
        };
        !init.name.is_empty() && framework.objects.values().any(same)
    });
    if taken {
        return fail(NtStatus::ObjectNameCollision);
    }
    let driver = kernel::lock(&kernel().io).driver;
    let wdm = wdm::new_device(driver, 0)?;
    // DO_DIRECT_IO, DO_BUFFERED_IO.
    wdm.Flags().write(if init.direct { 16 } else { 4 })?;
    if !init.preprocess.is_empty() {
        // One more stack location, in which the preprocess callback can set a completion routine.
        wdm.StackSize().change(|size| size + 1)?;
    }
    // A device on a physical device is started next.
    let waits = !init.control && init.parent.is_null();
    let mut device = Device { init, wdm, phase: waits.then_some(Phase::Start), ..Device::default() };
    if !device.init.parent.is_null() {
        device.init.physical = wdm;
    }
    let device = create(call, call.ptr(2), None, Data::Device(Box::new(device)))?;
    children::device_created(device, call.from)?;
    // The framework owns the init structure now, so the driver's pointer to it becomes NULL.
    life::delete(handle);
    call.ptr(1).write(Handle::NULL)?;
    created(Ok(device), call.ptr(3))
}

/// Returns the device with this name, and the part of the name that follows the device's name.
pub(crate) fn find(name: &str) -> Option<(Handle, String)> {
    with(|framework| {
        framework.objects.iter().find_map(|(handle, object)| match &object.data {
            Data::Device(device) => {
                let physical = wdm::name_of(device.init.physical).unwrap_or_default();
                let mut own = device.links.iter().chain([&device.init.name, &physical]);
                own.find_map(|own| names::rest_behind(name, own)).map(|rest| (*handle, rest))
            }
            _ => None,
        })
    })
}

/// Returns the names and symbolic links of all devices.
pub(crate) fn names() -> Vec<String> {
    let of = |handle| with_device(handle, |device| [vec![device.init.name.clone()], device.links.clone()].concat());
    devices().into_iter().flat_map(of).collect()
}

/// Returns the devices, oldest first.
pub(crate) fn devices() -> Vec<Handle> {
    with(|framework| {
        let devices = framework.objects.iter().filter(|(_, object)| matches!(object.data, Data::Device(_)));
        devices.map(|(handle, _)| *handle).collect()
    })
}

/// Makes the driver add a device, and starts the device. For a driver without `EvtDriverDeviceAdd`, returns the first
/// device that the driver created itself.
pub(crate) fn add_device() -> Outcome<Handle> {
    let object = kernel::lock(&kernel().io).driver;
    let routine = wdm::add_device_routine(object)?;
    let (Some(routine), false) = (routine, driver::device_add().1.is_null()) else {
        return devices().first().copied().ok_or(NtStatus::NoSuchDevice.into());
    };
    let before = devices();
    let physical = stack::new_physical_device()?;
    if driver::is_add_device(routine) {
        add(physical)?;
    } else {
        // The driver has replaced the framework's routine, which it may call.
        let status = call_back("AddDevice", PASSIVE, routine, &[object.address(), physical.address()]) as u32;
        if let Err(status) = NtStatus::from_int(status).ok() {
            gap::add(GapKind::NotAdded, format!("AddDevice returned {status}"));
            return fail(status);
        }
    }
    let device = devices().into_iter().find(|device| !before.contains(device)).ok_or(NtStatus::NoSuchDevice)?;
    start(device).map(|()| device)
}

/// The framework's `AddDevice` routine: calls `EvtDriverDeviceAdd`.
pub(super) fn add(physical: GuestPtr<DEVICE_OBJECT>) -> Outcome {
    let (driver, device_add) = driver::device_add();
    let before = devices();
    let init = Init { physical, ..Init::default() };
    let init = object::create_with(0, &Attributes::default(), None, Data::Init(Box::new(init)))?;
    let status =
        NtStatus::from_int(
            call_back("EvtDriverDeviceAdd", PASSIVE, device_add, &[driver.as_int(), init.as_int()]) as u32
        );
    let device = devices().into_iter().find(|device| !before.contains(device));
    if object::exists(init) {
        life::delete(init);
    }
    match (status.ok(), device) {
        (Err(status), device) => {
            if let Some(device) = device {
                life::delete(device);
            }
            gap::add(GapKind::NotAdded, format!("EvtDriverDeviceAdd returned {status}"));
            fail(status)
        }
        (Ok(()), None) => {
            let what = format_args!("EvtDriverDeviceAdd returned success without creating a device");
            verify::find_at(Rule::FrameworkMisuse, Some("EvtDriverDeviceAdd"), At::Code(device_add.address()), what);
            fail(NtStatus::NoSuchDevice)
        }
        (Ok(()), Some(_)) => Ok(()),
    }
}

/// Starts a device (`IRP_MN_START_DEVICE`). A device that fails to start is removed.
pub(super) fn start(device: Handle) -> Outcome {
    let Some(_turn) = Turn::take(device, Phase::Start) else { return fail(NtStatus::NoSuchDevice) };
    let started = preprocess::through(device, (PNP, 0), Handle::NULL, move || status_of(power::start(device)))?;
    if let Err(status) = started.ok() {
        not_started(device, status);
        finish_removal(device)?;
        return fail(status);
    }
    // IRP_MN_QUERY_PNP_DEVICE_STATE: Windows asks each device that has started. A device that has already failed is asked
    // by the thread that removes it.
    if !with_device(device, |device| device.is_failing) {
        preprocess::through(device, (PNP, 0x14), Handle::NULL, || NtStatus::Success)?;
    }
    Ok(())
}

/// Records that a device did not start, with the callback that failed.
fn not_started(device: Handle, status: NtStatus) {
    let detail = match with_device(device, |device| device.failed) {
        Some((callback, status)) => format!("{callback} returned {status}"),
        None => format!("the framework could not start the device: {status}"),
    };
    gap::add(GapKind::NotStarted, detail);
}

/// Returns whether the driver has `EvtDriverDeviceAdd`.
pub(crate) fn adds_devices() -> bool {
    !driver::device_add().1.is_null()
}

fn status_of(result: Result<(), NtStatus>) -> NtStatus {
    result.err().unwrap_or(NtStatus::Success)
}

/// Removes a device and its children, children first. The driver may refuse, except if `surprise` is set. Control
/// devices are not removed.
///
/// Clients close their files as Windows requires it: after `IRP_MN_QUERY_REMOVE_DEVICE` or `IRP_MN_SURPRISE_REMOVAL`,
/// and before `IRP_MN_REMOVE_DEVICE`.
pub(crate) fn remove_device(device: Handle, surprise: bool) -> Outcome {
    if !object::exists(device) || with_device(device, |device| device.init.control) {
        return Ok(());
    }
    let Some(_turn) = Turn::take(device, Phase::Remove) else { return Ok(()) };
    if surprise {
        children::parent_goes(device, |child| remove_device(child, true))?;
        // IRP_MN_SURPRISE_REMOVAL.
        preprocess::through(device, (PNP, 0x17), Handle::NULL, move || {
            power::surprise_remove(device);
            NtStatus::Success
        })?;
        super::close_clients(device);
        return finish_removal(device);
    }
    let tree = children::with_descendants(device);
    // Parents first, as in a surprise removal: two removals never wait for each other.
    let descendants = tree.iter().rev().filter(|other| **other != device);
    let _turns: Vec<Turn> = descendants.filter_map(|child| Turn::take(*child, Phase::Remove)).collect();
    query_remove(&tree)?;
    tree.into_iter().for_each(super::close_clients);
    remove_tree(device)
}

/// Asks the driver whether these devices can be removed. If it refuses one, tells it that none is.
fn query_remove(devices: &[Handle]) -> Outcome {
    for (index, device) in devices.iter().copied().enumerate() {
        // IRP_MN_QUERY_REMOVE_DEVICE.
        let asked =
            preprocess::through(device, (PNP, 1), Handle::NULL, move || status_of(power::query_remove(device)))?;
        if let Err(refused) = asked.ok() {
            for asked in devices.iter().take(index + 1) {
                // IRP_MN_CANCEL_REMOVE_DEVICE.
                preprocess::through(*asked, (PNP, 3), Handle::NULL, || NtStatus::Success)?;
            }
            return fail(refused);
        }
    }
    Ok(())
}

/// Removes a device after its children.
fn remove_tree(device: Handle) -> Outcome {
    if object::exists(device) {
        children::parent_goes(device, remove_tree)?;
        finish_removal(device)?;
    }
    Ok(())
}

/// Sends `IRP_MN_REMOVE_DEVICE` and deletes a device.
fn finish_removal(device: Handle) -> Outcome {
    preprocess::through(device, (PNP, 2), Handle::NULL, move || {
        power::remove(device);
        NtStatus::Success
    })?;
    life::delete(device);
    Ok(())
}

/// Stops a device and starts it again, as the Plug and Play manager does when it assigns resources anew. The driver may
/// refuse. A device that does not start again is removed.
pub(crate) fn rebalance(device: Handle) -> Outcome {
    if !object::exists(device) || with_device(device, |device| device.init.control) {
        return fail(NtStatus::NoSuchDevice);
    }
    {
        let Some(_turn) = Turn::take(device, Phase::Stop) else { return fail(NtStatus::NoSuchDevice) };
        // IRP_MN_QUERY_STOP_DEVICE.
        let asked = preprocess::through(device, (PNP, 5), Handle::NULL, move || status_of(power::query_stop(device)))?;
        if let Err(refused) = asked.ok() {
            // IRP_MN_CANCEL_STOP_DEVICE.
            preprocess::through(device, (PNP, 6), Handle::NULL, || NtStatus::Success)?;
            return fail(refused);
        }
        // IRP_MN_STOP_DEVICE.
        preprocess::through(device, (PNP, 4), Handle::NULL, move || {
            power::stop(device);
            NtStatus::Success
        })?;
    }
    start(device)
}

/// Puts a device to sleep or wakes it up.
pub(crate) fn set_power(device: Handle, on: bool) -> Outcome {
    if !object::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    let turn = Turn::take(device, if on { Phase::Wake } else { Phase::Sleep });
    let Some(_turn) = turn else { return fail(NtStatus::NoSuchDevice) };
    // IRP_MN_SET_POWER.
    let set = move || {
        if on {
            return status_of(power::wake(device));
        }
        power::sleep(device);
        NtStatus::Success
    };
    Ok(preprocess::through(device, (POWER, 2), Handle::NULL, set)?.ok()?)
}

/// Returns the framework device of a device object.
pub(super) fn of_object(object: GuestPtr<DEVICE_OBJECT>) -> Option<Handle> {
    devices().into_iter().find(|device| with_device(*device, |device| device.wdm) == object)
}

/// Returns the device that an object belongs to: the object itself or its nearest ancestor that is a device.
pub(super) fn of(handle: Handle) -> Option<Handle> {
    let mut handle = handle;
    while object::exists(handle) {
        let (is_device, parent) = lookup(handle, |object| (matches!(object.data, Data::Device(_)), object.parent));
        if is_device {
            return Some(handle);
        }
        handle = parent;
    }
    None
}
