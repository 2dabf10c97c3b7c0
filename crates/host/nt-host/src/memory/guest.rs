//! Accesses for code that cannot return a fault yet: a fault ends the routine that the driver called.

use super::{GuestPtr, OrStop as _, Plain};

/// Copies a value.
pub(crate) fn read<T: Plain>(address: u64) -> T {
    GuestPtr::new(address).read().or_stop()
}

/// Stores a value.
pub(crate) fn write<T: Plain>(address: u64, value: T) {
    GuestPtr::new(address).write(value).or_stop();
}

/// Copies bytes in.
pub(crate) fn put(address: u64, bytes: &[u8]) {
    GuestPtr::new(address).write_all(bytes).or_stop();
}
