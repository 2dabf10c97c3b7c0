//! The order of plug-and-play and power events, as Microsoft documents it for function drivers.

use etw_types::NtStatus;

use super::device::{SelfManagedIo, with_device};
use super::init::{
    D0_ENTRY, D0_ENTRY_POST_INTERRUPTS, D0_EXIT, D0_EXIT_PRE_INTERRUPTS, IO_CLEANUP, IO_FLUSH, IO_INIT, IO_RESTART,
    IO_SUSPEND, PREPARE_HARDWARE, QUERY_REMOVE, QUERY_STOP, RELEASE_HARDWARE, SURPRISE_REMOVAL,
};
use super::states::{PnpState, PowerState};
use super::{Handle, interrupt, policy, queue_state};
use crate::exception::fault;
use crate::kernel::call_back;
use crate::kernel::io::resources;
use crate::routine::{Failure, PASSIVE};

/// `WDF_POWER_DEVICE_STATE`: D3 for a device that sleeps, and its final variant before the first start and after
/// removal.
const D3: u64 = 4;
const D3_FINAL: u64 = 5;

/// Runs a callback of the device, if the driver has set it.
fn event(device: Handle, index: usize, name: &'static str, arguments: &[u64]) -> Result<(), NtStatus> {
    let callback = with_device(device, |device| device.init.callbacks.get(index).copied().unwrap_or_default());
    if callback.is_null() {
        return Ok(());
    }
    let mut all = vec![device.as_int()];
    all.extend_from_slice(arguments);
    let result = NtStatus::from_int(call_back(name, PASSIVE, callback, &all) as u32).ok();
    if let Err(status) = result {
        with_device(device, |device| device.failed = Some((name, status)));
    }
    result
}

/// Records the state of Plug and Play, which the driver can query. A callback runs in the same state as in
/// `shared/irphandlers/pnp/pnpstatemachine.cpp`.
fn set_pnp(device: Handle, state: PnpState) {
    with_device(device, |device| device.pnp_state = state);
}

/// Records the power state, as in `shared/irphandlers/pnp/powerstatemachine.cpp`.
fn set_power(device: Handle, state: PowerState) {
    with_device(device, |device| device.power_state = state);
}

/// Runs a callback and ignores its result.
fn tell(device: Handle, index: usize, name: &'static str, arguments: &[u64]) {
    let _ = event(device, index, name, arguments);
}

/// Starts a device: hardware, power, queues, self-managed I/O. Then `scan` lets the driver look for children.
pub(super) fn start(device: Handle, scan: fn(Handle)) -> Result<(), NtStatus> {
    resources::note_if_none();
    let [raw, translated] = match interrupt::assign(device) {
        Ok(lists) => lists,
        Err(Failure::Status(status)) => return Err(status),
        Err(Failure::Fault(fault)) => fault::raise(fault, false),
    };
    let lists = [raw.as_int(), translated.as_int()];
    let is_restart = with_device(device, |device| device.pnp_state == PnpState::STOPPED);
    let [preparation, power_up] = if is_restart {
        [PnpState::STARTING_FROM_STOPPED, PnpState::RESTARTING]
    } else {
        [PnpState::HARDWARE_AVAILABLE; 2]
    };
    set_pnp(device, preparation);
    with_device(device, |device| device.preparing = true);
    let prepared = event(device, PREPARE_HARDWARE, "EvtDevicePrepareHardware", &lists);
    with_device(device, |device| device.preparing = false);
    // As in `FxPkgPnp::PnpEventHardwareAvailablePowerPolicyFailed` (`shared/irphandlers/pnp/pnpstatemachine.cpp`), the
    // status of the callback that failed to power up the device is not the status of the start.
    let result = prepared.and_then(|()| {
        set_pnp(device, power_up);
        enter(device, D3_FINAL).map_err(|_| NtStatus::DevicePowerFailure)
    });
    if result.is_err() {
        set_pnp(device, PnpState::FAILED_OWN_HARDWARE);
        release(device);
        set_pnp(device, PnpState::FAILED);
        flush(device);
        return result;
    }
    set_pnp(device, PnpState::STARTED);
    with_device(device, |device| device.started = true);
    scan(device);
    result
}

