//! The entry points of the class driver.

use etw_types::NtStatus;
use nt_kernel::io::device::{self as objects, stack};
use nt_kernel::io::request::{complete_with, dispatch_to, forward};
use nt_kernel::{RequestKind, call_back, kernel};
use nt_processor::layout::{HID_DEVICE_EXTENSION, HID_MINIDRIVER_REGISTRATION, IRP};
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::routine::{DISPATCH, Failure, HID_CLASS, NO_RESOURCES, Outcome, PASSIVE, done, fail, routines};
use windows_constants::device::FILE_DEVICE_UNKNOWN;
use windows_constants::hid::HID_REVISION;
use windows_constants::request::{
    IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE, IRP_MJ_PNP, IRP_MJ_POWER, IRP_MJ_SYSTEM_CONTROL,
};

use super::state::{Device, Driver, Minidriver, Object, state};
use super::{client, device, minidriver};

/// The names of the entry points, which no driver can import.
const ADD_DEVICE: &str = "(HID class AddDevice)";
const DISPATCH_ROUTINE: &str = "(HID class dispatch)";

/// The major functions that the class driver handles.
const MAJORS: [u8; 10] = [
    IRP_MJ_CREATE,
    IRP_MJ_CLOSE,
    IRP_MJ_CLEANUP,
    RequestKind::READ.as_int(),
    RequestKind::WRITE.as_int(),
    RequestKind::DEVICE_CONTROL.as_int(),
    RequestKind::INTERNAL_DEVICE_CONTROL.as_int(),
    IRP_MJ_PNP,
    IRP_MJ_POWER,
    IRP_MJ_SYSTEM_CONTROL,
];

routines! { pub(super) ROUTINES;
    /// Saves the entry points of the minidriver, and replaces them.
    #[irql(DISPATCH), module(HID_CLASS), fails(NO_RESOURCES), keeps_nothing]
    fn HidRegisterMinidriver(&call, registration: GuestPtr<HID_MINIDRIVER_REGISTRATION>) -> Outcome {
        let requested = registration.read()?;
        if requested.Revision != HID_REVISION {
            return fail(NtStatus::RevisionMismatch);
        }
        let driver = requested.DriverObject;
        let extension = requested.DriverObject.DriverExtension().read()?;
        let minidriver = Minidriver {
            functions: driver.MajorFunction().read()?,
            add_device: extension.AddDevice().read()?,
            extension: requested.DeviceExtensionSize,
            is_polled: requested.DevicesArePolled != 0,
            from: call.from,
        };
        let entry = |name: &str| GuestPtr::<Code>::new(kernel().table.address(name).unwrap_or_default());
        for place in MAJORS.iter().filter_map(|major| driver.MajorFunction().element((*major).into())) {
            place.write(entry(DISPATCH_ROUTINE))?;
        }
        extension.AddDevice().write(entry(ADD_DEVICE))?;
        state().minidrivers.insert(driver, minidriver);
        done(())
    }

    #[irql(PASSIVE), module(HID_CLASS), named(ADD_DEVICE)]
    fn add_device(driver: Driver, physical: Object) -> Outcome<NtStatus> {
        let Some(minidriver) = state().minidrivers.get(&driver).cloned() else { return fail(NtStatus::NoSuchDevice) };
        let own = size_of::<HID_DEVICE_EXTENSION>() as u32;
        let new = objects::Description {
            extension: own.saturating_add(minidriver.extension),
            kind: FILE_DEVICE_UNKNOWN,
            characteristics: 0,
            exclusive: false,
        };
        let device = objects::create(driver, String::new(), &new, minidriver.from)?;
        let lower = stack::attach(device, physical)?;
        let extension = device.DeviceExtension().read()?.cast::<HID_DEVICE_EXTENSION>();
        extension.write(HID_DEVICE_EXTENSION {
            PhysicalDeviceObject: physical,
            NextDeviceObject: lower,
            MiniDeviceExtension: extension.after(),
        })?;
        state().devices.insert(device, Device { driver, lower, description: None });
        let status = match minidriver.add_device.non_null() {
            Some(routine) => call_back("AddDevice", PASSIVE, routine, &[driver.address(), device.address()]) as u32,
            None => 0,
        };
        let status = NtStatus::from_int(status);
        if status.is_success() {
            objects::is_initialized(device)?;
        } else {
            device::delete(device, lower)?;
        }
        done(status)
    }

    #[irql(DISPATCH), module(HID_CLASS), named(DISPATCH_ROUTINE)]
    fn dispatch(device: Object, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
        let place = irp.CurrentStackLocation().read()?;
        let major = place.MajorFunction().read()?;
        let served = match (major, RequestKind::from_int(major)) {
            // Open and close are not the minidriver's business.
            (IRP_MJ_CREATE | IRP_MJ_CLEANUP | IRP_MJ_CLOSE, _) => Ok(complete_with(irp, NtStatus::Success, 0)?),
            (_, RequestKind::READ) => client::read(device, irp),
            (_, RequestKind::WRITE) => client::write(device, irp),
            (_, kind) if kind.has_code() => client::control(device, irp),
            (IRP_MJ_PNP, _) if device::handles(place.MinorFunction().read()?) => device::plug_and_play(device, irp, place),
            _ => pass(device, irp, major),
        };
        match served {
            Err(Failure::Status(status)) => Ok(complete_with(irp, status, 0)?),
            served => served,
        }
    }
}

/// Passes an IRP to the minidriver or, if it does not handle such requests, to the device below.
fn pass(device: Object, irp: GuestPtr<IRP>, major: u8) -> Outcome<NtStatus> {
    if let Some(routine) = minidriver::routine(device, major) {
        return Ok(dispatch_to(device, irp, routine)?);
    }
    let lower = state().devices.get(&device).map(|device| device.lower);
    lower.map_or(fail(NtStatus::NoSuchDevice), |lower| Ok(forward(lower, irp)?))
}
