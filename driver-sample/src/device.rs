//! A device: its `PnP` and power callbacks, and a timer that ticks while the device works.

use core::ops::Deref;
use core::sync::atomic::{AtomicBool, Ordering};

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{DeviceHandle, DeviceInit, PowerState, QueueConfig, Resources, Timer, TimerEvents};

use crate::devices::{self, Device, State};
use crate::events;

/// The device interface class by which clients find the device.
const INTERFACE: Guid = Guid::from_u128(0x9f7b_4a52_30c4_4d1e_8f0a_6a1d_5d0c_7e11);

/// A device's slot in the table, free again when this is dropped.
pub(crate) struct Slot(&'static Device);

impl Deref for Slot {
    type Target = Device;

    fn deref(&self) -> &Device {
        self.0
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// The context of a device.
pub(crate) struct SampleDevice {
    pub(crate) device: Slot,
    timer: Timer,
    /// Whether a tick may start the timer again.
    working: AtomicBool,
}

/// Adds a device: creates its slot, its timer, its queue and its interface.
pub(crate) fn add(init: DeviceInit<'_>) -> Result<(), NtStatus> {
    let Some(device) = devices::add() else {
        events::device_add(0, NtStatus::InsufficientResources);
        return Err(NtStatus::InsufficientResources);
    };
    let id = device.id();
    let result = create(init, Slot(device));
    events::device_add(id, result.err().unwrap_or(NtStatus::Success));
    result
}

fn create(init: DeviceInit<'_>, device: Slot) -> Result<(), NtStatus> {
    let handle = init.create(|handle: DeviceHandle<'_, SampleDevice>| {
        let timer = handle.create_timer()?;
        handle.create_queue(QueueConfig::sequential().default_queue())?;
        Ok(SampleDevice { device, timer, working: AtomicBool::new(false) })
    })?;
    handle.create_interface(&INTERFACE)
}

impl wdk_kmdf::Device for SampleDevice {
    fn prepare_hardware(&self, _: DeviceHandle<'_, Self>, _: Resources<'_>) -> Result<(), NtStatus> {
        events::power("PrepareHardware", &self.device, 0);
        Ok(())
    }

    fn release_hardware(&self, _: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        events::power("ReleaseHardware", &self.device, 0);
        Ok(())
    }

    fn d0_entry(&self, _: DeviceHandle<'_, Self>, from: PowerState) -> Result<(), NtStatus> {
        events::power("D0Entry", &self.device, from.as_int());
        self.device.set_state(State::Working);
        self.working.store(true, Ordering::Release);
        self.timer.start(self.device.interval());
        Ok(())
    }

    fn d0_exit(&self, device: DeviceHandle<'_, Self>, to: PowerState) -> Result<(), NtStatus> {
        events::power("D0Exit", &self.device, to.as_int());
        self.working.store(false, Ordering::Release);
        self.timer.stop(device.passive());
        self.device.set_state(State::Stopped);
        Ok(())
    }

    fn cleanup(&self) {
        events::power("Cleanup", &self.device, 0);
    }
}

impl TimerEvents for SampleDevice {
    fn tick(&self) {
        events::tick(&self.device, self.device.count_tick());
        self.restart_timer();
    }
}

impl SampleDevice {
    /// Restarts the timer, so that a new interval takes effect immediately.
    pub(crate) fn restart_timer(&self) {
        if self.working.load(Ordering::Acquire) {
            self.timer.start(self.device.interval());
        }
    }
}
