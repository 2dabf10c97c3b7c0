//! The power management framework (`PoFx…`): the conditions and power states of a device's components, and whether the device
//! needs power. The order of the callbacks follows Microsoft's pages on component-level power management.
//!
//! Each device has one job at most, which calls the driver until everything is as its use requires, or until the driver must
//! complete a step. The host never asks for a directed power transition.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::layout::{
    DEVICE_OBJECT, PO_FX_COMPONENT, PO_FX_COMPONENT_V2, PO_FX_DEVICE, PO_FX_DEVICE_V2, PO_FX_DEVICE_V3,
};
use nt_processor::memory::{Code, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::power::PO_FX_FLAG_BLOCKING;

use crate::sync::scheduler::Timer;
use crate::sync::worker;
use crate::{Kernel, call_back, kernel, lock};

/// The name of the registration: a driver must unregister its devices before it is unloaded.
const WHAT: &str = "device of the power framework";
/// The maximum number of components that are read.
const MAX_COMPONENTS: u32 = 1024;

type Routine = GuestPtr<Code>;
type Handle = GuestPtr<Opaque>;
/// The registered devices.
type All = Mutex<Vec<Managed>>;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn PoFxRegisterDevice(
        &call,
        physical: GuestPtr<DEVICE_OBJECT>,
        device: GuestPtr<PO_FX_DEVICE>,
        place: Out<Handle>,
    ) -> Outcome {
        let Kernel { io, pool, power, .. } = kernel();
        let described = if physical.is_null() { None } else { describe(device)? };
        let Some(managed) = described else { return fail(NtStatus::InvalidParameter) };
        let handle: Handle = lock(pool).try_new_objects::<u64>(1)?.cast();
        lock(power).push(Managed { handle, from: call.from, ..managed });
        lock(io).register(WHAT, handle.address(), call.from);
        place.set(handle)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn PoFxUnregisterDevice(handle: Handle) {
        let Kernel { io, pool, power, scheduler, .. } = kernel();
        if change(power, handle, |_| ()).is_none() {
            return;
        }
        // A callback may still run.
        scheduler.wait(None, |_| {
            let mut all = lock(power);
            let is_idle = all.iter().all(|device| device.handle != handle || !device.is_running);
            is_idle.then(|| all.retain(|device| device.handle != handle))
        });
        scheduler.change(|state| state.unset(handle.address()));
        lock(io).forget(WHAT, handle.address());
        lock(pool).free_object(handle.address());
    }

    #[irql(PASSIVE)]
    fn PoFxStartDevicePowerManagement(handle: Handle) {
        update(&kernel().power, handle, |device| device.is_started = true);
    }

    #[irql(DISPATCH)]
    fn PoFxActivateComponent(handle: Handle, component: u32, flags: u32) {
        let Kernel { power, scheduler, .. } = kernel();
        let found = update_component(power, handle, component, |component| component.references += 1);
        if found && flags & PO_FX_FLAG_BLOCKING != 0 {
            scheduler.wait(None, |_| {
                let all = lock(power);
                let device = all.iter().find(|device| device.handle == handle);
                let known = device.and_then(|device| device.components.get(component as usize));
                known.is_none_or(|component| component.is_active).then_some(())
            });
        }
    }

    #[irql(DISPATCH)]
    fn PoFxIdleComponent(handle: Handle, component: u32, _flags: Ignored<u32>) {
        let mut was_idle = false;
        update_component(&kernel().power, handle, component, |component| {
            was_idle = component.references == 0;
            component.references = component.references.saturating_sub(1);
        });
        if was_idle {
            misuse("the component is idle: PoFxIdleComponent was called more often than PoFxActivateComponent");
        }
    }

    #[irql(DISPATCH)]
    fn PoFxCompleteIdleCondition(handle: Handle, component: u32) {
        complete(&kernel().power, handle, component, Pending::Condition);
    }

    #[irql(DISPATCH)]
    fn PoFxCompleteIdleState(handle: Handle, component: u32) {
        complete(&kernel().power, handle, component, Pending::State);
    }

    #[irql(DISPATCH)]
    fn PoFxCompleteDevicePowerNotRequired(handle: Handle) {
        report(&kernel().power, handle, Power::Leaving, Power::Off);
    }

    #[irql(DISPATCH)]
    fn PoFxReportDevicePoweredOn(handle: Handle) {
        report(&kernel().power, handle, Power::Coming, Power::On);
    }

    /// The time is in units of 100 ns.
    #[irql(DISPATCH)]
    fn PoFxSetDeviceIdleTimeout(handle: Handle, time: u64) {
        update(&kernel().power, handle, |device| device.timeout = time);
    }

    #[irql(DISPATCH)]
    fn PoFxCompleteDirectedPowerDown(handle: Handle) {
        if change(&kernel().power, handle, |_| ()).is_some() {
            misuse("no directed power transition was requested");
        }
    }
}

/// What the driver must complete before a component changes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Condition,
    State,
}

