//! The registry: its keys and values, the `Zw` routines for them, and the `Rtl` routines.

pub mod keys;
pub mod notify;
mod query;
mod routines;
mod watch;

use nt_verifier::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[notify::ROUTINES, query::ROUTINES, routines::ROUTINES];
