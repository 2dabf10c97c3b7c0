//! Data that several processors modify.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use wdk_sys::ntddk::{KeAcquireSpinLockRaiseToDpc, KeReleaseSpinLock};
use wdk_sys::{KIRQL, KSPIN_LOCK};

/// A value that is protected by a spin lock. While it is locked, only this processor can access it, and the IRQL is
/// `DISPATCH_LEVEL`.
///
/// ```ignore
/// static COUNT: SpinLock<u64> = SpinLock::new(0);
/// *COUNT.lock() += 1;
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

    /// Locks the value until the guard is dropped. Locking it again on the same processor before that is a deadlock.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`. The IRQL is `DISPATCH_LEVEL` until the guard is dropped.
    pub fn lock(&self) -> SpinLockGuard<'_, T> {
        // SAFETY: the lock is initialised and lives as long as `self`.
        let irql = unsafe { KeAcquireSpinLockRaiseToDpc(self.lock.get()) };
        SpinLockGuard { lock: self, irql, processor: PhantomData }
    }
}

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").finish_non_exhaustive()
    }
}

/// Access to a locked value. Drop guards in the reverse order of their creation, because each one restores the IRQL
/// from before its lock.
#[must_use = "the lock ends when this is dropped"]
pub struct SpinLockGuard<'a, T> {
    lock: &'a SpinLock<T>,
    irql: KIRQL,
    /// Makes the guard `!Send`: the lock must be released where it was acquired.
    processor: PhantomData<*const ()>,
}

impl<T> Deref for SpinLockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value is locked, so no other code can access it.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for SpinLockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this guard is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for SpinLockGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this processor holds the lock, and `irql` is the level from before it was acquired.
        unsafe { KeReleaseSpinLock(self.lock.lock.get(), self.irql) };
    }
}

impl<T: fmt::Debug> fmt::Debug for SpinLockGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
