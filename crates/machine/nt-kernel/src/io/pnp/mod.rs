//! The Plug and Play and power managers, for the devices of drivers that handle IRPs.

pub mod bus;
pub mod manager;
pub mod notification;
pub mod power_framework;
mod relations;
mod services;

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::DEVICE_OBJECT;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Failure, Outcome, PASSIVE, Routine, fail};
use nt_verifier::verify::{GapKind, gap};
use windows_constants::plug_play::{BusRelations, PNP_DEVICE_FAILED, PNP_DEVICE_REMOVED};
use windows_constants::power::{PowerSystemSleeping3, PowerSystemWorking};
use windows_constants::request::{
    IRP_MJ_PNP, IRP_MJ_POWER, IRP_MN_CANCEL_STOP_DEVICE, IRP_MN_FILTER_RESOURCE_REQUIREMENTS, IRP_MN_QUERY_INTERFACE,
    IRP_MN_QUERY_PNP_DEVICE_STATE, IRP_MN_QUERY_POWER, IRP_MN_QUERY_STOP_DEVICE, IRP_MN_REMOVE_DEVICE,
    IRP_MN_SET_POWER, IRP_MN_START_DEVICE, IRP_MN_STOP_DEVICE, IRP_MN_SURPRISE_REMOVAL,
};

use crate::io::device::{self, stack};
use crate::io::hardware::resources;
use crate::io::request::Io;
use crate::io::request::build;
use crate::io::request::client::{Completion, Submission, announce, minor, send, send_for_status};
use crate::io::request::dispatch_routine;
use crate::pool::Pool;
use crate::sync::worker;
use crate::{Kernel, call_back, kernel, lock};

use manager::Action;

pub(super) const ROUTINES: &[&[Routine]] = &[notification::ROUTINES, power_framework::ROUTINES, services::ROUTINES];

type Object = GuestPtr<DEVICE_OBJECT>;

/// Sends `IRP_MN_QUERY_INTERFACE` to a device, with the parameters of its stack location.
pub fn query_interface(device: Object, parameters: [u64; 4]) -> Outcome {
    send_for_status(device, IRP_MJ_PNP, IRP_MN_QUERY_INTERFACE, parameters)
}

/// The right to add, remove or power a device. Windows has one thread for Plug and Play.
struct Turn;

impl Turn {
    fn take() -> Self {
        let Kernel { io, scheduler, .. } = kernel();
        scheduler.wait(None, |_| (!std::mem::replace(&mut lock(io).is_busy, true)).then_some(()));
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Kernel { io, scheduler, .. } = kernel();
        lock(io).is_busy = false;
        scheduler.change(|_| ());
    }
}

/// `IoInvalidateDeviceState`. Does nothing for devices of the framework, which has `WdfDeviceSetFailed`.
pub(super) fn invalidate_state(physical: Object) {
    schedule(physical, Action::State);
}

/// `IoInvalidateDeviceRelations`.
pub(super) fn invalidate_relations(physical: Object, kind: u32) {
    if kind == BusRelations {
        schedule(physical, Action::Children);
    }
}

/// `IoRequestDeviceEject`: another thread removes the device, unless its driver refuses.
pub(super) fn eject(physical: Object) {
    worker::submit(physical.address(), move || {
        if relations::is_child(physical) {
            let _turn = Turn::take();
            let _ = relations::eject(physical);
        } else if device::exists(physical)
            && let Ok(Some(device)) = stack::above(physical)
        {
            let _ = remove_device(device, false, || (kernel().close_clients)(device));
        }
    });
}

/// Makes another thread perform an action, after what is happening to devices now. If the device sleeps, the action is
/// performed when it wakes up: Windows sends no plug-and-play requests while the system sleeps.
///
/// An action that has not begun yet serves all that request it.
fn schedule(physical: Object, action: Action) {
    let Kernel { close_clients, io, .. } = kernel();
    {
        let scheduled = &mut lock(io).scheduled;
        if scheduled.contains(&(physical, action)) {
            return;
        }
        scheduled.push((physical, action));
    }
    worker::submit(physical.address(), move || {
        let failed = || -> Outcome<Option<Object>> {
            let _turn = Turn::take();
            {
                let scheduled = &mut lock(io).scheduled;
                let position = scheduled.iter().position(|known| *known == (physical, action));
                position.map(|position| scheduled.remove(position));
            }
            let device = if device::exists(physical) { stack::above(physical)? } else { None };
            let Some(device) = device else { return Ok(None) };
            if lock(io).asleep.contains(&device) {
                let postponed = &mut lock(io).postponed;
                if !postponed.contains(&(physical, action)) {
                    postponed.push((physical, action));
                }
                return Ok(None);
            }
            match action {
                Action::State => Ok(has_failed(device)?.then_some(device)),
                Action::Children => relations::enumerate(physical).map(|()| None).map_err(Failure::from),
            }
        };
        if let Ok(Some(device)) = failed() {
            let _ = remove_device(device, true, || (close_clients)(device));
        }
    });
}

