//! The ways of a device into D0 and out of it: the order of callbacks, and the states that a driver can query meanwhile.

use etw_types::NtStatus;
use nt_kernel::{call_back, kernel};
use nt_verifier::routine::PASSIVE;
use windows_constants::framework::WdfPowerDeviceD3Final;

use crate::device::init::{
    D0_ENTRY, D0_ENTRY_POST_INTERRUPTS, D0_EXIT, D0_EXIT_PRE_INTERRUPTS, IO_INIT, IO_RESTART, IO_SUSPEND,
};
use crate::device::{SelfManagedIo, Wake, with_device};
use crate::pnp::states::{PnpState, PolicyState, PowerState};
use crate::pnp::{idle, policy};
use crate::{Handle, interrupt, queue};

/// Runs a callback of the device, if the driver has set it.
pub(crate) fn event(device: Handle, index: usize, name: &'static str, arguments: &[u64]) -> Result<(), NtStatus> {
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
pub(crate) fn set_pnp(device: Handle, state: PnpState) {
    with_device(device, |device| device.pnp_state = state);
}

/// Records the power state, as in `shared/irphandlers/pnp/powerstatemachine.cpp`.
pub(crate) fn set_power(device: Handle, state: PowerState) {
    with_device(device, |device| device.power_state = state);
}

/// Records the state of power policy.
pub(crate) fn set_policy(device: Handle, state: PolicyState) {
    with_device(device, |device| device.policy_state = state);
}

/// Runs a callback and ignores its result.
pub(crate) fn run_callback(device: Handle, index: usize, name: &'static str, arguments: &[u64]) {
    let _ = event(device, index, name, arguments);
}

/// Why a device enters D0, by the states of power policy: in `EvtDeviceD0Entry`, when it is disarmed, and when its requests
/// continue. The names are those of `shared/irphandlers/pnp/powerpolicystatemachine.cpp`.
pub(crate) struct Up {
    enters: PolicyState,
    disarms: PolicyState,
    restarts: PolicyState,
}

impl Up {
    pub(crate) const START: Self =
        Self { enters: PolicyState::STARTING, disarms: PolicyState::STARTING, restarts: PolicyState::STARTING };
    /// It is in use again.
    pub(crate) const IN_USE: Self = Self {
        enters: PolicyState::S0_NO_WAKE_POWER_UP,
        disarms: PolicyState::S0_NO_WAKE_POWER_UP,
        restarts: PolicyState::S0_NO_WAKE_COMPLETE_POWER_UP,
    };
    pub(crate) const IN_USE_ARMED: Self = Self {
        enters: PolicyState::IO_PRESENT_ARMED_WAKE_CANCELED,
        disarms: PolicyState::S0_WAKE_DISARM,
        restarts: PolicyState::S0_WAKE_COMPLETE_POWER_UP,
    };
    /// It could not be armed, so it does not stay asleep.
    pub(crate) const NOT_ARMED: Self = Self {
        enters: PolicyState::TIMER_EXPIRED_WAKE_COMPLETED_POWER_UP,
        disarms: PolicyState::TIMER_EXPIRED_WAKE_COMPLETED_POWER_UP,
        restarts: PolicyState::S0_WAKE_COMPLETE_POWER_UP,
    };
    /// The system is about to sleep, and an idle device must be in D0 to be armed.
    pub(crate) const BEFORE_SLEEP: Self = Self {
        enters: PolicyState::SYSTEM_SLEEP_NEED_WAKE,
        disarms: PolicyState::SYSTEM_SLEEP_NEED_WAKE,
        restarts: PolicyState::SYSTEM_SLEEP_NEED_WAKE_COMPLETE_POWER_UP,
    };
    pub(crate) const BEFORE_SLEEP_ARMED: Self = Self {
        enters: PolicyState::CANCELING_WAKE_FOR_SYSTEM_SLEEP_WAKE_CANCELED,
        disarms: PolicyState::DISARMING_WAKE_FOR_SYSTEM_SLEEP_COMPLETE_POWER_UP,
        restarts: PolicyState::DISARMING_WAKE_FOR_SYSTEM_SLEEP_COMPLETE_POWER_UP,
    };
    /// The system has woken up.
    pub(crate) const SYSTEM: Self = Self {
        enters: PolicyState::SYSTEM_WAKE_DEVICE_TO_D0,
        disarms: PolicyState::SYSTEM_WAKE_DEVICE_TO_D0,
        restarts: PolicyState::SYSTEM_WAKE_DEVICE_TO_D0_COMPLETE_POWER_UP,
    };
    pub(crate) const SYSTEM_ARMED: Self = Self {
        enters: PolicyState::SYSTEM_WAKE_DEVICE_WAKE_ENABLED_WAKE_CANCELED,
        disarms: PolicyState::SYSTEM_WAKE_DEVICE_WAKE_DISARM,
        restarts: PolicyState::SYSTEM_WAKE_DEVICE_WAKE_COMPLETE_POWER_UP,
    };
}

/// Why a device leaves D0, by the states of power policy: when its requests are suspended, in `EvtDeviceD0Exit`, and
/// afterwards.
pub(crate) struct Down {
    suspends: PolicyState,
    exits: PolicyState,
    rests: PolicyState,
    /// How the device is armed, if it may wake itself or the system.
    arms: Option<&'static Arming>,
}

/// How a device is armed, by the states of power policy: in the callback, and after the callback failed. Then the device goes
/// down in another way.
struct Arming {
    wake: Wake,
    arms: PolicyState,
    reverts: PolicyState,
    otherwise: &'static Down,
}

impl Down {
    pub(crate) const STOP: Self =
        Self { suspends: PolicyState::STOPPING, exits: PolicyState::STOPPING, rests: PolicyState::STOPPED, arms: None };
    pub(crate) const IDLE: Self = Self {
        suspends: PolicyState::TIMER_EXPIRED_NO_WAKE,
        exits: PolicyState::TIMER_EXPIRED_NO_WAKE_COMPLETE_POWER_DOWN,
        rests: PolicyState::WAITING_UNARMED,
        arms: None,
    };
    pub(crate) const IDLE_ARMED: Self = Self {
        suspends: PolicyState::TIMER_EXPIRED_WAKE_CAPABLE_POWER_DOWN,
        exits: PolicyState::TIMER_EXPIRED_WAKE_CAPABLE_WAKE_ARRIVED,
        rests: PolicyState::WAITING_ARMED,
        arms: Some(&Arming {
            wake: Wake::S0,
            arms: PolicyState::TIMER_EXPIRED_WAKE_CAPABLE_WAKE_ARRIVED,
            reverts: PolicyState::TIMER_EXPIRED_WAKE_CAPABLE_WAKE_ARRIVED,
            otherwise: &Self::IDLE_NOT_ARMED,
        }),
    };
    const IDLE_NOT_ARMED: Self = Self {
        suspends: PolicyState::TIMER_EXPIRED_WAKE_CAPABLE_POWER_DOWN,
        exits: PolicyState::TIMER_EXPIRED_WAKE_COMPLETED_POWER_DOWN,
        rests: PolicyState::TIMER_EXPIRED_WAKE_COMPLETED_POWER_UP,
        arms: None,
    };
    pub(crate) const SLEEP: Self = Self {
        suspends: PolicyState::SLEEPING_NO_WAKE_POWER_DOWN,
        exits: PolicyState::SLEEPING_NO_WAKE_COMPLETE_POWER_DOWN,
        rests: PolicyState::SYSTEM_ASLEEP_NO_WAKE,
        arms: None,
    };
    pub(crate) const SLEEP_ARMED: Self = Self {
        suspends: PolicyState::SLEEPING_WAKE_POWER_DOWN,
        exits: PolicyState::SLEEPING_WAKE_WAKE_ARRIVED,
        rests: PolicyState::SYSTEM_ASLEEP_WAKE_ARMED,
        arms: Some(&Arming {
            wake: Wake::Sx,
            arms: PolicyState::SLEEPING_WAKE_WAKE_ARRIVED,
            reverts: PolicyState::SLEEPING_WAKE_REVERT_ARM_WAKE,
            otherwise: &Self::SLEEP,
        }),
    };
}

/// Brings a device to D0 from the state for which it left D0.
pub(crate) fn enter(device: Handle, up: &Up) -> Result<(), NtStatus> {
    let from = with_device(device, |device| device.left_for);
    let is_start = from == WdfPowerDeviceD3Final;
    let arguments = [from.into()];
    idle::hold_parent(device);
    set_policy(device, up.enters);
    set_power(device, if is_start { PowerState::D0_STARTING } else { PowerState::WAKING });
    event(device, D0_ENTRY, "EvtDeviceD0Entry", &arguments)?;
    let [connecting, connected, starting] = if is_start {
        [
            PowerState::D0_STARTING_CONNECT_INTERRUPT,
            PowerState::D0_STARTING_DMA_ENABLE,
            PowerState::D0_STARTING_START_SELF_MANAGED_IO,
        ]
    } else {
        [PowerState::WAKING_CONNECT_INTERRUPT, PowerState::WAKING_DMA_ENABLE, PowerState::START_SELF_MANAGED_IO]
    };
    set_power(device, connecting);
    let after = || event(device, D0_ENTRY_POST_INTERRUPTS, "EvtDeviceD0EntryPostInterruptsEnabled", &arguments);
    if let Err(status) = interrupt::enable_all(device).and_then(|()| after()) {
        let _ = interrupt::disable_all(device);
        run_callback(device, D0_EXIT, "EvtDeviceD0Exit", &[WdfPowerDeviceD3Final.into()]);
        return Err(status);
    }
    set_power(device, connected);
    if let Some(scan) = with_device(device, |device| device.scan) {
        scan(device);
    }
    set_policy(device, up.disarms);
    policy::disarm(device);
    set_policy(device, up.restarts);
    set_power(device, starting);
    with_device(device, |device| device.in_d0 = true);
    queue::state::resume_all(device);
    queue::state::start_all(device);
    let io = with_device(device, |device| std::mem::replace(&mut device.io, SelfManagedIo::Begun));
    let io = if io == SelfManagedIo::Unused {
        event(device, IO_INIT, "EvtDeviceSelfManagedIoInit", &[])
    } else {
        event(device, IO_RESTART, "EvtDeviceSelfManagedIoRestart", &[])
    };
    if let Err(status) = io {
        let _ = leave(device, &Down::STOP, WdfPowerDeviceD3Final);
        return Err(status);
    }
    with_device(device, |device| {
        (device.power_state, device.policy_state) = (PowerState::D0, idle::started(device));
        (device.idle.timed_out, device.idle.wakes_up) = (false, false);
    });
    // Another thread may wait in WdfDeviceStopIdle.
    kernel().scheduler.change(|_| ());
    idle::check(device);
    Ok(())
}

/// Suspends self-managed I/O and brings a device from D0 to the given state. As in `FxPkgPnp::PowerGotoDxIoStoppedCommon`
/// (`shared/irphandlers/pnp/powerstatemachine.cpp`), a callback that fails does not prevent the next one.
pub(crate) fn suspend(device: Handle, down: &'static Down, to: u32) -> Result<(), NtStatus> {
    set_power(device, if to == WdfPowerDeviceD3Final { PowerState::GOTO_D3_STOPPED } else { PowerState::GOTO_DX });
    set_policy(device, down.suspends);
    let suspended = event(device, IO_SUSPEND, "EvtDeviceSelfManagedIoSuspend", &[]);
    let left = leave(device, down, to);
    suspended.and(left)
}

/// Arms a device that may wake itself or the system. Returns how it goes down.
fn arm(device: Handle, down: &'static Down) -> &'static Down {
    let Some(&Arming { wake, arms, reverts, otherwise }) = down.arms else { return down };
    set_policy(device, arms);
    if policy::arm(device, wake) {
        return down;
    }
    set_policy(device, reverts);
    if wake == Wake::Sx {
        policy::disarm(device);
    }
    with_device(device, |device| (device.armed, device.idle.wakes_up) = (None, wake == Wake::S0));
    otherwise
}

/// Brings a device from D0 to the given state.
fn leave(device: Handle, down: &'static Down, to: u32) -> Result<(), NtStatus> {
    let (leaving, left) = if to == WdfPowerDeviceD3Final {
        (PowerState::GOTO_D3_STOPPED, PowerState::STOPPED)
    } else {
        (PowerState::GOTO_DX_IO_STOPPED, PowerState::DX)
    };
    with_device(device, |device| {
        (device.in_d0, device.left_for, device.idle.timed_out) = (false, to, false);
    });
    idle::check(device);
    queue::state::hold_all(device);
    let down = arm(device, down);
    set_power(device, leaving);
    set_policy(device, down.exits);
    let arguments = [to.into()];
    let before = event(device, D0_EXIT_PRE_INTERRUPTS, "EvtDeviceD0ExitPreInterruptsDisabled", &arguments);
    let disabled = interrupt::disable_all(device);
    let exited = event(device, D0_EXIT, "EvtDeviceD0Exit", &arguments);
    set_power(device, left);
    set_policy(device, down.rests);
    idle::release_parent(device);
    before.and(disabled).and(exited)
}
