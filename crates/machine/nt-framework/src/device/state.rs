//! The states of a device that drivers can query, and the failures that they can report.
//!
//! A driver that calls `WdfDeviceSetFailed` while its device starts is removed after the start.

use nt_verifier::routine::{DISPATCH, functions};
use nt_verifier::verify::{self, GapKind, Rule, gap};

use crate::device::{self, with_device};
use crate::pnp::states::PnpState;
use crate::{Handle, object, pnp};

functions! { pub(crate) FUNCTIONS;
    /// As in Microsoft's framework (irphandlers/pnp/fxpkgpnp.cpp), the Plug and Play manager is only told that the state
    /// of the device has changed. It asks for the state, and then removes the device by surprise. Whether the device
    /// comes back is the decision of the bus.
    #[irql(DISPATCH)]
    fn WdfDeviceSetFailed(device: Handle, action: i32) {
        set_failed(device, action);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceGetDevicePnpState(device: Handle) -> i32 {
        let (state, control) = with_device(device, |device| (device.pnp_state, device.init.control));
        if control { PnpState::OBJECT_CREATED } else { state }.as_int()
    }

    #[irql(DISPATCH)]
    fn WdfDeviceGetDevicePowerState(device: Handle) -> i32 {
        object::needs_pnp();
        with_device(device, |device| device.power_state.as_int(!device.init.not_pageable))
    }

    #[irql(DISPATCH)]
    fn WdfDeviceGetDevicePowerPolicyState(device: Handle) -> i32 {
        object::needs_pnp();
        with_device(device, |device| device.policy_state.as_int(!device.init.not_pageable))
    }
}

fn set_failed(device: Handle, action: i32) {
    device::check(device);
    // WdfDeviceFailedAttemptRestart, WdfDeviceFailedNoRestart.
    if !matches!(action, 1 | 2) {
        let what = format_args!("invalid WDF_DEVICE_FAILED_ACTION {action}: expected 1 or 2");
        return verify::find(Rule::BadArgument, what);
    }
    with_device(device, |device| device.is_failing = true);
    gap::add(GapKind::NotStarted, "the driver reported with WdfDeviceSetFailed that its device failed".to_owned());
    pnp::remove_failed(device);
}
