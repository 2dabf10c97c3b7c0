//! A timer that belongs to a device.

use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, WDF_OBJECT_ATTRIBUTES, WDF_TIMER_CONFIG, WDFTIMER,
    call_unsafe_wdf_function_binding,
};

use super::context::{self, Context};
use super::{DeviceHandle, check, size_field};

/// What a timer does.
pub(crate) trait TimerEvents: Context {
    /// The time has come. Runs at `DISPATCH_LEVEL`.
    fn tick(&self);
}

/// A one-shot timer, deleted with its device.
pub(crate) struct Timer {
    raw: WDFTIMER,
}

// SAFETY: the framework's timer functions can be called from any thread.
unsafe impl Sync for Timer {}

impl Timer {
    /// Creates a timer whose ticks go to the context of `device`.
    pub(crate) fn create<T: TimerEvents>(device: DeviceHandle) -> Result<Self, NtStatus> {
        let mut config = WDF_TIMER_CONFIG {
            Size: size_field::<WDF_TIMER_CONFIG>(),
            EvtTimerFunc: Some(tick::<T>),
            ..WDF_TIMER_CONFIG::default()
        };
        let mut attributes = WDF_OBJECT_ATTRIBUTES {
            Size: size_field::<WDF_OBJECT_ATTRIBUTES>(),
            ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelInheritFromParent,
            SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
            ParentObject: device.raw().cast(),
            ..WDF_OBJECT_ATTRIBUTES::default()
        };
        let mut raw: WDFTIMER = ptr::null_mut();
        // SAFETY: the parent is alive, and all structures outlive the call.
        check(unsafe {
            call_unsafe_wdf_function_binding!(
                WdfTimerCreate,
                ptr::from_mut(&mut config),
                ptr::from_mut(&mut attributes),
                ptr::from_mut(&mut raw)
            )
        })?;
        Ok(Self { raw })
    }

    /// Ticks once, after `delay`; starts over where it is running.
    pub(crate) fn start(&self, delay: Duration) {
        // Relative times are negative, in units of 100 ns.
        let units = i64::try_from(delay.as_nanos() / 100).unwrap_or(i64::MAX);
        // SAFETY: the timer lives as long as its device, whose context owns this value.
        let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStart, self.raw, -units) };
    }

    /// Stops, and waits for a tick that is running. At `PASSIVE_LEVEL` only.
    pub(crate) fn stop(&self) {
        // SAFETY: the timer lives as long as its device, whose context owns this value.
        let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStop, self.raw, 1) };
    }
}

unsafe extern "C" fn tick<T: TimerEvents>(timer: WDFTIMER) {
    // SAFETY: the framework passes a timer of this driver.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfTimerGetParentObject, timer) };
    // SAFETY: the parent is a device, which looks for a context of this type and finds none where it has another.
    if let Some(context) = unsafe { context::get::<T>(device) } {
        context.tick();
    }
}
