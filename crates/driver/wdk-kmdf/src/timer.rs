//! A timer that belongs to a device.

use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{WDF_TIMER_CONFIG, WDFOBJECT, WDFTIMER, call_unsafe_wdf_function_binding};

use crate::context;
use crate::deferred::{Child, attributes};
use crate::{Device, DeviceHandle, check, size_field};

/// What a timer does. A device with several has one implementation for each, with another `Tag`.
pub trait TimerEvents<Tag = ()>: Device {
    /// The time has come. Runs at `DISPATCH_LEVEL`.
    fn tick(&self);

    /// Where it is in the device's value.
    fn timer(&self) -> &Timer;
}

/// A one-shot timer. It is a part of the device's value: [`new`](Self::new) makes the part, and
/// [`DeviceHandle::create_timer`] what it stands for. Until then, and when the device goes away, its methods do nothing.
#[derive(Debug)]
pub struct Timer {
    child: Child,
}

impl Timer {
    /// One that is not created yet.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a value that does nothing is no useful default")]
    pub const fn new() -> Self {
        Self { child: Child::new() }
    }

    /// Ticks once, after `delay`; starts over if it is running. Does nothing while [`stop`](Self::stop) waits on another thread; after that it
    /// starts the timer again.
    ///
    /// # IRQL
    ///
    /// Up to `DISPATCH_LEVEL`.
    pub fn start(&self, delay: Duration) {
        // Relative times are negative, in units of 100 ns.
        let units = i64::try_from(delay.as_nanos() / 100).unwrap_or(i64::MAX);
        self.child.with(|timer| {
            // SAFETY: the timer is not deleted while its handle is locked.
            let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStart, timer.cast(), -units) };
        });
    }

    /// Stops, and waits for a tick that is running.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn stop(&self) {
        self.child.with_reference(|timer| {
            // SAFETY: the reference keeps the timer's memory.
            let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStop, timer.cast(), 1) };
        });
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates the timer of the device's value; it is deleted with the device.
    ///
    /// # Errors
    ///
    /// What `WdfTimerCreate` returns; `STATUS_INVALID_PARAMETER` if [`TimerEvents::timer`] is no part of the device's value, and
    /// `STATUS_INVALID_DEVICE_REQUEST` if it is created already.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_timer<Tag>(&self) -> Result<(), NtStatus>
    where
        T: TimerEvents<Tag>,
    {
        let value = self.value().ok_or(NtStatus::DeviceNotReady)?;
        let child = &value.timer().child;
        child.check_new(value)?;
        let mut config = WDF_TIMER_CONFIG {
            Size: size_field::<WDF_TIMER_CONFIG>(),
            EvtTimerFunc: Some(tick::<T, Tag>),
            ..WDF_TIMER_CONFIG::default()
        };
        let mut attributes = attributes(self, cleanup::<T, Tag>);
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
        child.set(raw.cast());
        Ok(())
    }
}

unsafe extern "C" fn tick<T: TimerEvents<Tag>, Tag>(object: WDFTIMER) {
    // SAFETY: the framework passes an object of this driver.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfTimerGetParentObject, object) };
    // SAFETY: the parent is the device that it was created for, with a context of this type.
    if let Some(value) = unsafe { context::get::<T>(device) } {
        value.tick();
    }
}

unsafe extern "C" fn cleanup<T: TimerEvents<Tag>, Tag>(object: WDFOBJECT) {
    // SAFETY: the framework passes the object for which this was set, whose parent is not deleted before it.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfTimerGetParentObject, object.cast()) };
    // SAFETY: as above, with a context of this type.
    if let Some(value) = unsafe { context::get::<T>(device) } {
        value.timer().child.forget();
    }
    // The framework stopped the timer before this, but a `start` on another processor may have passed its check by then and set the
    // timer afterwards, which would tick when its memory is gone. None can come after `forget`.
    // SAFETY: an object is valid during its cleanup, which runs at PASSIVE_LEVEL for timers.
    let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStop, object.cast(), 1) };
}