/// Whether a device has power, and who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Power {
    On,
    /// The driver was told that it may turn the device off.
    Leaving,
    Off,
    /// The driver was told to turn the device on.
    Coming,
}

#[derive(Clone, Copy, Debug)]
struct Component {
    /// The number of states that it has: F0 and others.
    states: u32,
    state: u32,
    references: u32,
    is_active: bool,
    pending: Option<Pending>,
}

/// A registered device.
#[derive(Clone, Debug)]
pub struct Managed {
    handle: Handle,
    active: Routine,
    idle: Routine,
    idle_state: Routine,
    required: Routine,
    not_required: Routine,
    context: u64,
    components: Vec<Component>,
    power: Power,
    timeout: u64,
    /// The timer that runs while all components are idle, and whether it has expired.
    is_waiting: bool,
    has_expired: bool,
    is_started: bool,
    is_running: bool,
    from: u64,
}

/// What the job of a device does next.
enum Step {
    Call(&'static str, Routine, Vec<u64>),
    Wait(u64, u64),
}

/// Reads the description of a device. Returns `None` if it is not valid.
fn describe(place: GuestPtr<PO_FX_DEVICE>) -> Outcome<Option<Managed>> {
    let (callbacks, context, states) = match place.Version().read()? {
        1 => {
            let device = place.read()?;
            let first = place.after::<PO_FX_COMPONENT>();
            let all = first.array(device.ComponentCount.min(MAX_COMPONENTS).into()).read()?;
            let states: Vec<u32> = all.into_iter().map(|component| component.IdleStateCount).collect();
            (device.Callbacks, device.DeviceContext, states)
        }
        2 => {
            let place = place.cast::<PO_FX_DEVICE_V2>();
            let device = place.read()?;
            (device.Callbacks, device.DeviceContext, states_of(place.after(), device.ComponentCount)?)
        }
        3 => {
            let place = place.cast::<PO_FX_DEVICE_V3>();
            let device = place.read()?;
            (device.Callbacks, device.DeviceContext, states_of(place.after(), device.ComponentCount)?)
        }
        _ => return Ok(None),
    };
    if states.is_empty() || states.contains(&0) {
        return Ok(None);
    }
    let component = |states| Component { states, state: 0, references: 0, is_active: true, pending: None };
    let [active, idle, idle_state, required, not_required, _control] = callbacks;
    Ok(Some(Managed {
        handle: Handle::NULL,
        active,
        idle,
        idle_state,
        required,
        not_required,
        context,
        components: states.into_iter().map(component).collect(),
        power: Power::On,
        timeout: 0,
        is_waiting: false,
        has_expired: false,
        is_started: false,
        is_running: false,
        from: 0,
    }))
}

fn states_of(first: GuestPtr<PO_FX_COMPONENT_V2>, count: u32) -> Outcome<Vec<u32>> {
    let all = first.array(count.min(MAX_COMPONENTS).into()).read()?;
    Ok(all.into_iter().map(|component| component.IdleStateCount).collect())
}

fn misuse(what: &str) {
    verify::find(Rule::BadArgument, format_args!("{what}"));
}

/// Changes a device. A handle that is not registered is a mistake.
fn change<R>(power: &All, handle: Handle, change: impl FnOnce(&mut Managed) -> R) -> Option<R> {
    let result = lock(power).iter_mut().find(|device| device.handle == handle).map(change);
    if result.is_none() {
        misuse("the handle is not that of a registered device");
    }
    result
}

/// Changes a device, and lets its job do what follows from the change.
fn update(power: &All, handle: Handle, body: impl FnOnce(&mut Managed)) {
    let is_new = change(power, handle, |device| {
        body(device);
        !std::mem::replace(&mut device.is_running, true)
    });
    if is_new == Some(true) {
        worker::submit(handle.address(), move || run(handle));
    }
}

/// Changes a component, and lets the job of its device do what follows. Returns whether there is such a component.
fn update_component(power: &All, handle: Handle, component: u32, body: impl FnOnce(&mut Component)) -> bool {
    let mut found = false;
    update(power, handle, |device| {
        if let Some(component) = device.components.get_mut(component as usize) {
            body(component);
            found = true;
        }
    });
    if !found {
        misuse("there is no such component");
    }
    found
}

/// The driver has completed a step of a component.
fn complete(power: &All, handle: Handle, component: u32, what: Pending) {
    let mut was_pending = false;
    let found = update_component(power, handle, component, |component| {
        was_pending = component.pending == Some(what);
        if was_pending {
            component.pending = None;
        }
    });
    if found && !was_pending {
        misuse("completes a change that the power framework did not request");
    }
}

/// The driver has turned a device on or off.
fn report(power: &All, handle: Handle, before: Power, after: Power) {
    let mut was_requested = false;
    update(power, handle, |device| {
        was_requested = device.power == before;
        if was_requested {
            device.power = after;
        }
    });
    if !was_requested {
        misuse("reports a change of power that the power framework did not request");
    }
}

/// The job of a device.
fn run(handle: Handle) {
    let Kernel { power, scheduler, .. } = kernel();
    loop {
        let step = {
            let mut all = lock(power);
            let Some(device) = all.iter_mut().find(|device| device.handle == handle) else { return };
            let step = device.next();
            device.is_running = step.is_some();
            step
        };
        match step {
            Some(Step::Call(name, routine, arguments)) => {
                call_back(name, PASSIVE, routine, &arguments);
            }
            Some(Step::Wait(time, from)) => {
                let due = scheduler.deadline(-i64::try_from(time).unwrap_or(i64::MAX));
                let action = move || update(power, handle, |device| device.has_expired = device.is_waiting);
                let key = handle.address();
                let action = Some(std::sync::Arc::new(action) as _);
                let timer = Timer { key, due, period: 0, signals: None, action, from };
                scheduler.change(|state| state.timers.push(timer));
            }
            None => {
                // Another thread may wait for a component, or for the end of this job.
                scheduler.change(|_| ());
                return;
            }
        }
    }
}

impl Managed {
    /// Returns what to do next, and records it.
    fn next(&mut self) -> Option<Step> {
        let step = self.next_of_components();
        if step.is_some() {
            return step;
        }
        let is_idle =
            |component: &Component| component.references == 0 && !component.is_active && component.pending.is_none();
        if self.power != Power::On || !self.is_started || !self.components.iter().all(is_idle) {
            (self.is_waiting, self.has_expired) = (false, false);
            return None;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            return Some(Step::Wait(self.timeout, self.from));
        }
        if !std::mem::take(&mut self.has_expired) || self.not_required.is_null() {
            return None;
        }
        (self.is_waiting, self.power) = (false, Power::Leaving);
        Some(Step::Call("DevicePowerNotRequiredCallback", self.not_required, vec![self.context]))
    }

