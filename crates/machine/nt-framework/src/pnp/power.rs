//! The order of plug-and-play and power events, as Microsoft documents it for function drivers.

use etw_types::NtStatus;
use nt_kernel::io::hardware::resources;
use nt_kernel::kernel;
use nt_processor::memory::OrStop as _;
use windows_constants::framework::{WdfPowerDeviceD3, WdfPowerDeviceD3Final};

use crate::device::filter;
use crate::device::init::{
    IO_CLEANUP, IO_FLUSH, PREPARE_HARDWARE, QUERY_REMOVE, QUERY_STOP, RELEASE_HARDWARE, SURPRISE_REMOVAL,
};
use crate::device::{Device, SelfManagedIo, with_device};
use crate::pnp::states::{PnpState, PolicyState, PowerState};
use crate::pnp::transition::{Down, Up, enter, event, run_callback, set_pnp, set_policy, set_power, suspend};
use crate::pnp::{idle, requirements};
use crate::{Handle, interrupt, queue};

/// Starts a device: hardware, power, queues, self-managed I/O. Then `children` starts its children.
pub(crate) fn start(device: Handle, children: fn(Handle)) -> Result<(), NtStatus> {
    resources::note_if_none();
    let lists = interrupt::assign(device).or_stop()?;
    let is_restart = with_device(device, |device| device.pnp_state == PnpState::STOPPED);
    set_pnp(device, if is_restart { PnpState::STOPPED_WAIT_FOR_START_COMPLETION } else { PnpState::INIT_STARTING });
    if let Err(status) = requirements::remove_added(device, lists).or_stop() {
        not_sent_to_bus(device, is_restart);
        return Err(status);
    }
    filter::inherit_io_type(device).or_stop();
    let lists = lists.map(Handle::as_int);
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
        with_device(device, |device| device.left_for = WdfPowerDeviceD3Final);
        enter(device, &Up::START).map_err(|_| NtStatus::DevicePowerFailure)
    });
    if result.is_err() {
        if with_device(device, |device| device.policy_state == PolicyState::STARTING) {
            stopped(device);
        }
        shut_down_failed(device);
        return result;
    }
    set_pnp(device, PnpState::STARTED);
    with_device(device, |device| device.started = true);
    idle::check(device);
    children(device);
    result
}

/// The states of a device whose driver refuses `IRP_MN_START_DEVICE` before the bus gets it: `PnpEventStartDeviceFailed`.
fn not_sent_to_bus(device: Handle, is_restart: bool) {
    if is_restart {
        set_pnp(device, PnpState::FAILED);
        flush(device);
        set_pnp(device, PnpState::FAILED_WAIT_FOR_REMOVE);
    } else {
        set_pnp(device, PnpState::INIT);
    }
}

/// Calls the driver to release its hardware, then deletes the interrupt objects that it created for this hardware.
fn release(device: Handle) {
    let [_, translated] = with_device(device, |device| device.resources);
    run_callback(device, RELEASE_HARDWARE, "EvtDeviceReleaseHardware", &[translated.as_int()]);
    interrupt::released(device);
}

/// Puts a device to sleep, because the system sleeps. The driver keeps the device, and power-managed queues hold their
/// requests. An idle device stays as it is, unless it must be armed. Fails if the device has failed.
pub(crate) fn sleep(device: Handle) -> Result<(), NtStatus> {
    let (started, in_d0, can_wake, armed) = with_device(device, |device| {
        device.is_asleep = true;
        (device.started, device.in_d0, device.can_wake, device.armed.is_some())
    });
    if !started {
        return Ok(());
    }
    if !in_d0 && !can_wake && !armed {
        set_policy(device, PolicyState::SYSTEM_ASLEEP_NO_WAKE);
        return Ok(());
    }
    let down = if can_wake { &Down::SLEEP_ARMED } else { &Down::SLEEP };
    let up = if armed { &Up::BEFORE_SLEEP_ARMED } else { &Up::BEFORE_SLEEP };
    let ready = if in_d0 { Ok(()) } else { enter(device, up) };
    ready.and_then(|()| suspend(device, down, WdfPowerDeviceD3)).inspect_err(|_| fail(device))
}