/// Asks a device for its state (`IRP_MN_QUERY_PNP_DEVICE_STATE`). Returns whether it has failed or is gone.
fn has_failed(device: Object) -> Result<bool, Fault> {
    let submission = minor(IRP_MN_QUERY_PNP_DEVICE_STATE);
    let Completion { status, information, .. } = device::hold(device, || send(device, &submission))?;
    let has_failed = status.is_success() && information & (PNP_DEVICE_FAILED | PNP_DEVICE_REMOVED) != 0;
    if has_failed {
        let state = if information & PNP_DEVICE_FAILED == 0 { "PNP_DEVICE_REMOVED" } else { "PNP_DEVICE_FAILED" };
        gap::add(GapKind::NotStarted, format!("the device reported {state} in IRP_MN_QUERY_PNP_DEVICE_STATE"));
    }
    Ok(has_failed)
}

/// Calls `AddDevice` and starts the device. For a driver without `AddDevice`, returns the first device that it created.
/// A device that is not added or does not start is a gap of the run.
pub fn add_device() -> Outcome<Object> {
    let Kernel { io, pool, .. } = kernel();
    let _turn = Turn::take();
    let driver = lock(io).driver;
    let Some(routine) = device::add_device_routine(driver)? else {
        return device::first().ok_or(NtStatus::NoSuchDevice.into());
    };
    let physical = stack::new_physical_device()?;
    let status = call_back("AddDevice", PASSIVE, routine, &[driver.address(), physical.address()]) as u32;
    let status = NtStatus::from_int(status);
    let Some(device) = stack::above(physical)?.filter(|_| status.is_success()) else {
        stack::forget(physical)?;
        if !status.is_success() {
            gap::add(GapKind::NotAdded, format!("AddDevice returned {status}"));
            return fail(status);
        }
        // Windows starts only a device that is attached to the physical device. Clients can open any other by its name.
        gap::add(GapKind::NotAdded, "AddDevice returned success without attaching a device".to_owned());
        return device::first().ok_or(NtStatus::NoSuchDevice.into());
    };
    filter_requirements(pool, device)?;
    if let Err(failure) = start(io, device, physical) {
        if let Failure::Status(status) = failure {
            gap::add(GapKind::NotStarted, format!("IRP_MN_START_DEVICE was completed with {status}"));
        }
        // A device that fails to start is removed.
        announce(device, IRP_MN_REMOVE_DEVICE)?;
        stack::forget(physical)?;
        return Err(failure);
    }
    Ok(device)
}

/// Lets the drivers of a new device change the list of what it requires (`IRP_MN_FILTER_RESOURCE_REQUIREMENTS`). The device
/// gets its own resources whatever they make of the list.
fn filter_requirements(pool: &Mutex<Pool>, device: Object) -> Result<(), Fault> {
    let list = resources::requirements(dispatch_routine(device, IRP_MJ_PNP)?)?.address();
    let parameters = [list, 0, 0, 0];
    let submission = Submission { parameters, information: list, ..minor(IRP_MN_FILTER_RESOURCE_REQUIREMENTS) };
    let Completion { information, .. } = device::hold(device, || send(device, &submission))?;
    if information != 0 {
        lock(pool).free_object(information);
    }
    Ok(())
}

