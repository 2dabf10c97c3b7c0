//! Devices: creation, plug and play, names and interfaces.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::init::Init;
use super::misc::set_string;
use super::object::{self, Data, create, created, lookup};
use super::query_interface::Offer;
use super::turn::{Phase, Turn};
use super::{Handle, driver, life, power, preprocess, structures, with};
use crate::kernel::RequestKind;
use crate::kernel::io::request::{PNP, POWER};
use crate::kernel::io::{device as wdm, names, stack};
use crate::kernel::{self, call_back, kernel};
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT, GUID, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, fixed, routine};
use crate::verify::{self, At, Rule};

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
    /// `EvtDeviceSelfManagedIoInit` ran.
    pub(super) io_begun: bool,
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
    super::children::device_created(device, call.from)?;
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
        NtStatus::from_int(status).ok()?;
    }
    let device = devices().into_iter().find(|device| !before.contains(device)).ok_or(NtStatus::NoSuchDevice)?;
    match start(device)?.ok() {
        Ok(()) => Ok(device),
        Err(status) => {
            life::delete(device);
            fail(status)
        }
    }
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

/// Sends `IRP_MN_START_DEVICE`.
fn start(device: Handle) -> Result<NtStatus, Fault> {
    let _turn = Turn::take(device, Phase::Start);
    preprocess::through(device, (PNP, 0), Handle::NULL, move || status_of(power::start(device)))
}

fn status_of(result: Result<(), NtStatus>) -> NtStatus {
    result.err().unwrap_or(NtStatus::Success)
}

/// Removes a device and its children. The driver may refuse, except if `surprise` is set. Control devices are not
/// removed.
pub(crate) fn remove_device(device: Handle, surprise: bool) -> Outcome {
    if !object::exists(device) || with_device(device, |device| device.init.control) {
        return Ok(());
    }
    let Some(_turn) = Turn::take(device, Phase::Remove) else { return Ok(()) };
    // As in Windows, the children are removed first. Unlike there, they cannot refuse.
    super::children::parent_goes(device);
    if !surprise {
        // IRP_MN_QUERY_REMOVE_DEVICE. `power::remove` calls EvtDeviceQueryRemove.
        preprocess::through(device, (PNP, 1), Handle::NULL, || NtStatus::Success)?.ok()?;
    }
    // IRP_MN_SURPRISE_REMOVAL or IRP_MN_REMOVE_DEVICE.
    let minor = if surprise { 0x17 } else { 2 };
    preprocess::through(device, (PNP, minor), Handle::NULL, move || status_of(power::remove(device, surprise)))?
        .ok()?;
    // The requests of the clients are completed. Now the clients close their files.
    super::close_clients(device);
    life::delete(device);
    Ok(())
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
