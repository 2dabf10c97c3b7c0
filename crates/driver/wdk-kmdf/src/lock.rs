//! Data that several processors modify.
//!
//! # What the types check, and what they do not
//!
//! A spin lock raises the IRQL to `DISPATCH_LEVEL`, so nothing that waits may be called while one is held. Such functions take a
//! [`Passive`] token, or a value that has one: a [`DeviceHandle`], a registry key. None of them is `Send`, because the IRQL is that of
//! a thread. So [`SpinLock::with`] takes only closures that are `Send`: they cannot use a token from outside, and inside,
//! [`Passive::current`] returns none. The same holds for [`Interrupt::locked`](crate::Interrupt::locked).
//!
//! A spin lock in an interrupt's service routine compiles. A token for `DISPATCH_LEVEL` would prevent it, but every callback and every
//! function that may be called at `DISPATCH_LEVEL` would have to pass it on; that is most of this crate. Nor is there a status: `with`
//! would read the IRQL each time, and its callers would handle an error that correct code never sees. The data stays protected, because
//! the lock is taken; the driver hangs or the system stops, since the IRQL is lowered. nt-host reports it.

use core::cell::UnsafeCell;
use core::fmt;
use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::ntddk::{KeAcquireSpinLockRaiseToDpc, KeReleaseSpinLock};
use wdk_sys::{KSPIN_LOCK, WDFWAITLOCK};

use crate::call::wdf;
use crate::{Device, DeviceHandle, Passive, check, context, lifetime};

/// A value that is protected by a spin lock.
///
/// There is no guard that could be dropped in the wrong order or forgotten: the value is locked while a closure runs. Locks
/// nest, and each restores the IRQL from before it.
///
/// ```ignore
/// static COUNT: SpinLock<u64> = SpinLock::new(0);
/// COUNT.with(|count| *count += 1);
/// ```
pub struct SpinLock<T> {
    lock: UnsafeCell<KSPIN_LOCK>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives only one thread at a time access to the value.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// Creates an unlocked value.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(value: T) -> Self {
        // Zero is an unlocked spin lock: `KeInitializeSpinLock` stores the same value.
        Self { lock: UnsafeCell::new(0), value: UnsafeCell::new(value) }
    }

    /// Locks the value, calls `body` with it at `DISPATCH_LEVEL`, and unlocks it. Locking it again in `body` is a deadlock.
    ///
    /// `body` is `Send`, so that it cannot use a [`Passive`] token or a [`DeviceHandle`].
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R + Send) -> R
    where
        T: Send,
    {
        self.with_any(body)
    }

    /// As [`with`](Self::with), for code of this crate, which has handles of the framework.
    pub(crate) fn with_any<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the lock is initialised and lives as long as `self`.
        let irql = unsafe { KeAcquireSpinLockRaiseToDpc(self.lock.get()) };
        // SAFETY: the value is locked, so no other code can access it.
        let result = body(unsafe { &mut *self.value.get() });
        // SAFETY: this processor holds the lock. Every lock that `body` took is released, so the IRQL is that of this lock.
        unsafe { KeReleaseSpinLock(self.lock.get(), irql) };
        result
    }
}

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").finish_non_exhaustive()
    }
}

/// A value that is protected by a wait lock (`WDFWAITLOCK`). The IRQL stays `PASSIVE_LEVEL` while it is locked, so the code
/// may wait and use pageable memory.
pub struct WaitLock<T> {
    lock: WDFWAITLOCK,
    value: UnsafeCell<T>,
}

// SAFETY: the framework's functions for locks can be called from any thread.
unsafe impl<T: Send> Send for WaitLock<T> {}
// SAFETY: the lock gives only one thread at a time access to the value.
unsafe impl<T: Send> Sync for WaitLock<T> {}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a value with a wait lock. The framework's lock is deleted with the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfWaitLockCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_wait_lock<V>(&self, value: V) -> Result<WaitLock<V>, NtStatus> {
        let mut attributes = context::attributes::<()>(self.raw().cast(), None);
        let mut lock: WDFWAITLOCK = ptr::null_mut();
        // SAFETY: the parent exists, and all structures outlive the call.
        check(unsafe { wdf!(WdfWaitLockCreate, ptr::from_mut(&mut attributes), ptr::from_mut(&mut lock)) })?;
        // SAFETY: the lock was just created.
        unsafe { lifetime::reference(lock.cast()) };
        Ok(WaitLock { lock, value: UnsafeCell::new(value) })
    }
}

impl<T> WaitLock<T> {
    /// Waits for the lock, calls `body` with the value, and unlocks it. Locking it again in `body` is a deadlock.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn with<R>(&self, _: Passive<'_>, body: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: this value has a reference to the lock. Without a timeout, the call succeeds when the lock is free.
        let _ = unsafe { wdf!(WdfWaitLockAcquire, self.lock, ptr::null_mut()) };
        // SAFETY: the value is locked, so no other code can access it.
        let result = body(unsafe { &mut *self.value.get() });
        // SAFETY: this thread holds the lock.
        unsafe { wdf!(WdfWaitLockRelease, self.lock) };
        result
    }

    /// Returns the framework's handle, valid as long as this value.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFWAITLOCK {
        self.lock
    }
}

impl<T> Drop for WaitLock<T> {
    fn drop(&mut self) {
        // SAFETY: this value has a reference since its creation.
        unsafe { lifetime::dereference(self.lock.cast()) };
    }
}

impl<T> fmt::Debug for WaitLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitLock").finish_non_exhaustive()
    }
}
