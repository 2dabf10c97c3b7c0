//! The power policy of devices. Only one driver in a stack is the owner and may set it.

use etw_types::NtStatus;

use super::Handle;
use super::device::with_device;
use super::init::{Init, with_init};
use super::object::needs_pnp;
use super::state::Origin;
use super::structures::{self, Structure};
use crate::memory::{GuestPtr, Opaque};
use crate::routine::{DISPATCH, Ignored, Outcome, done, fail, functions};
use crate::verify::{self, Breach, Kmdf, Rule};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceState)]
    fn WdfDeviceAssignS0IdleSettings(device: Handle, settings: GuestPtr<Opaque>) -> Outcome {
        assign(device, &structures::IDLE_SETTINGS, settings)
    }

    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceState)]
    fn WdfDeviceAssignSxWakeSettings(device: Handle, settings: GuestPtr<Opaque>) -> Outcome {
        assign(device, &structures::WAKE_SETTINGS, settings)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetPowerPolicyEventCallbacks(&call, init: Handle, _callbacks: Ignored<GuestPtr<Opaque>>) {
        needs_pnp();
        with_init(init, |init| init.policy_callbacks = Some(call.from));
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

fn assign(device: Handle, structure: &Structure, settings: GuestPtr<Opaque>) -> Outcome {
    needs_pnp();
    if let Some(breach) = with_device(device, |device| not_owned(&device.init)) {
        verify::find(breach, format_args!("the device is not the owner of the power policy"));
        return fail(NtStatus::InvalidDeviceRequest);
    }
    structure.check(settings)?;
    done(())
}

/// Called when a device is created: reports callbacks for the power policy that will never be called.
pub(super) fn check_callbacks(init: &Init) {
    if let (Some(from), Some(breach)) = (init.policy_callbacks, not_owned(init)) {
        let what = format_args!("sets callbacks for the power policy of a device that is not its owner");
        verify::find_at(breach, Some("WdfDeviceInitSetPowerPolicyEventCallbacks"), from, what);
    }
}
