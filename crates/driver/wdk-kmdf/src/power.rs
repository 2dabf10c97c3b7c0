//! Power states, and the settings for an idle or sleeping device.

use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{
    _DEVICE_POWER_STATE, _WDF_POWER_POLICY_S0_IDLE_CAPABILITIES, _WDF_POWER_POLICY_S0_IDLE_USER_CONTROL,
    _WDF_POWER_POLICY_SX_WAKE_USER_CONTROL, _WDF_TRI_STATE, NTSTATUS, PWDFDEVICE_INIT,
    WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS, WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS, WDF_POWER_DEVICE_STATE,
    WDF_POWER_POLICY_EVENT_CALLBACKS, WDFDEVICE,
};

use crate::call::wdf;
use crate::{Device, DeviceHandle, check, device, size_field};

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
        self.needs_pnp()?;
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
            #[cfg(feature = "kmdf-1-15")]
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
        self.needs_pnp()?;
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

/// The callbacks of a device that can wake itself or the system, for the owner of its power policy. Register them with
/// [`DeviceBuilder::wakes`](crate::DeviceBuilder::wakes), and assign
/// [idle](DeviceHandle::assign_idle_settings) or [wake](DeviceHandle::assign_wake_settings) settings. The framework calls them at
/// `PASSIVE_LEVEL`, while the device is in D0.
pub trait WakeEvents: Device {
    /// `EvtDeviceArmWakeFromS0`: the idle device is about to leave D0; let its hardware wake it.
    ///
    /// # Errors
    ///
    /// An error means that the device is not armed. The framework then does not call
    /// [`disarm_wake_from_s0`](Self::disarm_wake_from_s0).
    fn arm_wake_from_s0(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceDisarmWakeFromS0`: the device is in D0 again.
    fn disarm_wake_from_s0(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }

    /// `EvtDeviceWakeFromS0Triggered`: the idle device has woken itself.
    fn wake_from_s0_triggered(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }

    /// `EvtDeviceArmWakeFromSx`: the system is about to sleep; let the device's hardware wake it.
    ///
    /// # Errors
    ///
    /// An error means that the device cannot wake the system this time: the framework calls
    /// [`disarm_wake_from_sx`](Self::disarm_wake_from_sx), and the device goes to sleep nevertheless.
    fn arm_wake_from_sx(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let _ = device;
        Ok(())
    }

    /// `EvtDeviceDisarmWakeFromSx`: the system works again.
    fn disarm_wake_from_sx(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }

    /// `EvtDeviceWakeFromSxTriggered`: the device may have woken the system.
    fn wake_from_sx_triggered(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }
}

/// Registers the callbacks for waking.
///
/// # Safety
///
/// The device must not have been created, and must be created with a context of type `T`.
pub(crate) unsafe fn set_wake_callbacks<T: WakeEvents>(init: PWDFDEVICE_INIT) {
    let mut callbacks = WDF_POWER_POLICY_EVENT_CALLBACKS {
        Size: size_field::<WDF_POWER_POLICY_EVENT_CALLBACKS>(),
        EvtDeviceArmWakeFromS0: Some(arm_wake_from_s0::<T>),
        EvtDeviceDisarmWakeFromS0: Some(disarm_wake_from_s0::<T>),
        EvtDeviceWakeFromS0Triggered: Some(wake_from_s0_triggered::<T>),
        EvtDeviceArmWakeFromSx: Some(arm_wake_from_sx::<T>),
        EvtDeviceDisarmWakeFromSx: Some(disarm_wake_from_sx::<T>),
        EvtDeviceWakeFromSxTriggered: Some(wake_from_sx_triggered::<T>),
        ..WDF_POWER_POLICY_EVENT_CALLBACKS::default()
    };
    // SAFETY: guaranteed by the caller; the structure outlives the call.
    unsafe { wdf!(WdfDeviceInitSetPowerPolicyEventCallbacks, init, ptr::from_mut(&mut callbacks)) };
}

unsafe extern "C" fn arm_wake_from_s0<T: WakeEvents>(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { device::status(device, T::arm_wake_from_s0) }
}

unsafe extern "C" fn disarm_wake_from_s0<T: WakeEvents>(device: WDFDEVICE) {
    // SAFETY: the framework passes the device for which this callback was set.
    let _ = unsafe { device::on(device, T::disarm_wake_from_s0) };
}

unsafe extern "C" fn wake_from_s0_triggered<T: WakeEvents>(device: WDFDEVICE) {
    // SAFETY: the framework passes the device for which this callback was set.
    let _ = unsafe { device::on(device, T::wake_from_s0_triggered) };
}

unsafe extern "C" fn arm_wake_from_sx<T: WakeEvents>(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device for which this callback was set.
    unsafe { device::status(device, T::arm_wake_from_sx) }
}

unsafe extern "C" fn disarm_wake_from_sx<T: WakeEvents>(device: WDFDEVICE) {
    // SAFETY: the framework passes the device for which this callback was set.
    let _ = unsafe { device::on(device, T::disarm_wake_from_sx) };
}

unsafe extern "C" fn wake_from_sx_triggered<T: WakeEvents>(device: WDFDEVICE) {
    // SAFETY: the framework passes the device for which this callback was set.
    let _ = unsafe { device::on(device, T::wake_from_sx_triggered) };
}
