//! Power references: a driver's reasons for an idle device to stay in D0.

use core::fmt;
use core::ops::Deref;

use wdk_etw::NtStatus;

use crate::call::wdf;
use crate::{Device, DeviceRef, Passive, check, handle};

/// Keeps a device in D0, although it may be idle. Dropping it lets the device sleep again.
///
/// It is a [`DeviceRef`], too: a device that keeps one to itself is never freed.
pub struct PowerReference<T: Device> {
    device: DeviceRef<T>,
}

impl<T: Device> DeviceRef<T> {
    /// Keeps the device in D0 (`WdfDeviceStopIdle`). A device that sleeps begins to power up, and this does not wait for it.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfDeviceStopIdle`: the device does not work, or the driver is not the owner of its power policy.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn stop_idle(self) -> Result<PowerReference<T>, NtStatus> {
        self.power_up(false)
    }

    /// As [`stop_idle`](Self::stop_idle), and waits until the device is in D0. Do not call it in callbacks for power and for Plug and
    /// Play or of power-managed queues: the device may wait for them before it changes its power state.
    ///
    /// # Errors
    ///
    /// As [`stop_idle`](Self::stop_idle).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn stop_idle_and_wait(self, _: Passive<'_>) -> Result<PowerReference<T>, NtStatus> {
        self.power_up(true)
    }

    fn power_up(self, is_waiting: bool) -> Result<PowerReference<T>, NtStatus> {
        // SAFETY: this value keeps the device.
        unsafe { handle::needs_pnp(self.raw()) }?;
        // SAFETY: as above, and it is not a control device.
        check(unsafe { wdf!(WdfDeviceStopIdleNoTrack, self.raw(), u8::from(is_waiting)) })?;
        Ok(PowerReference { device: self })
    }
}

impl<T: Device> Deref for PowerReference<T> {
    type Target = DeviceRef<T>;

    fn deref(&self) -> &DeviceRef<T> {
        &self.device
    }
}

impl<T: Device> Drop for PowerReference<T> {
    fn drop(&mut self) {
        // SAFETY: this value keeps the device, and `WdfDeviceStopIdle` succeeded once for it.
        unsafe { wdf!(WdfDeviceResumeIdleNoTrack, self.device.raw()) };
    }
}

impl<T: Device> fmt::Debug for PowerReference<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PowerReference").field(&self.device.raw()).finish()
    }
}