/// Starts a device with its resources, and asks what Windows asks a device that has started, unless the driver has already
/// made it ask.
fn start(io: &Mutex<Io>, device: Object, physical: Object) -> Outcome {
    resources::note_if_none();
    let lists = resources::lists()?;
    let [raw, translated] = lists.map(GuestPtr::address);
    let started = send_for_status(device, IRP_MJ_PNP, IRP_MN_START_DEVICE, [raw, translated, 0, 0]);
    resources::free(lists);
    started?;
    relations::query_capabilities(device)?;
    for action in [Action::State, Action::Children] {
        let is_scheduled = lock(io).scheduled.contains(&(physical, action));
        match action {
            _ if is_scheduled => {}
            Action::State if has_failed(device)? => remove_later(device),
            Action::State => {}
            Action::Children => relations::enumerate(physical)?,
        }
    }
    Ok(())
}

/// Makes another thread remove a device by surprise.
fn remove_later(device: Object) {
    worker::submit(device.address(), move || {
        let _ = remove_device(device, true, || (kernel().close_clients)(device));
    });
}

/// Stops a device and starts it again, as the Plug and Play manager does when it assigns resources anew. The driver may
/// refuse. A device that does not start again is removed by surprise.
pub fn rebalance(device: Object) -> Outcome {
    let Kernel { io, .. } = kernel();
    let _turn = Turn::take();
    let physical = if device::exists(device) { stack::below(device)? } else { None };
    let Some(physical) = physical else { return fail(NtStatus::NoSuchDevice) };
    if let Err(refused) = send_for_status(device, IRP_MJ_PNP, IRP_MN_QUERY_STOP_DEVICE, [0; 4]) {
        announce(device, IRP_MN_CANCEL_STOP_DEVICE)?;
        return Err(refused);
    }
    announce(device, IRP_MN_STOP_DEVICE)?;
    let started = start(io, device, physical);
    if let Err(Failure::Status(status)) = &started {
        gap::add(GapKind::NotStarted, format!("the device did not start again: {status}"));
        remove_later(device);
    }
    started
}

/// Returns the devices that the driver attached above physical devices.
pub fn stacks() -> Result<Vec<Object>, Fault> {
    stack::physical().into_iter().filter_map(|physical| stack::above(physical).transpose()).collect()
}

/// Removes a device. `close` must make the clients finish their requests and close their files. Does nothing for a
/// driver without `AddDevice`, because such a driver deletes its devices itself.
pub fn remove_device(device: Object, surprise: bool, close: impl FnOnce()) -> Outcome {
    let Kernel { io, .. } = kernel();
    let _turn = Turn::take();
    let driver = lock(io).driver;
    if device::add_device_routine(driver)?.is_none() || !device::exists(device) {
        return Ok(());
    }
    let Some(below) = stack::below(device)? else { return Ok(()) };
    if lock(io).asleep.contains(&device) {
        // Devices do not come and go while the system sleeps, so it wakes up first.
        let _ = wake(io, device);
        build::wait_for_power();
    }
    if surprise {
        relations::surprise(below)?;
        announce(device, IRP_MN_SURPRISE_REMOVAL)?;
    } else {
        relations::query_remove(below, device)?;
    }
    close();
    relations::remove(below)?;
    announce(device, IRP_MN_REMOVE_DEVICE)?;
    stack::forget(below).map_err(Failure::from)
}

/// Sends the system power IRPs for sleep or wake-up. The driver must request the device power IRPs itself.
pub fn set_power(device: Object, on: bool) -> Outcome {
    let Kernel { io, .. } = kernel();
    let _turn = Turn::take();
    if !device::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    if on {
        return wake(io, device);
    }
    send_for_status(device, IRP_MJ_POWER, IRP_MN_QUERY_POWER, [0, 0, PowerSystemSleeping3.into(), 0])?;
    send_for_status(device, IRP_MJ_POWER, IRP_MN_SET_POWER, [0, 0, PowerSystemSleeping3.into(), 0])?;
    lock(io).asleep.push(device);
    Ok(())
}

/// Wakes a device up, and performs the actions that were postponed meanwhile.
fn wake(io: &Mutex<Io>, device: Object) -> Outcome {
    let postponed = {
        let mut io = lock(io);
        io.asleep.retain(|known| *known != device);
        std::mem::take(&mut io.postponed)
    };
    let woken = send_for_status(device, IRP_MJ_POWER, IRP_MN_SET_POWER, [0, 0, PowerSystemWorking.into(), 0]);
    if !postponed.is_empty() {
        // A thread of its own performs them, and the driver may still be powering its device up.
        build::wait_for_power();
    }
    for (physical, action) in postponed {
        schedule(physical, action);
    }
    woken
}
