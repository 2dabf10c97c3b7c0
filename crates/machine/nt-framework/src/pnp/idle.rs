//! Idle devices: which reasons a device has to be in D0, and the timer that runs while it has none.
//!
//! The reasons are requests in its power-managed queues, children in D0, the driver (`WdfDeviceStopIdle`), and a query of
//! the Plug and Play manager. This is what `FxPowerIdleMachine` in `shared/irphandlers/pnp/poweridlestatemachine.cpp` counts.
//! [`crate::pnp`] changes the power state.

use std::sync::Arc;

use etw_types::NtStatus;
use nt_kernel::kernel;
use nt_kernel::sync::scheduler::{Action, Timer};
use nt_kernel::sync::worker::submit;
use nt_processor::layout::WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS;
use nt_processor::memory::{GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Ignored, Outcome, done, fail, functions};
use nt_verifier::verify::{self, Rule};
use windows_constants::framework::{
    IdleCannotWakeFromS0, IdleUsbSelectiveSuspend, SystemManagedIdleTimeoutWithHint, WdfFalse, WdfTrue, WdfUseDefault,
};
use windows_constants::power::{PowerDeviceD1, PowerDeviceD3, PowerDeviceMaximum};

use crate::Handle;
use crate::device::{Device, IdleSettings, with_device};
use crate::object::{self, needs_passive};
use crate::pnp::policy;
use crate::pnp::states::{PolicyState, PowerState};
use crate::state::with;
use crate::structures;

