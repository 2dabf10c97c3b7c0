//! The registry: its keys and values, the `Zw` routines for them, and the `Rtl` routines.

pub(crate) mod keys;
mod query;
mod routines;

use crate::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[query::ROUTINES, routines::ROUTINES];