/// Wakes a device up, because the system works again. A device that may sleep while it is idle stays asleep until it is in use,
/// as in `FxPkgPnp::PowerPolSystemWakeDeviceWakeDisabled`. Fails if the device has failed.
pub(crate) fn wake(device: Handle) -> Result<(), NtStatus> {
    let (sleeps, armed, stays) = with_device(device, |device| {
        device.is_asleep = false;
        let stays = device.idle.settings.is_some_and(|settings| !settings.can_wake && !settings.powers_up);
        (device.started && !device.in_d0, device.armed.is_some(), stays)
    });
    match (sleeps, armed) {
        (false, _) => Ok(()),
        (true, false) if stays => {
            set_policy(device, PolicyState::WAITING_UNARMED);
            idle::check(device);
            Ok(())
        }
        (true, _) => {
            let up = if armed { &Up::SYSTEM_ARMED } else { &Up::SYSTEM };
            enter(device, up).inspect_err(|_| fail(device))
        }
    }
}

/// Returns whether a device is not in the power state that its use requires: `Some(true)` if it must be in D0.
fn needed(device: &Device) -> Option<bool> {
    let works = device.started && !device.is_asleep;
    if device.in_d0 { (works && device.idle.timed_out).then_some(false) } else { device.must_wake_up().then_some(true) }
}

/// Returns whether a device is not in the power state that its use requires.
pub(crate) fn needs_adjustment(device: Handle) -> bool {
    with_device(device, |device| needed(device).is_some())
}

/// Brings a device to the power state that its use requires. Fails if the device has failed.
pub(crate) fn adjust(device: Handle) -> Result<(), NtStatus> {
    loop {
        let (needed, settings) = with_device(device, |device| (needed(device), device.idle.settings));
        let changed = match (needed, settings) {
            (Some(true), _) => power_up(device),
            (Some(false), Some(settings)) => {
                let down = if settings.can_wake { &Down::IDLE_ARMED } else { &Down::IDLE };
                suspend(device, down, settings.state)
            }
            _ => return Ok(()),
        };
        changed.inspect_err(|_| fail(device))?;
    }
}

/// Brings an idle device to D0.
fn power_up(device: Handle) -> Result<(), NtStatus> {
    let (armed, state) = with_device(device, |device| (device.armed.is_some(), device.policy_state));
    let up = match state {
        PolicyState::TIMER_EXPIRED_WAKE_COMPLETED_POWER_UP => &Up::NOT_ARMED,
        _ if armed => &Up::IN_USE_ARMED,
        _ => &Up::IN_USE,
    };
    enter(device, up)
}

/// Ends the use of a device that does not change its power state as it should: releases its hardware and ends its requests.
/// The device is then removed by surprise.
fn fail(device: Handle) {
    with_device(device, |device| (device.started, device.in_d0, device.is_failing) = (false, false, true));
    stopped(device);
    shut_down_failed(device);
    kernel().scheduler.change(|_| ());
}

/// The states of a device that has failed, as in `FxPkgPnp::PnpEventFailedOwnHardware` and the next ones.
fn shut_down_failed(device: Handle) {
    idle::release_parent(device);
    set_pnp(device, PnpState::FAILED_OWN_HARDWARE);
    release(device);
    set_pnp(device, PnpState::FAILED);
    flush(device);
    set_pnp(device, PnpState::FAILED_WAIT_FOR_REMOVE);
}

/// Records that the machines of power and power policy have stopped.
fn stopped(device: Handle) {
    set_power(device, PowerState::STOPPED);
    set_policy(device, PolicyState::STOPPED);
    idle::check(device);
}

/// Keeps a device in D0 after the driver has agreed to a query of the Plug and Play manager
/// (`FxPkgPnp::PnpPowerReferenceDuringQueryPnp`).
fn keep_awake(device: Handle) -> Result<(), NtStatus> {
    idle::reference(device);
    let sleeps = with_device(device, |device| device.started && !device.in_d0 && !device.is_asleep);
    if sleeps { power_up(device).inspect_err(|_| fail(device)) } else { Ok(()) }
}

/// `IRP_MN_QUERY_REMOVE_DEVICE`: asks the driver whether a device can be removed.
pub(crate) fn query_remove(device: Handle) -> Result<(), NtStatus> {
    if with_device(device, |device| device.started) {
        set_pnp(device, PnpState::QUERY_REMOVE_ASK_DRIVER);
        event(device, QUERY_REMOVE, "EvtDeviceQueryRemove", &[])?;
        set_pnp(device, PnpState::QUERY_REMOVE_ENSURE_DEVICE_AWAKE);
        keep_awake(device)?;
        set_pnp(device, PnpState::QUERY_REMOVE_PENDING);
    }
    Ok(())
}

