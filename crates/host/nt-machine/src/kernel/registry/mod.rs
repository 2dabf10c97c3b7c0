//! The registry: its keys and values, the routines for them, and the runtime library's shortcuts.

pub(crate) mod keys;
mod query;
mod routines;

use crate::routine::Routine;

pub(super) const ROUTINES: [&[Routine]; 2] = [query::ROUTINES, routines::ROUTINES];