/// One millisecond in units of 100 ns.
const MILLISECOND: u64 = 10_000;
/// `FxPowerPolicyDefaultTimeout`, in milliseconds.
const DEFAULT_TIMEOUT: u32 = 5000;
/// The sizes of the settings that have `PowerUpIdleDeviceOnSystemWake` and `IdleTimeoutType`.
const WITH_POWER_UP: u32 = 28;
const WITH_TYPE: u32 = 36;

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails(NtStatus::InvalidDeviceState)]
    fn WdfDeviceAssignS0IdleSettings(
        device: Handle,
        settings: GuestPtr<WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS>,
    ) -> Outcome {
        policy::needs_owner(device)?;
        let size = structures::IDLE_SETTINGS.check(settings)?;
        let settings = read(settings, size)?;
        with_device(device, |device| device.idle.settings = settings);
        policy_changed(device);
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceStopIdleNoTrack(device: Handle, wait: bool) -> NtStatus {
        stop(device, wait)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceStopIdleActual(
        device: Handle,
        wait: bool,
        _tag: Ignored<GuestPtr<Opaque>>,
        _line: Ignored<i32>,
        _file: Ignored<GuestPtr<u8>>,
    ) -> NtStatus {
        stop(device, wait)
    }

    #[irql(DISPATCH)]
    fn WdfDeviceResumeIdleNoTrack(device: Handle) {
        resume(device);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceResumeIdleActual(
        device: Handle,
        _tag: Ignored<GuestPtr<Opaque>>,
        _line: Ignored<i32>,
        _file: Ignored<GuestPtr<u8>>,
    ) {
        resume(device);
    }
}

/// Reads settings of this size, and checks them as `WdfDeviceAssignS0IdleSettings` and
/// `FxPkgPnp::PowerPolicySetS0IdleSettings` do (`shared/core/fxdeviceapi.cpp`, `shared/irphandlers/pnp/fxpkgpnp.cpp`).
/// Returns `None` if they are disabled. A time-out that the system manages is taken for the driver's, as the framework's own
/// timer does since 1.33.
fn read(settings: GuestPtr<WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS>, size: u32) -> Outcome<Option<IdleSettings>> {
    let caps = settings.IdleCaps().read()?;
    let state = settings.DxState().read()?;
    let enabled = settings.Enabled().read()?;
    let powers_up =
        if size < WITH_POWER_UP { WdfUseDefault } else { settings.PowerUpIdleDeviceOnSystemWake().read()? };
    let kind = if size < WITH_TYPE { 0 } else { settings.IdleTimeoutType().read()? };
    let is_valid = (PowerDeviceD1..=PowerDeviceMaximum).contains(&state)
        && (IdleCannotWakeFromS0..=IdleUsbSelectiveSuspend).contains(&caps)
        && matches!(settings.UserControlOfIdleSettings().read()?, 1 | 2)
        && enabled <= WdfUseDefault
        && powers_up <= WdfUseDefault
        && (caps == IdleCannotWakeFromS0 || powers_up == WdfUseDefault)
        && kind <= SystemManagedIdleTimeoutWithHint;
    if !is_valid {
        return fail(NtStatus::InvalidParameter);
    }
    // The bus says that its devices can wake themselves from D3. USB allows that only from D2.
    if caps == IdleUsbSelectiveSuspend && state >= PowerDeviceD3 {
        return fail(NtStatus::PowerStateInvalid);
    }
    let timeout = match settings.IdleTimeout().read()? {
        0 => DEFAULT_TIMEOUT,
        timeout => timeout,
    };
    Ok((enabled != WdfFalse).then_some(IdleSettings {
        timeout: u64::from(timeout) * MILLISECOND,
        state: state.min(PowerDeviceD3),
        can_wake: caps != IdleCannotWakeFromS0,
        powers_up: powers_up == WdfTrue,
    }))
}

/// Called when a device has new settings. A device that sleeps is powered up first, as in the state
/// `WdfDevStatePwrPolWaitingUnarmed`.
fn policy_changed(handle: Handle) {
    with_device(handle, |device| {
        if device.started && device.power_state == PowerState::D0 {
            device.policy_state = started(device);
        }
        device.idle.wakes_up = device.started && !device.in_d0 && !device.is_asleep;
    });
    check(handle);
}

/// Returns the state of power policy of a device that works.
pub(crate) fn started(device: &Device) -> PolicyState {
    match device.idle.settings {
        None => PolicyState::STARTED,
        Some(settings) if settings.can_wake => PolicyState::STARTED_WAKE_CAPABLE,
        Some(_) => PolicyState::STARTED_IDLE_CAPABLE,
    }
}

fn stop(handle: Handle, wait: bool) -> NtStatus {
    needs_passive(wait);
    if !with_device(handle, |device| policy::is_owner(&device.init)) {
        return NtStatus::InvalidDeviceState;
    }
    let is_powered = with_device(handle, |device| {
        // The machine of power policy starts after EvtDevicePrepareHardware and stops before EvtDeviceReleaseHardware.
        let runs =
            !matches!(device.policy_state, PolicyState::OBJECT_CREATED | PolicyState::STOPPED | PolicyState::REMOVED);
        runs.then(|| {
            device.idle.stops += 1;
            device.power_state == PowerState::D0 && !device.idle.timed_out
        })
    });
    let Some(is_powered) = is_powered else { return NtStatus::PowerStateInvalid };
    reference(handle);
    if is_powered {
        return NtStatus::Success;
    }
    if !wait {
        return NtStatus::Pending;
    }
    let is_over = || {
        with(|framework| match framework.get_mut::<Device>(handle) {
            Some(device) if device.power_state == PowerState::D0 && !device.idle.timed_out => Some(true),
            Some(device) if device.power_state != PowerState::STOPPED => None,
            _ => Some(false),
        })
    };
    if kernel().scheduler.wait(None, |_| is_over()) == Some(true) {
        return NtStatus::Success;
    }
    with(|framework| framework.get_mut(handle).map(|device: &mut Device| device.idle.stops -= 1));
    dereference(handle);
    NtStatus::PowerStateInvalid
}

fn resume(handle: Handle) {
    let (is_owner, was_stopped) = with_device(handle, |device| {
        let was_stopped = device.idle.stops > 0;
        device.idle.stops = device.idle.stops.saturating_sub(1);
        (policy::is_owner(&device.init), was_stopped)
    });
    if is_owner && !was_stopped {
        // Microsoft's verifier breaks here, too.
        let what = format_args!("calls WdfDeviceResumeIdle without a matching call to WdfDeviceStopIdle");
        verify::find(Rule::FrameworkMisuse, what);
    }
    if was_stopped {
        dereference(handle);
    }
}

/// Adds a reason for a device to be in D0, such as the first request in a queue.
pub(crate) fn reference(device: Handle) {
    count(device, 1);
}

/// Removes a reason.
pub(crate) fn dereference(device: Handle) {
    count(device, -1);
}

fn count(handle: Handle, change: i32) {
    with(|framework| framework.get_mut::<Device>(handle).map(|device| device.idle.references += change));
    check(handle);
}

/// What a device does next because of its use.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// It sleeps after this time, if nothing uses it.
    Sleep(u64),
    WakeUp(fn(Handle)),
}

/// Starts or stops the timer of a device, or makes it wake up.
pub(crate) fn check(handle: Handle) {
    let next = with(|framework| {
        let device = framework.get_mut::<Device>(handle)?;
        let next = match (device.idle.settings, device.idle.adjust) {
            _ if !device.started || device.is_asleep => None,
            (_, Some(adjust)) if device.must_wake_up() => Some(Next::WakeUp(adjust)),
            (Some(settings), _) if device.is_idle() => Some(Next::Sleep(settings.timeout)),
            _ => None,
        };
        let had_timer = std::mem::replace(&mut device.idle.has_timer, matches!(next, Some(Next::Sleep(_))));
        Some((next, had_timer))
    });
    let key = handle.as_int();
    let scheduler = &kernel().scheduler;
    let Some((next, had_timer)) = next else { return };
    if had_timer {
        scheduler.change(|state| state.unset(key));
    }
    match next {
        Some(Next::Sleep(timeout)) => {
            let due = scheduler.now().saturating_add(timeout);
            let action: Action = Arc::new(move || expired(handle));
            let timer = Timer { key, due, period: 0, signals: None, action: Some(action), from: 0 };
            scheduler.change(|state| state.timers.push(timer));
        }
        Some(Next::WakeUp(adjust)) => submit(key, move || adjust(handle)),
        None => {}
    }
}

impl Device {
    /// Returns whether the device must enter D0.
    pub(crate) fn must_wake_up(&self) -> bool {
        self.started && !self.is_asleep && !self.in_d0 && (self.idle.references > 0 || self.idle.wakes_up)
    }

    /// Returns whether nothing uses the device, which is in D0.
    fn is_idle(&self) -> bool {
        let is_unused = self.idle.references == 0 && !self.is_failing;
        self.started && !self.is_asleep && self.power_state == PowerState::D0 && is_unused
    }
}

/// The timer of a device expired.
fn expired(handle: Handle) {
    let adjust = with(|framework| {
        let device = framework.get_mut::<Device>(handle)?;
        device.idle.has_timer = false;
        device.idle.timed_out = device.idle.settings.is_some() && device.is_idle();
        device.idle.adjust.filter(|_| device.idle.timed_out)
    });
    if let Some(adjust) = adjust {
        submit(handle.as_int(), move || adjust(handle));
    }
}

/// Keeps the parent of a device in D0 while the device is there, and waits until the parent is in D0
/// (`FxPkgPnp::PowerPolicyCanChildPowerUp`).
pub(crate) fn hold_parent(child: Handle) {
    let parent =
        with_device(child, |device| (!std::mem::replace(&mut device.holds_parent, true)).then_some(device.init.parent));
    let Some(parent) = parent.filter(|parent| object::exists(*parent)) else { return };
    reference(parent);
    let is_ready = || {
        // A parent that does not sleep because it is idle is not woken.
        with(|framework| {
            framework.get_mut::<Device>(parent).is_none_or(|parent| {
                parent.power_state == PowerState::D0 || !parent.started || parent.is_asleep || parent.is_going()
            })
        })
    };
    kernel().scheduler.wait(None, |_| is_ready().then_some(()));
}

/// Lets the parent of a device sleep that leaves D0.
pub(crate) fn release_parent(child: Handle) {
    let parent = with_device(child, |device| std::mem::take(&mut device.holds_parent).then_some(device.init.parent));
    if let Some(parent) = parent.filter(|parent| object::exists(*parent)) {
        dereference(parent);
    }
}
