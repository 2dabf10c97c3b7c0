//! A token for `PASSIVE_LEVEL`.

use core::marker::PhantomData;

use wdk_sys::ntddk::KeGetCurrentIrql;

/// The code runs at `PASSIVE_LEVEL`. Functions that wait take it, so that a timer's callback cannot call them.
///
/// The callbacks that run at `PASSIVE_LEVEL` get one, or a [`DeviceHandle`](crate::DeviceHandle) that has one. It cannot be
/// stored in a device, moved to another thread, or used inside of [`SpinLock::with`](crate::SpinLock::with), which raises the IRQL.
#[derive(Clone, Copy, Debug)]
pub struct Passive<'a> {
    /// Not `Send`: the level is that of this thread. The lifetime is that of the callback.
    callback: PhantomData<*const &'a ()>,
}

impl Passive<'_> {
    /// Returns a token if the current IRQL is `PASSIVE_LEVEL`. Requests can arrive at any IRQL up to `DISPATCH_LEVEL`; this
    /// tells which.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn current() -> Option<Self> {
        // SAFETY: the routine has no preconditions.
        let irql = unsafe { KeGetCurrentIrql() };
        (irql == 0).then(|| Self::assume())
    }

    /// For callbacks that the framework calls at `PASSIVE_LEVEL`.
    pub(crate) const fn assume() -> Self {
        Self { callback: PhantomData }
    }
}
