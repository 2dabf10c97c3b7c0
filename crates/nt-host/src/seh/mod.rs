//! Structured exception handling: from a fault or a raised status to the driver's own handlers.

pub(crate) mod context;
mod frames;

use crate::kernel::routine::Routine;

/// The families of routines.
pub(crate) const ROUTINES: &[Routine] = frames::ROUTINES;