/// Brings a device to D0 from the given state.
fn enter(device: Handle, from: u64) -> Result<(), NtStatus> {
    let is_start = from == D3_FINAL;
    set_power(device, if is_start { PowerState::D0_STARTING } else { PowerState::WAKING });
    event(device, D0_ENTRY, "EvtDeviceD0Entry", &[from])?;
    let connecting =
        if is_start { PowerState::D0_STARTING_CONNECT_INTERRUPT } else { PowerState::WAKING_CONNECT_INTERRUPT };
    set_power(device, connecting);
    let enabled = interrupt::enable_all(device);
    if let Err(status) =
        enabled.and_then(|()| event(device, D0_ENTRY_POST_INTERRUPTS, "EvtDeviceD0EntryPostInterruptsEnabled", &[from]))
    {
        interrupt::disable_all(device);
        tell(device, D0_EXIT, "EvtDeviceD0Exit", &[D3_FINAL]);
        return Err(status);
    }
    policy::disarm(device);
    with_device(device, |device| device.in_d0 = true);
    queue_state::resume_all(device);
    queue_state::start_all(device);
    let starting =
        if is_start { PowerState::D0_STARTING_START_SELF_MANAGED_IO } else { PowerState::START_SELF_MANAGED_IO };
    set_power(device, starting);
    let io = with_device(device, |device| std::mem::replace(&mut device.io, SelfManagedIo::Begun));
    let io = if io == SelfManagedIo::Unused {
        event(device, IO_INIT, "EvtDeviceSelfManagedIoInit", &[])
    } else {
        event(device, IO_RESTART, "EvtDeviceSelfManagedIoRestart", &[])
    };
    if let Err(status) = io {
        leave(device, D3_FINAL);
        return Err(status);
    }
    set_power(device, PowerState::D0);
    Ok(())
}

/// Brings a device from D0 to the given state.
fn leave(device: Handle, to: u64) {
    let (leaving, left) = if to == D3_FINAL {
        (PowerState::GOTO_D3_STOPPED, PowerState::STOPPED)
    } else {
        (PowerState::GOTO_DX_IO_STOPPED, PowerState::DX)
    };
    set_power(device, leaving);
    with_device(device, |device| device.in_d0 = false);
    queue_state::hold_all(device);
    if to == D3 {
        policy::arm(device);
    }
    tell(device, D0_EXIT_PRE_INTERRUPTS, "EvtDeviceD0ExitPreInterruptsDisabled", &[to]);
    interrupt::disable_all(device);
    tell(device, D0_EXIT, "EvtDeviceD0Exit", &[to]);
    set_power(device, left);
}

/// Calls the driver to release its hardware, then deletes the interrupt objects that it created for this hardware.
fn release(device: Handle) {
    let [_, translated] = with_device(device, |device| device.resources);
    tell(device, RELEASE_HARDWARE, "EvtDeviceReleaseHardware", &[translated.as_int()]);
    interrupt::released(device);
}

/// Puts a device to sleep. The driver keeps the device, and power-managed queues hold their requests.
pub(super) fn sleep(device: Handle) {
    if with_device(device, |device| device.started && device.in_d0) {
        set_power(device, PowerState::GOTO_DX);
        tell(device, IO_SUSPEND, "EvtDeviceSelfManagedIoSuspend", &[]);
        leave(device, D3);
    }
}

/// Wakes a device up. If the driver fails to do so, the device is stopped and its hardware is released.
pub(super) fn wake(device: Handle) -> Result<(), NtStatus> {
    if with_device(device, |device| device.started && !device.in_d0) {
        enter(device, D3).inspect_err(|_| {
            with_device(device, |device| device.started = false);
            release(device);
        })?;
    }
    Ok(())
}

/// `IRP_MN_QUERY_REMOVE_DEVICE`: asks the driver whether a device can be removed.
pub(super) fn query_remove(device: Handle) -> Result<(), NtStatus> {
    if with_device(device, |device| device.started) {
        set_pnp(device, PnpState::QUERY_REMOVE_ASK_DRIVER);
        event(device, QUERY_REMOVE, "EvtDeviceQueryRemove", &[])?;
        set_pnp(device, PnpState::QUERY_REMOVE_PENDING);
    }
    Ok(())
}

