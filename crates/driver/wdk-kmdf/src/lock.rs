//! Data that several processors change.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use wdk_sys::ntddk::{KeAcquireSpinLockRaiseToDpc, KeReleaseSpinLock};
use wdk_sys::{KIRQL, KSPIN_LOCK};

/// A value behind a spin lock: locked, it is this processor's alone, at `DISPATCH_LEVEL`.
///
/// ```ignore
/// static COUNT: SpinLock<u64> = SpinLock::new(0);
/// *COUNT.lock() += 1;
/// ```
pub struct SpinLock<T> {
    lock: UnsafeCell<KSPIN_LOCK>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one thread at a time.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// An unlocked value.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(value: T) -> Self {
        // Zero is an unlocked lock: what `KeInitializeSpinLock` stores.
        Self { lock: UnsafeCell::new(0), value: UnsafeCell::new(value) }
    }

    /// Locks the value, until the result is dropped. A processor that has it locked must not lock it again.
    ///
    /// # IRQL
    ///
    /// Up to `DISPATCH_LEVEL`; it is `DISPATCH_LEVEL` until the result is dropped.
    pub fn lock(&self) -> SpinLockGuard<'_, T> {
        // SAFETY: the lock is initialised, and lives as long as this value.
        let irql = unsafe { KeAcquireSpinLockRaiseToDpc(self.lock.get()) };
        SpinLockGuard { lock: self, irql, processor: PhantomData }
    }
}

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").finish_non_exhaustive()
    }
}

/// A locked value. Guards are dropped in the reverse order of their making, as values are.
#[must_use = "the lock ends when this is dropped"]
pub struct SpinLockGuard<'a, T> {
    lock: &'a SpinLock<T>,
    irql: KIRQL,
    /// Released on the thread that locked.
    processor: PhantomData<*const ()>,
}

impl<T> Deref for SpinLockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: locked, so nobody else has the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for SpinLockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this guard is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for SpinLockGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this processor locked it, and the level is the one it had before.
        unsafe { KeReleaseSpinLock(self.lock.lock.get(), self.irql) };
    }
}

impl<T: fmt::Debug> fmt::Debug for SpinLockGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
