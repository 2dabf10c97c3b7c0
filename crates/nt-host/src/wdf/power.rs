//! The order of plug-and-play and power events.

use etw_types::NtStatus;

use super::device::with_device;
use super::init::{
    D0_ENTRY, D0_ENTRY_POST_INTERRUPTS, D0_EXIT, D0_EXIT_PRE_INTERRUPTS, IO_CLEANUP, IO_FLUSH, IO_INIT, IO_SUSPEND,
    PREPARE_HARDWARE, QUERY_REMOVE, RELEASE_HARDWARE,
};
use super::{Handle, queue_state};
use crate::kernel::call_back;
use crate::kernel::routine::PASSIVE;

/// `WdfPowerDeviceD3Final`: where a device comes from at first, and goes to at last.
const D3_FINAL: u64 = 5;

/// Runs a callback of the device, if there is one.
fn event(device: Handle, index: usize, name: &'static str, arguments: &[u64]) -> Result<(), NtStatus> {
    let callback = with_device(device, |device| device.init.callbacks.get(index).copied().unwrap_or_default());
    if callback == 0 {
        return Ok(());
    }
    let mut all = vec![device];
    all.extend_from_slice(arguments);
    NtStatus::from_int(call_back(name, PASSIVE, callback, &all) as u32).ok()
}

/// Runs a callback whose answer changes nothing.
fn tell(device: Handle, index: usize, name: &'static str, arguments: &[u64]) {
    let _ = event(device, index, name, arguments);
}

/// Starts a device: hardware, power, queues, self-managed I/O.
pub(super) fn start(device: Handle) -> Result<(), NtStatus> {
    let prepared = event(device, PREPARE_HARDWARE, "EvtDevicePrepareHardware", &[0, 0]);
    let result = prepared.and_then(|()| enter(device));
    if result.is_err() {
        tell(device, RELEASE_HARDWARE, "EvtDeviceReleaseHardware", &[0]);
        tell(device, IO_CLEANUP, "EvtDeviceSelfManagedIoCleanup", &[]);
        return result;
    }
    with_device(device, |device| device.started = true);
    result
}

fn enter(device: Handle) -> Result<(), NtStatus> {
    event(device, D0_ENTRY, "EvtDeviceD0Entry", &[D3_FINAL])?;
    if let Err(status) = event(device, D0_ENTRY_POST_INTERRUPTS, "EvtDeviceD0EntryPostInterruptsEnabled", &[D3_FINAL]) {
        tell(device, D0_EXIT, "EvtDeviceD0Exit", &[D3_FINAL]);
        return Err(status);
    }
    with_device(device, |device| device.in_d0 = true);
    queue_state::dispatch_all(device);
    if let Err(status) = event(device, IO_INIT, "EvtDeviceSelfManagedIoInit", &[]) {
        leave(device);
        return Err(status);
    }
    Ok(())
}

fn leave(device: Handle) {
    with_device(device, |device| device.in_d0 = false);
    queue_state::stop_all(device);
    tell(device, D0_EXIT_PRE_INTERRUPTS, "EvtDeviceD0ExitPreInterruptsDisabled", &[D3_FINAL]);
    tell(device, D0_EXIT, "EvtDeviceD0Exit", &[D3_FINAL]);
}

/// Removes a device: the reverse of starting it.
pub(super) fn remove(device: Handle) {
    if with_device(device, |device| std::mem::take(&mut device.started)) {
        tell(device, QUERY_REMOVE, "EvtDeviceQueryRemove", &[]);
        tell(device, IO_SUSPEND, "EvtDeviceSelfManagedIoSuspend", &[]);
        leave(device);
        tell(device, RELEASE_HARDWARE, "EvtDeviceReleaseHardware", &[0]);
    }
    queue_state::purge_all(device);
    tell(device, IO_FLUSH, "EvtDeviceSelfManagedIoFlush", &[]);
    tell(device, IO_CLEANUP, "EvtDeviceSelfManagedIoCleanup", &[]);
}
