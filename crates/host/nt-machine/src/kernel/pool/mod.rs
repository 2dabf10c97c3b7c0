//! Pool: its allocations, its routines, lookaside lists, and memory that may be paged out.

mod blocks;
mod lookaside;
pub(crate) mod paging;
mod routines;

pub(crate) use blocks::{Kind, Pool};
pub(crate) use routines::{PAGE_EXECUTE, free};

use crate::routine::Routine;

pub(super) const ROUTINES: [&[Routine]; 2] = [lookaside::ROUTINES, routines::ROUTINES];