    fn next_of_components(&mut self) -> Option<Step> {
        for index in 0..self.components.len() {
            let Some(component) = self.components.get(index).copied().filter(|component| component.pending.is_none())
            else {
                continue;
            };
            let arguments = vec![self.context, index as u64];
            let (change, step) = if component.references > 0 && !component.is_active {
                match self.power {
                    Power::Off => {
                        self.power = Power::Coming;
                        return Some(Step::Call("DevicePowerRequiredCallback", self.required, vec![self.context]));
                    }
                    Power::Coming | Power::Leaving => continue,
                    Power::On if component.state != 0 => self.to_state(component, arguments, 0),
                    Power::On => {
                        let change = Component { is_active: true, ..component };
                        (change, Step::Call("ComponentActiveConditionCallback", self.active, arguments))
                    }
                }
            } else if component.references == 0 && component.is_active && self.is_started {
                let change = Component { is_active: false, pending: Some(Pending::Condition), ..component };
                (change, Step::Call("ComponentIdleConditionCallback", self.idle, arguments))
            } else if component.references == 0 && !component.is_active && component.state + 1 < component.states {
                self.to_state(component, arguments, component.states - 1)
            } else {
                continue;
            };
            if let Some(known) = self.components.get_mut(index) {
                *known = change;
            }
            return Some(step);
        }
        None
    }

    /// Brings a component to a power state.
    fn to_state(&self, component: Component, mut arguments: Vec<u64>, state: u32) -> (Component, Step) {
        arguments.push(state.into());
        let change = Component { state, pending: Some(Pending::State), ..component };
        (change, Step::Call("ComponentIdleStateCallback", self.idle_state, arguments))
    }
}

/// Forgets all devices after the driver was unloaded.
pub fn forget() {
    lock(&kernel().power).clear();
}