/// `IRP_MN_QUERY_STOP_DEVICE`: asks the driver whether a device can be stopped.
pub(crate) fn query_stop(device: Handle) -> Result<(), NtStatus> {
    if with_device(device, |device| device.started) {
        set_pnp(device, PnpState::QUERY_STOP_ASK_DRIVER);
        event(device, QUERY_STOP, "EvtDeviceQueryStop", &[])?;
        set_pnp(device, PnpState::QUERY_STOP_ENSURE_DEVICE_AWAKE);
        keep_awake(device)?;
        set_pnp(device, PnpState::QUERY_STOP_PENDING);
    }
    Ok(())
}

/// `IRP_MN_CANCEL_REMOVE_DEVICE` and `IRP_MN_CANCEL_STOP_DEVICE`: a device that was queried stays.
pub(crate) fn cancel(device: Handle) {
    let (started, state) = with_device(device, |device| (device.started, device.pnp_state));
    if started {
        set_pnp(device, PnpState::STARTED);
        if matches!(state, PnpState::QUERY_REMOVE_PENDING | PnpState::QUERY_STOP_PENDING) {
            idle::dereference(device);
        }
    }
}

/// `IRP_MN_STOP_DEVICE`: takes the hardware resources from a device, which gets others when it is started again.
pub(crate) fn stop(device: Handle) {
    if with_device(device, |device| std::mem::take(&mut device.started)) {
        set_pnp(device, PnpState::STARTED_STOPPING);
        power_down(device);
        idle::dereference(device);
        set_pnp(device, PnpState::STOPPED);
        release(device);
    }
}

/// Ends self-managed I/O and leaves D0 for good, if the device is in D0.
fn power_down(device: Handle) {
    if with_device(device, |device| device.in_d0) {
        // The device goes anyway.
        let _ = suspend(device, &Down::STOP, WdfPowerDeviceD3Final);
    }
    stopped(device);
}

/// `IRP_MN_SURPRISE_REMOVAL`: a device is gone. The rest is done when it is removed.
pub(crate) fn surprise_remove(device: Handle) {
    let (started, state) = with_device(device, |device| (device.started, device.pnp_state));
    if started || state == PnpState::FAILED_WAIT_FOR_REMOVE {
        let state = if started { PnpState::SURPRISE_REMOVE_IO_STARTED } else { PnpState::FAILED_SURPRISE_REMOVED };
        set_pnp(device, state);
        run_callback(device, SURPRISE_REMOVAL, "EvtDeviceSurpriseRemoval", &[]);
    }
    shut_down(device, [PnpState::FAILED_IO_STARTING, PnpState::FAILED_OWN_HARDWARE, PnpState::FAILED]);
    set_pnp(device, PnpState::FAILED_WAIT_FOR_REMOVE);
}

/// `IRP_MN_REMOVE_DEVICE`: a device ends its work. A child then waits until its parent is removed.
pub(crate) fn end(device: Handle) {
    let removing = PnpState::REMOVING_DISABLE_INTERFACES;
    shut_down(device, [PnpState::QUERIED_REMOVING, removing, removing]);
    set_policy(device, PolicyState::REMOVED);
    if with_device(device, |device| !device.init.parent.is_null()) {
        set_pnp(device, PnpState::REMOVED_PDO_WAIT);
    }
}

/// The last event before a device is deleted. The order is that of `FxPkgPnp::PnpEventRemovedCommonCode` in
/// `shared/irphandlers/pnp/pnpstatemachine.cpp`.
pub(crate) fn remove(device: Handle) {
    let is_child = with_device(device, |device| !device.init.parent.is_null());
    set_pnp(device, if is_child { PnpState::PDO_REMOVED } else { PnpState::FDO_REMOVED });
    queue::state::purge_all(device, false);
    if with_device(device, |device| std::mem::take(&mut device.io)) != SelfManagedIo::Unused {
        run_callback(device, IO_CLEANUP, "EvtDeviceSelfManagedIoCleanup", &[]);
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
    queue::state::purge_all(device, true);
    let begun = with_device(device, |device| {
        let begun = device.io == SelfManagedIo::Begun;
        if begun {
            device.io = SelfManagedIo::Flushed;
        }
        begun
    });
    if begun {
        run_callback(device, IO_FLUSH, "EvtDeviceSelfManagedIoFlush", &[]);
    }
}
