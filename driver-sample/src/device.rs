//! A device: its `PnP` and power callbacks, and a timer that ticks while the device works.

use core::sync::atomic::{AtomicBool, Ordering};

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{DeviceInit, Timer, TimerEvents, context};

use crate::devices::{self, Device, State};
use crate::events;

/// The device interface class by which clients find the device.
const INTERFACE: Guid = Guid::from_u128(0x9f7b_4a52_30c4_4d1e_8f0a_6a1d_5d0c_7e11);

/// The context of a device.
pub(crate) struct SampleDevice {
    /// The device's slot in the table.
    pub(crate) device: &'static Device,
    timer: Timer,
    /// Whether a tick may start the timer again.
    working: AtomicBool,
}

context!(SampleDevice, c"SampleDevice");

/// Adds a device: creates its slot, its timer, its queue and its interface.
pub(crate) fn add(init: DeviceInit<'_>) -> Result<(), NtStatus> {
    let Some(device) = devices::add() else {
        events::device_add(0, NtStatus::InsufficientResources);
        return Err(NtStatus::InsufficientResources);
    };
    let result = create(init, device);
    events::device_add(device.id(), result.err().unwrap_or(NtStatus::Success));
    result
}

fn create(init: DeviceInit<'_>, device: &'static Device) -> Result<(), NtStatus> {
    let created = init.create(SampleDevice { device, timer: Timer::new(), working: AtomicBool::new(false) });
    // If the device was not created, its cleanup callback does not run, so the slot is freed here.
    let handle = created.inspect_err(|_| device.remove())?;
    handle.create_timer()?;
    handle.create_queue()?;
    handle.create_interface(&INTERFACE)
}

impl wdk_kmdf::Device for SampleDevice {
    fn prepare_hardware(&self) -> Result<(), NtStatus> {
        events::power("PrepareHardware", self.device, 0);
        Ok(())
    }

    fn release_hardware(&self) -> Result<(), NtStatus> {
        events::power("ReleaseHardware", self.device, 0);
        Ok(())
    }

    fn d0_entry(&self, state: u32) -> Result<(), NtStatus> {
        events::power("D0Entry", self.device, state);
        self.device.set_state(State::Working);
        self.working.store(true, Ordering::Release);
        self.timer.start(self.device.interval());
        Ok(())
    }

    fn d0_exit(&self, state: u32) -> Result<(), NtStatus> {
        events::power("D0Exit", self.device, state);
        self.working.store(false, Ordering::Release);
        self.timer.stop();
        self.device.set_state(State::Stopped);
        Ok(())
    }

    fn cleanup(&self) {
        events::power("Cleanup", self.device, 0);
        self.device.remove();
    }
}

impl TimerEvents for SampleDevice {
    fn tick(&self) {
        events::tick(self.device, self.device.count_tick());
        if self.working.load(Ordering::Acquire) {
            self.timer.start(self.device.interval());
        }
    }

    fn timer(&self) -> &Timer {
        &self.timer
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
