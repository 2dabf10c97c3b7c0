//! The power policy of devices. Only one driver in a stack is the owner and may set it.

use etw_types::NtStatus;
use nt_kernel::call_back;
use nt_processor::layout::{WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS, WDF_POLICY_CALLBACKS};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Breach, Kmdf, Rule};
use windows_constants::framework::WdfFalse;

use crate::Handle;
use crate::device::init::{Init, with_init};
use crate::device::{Wake, with_device};
use crate::object::needs_pnp;
use crate::state::Origin;
use crate::structures;

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceState)]
    fn WdfDeviceAssignSxWakeSettings(
        device: Handle,
        settings: GuestPtr<WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS>,
    ) -> Outcome {
        needs_owner(device)?;
        structures::WAKE_SETTINGS.check(settings)?;
        let is_enabled = settings.Enabled().read()? != WdfFalse;
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

/// Returns whether the driver owns the power policy of a device. A function driver owns that of its device unless it gives it
/// up; a filter and a bus driver own it only if they say so.
pub(crate) fn is_owner(init: &Init) -> bool {
    init.owns_policy.unwrap_or(is_function(init) || init.raw)
}

fn is_function(init: &Init) -> bool {
    init.origin() == Origin::DeviceAdd && !init.filter
}

/// Returns the breach of a driver that sets the power policy of a device that it does not own.
fn not_owned(init: &Init) -> Option<Breach> {
    let rule = if is_function(init) { Kmdf::FDOPowerPolicyOwnerAPI } else { Kmdf::NonFDONotPowerPolicyOwnerAPI };
    (!is_owner(init)).then(|| Rule::FrameworkMisuse.named(rule))
}

/// Fails if the driver does not own the power policy of a device.
pub(crate) fn needs_owner(device: Handle) -> Outcome {
    needs_pnp();
    if let Some(breach) = with_device(device, |device| not_owned(&device.init)) {
        verify::find(breach, format_args!("the device is not the owner of the power policy"));
        return fail(NtStatus::InvalidDeviceRequest);
    }
    Ok(())
}

/// The names of the callbacks for a wake-up, and their indices after the `Size` field of `WDF_POWER_POLICY_EVENT_CALLBACKS`.
const fn callbacks(wake: Wake) -> [(&'static str, usize); 2] {
    match wake {
        Wake::S0 => [("EvtDeviceArmWakeFromS0", 0), ("EvtDeviceDisarmWakeFromS0", 1)],
        Wake::Sx => [("EvtDeviceArmWakeFromSx", 3), ("EvtDeviceDisarmWakeFromSx", 4)],
    }
}

/// Calls the driver before a device leaves D0 that may wake itself or the system. Returns whether the device is armed.
pub(crate) fn arm(device: Handle, wake: Wake) -> bool {
    let [(name, index), _] = callbacks(wake);
    let callback = with_device(device, |device| {
        device.armed = Some(wake);
        device.init.wake.get(index).copied().unwrap_or_default()
    });
    callback.is_null() || NtStatus::from_int(call_back(name, PASSIVE, callback, &[device.as_int()]) as u32).is_success()
}

/// Calls the driver when an armed device has entered D0 again, or could not be armed.
pub(crate) fn disarm(device: Handle) {
    let Some(wake) = with_device(device, |device| device.armed.take()) else { return };
    let [_, (name, index)] = callbacks(wake);
    let callback = with_device(device, |device| device.init.wake.get(index).copied().unwrap_or_default());
    if !callback.is_null() {
        call_back(name, PASSIVE, callback, &[device.as_int()]);
    }
}

/// Called when a device is created: reports callbacks for the power policy that will never be called.
pub(crate) fn check_callbacks(init: &Init) {
    if let (Some(from), Some(breach)) = (init.policy_callbacks, not_owned(init)) {
        let what = format_args!("sets callbacks for the power policy of a device that is not its owner");
        verify::find_at(breach, Some("WdfDeviceInitSetPowerPolicyEventCallbacks"), from, what);
    }
}
