//! The power policy of devices. Only one driver in a stack is the owner and may set it.

use etw_types::NtStatus;

use super::Handle;
use super::device::with_device;
use super::init::{Init, with_init};
use super::object::needs_pnp;
use super::state::Origin;
use super::structures::{self, Structure};
use crate::kernel::call_back;
use crate::layout::{WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS, WDF_POLICY_CALLBACKS};
use crate::memory::{Fault, GuestPtr, Opaque};
use crate::routine::{DISPATCH, Outcome, PASSIVE, done, fail, functions};
use crate::verify::{self, Breach, Kmdf, Rule};

/// `WdfFalse`.
const WDF_FALSE: u32 = 0;
/// The callbacks of `WDF_POWER_POLICY_EVENT_CALLBACKS`, by their index after the `Size` field. Devices do not idle here, so those for
/// S0 are not called.
const ARM_SX: usize = 3;
const DISARM_SX: usize = 4;

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceState)]
    fn WdfDeviceAssignS0IdleSettings(device: Handle, settings: GuestPtr<Opaque>) -> Outcome {
        assign(device, &structures::IDLE_SETTINGS, settings)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceState)]
    fn WdfDeviceAssignSxWakeSettings(
        device: Handle,
        settings: GuestPtr<WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS>,
    ) -> Outcome {
        assign(device, &structures::WAKE_SETTINGS, settings)?;
        let is_enabled = settings.Enabled().read()? != WDF_FALSE;
        with_device(device, |device| device.can_wake = is_enabled);
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetPowerPolicyEventCallbacks(
        &call,
        init: Handle,
        callbacks: GuestPtr<WDF_POLICY_CALLBACKS>,
    ) -> Result<(), Fault> {
        needs_pnp();
        if structures::POWER_POLICY_EVENT_CALLBACKS.fits(callbacks)? {
            let wake = callbacks.Callbacks().read()?;
            with_init(init, |init| (init.policy_callbacks, init.wake) = (Some(call.from), wake));
        }
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetPowerPolicyOwnership(init: Handle, is_owner: bool) {
        needs_pnp();
        with_init(init, |init| init.owns_policy = Some(is_owner));
    }
}

/// Returns the breach of a driver that sets the power policy of a device that it does not own. A function driver owns
/// that of its device unless it gives it up; a filter and a bus driver own it only if they say so.
fn not_owned(init: &Init) -> Option<Breach> {
    let is_function = init.origin() == Origin::DeviceAdd && !init.filter;
    let rule = if is_function { Kmdf::FDOPowerPolicyOwnerAPI } else { Kmdf::NonFDONotPowerPolicyOwnerAPI };
    (!init.owns_policy.unwrap_or(is_function || init.raw)).then(|| Rule::FrameworkMisuse.named(rule))
}

fn assign<T>(device: Handle, structure: &Structure, settings: GuestPtr<T>) -> Outcome {
    needs_pnp();
    if let Some(breach) = with_device(device, |device| not_owned(&device.init)) {
        verify::find(breach, format_args!("the device is not the owner of the power policy"));
        return fail(NtStatus::InvalidDeviceRequest);
    }
    structure.check(settings)?;
    done(())
}

/// Calls the driver before a device leaves D0 because the system sleeps, if the device may wake the system. After a failure, as the
/// callback's page says, the device is disarmed at once and sleeps nevertheless.
pub(super) fn arm(device: Handle) {
    let callback = with_device(device, |device| device.can_wake.then(|| device.init.wake[ARM_SX]));
    let Some(callback) = callback else { return };
    let is_armed = callback.is_null()
        || NtStatus::from_int(call_back("EvtDeviceArmWakeFromSx", PASSIVE, callback, &[device.as_int()]) as u32)
            .is_success();
    with_device(device, |device| device.is_armed = true);
    if !is_armed {
        disarm(device);
    }
}

/// Calls the driver when an armed device has entered D0 again, or could not be armed.
pub(super) fn disarm(device: Handle) {
    let callback =
        with_device(device, |device| std::mem::take(&mut device.is_armed).then(|| device.init.wake[DISARM_SX]));
    if let Some(callback) = callback.and_then(GuestPtr::non_null) {
        call_back("EvtDeviceDisarmWakeFromSx", PASSIVE, callback, &[device.as_int()]);
    }
}

/// Called when a device is created: reports callbacks for the power policy that will never be called.
pub(super) fn check_callbacks(init: &Init) {
    if let (Some(from), Some(breach)) = (init.policy_callbacks, not_owned(init)) {
        let what = format_args!("sets callbacks for the power policy of a device that is not its owner");
        verify::find_at(breach, Some("WdfDeviceInitSetPowerPolicyEventCallbacks"), from, what);
    }
}
