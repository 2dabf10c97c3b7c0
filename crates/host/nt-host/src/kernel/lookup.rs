//! Finding routines by name.

use super::kernel;
use super::routine::{PASSIVE, Routine, routine};
use crate::memory::guest;

pub(super) const ROUTINES: &[Routine] = &[routine("MmGetSystemRoutineAddress", PASSIVE, |call| {
    kernel().table.address(&guest::text(call.arg(0))).unwrap_or_default()
})
.fails_with_zero()];
