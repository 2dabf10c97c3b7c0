//! Pool: its allocations, its routines, lookaside lists, and memory that may be paged out.

mod blocks;
mod kind;
mod lookaside;
mod pages;
pub(crate) mod paging;
mod routines;
mod sheets;
mod together;

pub(crate) use blocks::{Pool, unwritten};
pub(crate) use kind::{EXECUTABLE, Kind};
pub(crate) use routines::free;
pub(crate) use together::together;

use crate::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[lookaside::ROUTINES, routines::ROUTINES];
