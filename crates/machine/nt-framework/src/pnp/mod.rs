//! Plug and Play and power management: starts and removes devices, puts them to sleep and wakes them up.

pub(crate) mod add;
pub(crate) mod idle;
pub(crate) mod policy;
pub(crate) mod power;
pub(crate) mod requirements;
pub(crate) mod resource_list;
pub(crate) mod states;
pub(crate) mod transition;
pub(crate) mod turn;

use etw_types::NtStatus;
use nt_kernel::io::device::stack;
use nt_kernel::sync::worker::submit;
use nt_processor::memory::{Fault, OrStop as _};
use nt_verifier::routine::{Outcome, fail};
use nt_verifier::verify::{GapKind, gap};
use windows_constants::request::{IRP_MJ_PNP, IRP_MJ_POWER, IRP_MN_QUERY_PNP_DEVICE_STATE};

use crate::Handle;
use crate::children::child_list;
use crate::device::file;
use crate::device::{self, Phase, with_device};
use crate::object::{self, life};
use crate::pnp::states::PnpState;
use crate::pnp::turn::Turn;
use crate::queue::preprocess;
use crate::state::close_clients;

/// Starts a device (`IRP_MN_START_DEVICE`), and its children with `children` if that succeeds. A device that fails to start is
/// removed, by surprise if it was stopped only to get other resources.
pub(super) fn start(device: Handle, children: fn(Handle)) -> Outcome {
    let Some(_turn) = Turn::take(device, Phase::Start) else { return fail(NtStatus::NoSuchDevice) };
    let is_restart = with_device(device, |device| device.pnp_state == PnpState::STOPPED);
    let start = move || status_of(power::start(device, children));
    let started = preprocess::through(device, (IRP_MJ_PNP, 0), Handle::NULL, start)?;
    if let Err(status) = started.ok() {
        not_started(device, status);
        if is_restart {
            submit(device.as_int(), move || remove_by_surprise(device));
        } else {
            remove_irp(device, Vec::new(), true)?;
        }
        return fail(status);
    }
    // Windows asks each device that has started. A device that has already failed is asked by the thread that removes it.
    if !with_device(device, |device| device.is_failing) {
        preprocess::through(device, (IRP_MJ_PNP, IRP_MN_QUERY_PNP_DEVICE_STATE), Handle::NULL, || NtStatus::Success)?;
    }
    Ok(())
}

/// Makes another thread ask a device for its state, which is that of a device that has failed, and remove it by surprise. While
/// the system sleeps, Windows sends no plug-and-play requests: the device is then removed when the system wakes up.
pub(super) fn remove_failed(device: Handle) {
    submit(device.as_int(), move || {
        let Some(turn) = Turn::take(device, Phase::Query) else { return };
        if with_device(device, |device| device.is_asleep) {
            return;
        }
        preprocess::through(device, (IRP_MJ_PNP, IRP_MN_QUERY_PNP_DEVICE_STATE), Handle::NULL, || NtStatus::Success)
            .or_stop();
        drop(turn);
        remove_by_surprise(device);
    });
}

/// Removes a device by surprise, unless it is already gone. A failure is already reported.
fn remove_by_surprise(device: Handle) {
    if object::exists(device) {
        let _ = remove_device(device, true);
    }
}

/// Records that a device did not start, with the callback that failed.
fn not_started(device: Handle, status: NtStatus) {
    let detail = match with_device(device, |device| device.failed) {
        Some((callback, status)) => format!("{callback} returned {status}"),
        None => format!("the framework could not start the device: {status}"),
    };
    gap::add(GapKind::NotStarted, detail);
}

fn status_of(result: Result<(), NtStatus>) -> NtStatus {
    result.err().unwrap_or(NtStatus::Success)
}

/// Removes a device and its children, children first. The driver may refuse, except if `surprise` is set. Control
/// devices are not removed.
///
/// Clients close their files as Windows requires it: after `IRP_MN_QUERY_REMOVE_DEVICE` or `IRP_MN_SURPRISE_REMOVAL`,
/// and before `IRP_MN_REMOVE_DEVICE`.
pub fn remove_device(device: Handle, surprise: bool) -> Outcome {
    if !device::lives(device, |device| !device.init.control) {
        return Ok(());
    }
    wake_up(device);
    let Some(_turn) = Turn::take(device, Phase::Remove) else { return Ok(()) };
    let tree = child_list::with_descendants(device);
    // Parents first: two removals never wait for each other.
    let descendants = tree.iter().rev().filter(|other| **other != device);
    let _turns: Vec<Turn> = descendants.filter_map(|child| Turn::take(*child, Phase::Remove)).collect();
    if surprise {
        for device in tree.iter().copied().filter(|device| device::lives(*device, |_| true)) {
            // IRP_MN_SURPRISE_REMOVAL.
            preprocess::through(device, (IRP_MJ_PNP, 0x17), Handle::NULL, move || {
                power::surprise_remove(device);
                NtStatus::Success
            })?;
        }
    } else {
        query_remove(&tree)?;
    }
    tree.into_iter().for_each(close_files);
    remove_tree(device, surprise, true)
}

/// Makes the clients of a device close their files, and waits until the driver has seen it.
fn close_files(device: Handle) {
    close_clients(device);
    file::wait_until_closed(device);
}