/// `IRP_MN_QUERY_STOP_DEVICE`: asks the driver whether a device can be stopped.
pub(super) fn query_stop(device: Handle) -> Result<(), NtStatus> {
    if with_device(device, |device| device.started) {
        set_pnp(device, PnpState::QUERY_STOP_ASK_DRIVER);
        event(device, QUERY_STOP, "EvtDeviceQueryStop", &[])?;
        set_pnp(device, PnpState::QUERY_STOP_PENDING);
    }
    Ok(())
}

/// `IRP_MN_CANCEL_REMOVE_DEVICE` and `IRP_MN_CANCEL_STOP_DEVICE`: a device that was queried stays.
pub(super) fn cancel(device: Handle) {
    if with_device(device, |device| device.started) {
        set_pnp(device, PnpState::STARTED);
    }
}

/// `IRP_MN_STOP_DEVICE`: takes the hardware resources from a device, which gets others when it is started again.
pub(super) fn stop(device: Handle) {
    if with_device(device, |device| std::mem::take(&mut device.started)) {
        set_pnp(device, PnpState::STARTED_STOPPING);
        power_down(device);
        set_pnp(device, PnpState::STOPPED);
        release(device);
    }
}

/// Ends self-managed I/O and leaves D0 for good, if the device is in D0.
fn power_down(device: Handle) {
    if with_device(device, |device| device.in_d0) {
        set_power(device, PowerState::GOTO_D3_STOPPED);
        tell(device, IO_SUSPEND, "EvtDeviceSelfManagedIoSuspend", &[]);
        leave(device, D3_FINAL);
    }
}

/// `IRP_MN_SURPRISE_REMOVAL`: a device is gone. The rest is done when it is removed.
pub(super) fn surprise_remove(device: Handle) {
    if with_device(device, |device| device.started) {
        set_pnp(device, PnpState::SURPRISE_REMOVE_IO_STARTED);
        tell(device, SURPRISE_REMOVAL, "EvtDeviceSurpriseRemoval", &[]);
    }
    shut_down(device, [PnpState::FAILED_IO_STARTING, PnpState::FAILED_OWN_HARDWARE, PnpState::FAILED]);
    set_pnp(device, PnpState::FAILED_WAIT_FOR_REMOVE);
}

/// `IRP_MN_REMOVE_DEVICE`: the last event before a device is deleted. The order is that of
/// `FxPkgPnp::PnpEventRemovedCommonCode` in `shared/irphandlers/pnp/pnpstatemachine.cpp`.
pub(super) fn remove(device: Handle) {
    let removing = PnpState::REMOVING_DISABLE_INTERFACES;
    shut_down(device, [PnpState::QUERIED_REMOVING, removing, removing]);
    let is_child = with_device(device, |device| !device.init.parent.is_null());
    set_pnp(device, if is_child { PnpState::PDO_REMOVED } else { PnpState::FDO_REMOVED });
    queue_state::purge_all(device, false);
    if with_device(device, |device| std::mem::take(&mut device.io)) != SelfManagedIo::Unused {
        tell(device, IO_CLEANUP, "EvtDeviceSelfManagedIoCleanup", &[]);
    }
}

/// Stops a device, in the reverse order of its start. Has no effect on a device that was surprise-removed. `states` are
/// those in which the device leaves D0, releases its hardware and ends its requests.
fn shut_down(device: Handle, states: [PnpState; 3]) {
    let [leaves, releases, ends] = states;
    if with_device(device, |device| std::mem::take(&mut device.started)) {
        if with_device(device, |device| device.in_d0) {
            set_pnp(device, leaves);
        }
        power_down(device);
        set_pnp(device, releases);
        release(device);
    }
    set_pnp(device, ends);
    flush(device);
}

/// Ends the requests of a device's power-managed queues, and its self-managed I/O if that has begun
/// (`FxPkgPnp::PnpCleanupForRemove`).
fn flush(device: Handle) {
    queue_state::purge_all(device, true);
    let begun = with_device(device, |device| {
        let begun = device.io == SelfManagedIo::Begun;
        if begun {
            device.io = SelfManagedIo::Flushed;
        }
        begun
    });
    if begun {
        tell(device, IO_FLUSH, "EvtDeviceSelfManagedIoFlush", &[]);
    }
}
