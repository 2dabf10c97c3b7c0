//! Pool: its allocations, its routines, lookaside lists, and memory that may be paged out.

mod blocks;
mod kind;
mod lookaside;
mod pages;
pub mod paging;
mod routines;
mod sheets;
mod together;

use nt_verifier::routine::Routine;

pub use blocks::Pool;
pub(crate) use blocks::unwritten;
pub use kind::Kind;
pub(crate) use kind::PAGE_EXECUTE;
pub use routines::free;
pub use together::together;

pub(super) const ROUTINES: &[&[Routine]] = &[lookaside::ROUTINES, routines::ROUTINES];
