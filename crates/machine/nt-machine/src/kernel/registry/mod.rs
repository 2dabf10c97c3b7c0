//! The registry: its keys and values, the `Zw` routines for them, and the `Rtl` routines.

pub(crate) mod keys;
pub(crate) mod notify;
mod query;
mod routines;
mod watch;

use crate::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[notify::ROUTINES, query::ROUTINES, routines::ROUTINES];
