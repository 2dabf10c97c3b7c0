//! Devices: creation, plug and play, names and interfaces.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::init::Init;
use super::object::{self, Data, change, create, created, lookup};
use super::{Handle, driver, life, power, status, with};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{self, call_back, kernel};
use crate::memory::guest;
use crate::verify::{self, At, Rule};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfDeviceCreate", PASSIVE, create_device).fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDeviceCreateDeviceInterface", PASSIVE, |call| {
        with_device(call.arg(1), |device| device.interfaces += 1);
        status::SUCCESS
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDeviceSetDeviceInterfaceState", PASSIVE, ignore).fixed(),
    routine("WdfDeviceSetDeviceInterfaceStateEx", PASSIVE, ignore).fixed(),
    routine("WdfDeviceCreateSymbolicLink", PASSIVE, |call| {
        let name = guest::text(call.arg(2));
        let taken = with(|framework| {
            let mut devices = framework.objects.values();
            devices.any(|object| matches!(&object.data, Data::Device(device) if device.links.contains(&name)))
        });
        if taken {
            return status::OBJECT_NAME_COLLISION;
        }
        with_device(call.arg(1), |device| device.links.push(name));
        status::SUCCESS
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDeviceGetDriver", DISPATCH, |_| with(|framework| framework.driver())),
    routine("WdfDeviceGetDefaultQueue", DISPATCH, |call| with_device(call.arg(1), |device| device.default_queue)),
    routine("WdfDeviceConfigureRequestDispatching", DISPATCH, |call| {
        let (queue, kind) = (call.arg(2), call.u32(3));
        with_device(call.arg(1), |device| device.dispatching.push((kind, queue)));
        status::SUCCESS
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDeviceWdmGetDeviceObject", DISPATCH, |call| with_device(call.arg(1), |device| device.wdm)),
    routine("WdfDeviceWdmGetAttachedDevice", DISPATCH, |call| with_device(call.arg(1), |device| device.init.physical)),
    routine("WdfDeviceWdmGetPhysicalDevice", DISPATCH, |call| with_device(call.arg(1), |device| device.init.physical)),
    routine("WdfWdmDeviceGetWdfDeviceHandle", DISPATCH, |call| {
        devices()
            .into_iter()
            .find(|device| with_device(*device, |device| device.wdm) == call.arg(1))
            .unwrap_or_default()
    }),
    routine("WdfDeviceGetIoTarget", DISPATCH, |call| call.arg(1)),
    routine("WdfDeviceSetPnpCapabilities", DISPATCH, ignore).fixed(),
    routine("WdfDeviceSetPowerCapabilities", DISPATCH, ignore).fixed(),
    routine("WdfDeviceSetCharacteristics", DISPATCH, ignore).fixed(),
    routine("WdfDeviceGetCharacteristics", DISPATCH, ignore).fixed(),
    routine("WdfDeviceSetAlignmentRequirement", DISPATCH, ignore).fixed(),
    routine("WdfDeviceGetAlignmentRequirement", DISPATCH, ignore).fixed(),
    routine("WdfDeviceSetStaticStopRemove", DISPATCH, ignore).fixed(),
    routine("WdfDeviceSetSpecialFileSupport", DISPATCH, ignore).fixed(),
    routine("WdfDeviceSetDeviceState", DISPATCH, ignore).fixed(),
    // The device goes as if it had been pulled out; whether it comes back is for the bus to decide.
    routine("WdfDeviceSetFailed", DISPATCH, |call| {
        let device = call.arg(1);
        with_device(device, |_| ());
        kernel::submit(device, move || {
            let _ = remove_device(device, true);
        });
        0
    }),
    // Arguments: device, request.
    routine("WdfDeviceEnqueueRequest", DISPATCH, |call| {
        let kind = super::request::with_request(call.arg(2), |request| request.kind);
        match super::queue::for_kind(call.arg(1), kind) {
            0 => status::INVALID_DEVICE_REQUEST.into(),
            queue if super::deliver::add(queue, call.arg(2), super::deliver::End::Back) => status::SUCCESS,
            _ => status::BUSY.into(),
        }
    })
    .fails(status::INVALID_DEVICE_REQUEST),
    routine("WdfDeviceAssignS0IdleSettings", PASSIVE, ignore).fails(0xC000_0184).fixed(),
    routine("WdfDeviceAssignSxWakeSettings", PASSIVE, ignore).fails(0xC000_0184).fixed(),
    routine("WdfDeviceStopIdleNoTrack", DISPATCH, ignore).fixed(),
    routine("WdfDeviceStopIdleActual", DISPATCH, ignore).fixed(),
    routine("WdfDeviceResumeIdleNoTrack", DISPATCH, ignore).fixed(),
    routine("WdfDeviceResumeIdleActual", DISPATCH, ignore).fixed(),
    routine("WdfDeviceAddQueryInterface", PASSIVE, ignore).fails(status::INSUFFICIENT_RESOURCES).fixed(),
    routine("WdfControlFinishInitializing", PASSIVE, |call| {
        with_device(call.arg(1), |device| device.in_d0 = true);
        super::queue_state::start_all(call.arg(1));
        0
    }),
];

/// A device.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    pub(super) init: Init,
    pub(super) default_queue: Handle,
    pub(super) queues: Vec<Handle>,
    /// `WDF_REQUEST_TYPE` and the queue for it.
    pub(super) dispatching: Vec<(u32, Handle)>,
    links: Vec<String>,
    interfaces: u32,
    /// Power-managed queues deliver only then.
    pub(super) in_d0: bool,
    pub(super) started: bool,
    /// `EvtDeviceSelfManagedIoInit` ran.
    pub(super) io_begun: bool,
    pub(super) wdm: u64,
}

/// Looks at or changes a device.
pub(super) fn with_device<R>(handle: Handle, body: impl FnOnce(&mut Device) -> R) -> R {
    let result = change(handle, |object| match &mut object.data {
        Data::Device(device) => Some(body(device)),
        _ => None,
    });
    result.unwrap_or_else(|| object::violation(handle))
}

fn ignore(call: &Call) -> u64 {
    with_device(call.arg(1), |_| status::SUCCESS)
}

/// Arguments: place of the description, attributes, place for the handle.
fn create_device(call: &Call) -> u64 {
    let handle: Handle = guest::read(call.arg(1));
    let init = change(handle, |object| match &object.data {
        Data::Init(init) => Some((**init).clone()),
        _ => None,
    });
    let Some(init) = init else { object::violation(handle) };
    let taken = with(|framework| {
        let same = |object: &object::Object| match &object.data {
            Data::Device(device) => device.init.name.eq_ignore_ascii_case(&init.name),
            _ => false,
        };
        !init.name.is_empty() && framework.objects.values().any(same)
    });
    if taken {
        return status::OBJECT_NAME_COLLISION;
    }
    let wdm = kernel::lock(&kernel().pool).object(0x150);
    let device = Device { init, wdm, ..Device::default() };
    match create(call, call.arg(2), None, Data::Device(Box::new(device))) {
        Ok(device) => {
            // The description belongs to the framework again, and the driver has no pointer to it any more.
            life::delete(handle);
            guest::write(call.arg(1), 0_u64);
            created(Ok(device), call.arg(3))
        }
        Err(status) => status.into(),
    }
}

/// The devices, oldest first.
fn devices() -> Vec<Handle> {
    with(|framework| {
        let devices = framework.objects.iter().filter(|(_, object)| matches!(object.data, Data::Device(_)));
        devices.map(|(handle, _)| *handle).collect()
    })
}

/// A device appears: the driver adds and starts it. A driver without `EvtDriverDeviceAdd` has made its own.
pub(crate) fn add_device() -> Result<u64, NtStatus> {
    let (driver, device_add) = driver::device_add();
    if device_add == 0 {
        return devices().first().copied().ok_or(NtStatus::NoSuchDevice);
    }
    let before = devices();
    let physical = kernel::device_stack::new_physical_device();
    let init = Init { physical, ..Init::default() };
    let init = object::create_with(0, &Attributes::default(), None, Data::Init(Box::new(init)));
    let init = init.map_err(NtStatus::from_int)?;
    let answer = NtStatus::from_int(call_back("EvtDriverDeviceAdd", PASSIVE, device_add, &[driver, init]) as u32);
    let device = devices().into_iter().find(|device| !before.contains(device));
    if object::exists(init) {
        life::delete(init);
    }
    match (answer.ok(), device) {
        (Err(status), device) => {
            if let Some(device) = device {
                life::delete(device);
            }
            Err(status)
        }
        (Ok(()), None) => {
            let what = format_args!("succeeded without creating a device");
            verify::find_at(Rule::FrameworkMisuse, Some("EvtDriverDeviceAdd"), At::Code(device_add), what);
            Err(NtStatus::NoSuchDevice)
        }
        (Ok(()), Some(device)) => match power::start(device) {
            Ok(()) => Ok(device),
            Err(status) => {
                life::delete(device);
                Err(status)
            }
        },
    }
}

/// A device disappears, by surprise or because somebody asked for it: then its driver may refuse.
pub(crate) fn remove_device(device: Handle, surprise: bool) -> Result<(), NtStatus> {
    if !object::exists(device) || with_device(device, |device| device.init.control) {
        return Ok(());
    }
    power::remove(device, surprise)?;
    // Clients close what they have open; their requests have ended.
    kernel::plug::close_all(device);
    life::delete(device);
    Ok(())
}

/// A device goes to sleep or wakes up.
pub(crate) fn set_power(device: Handle, on: bool) -> Result<(), NtStatus> {
    if !object::exists(device) {
        return Err(NtStatus::NoSuchDevice);
    }
    if on {
        return power::wake(device);
    }
    power::sleep(device);
    Ok(())
}

/// Every device disappears, as before a driver is unloaded.
pub(crate) fn remove_all() {
    for device in devices() {
        if remove_device(device, false).is_err() {
            // A driver that keeps its device cannot be unloaded; the run ends all the same.
            let _ = remove_device(device, true);
        }
    }
}

/// The device that an object belongs to, going up the tree.
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