/// Asks the driver whether these devices can be removed. If it refuses one, tells it that none is.
fn query_remove(devices: &[Handle]) -> Outcome {
    for (index, device) in devices.iter().copied().enumerate() {
        // IRP_MN_QUERY_REMOVE_DEVICE.
        let requested =
            preprocess::through(device, (IRP_MJ_PNP, 1), Handle::NULL, move || status_of(power::query_remove(device)))?;
        if let Err(refused) = requested.ok() {
            remove_if_failed(device);
            for requested in devices.iter().take(index + 1) {
                // IRP_MN_CANCEL_REMOVE_DEVICE.
                let requested = *requested;
                preprocess::through(requested, (IRP_MJ_PNP, 3), Handle::NULL, move || {
                    power::cancel(requested);
                    NtStatus::Success
                })?;
            }
            return fail(refused);
        }
    }
    Ok(())
}

/// Removes a device after its children. Those that were not removed by surprise stay until their parent goes.
fn remove_tree(device: Handle, surprise: bool, goes: bool) -> Outcome {
    if !device::lives(device, |_| true) {
        return Ok(());
    }
    let children = child_list::take_children(device);
    children.iter().try_for_each(|child| remove_tree(*child, surprise, surprise))?;
    remove_irp(device, children, goes)
}

/// Sends `IRP_MN_REMOVE_DEVICE` to a device. As in `FxPkgPnp::PnpEventRemoved` (`shared/irphandlers/pnp/pnpstatemachine.cpp`), its
/// children go after its last request, and before itself. A child that its bus still reports does not go, but waits for that.
fn remove_irp(device: Handle, children: Vec<Handle>, goes: bool) -> Outcome {
    preprocess::through(device, (IRP_MJ_PNP, 2), Handle::NULL, move || {
        power::end(device);
        children.into_iter().filter(|child| device::lives(*child, |_| true)).for_each(delete);
        if goes {
            power::remove(device);
        }
        NtStatus::Success
    })?;
    if goes {
        delete_removed(device);
    }
    Ok(())
}

/// Removes and deletes a child that has waited for its parent.
fn delete(child: Handle) {
    power::remove(child);
    delete_removed(child);
}

/// Deletes a device that was removed. The physical device goes with it.
fn delete_removed(device: Handle) {
    let physical = with_device(device, |device| device.init.physical);
    file::end_closes(device);
    life::delete(device);
    stack::unplug(physical);
}

/// Stops a device, so that it can be started with other resources. The driver may refuse.
pub(super) fn stop(device: Handle) -> Outcome {
    if !device::lives(device, |device| !device.init.control) {
        return fail(NtStatus::NoSuchDevice);
    }
    let Some(_turn) = Turn::take(device, Phase::Stop) else { return fail(NtStatus::NoSuchDevice) };
    // IRP_MN_QUERY_STOP_DEVICE.
    let requested =
        preprocess::through(device, (IRP_MJ_PNP, 5), Handle::NULL, move || status_of(power::query_stop(device)))?;
    if let Err(refused) = requested.ok() {
        remove_if_failed(device);
        // IRP_MN_CANCEL_STOP_DEVICE.
        preprocess::through(device, (IRP_MJ_PNP, 6), Handle::NULL, move || {
            power::cancel(device);
            NtStatus::Success
        })?;
        return fail(refused);
    }
    // IRP_MN_STOP_DEVICE.
    preprocess::through(device, (IRP_MJ_PNP, 4), Handle::NULL, move || {
        power::stop(device);
        NtStatus::Success
    })?;
    Ok(())
}

/// Wakes a device and its children, parents first: devices do not come and go while the system sleeps.
fn wake_up(device: Handle) {
    for device in child_list::with_descendants(device).into_iter().rev() {
        if device::lives(device, |device| device.is_asleep) {
            let _ = set_power(device, true);
        }
    }
}

/// Puts a device to sleep or wakes it up, as the system does. A device that fails to change its power state is removed.
pub fn set_power(device: Handle, on: bool) -> Outcome {
    if !object::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    let turn = Turn::take(device, if on { Phase::Wake } else { Phase::Sleep });
    let Some(_turn) = turn else { return fail(NtStatus::NoSuchDevice) };
    let set = move || report(device, if on { power::wake(device) } else { power::sleep(device) });
    Ok(change_power(device, set)?)
}

/// Brings a device to the power state that its use requires.
pub(super) fn adjust(device: Handle) {
    let Some(_turn) = Turn::take(device, Phase::Idle) else { return };
    if power::needs_adjustment(device) {
        change_power(device, move || report(device, power::adjust(device))).or_stop();
    }
}

/// Sends `IRP_MN_SET_POWER`, and then removes a device that has failed. The framework completes the IRP with success.
fn change_power(device: Handle, set: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    preprocess::through(device, (IRP_MJ_POWER, 2), Handle::NULL, move || {
        set();
        NtStatus::Success
    })?;
    remove_if_failed(device);
    Ok(())
}

/// Removes a device whose power callback failed.
fn remove_if_failed(device: Handle) {
    if device::lives(device, |device| device.is_failing && !device.is_asleep) {
        remove_failed(device);
    }
}

/// Records that a device failed to change its power state.
fn report(device: Handle, result: Result<(), NtStatus>) {
    if let Err(status) = result {
        not_started(device, status);
    }
}
