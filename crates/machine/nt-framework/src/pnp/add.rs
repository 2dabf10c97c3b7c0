//! `AddDevice`: the driver creates a device on a new physical device.

use etw_types::NtStatus;
use nt_kernel::io::device::{self as wdm, stack};
use nt_kernel::{call_back, kernel};
use nt_processor::layout::DEVICE_OBJECT;
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Outcome, PASSIVE, fail};
use nt_verifier::verify::{self, At, Breach, GapKind, Kmdf, Rule, gap};

use crate::children::enumerate;
use crate::device::control;
use crate::device::init::{self, Init};
use crate::device::{self, devices};
use crate::object::{self, life};
use crate::pnp::requirements;
use crate::state::with;
use crate::{Handle, driver};

/// Returns whether the driver has `EvtDriverDeviceAdd`.
pub fn adds_devices() -> bool {
    !driver::device_add().1.is_null()
}

/// Makes the driver add a device, and starts the device. For a driver without `EvtDriverDeviceAdd`, returns the first
/// device that the driver created itself.
pub fn add_device() -> Outcome<Handle> {
    let object = nt_kernel::lock(&kernel().io).driver;
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
    let is_added = |device: &Handle| !before.contains(device) && !device::is_control(*device);
    let device = devices().into_iter().find(is_added).ok_or(NtStatus::NoSuchDevice)?;
    requirements::filter(device)?;
    enumerate::start(device).map(|()| device)
}

/// The framework's `AddDevice` routine: calls `EvtDriverDeviceAdd`.
pub(crate) fn add(physical: GuestPtr<DEVICE_OBJECT>) -> Outcome {
    let (driver, device_add) = driver::device_add();
    if device_add.is_null() {
        // As `FxDriverDeviceAdd::Invoke` (`shared/inc/private/common/fxdrivercallbacks.hpp`).
        return fail(NtStatus::Unsuccessful);
    }
    let before = devices();
    with(|framework| framework.has_added = true);
    let init = init::new(0, Init { physical, ..Init::default() })?;
    let status =
        NtStatus::from_int(
            call_back("EvtDriverDeviceAdd", PASSIVE, device_add, &[driver.as_int(), init.as_int()]) as u32
        );
    let is_new = |device: &Handle| !before.contains(device);
    // A control device that the callback creates as well is not the one on the physical device.
    let device = devices().into_iter().find(|device| is_new(device) && !device::is_control(*device));
    control::report_unfinished(&before);
    let create_failed = object::exists(init) && init::with_init(init, |init| init.create_failed);
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
            let breach: Breach = Rule::FrameworkMisuse.into();
            let breach = if create_failed { breach.named(Kmdf::DeviceCreateFail) } else { breach };
            verify::find_at(breach, Some("EvtDriverDeviceAdd"), At::Code(device_add.address()), what);
            fail(NtStatus::NoSuchDevice)
        }
        (Ok(()), Some(_)) => Ok(()),
    }
}
