//! What may be called at the level of a device.

use wdk_kmdf::{Interrupt, Isr};

use crate::{DEVICE_LEVEL, at};

/// Runs in the service routine.
pub(crate) fn defer(isr: &Isr<'_>) -> bool {
    Isr::defer(isr)
}

/// Returns whether the interrupt is connected.
pub(crate) fn lock(interrupt: &Interrupt) -> bool {
    at(DEVICE_LEVEL, || Interrupt::locked(interrupt, || ()).is_ok())
}
