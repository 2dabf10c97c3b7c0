//! The states of a device that drivers can query, and the failures that they can report.
//!
//! A driver that calls `WdfDeviceSetFailed` while its device starts is removed after the start.

use etw_types::NtStatus;

use super::device::{self, Device, Phase, with_device};
use super::pnp::{QUERY_PNP_DEVICE_STATE, remove_device};
use super::states::PnpState;
use super::turn::Turn;
use super::{Handle, object, preprocess};
use crate::kernel;
use crate::kernel::io::request::PNP;
use crate::memory::OrStop as _;
use crate::routine::{DISPATCH, functions};
use crate::verify::{self, GapKind, Rule, gap};

functions! { pub(super) FUNCTIONS;
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
        with_device(device, |device| policy_state(device).0)
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
    kernel::submit(device.as_int(), move || {
        let Some(turn) = Turn::take(device, Phase::Query) else { return };
        preprocess::through(device, (PNP, QUERY_PNP_DEVICE_STATE), Handle::NULL, || NtStatus::Success).or_stop();
        drop(turn);
        if object::exists(device) {
            let _ = remove_device(device, true);
        }
    });
}

/// `WDF_DEVICE_POWER_POLICY_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PolicyState(i32);

impl PolicyState {
    const OBJECT_CREATED: Self = Self(0x500);
    const STARTING: Self = Self(0x501);
    const SLEEPING_NO_WAKE_POWER_DOWN: Self = Self(0x527);
    const SYSTEM_ASLEEP_NO_WAKE: Self = Self(0x52C);
    const SYSTEM_WAKE_DEVICE_TO_D0: Self = Self(0x52E);
    const STOPPED: Self = Self(0x563);
    const STARTED: Self = Self(0x565);
    const REMOVED: Self = Self(0x58E);
}

/// Returns the state of a device that has no idle and wake settings. The names are those of Microsoft's wdfdevice.h.
fn policy_state(device: &Device) -> PolicyState {
    match device.phase {
        // It stays stopped while a device is prepared again.
        Some(Phase::Start) if device.pnp_state == PnpState::STARTING_FROM_STOPPED => PolicyState::STOPPED,
        // The machine of power policy starts after EvtDevicePrepareHardware.
        Some(Phase::Start) if device.preparing || device.resources == [Handle::NULL; 2] => PolicyState::OBJECT_CREATED,
        Some(Phase::Start) => PolicyState::STARTING,
        Some(Phase::Sleep) => PolicyState::SLEEPING_NO_WAKE_POWER_DOWN,
        Some(Phase::Wake) => PolicyState::SYSTEM_WAKE_DEVICE_TO_D0,
        Some(Phase::Remove) if !device.started => PolicyState::REMOVED,
        _ if !device.started => PolicyState::OBJECT_CREATED,
        _ if device.in_d0 => PolicyState::STARTED,
        _ => PolicyState::SYSTEM_ASLEEP_NO_WAKE,
    }
}
