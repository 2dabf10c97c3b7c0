//! Power states, and the settings for an idle or sleeping device.

use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::call_unsafe_wdf_function_binding as wdf;
use wdk_sys::{
    _DEVICE_POWER_STATE, _WDF_POWER_POLICY_S0_IDLE_CAPABILITIES, _WDF_POWER_POLICY_S0_IDLE_USER_CONTROL,
    _WDF_POWER_POLICY_SX_WAKE_USER_CONTROL, _WDF_TRI_STATE, WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS,
    WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS, WDF_POWER_DEVICE_STATE,
};

use crate::{Device, DeviceHandle, check, size_field};

/// A `WDF_POWER_DEVICE_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct PowerState(u32);

impl PowerState {
    /// The device has not been powered yet, or its state is unknown.
    pub const INVALID: Self = Self(0);
    /// The device works.
    pub const D0: Self = Self(1);
    /// The lightest sleep.
    pub const D1: Self = Self(2);
    /// A deeper sleep.
    pub const D2: Self = Self(3);
    /// The deepest sleep.
    pub const D3: Self = Self(4);
    /// The device is powered down because it is being removed or the system shuts down.
    pub const D3_FINAL: Self = Self(5);
    /// The device writes the hibernation file and stays on.
    pub const PREPARE_FOR_HIBERNATION: Self = Self(6);

    /// Returns the number of the state.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn as_int(self) -> u32 {
        self.0
    }

    /// The enumeration's type is signed with some compilers.
    pub(crate) fn from_raw(state: WDF_POWER_DEVICE_STATE) -> Self {
        Self(u32::try_from(state).unwrap_or_default())
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Powers the device down when it has been idle for `timeout`, and up again for the next request. `wakes` says that the
    /// device can also wake itself.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceAssignS0IdleSettings`: the driver must be the owner of the device's power policy.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn assign_idle_settings(&self, timeout: Duration, wakes: bool) -> Result<(), NtStatus> {
        let mut settings = WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS {
            Size: size_field::<WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS>(),
            IdleCaps: if wakes {
                _WDF_POWER_POLICY_S0_IDLE_CAPABILITIES::IdleCanWakeFromS0
            } else {
                _WDF_POWER_POLICY_S0_IDLE_CAPABILITIES::IdleCannotWakeFromS0
            },
            // The deepest state from which the device can wake, or else D3.
            DxState: _DEVICE_POWER_STATE::PowerDeviceMaximum,
            IdleTimeout: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
            UserControlOfIdleSettings: _WDF_POWER_POLICY_S0_IDLE_USER_CONTROL::IdleAllowUserControl,
            Enabled: _WDF_TRI_STATE::WdfUseDefault,
            PowerUpIdleDeviceOnSystemWake: _WDF_TRI_STATE::WdfUseDefault,
            ExcludeD3Cold: _WDF_TRI_STATE::WdfUseDefault,
            ..WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS::default()
        };
        // SAFETY: the device exists, and the settings outlive the call.
        check(unsafe { wdf!(WdfDeviceAssignS0IdleSettings, self.raw(), ptr::from_mut(&mut settings)) })
    }

    /// Lets the device wake the system.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceAssignSxWakeSettings`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn assign_wake_settings(&self) -> Result<(), NtStatus> {
        let mut settings = WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS {
            Size: size_field::<WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS>(),
            DxState: _DEVICE_POWER_STATE::PowerDeviceMaximum,
            UserControlOfWakeSettings: _WDF_POWER_POLICY_SX_WAKE_USER_CONTROL::WakeAllowUserControl,
            Enabled: _WDF_TRI_STATE::WdfUseDefault,
            ..WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS::default()
        };
        // SAFETY: the device exists, and the settings outlive the call.
        check(unsafe { wdf!(WdfDeviceAssignSxWakeSettings, self.raw(), ptr::from_mut(&mut settings)) })
    }
}
