//! Timers that belong to a device.

use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{WDF_TIMER_CONFIG, WDFOBJECT, WDFTIMER, call_unsafe_wdf_function_binding};

use crate::deferred::{Child, attributes, value_of_device};
use crate::{Device, DeviceHandle, check, size_field};

/// The callback of a timer. A device with several timers implements this once for each, with different `Tag`s.
pub trait TimerEvents<Tag = ()>: Device {
    /// The timer expired. Runs at `DISPATCH_LEVEL`.
    fn tick(&self);

    /// Returns the timer, which must be a part of the device's context.
    fn timer(&self) -> &Timer;
}

/// A one-shot timer, stored in the device's context. [`new`](Self::new) creates this value, and
/// [`DeviceHandle::create_timer`] creates the framework's timer for it. Before that, and after the device is deleted,
/// its methods do nothing.
#[derive(Debug)]
pub struct Timer {
    child: Child,
}

impl Timer {
    /// Creates the value. The framework's timer does not exist yet.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a value that does nothing is no useful default")]
    pub const fn new() -> Self {
        Self { child: Child::new() }
    }

    /// Starts the timer, which then expires once, after `delay`. If it is already running, it starts again with this
    /// delay. Has no effect while [`stop`](Self::stop) is waiting on another thread. After that, the timer can be
    /// started again.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn start(&self, delay: Duration) {
        // Relative times are negative, in units of 100 ns.
        let units = i64::try_from(delay.as_nanos() / 100).unwrap_or(i64::MAX);
        self.child.with(|timer| {
            // SAFETY: the timer cannot be deleted while its handle is locked.
            let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStart, timer.cast(), -units) };
        });
    }

    /// Stops the timer. If the callback is running, waits until it returns.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn stop(&self) {
        self.child.with_reference(|timer| {
            // SAFETY: the reference keeps the timer's memory valid.
            let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStop, timer.cast(), 1) };
        });
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates the framework's timer for the [`Timer`] in the device's context. It is deleted with the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfTimerCreate`; `STATUS_INVALID_PARAMETER` if [`TimerEvents::timer`] returns a timer that
    /// is not in the device's context; `STATUS_INVALID_DEVICE_REQUEST` if the timer has already been created.
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
        // SAFETY: the timer was just created with these attributes, and nothing else has its handle.
        unsafe { child.set(raw.cast(), self) };
        Ok(())
    }
}

unsafe extern "C" fn tick<T: TimerEvents<Tag>, Tag>(object: WDFTIMER) {
    // SAFETY: the framework passes a timer that `create_timer` created for a device with a context of this type.
    if let Some(value) = unsafe { value_of_device::<T>(object.cast()) } {
        value.tick();
    }
}

unsafe extern "C" fn cleanup<T: TimerEvents<Tag>, Tag>(object: WDFOBJECT) {
    // SAFETY: the framework passes the timer for which this callback was set.
    if let Some(value) = unsafe { value_of_device::<T>(object) } {
        value.timer().child.forget();
    }
    // The framework stopped the timer before this callback. But a `start` on another processor may already have checked
    // the handle and may start the timer after that. The timer would then expire after its memory has been freed. After
    // `forget`, no more starts are possible, so stop it again.
    // SAFETY: an object is valid during its cleanup callback, which runs at PASSIVE_LEVEL for timers.
    let _was_running = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStop, object.cast(), 1) };
}
