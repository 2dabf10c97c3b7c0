//! Serialises what the Plug and Play manager and the power manager do with a device, and derives the state of power
//! policy from it.
//!
//! Windows has one thread for Plug and Play. A driver that calls `WdfDeviceSetFailed` while its device starts is removed
//! after the start.

use etw_types::NtStatus;

use super::device::{Device, remove_device};
use super::object::Data;
use super::{Framework, Handle, object, preprocess, with};
use crate::kernel::io::request::PNP;
use crate::kernel::{self, kernel};
use crate::memory::OrStop as _;
use crate::routine::{Call, DISPATCH, Routine, routine};
use crate::verify::{self, GapKind, Rule, gap};

/// `IRP_MN_QUERY_PNP_DEVICE_STATE`.
const QUERY_PNP_DEVICE_STATE: u8 = 0x14;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDeviceSetFailed", DISPATCH, set_failed),
    routine!("WdfDeviceGetDevicePowerPolicyState", DISPATCH, |call| {
        super::device::with_device(call.handle(1), |device| policy_state(device).0)
    }),
];

/// What is happening to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Start,
    Sleep,
    Wake,
    /// The Plug and Play manager asks for the state of the device.
    Query,
    Stop,
    Remove,
}

/// The right to change the state of a device. It ends when the value is dropped.
pub(super) struct Turn(Handle);

impl Turn {
    /// Waits until nothing else happens to a device. Returns `None` if the device does not exist any more.
    pub(super) fn take(device: Handle, phase: Phase) -> Option<Self> {
        let attempt = |framework: &mut Framework| {
            let Some(state) = state_of(framework, device) else { return Some(None) };
            // A new device waits for its start.
            let is_free = state.phase.is_none() || (state.phase, phase) == (Some(Phase::Start), Phase::Start);
            is_free.then(|| {
                state.phase = Some(phase);
                Some(Self(device))
            })
        };
        kernel().scheduler.wait(None, |_| with(attempt)).flatten()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        with(|framework| {
            if let Some(device) = state_of(framework, self.0) {
                device.phase = None;
            }
        });
        kernel().scheduler.change(|_| ());
    }
}

fn state_of(framework: &mut Framework, device: Handle) -> Option<&mut Device> {
    match &mut framework.objects.get_mut(&device)?.data {
        Data::Device(device) => Some(device),
        _ => None,
    }
}

/// Arguments: device, action. As in Microsoft's framework (irphandlers/pnp/fxpkgpnp.cpp), the Plug and Play manager
/// is only told that the state of the device has changed. It asks for the state, and then removes the device by surprise.
/// Whether the device comes back is the decision of the bus.
fn set_failed(call: &Call) {
    let (device, action) = (call.handle(1), call.u32(2));
    super::device::with_device(device, |_| ());
    // WdfDeviceFailedAttemptRestart, WdfDeviceFailedNoRestart.
    if !matches!(action, 1 | 2) {
        let what = format_args!("invalid WDF_DEVICE_FAILED_ACTION {action}: expected 1 or 2");
        return verify::find(Rule::BadArgument, what);
    }
    super::device::with_device(device, |device| device.is_failing = true);
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
struct PolicyState(u32);

impl PolicyState {
    const OBJECT_CREATED: Self = Self(0x500);
    const STARTING: Self = Self(0x501);
    const SLEEPING_NO_WAKE_POWER_DOWN: Self = Self(0x527);
    const SYSTEM_ASLEEP_NO_WAKE: Self = Self(0x52C);
    const SYSTEM_WAKE_DEVICE_TO_D0: Self = Self(0x52E);
    const STARTED: Self = Self(0x565);
    const REMOVED: Self = Self(0x58E);
}

/// Returns the state of a device that has no idle and wake settings. The names are those of Microsoft's wdfdevice.h.
fn policy_state(device: &Device) -> PolicyState {
    match device.phase {
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
