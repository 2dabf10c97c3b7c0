//! The atomics of the provider's state: `core`'s, or loom's when a model checker runs the tests (`--cfg loom`).

#[cfg(not(all(loom, test)))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Defines a `const` function. Loom's atomics have no constant constructor, so under loom the function is not `const`.
macro_rules! const_fn {
    ($(#[$attribute:meta])* $visibility:vis fn $($rest:tt)*) => {
        #[cfg(not(all(loom, test)))]
        $(#[$attribute])*
        $visibility const fn $($rest)*

        #[cfg(all(loom, test))]
        $(#[$attribute])*
        $visibility fn $($rest)*
    };
}
pub(super) use const_fn;

/// Returns the address to which ETW writes a value that other threads read as an atomic.
#[cfg(not(all(loom, test)))]
pub(super) fn address(value: &AtomicU64) -> *mut u64 {
    value.as_ptr()
}

/// Loom's atomics have no address that a system could write to. The models store the handle themselves and never
/// register.
#[cfg(all(loom, test))]
pub(super) fn address(_value: &AtomicU64) -> *mut u64 {
    core::ptr::null_mut()
}
