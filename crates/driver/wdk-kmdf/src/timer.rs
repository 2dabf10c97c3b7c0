//! Timers of a device.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::ptr;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_sys::{WDF_TIMER_CONFIG, WDFOBJECT, WDFTIMER};

use crate::call::wdf;
use crate::child::{self, Child};
use crate::{Device, DeviceHandle, Passive, check, size_field};

/// The callback of a timer. A device with several timers implements this once for each, with different `Tag`s.
pub trait TimerEvents<Tag = ()>: Device {
    /// The timer expired. Runs at `DISPATCH_LEVEL`.
    fn tick(&self);
}

/// A timer, created by [`DeviceHandle::create_timer`]. The device owns the framework's timer: it is deleted with the device,
/// and from then on the methods do nothing.
#[derive(Debug)]
pub struct Timer {
    child: Child,
}

impl Timer {
    /// Starts the timer, which then expires after `delay`; a periodic timer continues with its period. If it is already
    /// running, it starts again with this delay. Has no effect while [`stop`](Self::stop) is waiting on another thread.
    /// After that, the timer can be started again.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn start(&self, delay: Duration) {
        let due = crate::relative_time(delay);
        self.child.locked(|timer| {
            // SAFETY: the timer cannot be deleted while it is locked.
            let _was_running = unsafe { wdf!(WdfTimerStart, timer.cast(), due) };
        });
    }

    /// Stops the timer. If the callback is running, waits until it returns.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn stop(&self, _: Passive<'_>) {
        self.child.unlocked(|timer| {
            // SAFETY: this value has a reference to the timer.
            let _was_running = unsafe { wdf!(WdfTimerStop, timer.cast(), 1) };
        });
    }

    /// Stops the timer without waiting. The callback may still be running when this returns.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn cancel(&self) {
        self.child.locked(|timer| {
            // SAFETY: the timer cannot be deleted while it is locked.
            let _was_running = unsafe { wdf!(WdfTimerStop, timer.cast(), 0) };
        });
    }

    /// Returns the framework's handle. It is valid as long as this value; its device may have deleted the timer.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFTIMER {
        self.child.raw().cast()
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a timer that expires once each time it is started.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfTimerCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_timer<Tag>(&self) -> Result<Timer, NtStatus>
    where
        T: TimerEvents<Tag>,
    {
        self.create_periodic_timer(Duration::ZERO)
    }

    /// Creates a timer that expires again and again after it is started. The period is rounded down to milliseconds; zero
    /// means that the timer expires once.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfTimerCreate`, or `STATUS_INVALID_PARAMETER` if the period is 2³¹ ms or more.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_periodic_timer<Tag>(&self, period: Duration) -> Result<Timer, NtStatus>
    where
        T: TimerEvents<Tag>,
    {
        let period = i32::try_from(period.as_millis()).map_err(|_| NtStatus::InvalidParameter)?;
        let mut config = WDF_TIMER_CONFIG {
            Size: size_field::<WDF_TIMER_CONFIG>(),
            EvtTimerFunc: Some(tick::<T, Tag>),
            Period: period.cast_unsigned(),
            ..WDF_TIMER_CONFIG::default()
        };
        let mut attributes = child::attributes_with_cleanup::<()>(self.raw().cast(), cleanup);
        let mut raw: WDFTIMER = ptr::null_mut();
        // SAFETY: the parent exists, and all structures outlive the call.
        check(unsafe {
            wdf!(WdfTimerCreate, ptr::from_mut(&mut config), ptr::from_mut(&mut attributes), ptr::from_mut(&mut raw))
        })?;
        // SAFETY: the timer was just created with these attributes.
        let child = unsafe { Child::new(raw.cast(), self.raw(), ()) }?;
        Ok(Timer { child })
    }
}

unsafe extern "C" fn tick<T: TimerEvents<Tag>, Tag>(object: WDFTIMER) {
    // SAFETY: the framework passes a timer that was created for a device with a context of this type.
    if let Some((value, _)) = unsafe { child::device_value::<T>(object.cast()) } {
        value.tick();
    }
}

unsafe extern "C" fn cleanup(object: WDFOBJECT) {
    // SAFETY: the framework passes the timer for which this callback was set.
    unsafe { child::cleanup::<()>(object) };
    // The framework stopped the timer before this callback. But a `start` on another processor may have checked the
    // state of the timer before it was marked, and may have started the timer after that. The timer would then expire
    // after its memory has been freed. No more starts are possible now, so stop it again.
    // SAFETY: an object is valid during its cleanup callback, which runs at PASSIVE_LEVEL for timers.
    let _was_running = unsafe { wdf!(WdfTimerStop, object.cast(), 1) };
}
